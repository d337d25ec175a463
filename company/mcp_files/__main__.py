"""`python -m company.mcp_files FOLDER [--http PORT]`: over stdio, or HTTP on loopback."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from company.mcp_files.folder import FolderRefused, Hit, ServedFolder, TextPage

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


LOOPBACK = "127.0.0.1"


def main() -> None:
    """Serve until the input ends, or until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m company.mcp_files", description=__doc__)
    parser.add_argument("folder", type=Path, help="the only folder that is read and written")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp")
    given = parser.parse_args()
    try:
        server = server_of(ServedFolder(given.folder))
    except FolderRefused as error:
        sys.exit(f"error: {error}")
    if given.http is None:
        server.run("stdio")
    else:
        # With an end to patience: a client that listens for news keeps its connection open.
        uvicorn.run(
            server.streamable_http_app(host=LOOPBACK),
            host=LOOPBACK,
            port=given.http,
            log_level="warning",
            timeout_graceful_shutdown=1,
        )


if __name__ == "__main__":
    main()
