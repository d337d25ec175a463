"""Microsoft Teams: people talk to the desk and decide on Teams."""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.teams.settings import TeamsSettings


class TeamsExtension(ChatPlatform):
    """Takes in activities from Teams, and posts there."""

    name = "teams"

    def settings(self) -> "type[TeamsSettings]":
        from router.extensions.teams.settings import TeamsSettings

        return TeamsSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.teams.entrance import mount

        return mount(settings, entering)
