"""Tools of MCP servers, in the registry as long as they are known.

Nothing waits long for a server: one that is away when the process starts brings its tools when it
comes, and until then the registry expects them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from router.domain.locale import Localised
from router.domain.source_lines import SourceLine
from router.extensions.mcp.connection import Away, McpConnection
from router.extensions.mcp.file import ServerEntry
from router.extensions.mcp.tools import ServerOffer, told_apart
from router.outbound.guard import OutboundGuard
from router.tool.tool import Tool

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
