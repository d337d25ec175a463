"""Tools of MCP servers, in the registry as long as they are known.

Nothing waits long for a server: one that is away when the process starts brings its tools when it
comes, and until then the registry expects them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from router.domain.errors import DefinitionError, MisconfiguredError, RouterError
from router.domain.locale import Localised
from router.domain.source_lines import SourceLine
from router.formats.watcher import Stamp, changes, stamp_of
from router.outbound.guard import OutboundGuard
from router.settings import Settings
from router.tool.kinds import ToolSource
from router.tool.mcp.connection import Away, McpConnection
from router.tool.mcp.file import ServerEntry, group_of, load_servers, names, prefix_of
from router.tool.mcp.tools import ServerOffer, told_apart
from router.tool.stand_ins import make_stand_in
from router.tool.tool import Tool, titled

_log = logging.getLogger("router.mcp")


PublishTools = Callable[[str, Sequence[Tool]], Awaitable[None]]
"""Takes the tools of a server, by its name, in place of those that it had before."""


@dataclass(frozen=True)
class ServerOwner:
    """A tenant that servers are of, and what keeps requests to them from going anywhere."""

    tenant: str
    guard: OutboundGuard


class Servers:
    """The connections, and who stands in for whom."""

    def __init__(
        self,
        entries: Mapping[str, ServerEntry],
        inherited: Mapping[str, str],
        publish: PublishTools,
        file: Path,
        owner: "ServerOwner | None" = None,
    ) -> None:
        """Of the house, or of the tenant who is the `owner`."""
        self._publish = publish
        self._owner = owner
        self._tools: dict[str, list[Tool]] = {}
        self._titles: dict[str, list[Localised]] = {}
        self._source = SourceLine(str(file), 1)
        self._offering = asyncio.Lock()
        self._inherited = inherited
        self._sessions: dict[str, asyncio.Task[None]] = {}
        self.connections = {name: self._connection(name, entry) for name, entry in entries.items()}

    def _connection(self, name: str, entry: ServerEntry) -> McpConnection:
        told, guard = partial(self._changed, name), self._owner.guard if self._owner else None
        return McpConnection(self._label(name), entry, self._inherited, told, guard)

    def _label(self, name: str) -> str:
        """What a server is called beside those of all tenants."""
        return f"{self._owner.tenant}/{name}" if self._owner else name

    def begin(self) -> None:
        """Keep a session with each that has none yet."""
        for name, connection in self.connections.items():
            if name not in self._sessions:
                session = connection.run()
                self._sessions[name] = asyncio.create_task(session, name=f"MCP server {name}")

    async def end(self, names: Iterable[str] | None = None) -> None:
        """Close the sessions with these, or with all, and know them no more."""
        gone = [*(self._sessions if names is None else names)]
        sessions = [self._sessions.pop(name) for name in gone if name in self._sessions]
        for session in sessions:
            session.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        for name in gone:
            self.connections.pop(name, None)
            self._tools.pop(name, None)
            self._titles.pop(name, None)

    async def follow(self, entries: Mapping[str, ServerEntry]) -> None:
        """Keep a session with exactly these; one with a server that is as it was goes on."""
        known = {name: connection.entry for name, connection in self.connections.items()}
        await self.end([name for name, entry in known.items() if entries.get(name) != entry])
        self.connections = {
            name: self.connections.get(name) or self._connection(name, entry)
            for name, entry in entries.items()
        }
        self.begin()
        for name in [*self.connections]:
            # Who stands in for whom may be another.
            await self._offer(name)

    async def settled(self, within: float) -> None:
        """Wait until each is there, or has failed to be; not longer than `within` seconds."""
        tried = [asyncio.create_task(c.tried.wait()) for c in self.connections.values()]
        if tried:
            _, waiting = await asyncio.wait(tried, timeout=within)
            for task in waiting:
                task.cancel()

    async def look(self, within: float) -> dict[str, str]:
        """Publish what each has, asked once, and keep no session; by name, why one isn't there."""
        looks = (connection.look(within) for connection in self.connections.values())
        found = await asyncio.gather(*looks, return_exceptions=True)
        away: dict[str, str] = {}
        for (name, connection), listing in zip(self.connections.items(), found, strict=True):
            if isinstance(listing, Away):
                away[name] = str(listing)
            elif isinstance(listing, BaseException):
                raise listing
            else:
                connection.listing = listing
        for name in self.connections:
            await self._offer(name)
        return away

    async def _changed(self, name: str) -> None:
        await self._offer(name)
        for other, connection in [*self.connections.items()]:
            # Whoever was never there offers what stands in for it.
            if connection.entry.fallback == name and connection.listing is None:
                await self._offer(other)

    async def _offer(self, name: str) -> None:
        async with self._offering:
            connections = self._ways(name)
            listing = next((c.listing for c in connections if c.listing is not None), None)
            if listing is None:
                return
            own = connections[0]
            offer = ServerOffer(
                name, own.entry, listing, connections, self._source, self._label(name)
            )
            # What strangers describe is read beside the loop: there may be much of it.
            tools = await asyncio.to_thread(offer.tools)
            if self.connections.get(name) is own:  # it may have gone meanwhile, with its tools
                self._tools[name] = tools
                await self._publish_again(name)

    async def _publish_again(self, name: str) -> None:
        """This server's tools, and those of others that are called otherwise beside them."""
        for server, tools in told_apart(self._tools).items():
            titles = [tool.title for tool in tools]
            if server == name or titles != self._titles.get(server):
                self._titles[server] = titles
                await self._publish(server, tools)

    def _ways(self, name: str) -> list[McpConnection]:
        """The server, what stands in for it, and what for that in turn; each once.

        None of them where it is gone.
        """
        found: list[McpConnection] = []
        following = self.connections.get(name)
        while following is not None and following not in found:
            found.append(following)
            fallback = following.entry.fallback
            following = self.connections.get(fallback) if fallback is not None else None
        return found


