"""Chat platforms: people talk to the desk where they talk to each other.

This extension has what all platforms share. Each platform is an extension of its own, a subclass of
`ChatPlatform`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from router.extension import ApiPart, Check, Extension

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.api.dependencies import AppState
    from router.extensions.channels.dispatcher import Entering
    from router.extensions.channels.settings import PlatformSettings


class ChatPlatform(Extension):
    """A chat platform. Its name is that of accounts on it in the directory."""

    requires = ("channels",)

    def settings(self) -> "type[PlatformSettings]":
        """Return the class of the platform's settings."""
        raise NotImplementedError

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        """Return the platform's routes, below `/adapters/<name>/`.

        Args:
            settings: The complete settings, of the class that `settings()` returns.
            entering: Call it once, with what posts on the platform.

        Raises:
            ModuleNotFoundError: A library that the platform needs isn't installed.
        """
        raise NotImplementedError


class ChannelsExtension(Extension):
    """Posts on chat platforms, and takes in what people say and press there."""

    name = "channels"

    def api_part(self, state: "AppState") -> ApiPart:
        from router.extensions.channels.mounting import mount_platforms

        return mount_platforms(state)

    def checks(self) -> Mapping[str, Check]:
        from router.extensions.channels.checks import check_posts

        return {"chat platforms": check_posts}
