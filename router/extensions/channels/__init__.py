"""Chat platforms: people talk to the desk where they talk to each other.

This extension has what all platforms share. Each platform is an extension of its own, a subclass of
`ChatPlatform`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from router.extension import ApiPart, Check, Extension
from router.extensions.channels.platform import ChatPlatform

if TYPE_CHECKING:
    from router.api.dependencies import AppState

__all__ = ["ChannelsExtension", "ChatPlatform"]


class ChannelsExtension(Extension):
    """Posts on chat platforms, and takes in what people say and press there."""

    name = "channels"
    requires = ("notifications",)

    def api_part(self, state: "AppState") -> ApiPart:
        from router.extensions.channels.mounting import mount_platforms

        return mount_platforms(state)

    def checks(self) -> Mapping[str, Check]:
        from router.extensions.channels.checks import check_posts

        return {"chat platforms": check_posts}
