"""The base of extensions that connect a chat platform."""

from typing import TYPE_CHECKING, Any, ClassVar

from router.extension import Extension

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.channels.settings import PlatformSettings


class ChatPlatform(Extension):
    """A chat platform. Its name is that of accounts on it in the directory."""

    requires: ClassVar[tuple[str, ...]] = ("channels",)

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
