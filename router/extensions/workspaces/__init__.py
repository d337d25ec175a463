"""Workspaces: each person has files of their own, which tools save, read, edit and search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from router.extension import Extension

if TYPE_CHECKING:
    from router.extensions.workspaces.settings import WorkspacesSettings
    from router.store.extension_tables import ExtensionTables


class WorkspacesExtension(Extension):
    """Adds tools for files, and the tables that hold them."""

    name = "workspaces"

    def settings(self) -> "type[WorkspacesSettings]":
        from router.extensions.workspaces.settings import WorkspacesSettings

        return WorkspacesSettings

    def packages(self) -> Sequence[str]:
        return ["router.extensions.workspaces.tools"]

    def tables(self) -> "ExtensionTables":
        from router.extensions.workspaces.tables import TABLES

        return TABLES
