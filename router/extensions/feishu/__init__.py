"""Feishu (Lark): people talk to the desk and decide on Feishu."""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.feishu.settings import FeishuSettings


class FeishuExtension(ChatPlatform):
    """Takes in messages and presses from Feishu, and posts there."""

    name = "feishu"

    def settings(self) -> "type[FeishuSettings]":
        from router.extensions.feishu.settings import FeishuSettings

        return FeishuSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.feishu.entrance import mount

        return mount(settings, entering)
