"""The desk as a server of the Model Context Protocol, for assistants of the people who use it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from router.extension import Command, Extension, Routes

if TYPE_CHECKING:
    from router.settings import Section


class McpServerExtension(Extension):
    """Serves `POST /mcp`, and the same over stdin and stdout with `intent-router mcp`."""

    name = "mcp_server"

    def settings(self) -> "type[Section]":
        from router.extensions.mcp_server.settings import McpServerSettings

        return McpServerSettings

    def routes(self) -> Routes:
        from router.extensions.mcp_server.resource import PATH, challenge
        from router.extensions.mcp_server.routes import router

        return Routes([router], challenges={PATH: challenge})

    def commands(self) -> Mapping[str, Command]:
        summary = "Serve the desk to an assistant over stdin and stdout, as one person."
        return {"mcp": Command("router.extensions.mcp_server.stdio:mcp", summary)}
