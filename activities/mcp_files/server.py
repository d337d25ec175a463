"""The folder as an MCP server: `file_read`, `file_save`, `file_search`."""

import asyncio
from collections.abc import Callable
from typing import Annotated, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from activities.mcp_files.folder import FolderRefused, Hit, ServedFolder, TextPage

Out = TypeVar("Out")
FilePath = Annotated[str, Field(description="A path below the folder, such as notes/plan.md")]


def server_of(folder: ServedFolder) -> MCPServer:
    """A server for the files of this folder alone."""
    server = MCPServer("files", log_level="WARNING", instructions="Texts of one folder.")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    async def file_read(
        path: FilePath,
        offset: Annotated[int, Field(description="The character to read from", ge=0)] = 0,
    ) -> TextPage:
        """Reads a text, 16,000 characters at a time."""
        return await _done(lambda: folder.read(path, offset))

    @server.tool(
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        )
    )
    async def file_save(
        path: FilePath,
        text: Annotated[str, Field(description="What the file shall hold")],
        overwrite: Annotated[bool, Field(description="Replace a file that is there")] = False,
    ) -> str:
        """Saves a text as a file; one that is there is replaced only where that is asked for."""
        size = await _done(lambda: folder.save(path, text, overwrite=overwrite))
        return f"saved {path}, {size} bytes"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    async def file_search(
        query: Annotated[str, Field(description="Words to find in texts and in names")],
    ) -> list[Hit]:
        """Finds files and lines that hold some words."""
        return await _done(lambda: folder.search(query))

    return server


async def _done(work: Callable[[], Out]) -> Out:
    try:
        return await asyncio.to_thread(work)
    except FolderRefused as error:
        raise ToolError(str(error)) from None
