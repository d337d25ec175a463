"""Notification settings: where and when a person is written to without having asked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from router.extension import Extension, Routes

if TYPE_CHECKING:
    from router.store.extension_tables import ExtensionTables


class NotificationsExtension(Extension):
    """Adds tools and a route for the settings, and the tables that hold them."""

    name = "notifications"

    def routes(self) -> Routes:
        from router.extensions.notifications.routes import router

        return Routes([router])

    def packages(self) -> Sequence[str]:
        return ["router.extensions.notifications.tools"]

    def tables(self) -> "ExtensionTables":
        from router.extensions.notifications.tables import TABLES

        return TABLES