@asynccontextmanager
async def connected(
    entries: Mapping[str, ServerEntry],
    inherited: Mapping[str, str],
    publish: PublishTools,
    file: Path,
) -> AsyncIterator[Servers]:
    """Keep a session with each server; programs get a little of the `inherited` environment."""
    servers = Servers(entries, inherited, publish, file)
    servers.begin()
    try:
        yield servers
    finally:
        await servers.end()


ServerTools = Mapping[str, Sequence[Tool]]
"""By server, the tools that it has listed."""
MOST_SERVERS = 20
"""Of one tenant: every process keeps a session with each."""


class TenantServers:
    """The servers of tenants' documents: a session with each while a process is at work.

    `changed` is told whose servers list other tools than before.
    """

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._guards: dict[str, OutboundGuard] = {}
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

    async def follow(
        self, tenant: str, entries: Mapping[str, ServerEntry], guard: OutboundGuard
    ) -> None:
        """Let exactly these be the tenant's; a session with one that is as it was goes on.

        A `guard` that lets other origins through than the last one ends all of them first.
        """
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
            self._changed(tenant)


SETTLED_WITHIN = 5.0
"""Seconds that a process waits for servers that neither come nor fail to."""


def servers_of(settings: Settings) -> dict[str, ServerEntry]:
    """The MCP servers of the settings' file, by name; raises `DefinitionError`."""
    if settings.mcp_servers is None:
        return {}
    if not settings.mcp_servers.exists():
        raise MisconfiguredError(
            f"{settings.describe('mcp_servers')} isn't there: name a JSON file of servers"
        )
    return load_servers(settings.mcp_servers, settings.environment)


