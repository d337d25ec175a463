"""Tools of MCP servers, in the registry as long as they are known.

Nothing waits long for a server: one that is away when the process starts brings its tools when it
comes, and until then the registry expects them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path

from router.domain.errors import DefinitionError, MisconfiguredError
from router.settings import Settings
from router.tool.kinds import ToolSource
from router.tool.mcp.file import ServerEntry, group_of, load_servers, prefix_of
from router.tool.registry import Registry
from router.tool.tool import Tool

SETTLED_WITHIN = 5.0
"""Seconds that a process waits for servers that neither come nor fail to."""

_log = logging.getLogger("router.mcp")


def servers_of(settings: Settings) -> dict[str, ServerEntry]:
    """The MCP servers of the settings' file, by name.

    Raises:
        DefinitionError: with every problem of the file.
    """
    if settings.mcp_servers is None:
        return {}
    if not settings.mcp_servers.exists():
        raise MisconfiguredError(
            f"ROUTER_MCP_SERVERS={settings.mcp_servers} isn't there: name a JSON file of servers"
        )
    return load_servers(settings.mcp_servers, settings.environment)


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


class McpSource(ToolSource):
    """The servers of the settings' file."""

    @cached_property
    def _entries(self) -> dict[str, ServerEntry]:
        return servers_of(self.settings)

    @cached_property
    def _publisher(self) -> Publisher:
        return Publisher(self.registry)

    @property
    def _file(self) -> Path:
        return self.settings.mcp_servers or Path()

    def load(self) -> None:
        """Have the registry expect their tools; raises `DefinitionError`."""
        for name in self._entries:
            self.registry.expect(group_of(name), prefix_of(name))

    async def look(self, within: float) -> Mapping[str, str]:
        """Have each server's tools, asked once and all at the same time."""
        from router.tool.mcp.servers import Servers

        publish, environment = self._publisher.publish, self.settings.environment
        return await Servers(self._entries, environment, publish, self._file).look(within)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep a session with each while within."""
        if not self._entries:
            yield
            return
        # A third of a start's time, which only who has servers needs.
        from router.tool.mcp.servers import connected

        environment, publish = self.settings.environment, self._publisher.publish
        async with connected(self._entries, environment, publish, self._file) as servers:
            await servers.settled(SETTLED_WITHIN)
            yield

    def changes(self) -> AsyncIterator[object]:
        """Each time that tools were published; it never ends."""
        return self._publisher.changes()


SOURCE = McpSource
