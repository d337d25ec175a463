"""DingTalk: a robot's messages in, by HTTP or its stream; Markdown and interactive cards out.

DingTalk's own library isn't used: see docs/libraries.md.
"""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.dingtalk.settings import DingTalkSettings


class DingTalkExtension(ChatPlatform):
    """Takes in messages and presses from DingTalk, and posts there."""

    name = "dingtalk"

    def settings(self) -> "type[DingTalkSettings]":
        from router.extensions.dingtalk.settings import DingTalkSettings

        return DingTalkSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.dingtalk.entrance import mount

        return mount(settings, entering)
