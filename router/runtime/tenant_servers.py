"""The MCP servers of tenants' documents: one set of sessions for each tenant that has any.

A process keeps sessions only while it is at work; until a server has answered once its tools are
expected, as those of the house's servers are.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from router.tool.http.client import OutboundGuard
from router.tool.kinds.mcp_servers import Owner, Servers
from router.tool.mcp.file import ServerEntry
from router.tool.tool import Tool

_log = logging.getLogger("router.configuration")

ServerTools = Mapping[str, Sequence[Tool]]
"""By server, the tools that it has listed."""
MOST_SERVERS = 20
"""Of one tenant: every process keeps a session with each."""


class TenantServers:
    """Who has which servers by now, and what those have. `changed` is told whose have changed."""

    def __init__(self, allowed: Sequence[str], changed: Callable[[str], None]) -> None:
        self._guard = OutboundGuard(allowed)
        self._changed = changed
        self._wanted: dict[str, Mapping[str, ServerEntry]] = {}
        self._tools: dict[str, dict[str, Sequence[Tool]]] = {}
        self._kept: dict[str, Servers] = {}
        self._is_running = False

    def tools(self, tenant: str) -> ServerTools:
        """What the tenant's servers have listed until now."""
        return {**self._tools.get(tenant, {})}

    def away(self, tenant: str) -> list[str]:
        """The tenant's servers that aren't there, and why."""
        servers = self._kept.get(tenant)
        connections = servers.connections.items() if servers else ()
        return [f"{name} isn't there: {c.away}" for name, c in connections if c.away]

    async def follow(self, tenant: str, entries: Mapping[str, ServerEntry]) -> None:
        """Let exactly these be the tenant's; a session with one that is as it was goes on."""
        before = self._wanted.get(tenant, {})
        if entries == before:
            return
        self._wanted[tenant] = entries
        stays = {name for name, entry in before.items() if entries.get(name) == entry}
        found = self._tools.get(tenant, {})
        self._tools[tenant] = {name: each for name, each in found.items() if name in stays}
        if self._is_running:
            await self._keep(tenant)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep sessions while within."""
        self._is_running = True
        try:
            for tenant in [*self._wanted]:
                await self._keep(tenant)
            yield
        finally:
            self._is_running = False
            kept, self._kept = self._kept, {}
            await asyncio.gather(*(servers.end() for servers in kept.values()))

    async def _keep(self, tenant: str) -> None:
        entries = self._wanted[tenant]
        servers = self._kept.get(tenant)
        if servers is None:
            publish = partial(self._published, tenant)
            owner = Owner(tenant, self._guard)
            # What a program would inherit: a document starts none.
            servers = self._kept[tenant] = Servers({}, {}, publish, Path("servers"), owner)
        await servers.follow(entries)
        if not entries:
            del self._kept[tenant], self._wanted[tenant]
        else:
            _log.info("%s has %d MCP servers of its own", tenant, len(entries))

    async def _published(self, tenant: str, server: str, tools: Sequence[Tool]) -> None:
        if server in self._wanted.get(tenant, {}):
            self._tools.setdefault(tenant, {})[server] = tools
            self._changed(tenant)