class McpSource(ToolSource):
    """The servers of the settings' file, which are followed while that is edited."""

    name = "mcp_servers"
    variables = ("ROUTER_MCP_SERVERS",)
    _entries: Mapping[str, ServerEntry] = MappingProxyType({})
    _seen: Stamp = ()

    @property
    def group(self) -> str:
        """All servers, as messages name them; each has a group of its own in the registry."""
        return "the MCP servers"

    def load(self) -> None:
        """Have the registry expect their tools; raises `DefinitionError`."""
        self._seen = self._stamp
        self._entries = servers_of(self.settings)
        for name in self._entries:
            self.registry.expect(group_of(name), prefix_of(name))

    @property
    def _stamp(self) -> Stamp:
        return stamp_of([self.settings.mcp_servers] if self.settings.mcp_servers else [])

    async def look(self, within: float) -> Mapping[str, str]:
        """Have each server's tools, asked once and all at the same time."""
        away = await Servers(self._entries, *self._circumstances).look(within)
        remedy = f"mend it, or correct {self.settings.mcp_servers}"
        return {group_of(name): f"{why}; {remedy}" for name, why in away.items()}

    def stand_ins(self, called: Iterable[str]) -> Mapping[str, list[Tool]]:
        """Return stand-ins with the options that the file has for these tools."""
        wanted = list(called)
        found: dict[str, list[Tool]] = {}
        for server, entry in self._entries.items():
            own_names = {here: own for own, here in names(server, entry.tools).items()}
            for name in wanted:
                if name.startswith(prefix_of(server)):
                    own = own_names.get(name, name.removeprefix(prefix_of(server)))
                    found.setdefault(group_of(server), []).append(self._stand_in(name, own, entry))
        return found

    def _stand_in(self, name: str, own: str, server: ServerEntry) -> Tool:
        said = server.entry(own)
        return replace(
            make_stand_in(name, "mcp", SourceLine(str(self.settings.mcp_servers), 1)),
            title=said.title or titled(own),
            description=own,
            examples=said.examples,
            permission=said.permission or "write",
            roles=server.roles if said.roles is None else said.roles,
            confirm=said.confirm,
            idempotent=said.idempotent,
            timeout=said.timeout or server.timeout,
            retries=said.retries,
            description_zh=said.description_zh,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep a session with each while within."""
        if self.settings.mcp_servers is None:
            yield
            return
        async with connected(self._entries, *self._circumstances) as servers:
            await servers.settled(SETTLED_WITHIN)
            following = asyncio.create_task(self._file_followed(servers))
            try:
                yield
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _file_followed(self, servers: Servers) -> None:
        async for entries in changes(self._read_again):
            await self.follow(servers, entries)

    def _read_again(self) -> Mapping[str, ServerEntry] | None:
        """The servers of a file that has changed; None where it hasn't, or can't be used."""
        seen = self._stamp
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            return servers_of(self.settings)
        except RouterError as error:
            _log.error("the MCP servers stay as they were: %s", error)
            return None

    async def follow(self, servers: Servers, entries: Mapping[str, ServerEntry]) -> None:
        """Let these be the servers from now on: what has gone takes its tools with it."""
        before, self._entries = self._entries, entries
        gone = [name for name, entry in before.items() if entries.get(name) != entry]
        await servers.end(gone)
        for name in gone:
            self.registry.forget(group_of(name))
        for name in entries:
            self.registry.expect(group_of(name), prefix_of(name))
        await servers.follow(entries)
        _log.info("there are %d MCP servers in the file now", len(entries))
        self._published.set()

    @property
    def _circumstances(self) -> tuple[Mapping[str, str], PublishTools, Path]:
        return self.settings.environment, self._publish, self.settings.mcp_servers or Path()

    async def _publish(self, server: str, tools: Sequence[Tool]) -> None:
        """Let these be the server's tools; where one has a name that is taken, none is."""
        try:
            self.registry.replace(group_of(server), tools)
        except DefinitionError as error:
            _log.error("no tool of the MCP server %s can be taken in: %s", server, error)
            return
        self._published.set()


SOURCE = McpSource
