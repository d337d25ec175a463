"""Slack: people talk to the desk and decide on Slack."""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.slack.settings import SlackSettings


class SlackExtension(ChatPlatform):
    """Takes in messages and presses from Slack, and posts there."""

    name = "slack"

    def settings(self) -> "type[SlackSettings]":
        from router.extensions.slack.settings import SlackSettings

        return SlackSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.slack.entrance import mount

        return mount(settings, entering)
