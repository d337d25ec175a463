"""The MCP servers that tenants' documents of configuration declare."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from router.extensions.mcp.file import ServerEntry, group_of, prefix_of, servers_in_text
from router.extensions.mcp.servers import ServerOwner, Servers
from router.outbound.guard import OutboundGuard
from router.settings import Settings
from router.tool.configuration_kind import (
    ConfigurationKind,
    DeclaredTools,
    TenantAccess,
    TenantSystem,
)
from router.tool.tool import Tool

_log = logging.getLogger("router.mcp")


@dataclass(frozen=True)
class TenantServer(TenantSystem):
    """One server of a document."""

    name: str
    entry: ServerEntry


class ServerDocuments(ConfigurationKind):
    """Documents of MCP servers: a session with each server while a process is at work."""

    name = "servers"

    def __init__(self, settings: Settings, notify: Callable[[str], None]) -> None:
        super().__init__(settings, notify)
        self._guards: dict[str, OutboundGuard] = {}
        self._wanted: dict[str, Mapping[str, ServerEntry]] = {}
        self._tools: dict[str, dict[str, Sequence[Tool]]] = {}
        self._kept: dict[str, Servers] = {}
        self._is_running = False

    def read(self, path: Path, text: str, access: TenantAccess) -> DeclaredTools:
        """Return the servers of a document. No program is started for one, only addresses asked."""
        entries = servers_in_text(path, text, access.variables, access.guard)
        return DeclaredTools(
            systems=[
                TenantServer(prefix_of(name), group_of(name), name, entry)
                for name, entry in entries.items()
            ]
        )

    def list_tools(self, tenant: str) -> Mapping[str, Sequence[Tool]]:
        """Return the tools that the tenant's servers have listed until now, by the prefix."""
        return {prefix_of(name): tools for name, tools in self._tools.get(tenant, {}).items()}

    def find_absent(self, tenant: str) -> Sequence[str]:
        """Return the tenant's servers that aren't there, and why."""
        servers = self._kept.get(tenant)
        connections = servers.connections.items() if servers else ()
        return [f"{name} isn't there: {c.away}" for name, c in connections if c.away]

    async def follow(self, access: TenantAccess, systems: Sequence[TenantSystem]) -> None:
        """Let exactly these be the tenant's; a session with one that is as it was goes on.

        A guard that lets other origins through than the last one ends all of them first.
        """
        tenant, guard = access.tenant, access.guard
        entries = {each.name: each.entry for each in systems if isinstance(each, TenantServer)}
        if guard != self._guards.get(tenant, guard):
            await self._forget(tenant)
        self._guards[tenant] = guard
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
        """Keep a session with each server until the block is left."""
        self._is_running = True
        try:
            for tenant in [*self._wanted]:
                await self._keep(tenant)
            yield
        finally:
            self._is_running = False
            kept, self._kept = self._kept, {}
            await asyncio.gather(*(servers.end() for servers in kept.values()))

    async def _forget(self, tenant: str) -> None:
        """End the sessions of the tenant, and know nothing of its servers."""
        self._wanted.pop(tenant, None)
        self._tools.pop(tenant, None)
        if servers := self._kept.pop(tenant, None):
            await servers.end()

    async def _keep(self, tenant: str) -> None:
        entries = self._wanted[tenant]
        servers = self._kept.get(tenant)
        if servers is None:
            publish = partial(self._published, tenant)
            owner = ServerOwner(tenant, self._guards[tenant])
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
            self.notify(tenant)
