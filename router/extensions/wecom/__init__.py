"""WeCom (企业微信): a self-built app, and a robot in groups.

No library for this is kept up: see docs/libraries.md.
"""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.wecom.settings import WecomSettings


class WecomExtension(ChatPlatform):
    """Takes in messages and presses from WeCom, and posts there."""

    name = "wecom"

    def settings(self) -> "type[WecomSettings]":
        from router.extensions.wecom.settings import WecomSettings

        return WecomSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.wecom.entrance import mount

        return mount(settings, entering)
