"""Tools of servers into the registry, and word of it to whoever learns what there is."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from router.domain.errors import DefinitionError
from router.tool.mcp.names import BETWEEN
from router.tool.registry import Registry
from router.tool.tool import Tool

_log = logging.getLogger("router.mcp")


def group_of(server: str) -> str:
    """The registry's group of a server's tools."""
    return f"the MCP server {server}"


def prefix_of(server: str) -> str:
    """What the names of a server's tools begin with."""
    return f"{server}{BETWEEN}"


class Publisher:
    """Puts the tools of servers into a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._news = asyncio.Event()

    async def publish(self, server: str, tools: Sequence[Tool]) -> None:
        """Let these be the server's tools; where one has a name that is taken, none is."""
        try:
            self._registry.replace(group_of(server), tools)
        except DefinitionError as error:
            _log.error("no tool of the MCP server %s can be taken in: %s", server, error)
            return
        self._news.set()

    async def changes(self) -> AsyncIterator[None]:
        """Each time that tools were published since the last time; it never ends."""
        while True:
            await self._news.wait()
            self._news.clear()
            yield None
