"""The MCP servers of the file that the settings name, as a source of tools."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from router.domain.errors import DefinitionError, MisconfiguredError, RouterError
from router.domain.source_lines import SourceLine
from router.extensions.mcp.file import ServerEntry, group_of, load_servers, names, prefix_of
from router.extensions.mcp.servers import PublishTools, Servers, connected
from router.extensions.mcp.settings import McpSettings
from router.extensions.mcp.tools import ServerTool
from router.formats.watcher import Stamp, changes, stamp_of
from router.formats.yaml_document import Place
from router.settings import Settings
from router.tool.example_place import ExamplePlace
from router.tool.kinds import ToolSource
from router.tool.stand_ins import make_stand_in
from router.tool.tool import Tool, titled

_log = logging.getLogger("router.mcp")

SETTLED_WITHIN = 5.0
"""Seconds that a process waits for servers that neither come nor fail to."""


def servers_of(settings: Settings) -> dict[str, ServerEntry]:
    """The MCP servers of the settings' file, by name; raises `DefinitionError`."""
    own = settings.section(McpSettings)
    if own.servers is None:
        return {}
    if not own.servers.exists():
        raise MisconfiguredError(
            f"{own.describe('servers')} isn't there: name a JSON file of servers"
        )
    return load_servers(own.servers, settings.environment)


class McpSource(ToolSource):
    """The servers of the settings' file, which are followed while that is edited."""

    name = "mcp_servers"
    _entries: Mapping[str, ServerEntry] = MappingProxyType({})
    _seen: Stamp = ()

    @property
    def _file(self) -> Path | None:
        return self.settings.section(McpSettings).servers

    @property
    def group(self) -> str:
        """All servers, as messages name them; each has a group of its own in the registry."""
        return "the MCP servers"

    def load(self) -> None:
        """Have the registry expect their tools.

        Raises:
            MisconfiguredError: The file can't be used, with every problem: no process starts then.
        """
        self._seen = self._stamp
        try:
            self._entries = servers_of(self.settings)
        except DefinitionError as error:
            raise MisconfiguredError(str(error)) from error
        for name in self._entries:
            self.registry.expect(group_of(name), prefix_of(name))

    @property
    def _stamp(self) -> Stamp:
        return stamp_of([self._file] if self._file else [])

    async def look(self, within: float) -> Mapping[str, str]:
        """Have each server's tools, asked once and all at the same time."""
        away = await Servers(self._entries, *self._circumstances).look(within)
        remedy = f"mend it, or correct {self._file}"
        return {group_of(name): f"{why}; {remedy}" for name, why in away.items()}

    def find_examples(self, tool: Tool) -> ExamplePlace | None:
        """Return the place of a server's tool in the file of servers."""
        made = tool.implementation
        if not isinstance(made, ServerTool):
            return None
        server, own = made.server, made.called
        find = partial(_place_of_examples, server, own)
        return ExamplePlace(
            Path(tool.source.file),
            find,
            lambda: servers_of(self.settings)[server].entry(own).examples,
        )

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
            make_stand_in(name, "mcp", SourceLine(str(self._file), 1)),
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
        if self._file is None:
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
        return self.settings.environment, self._publish, self._file or Path()

    async def _publish(self, server: str, tools: Sequence[Tool]) -> None:
        """Let these be the server's tools; where one has a name that is taken, none is."""
        try:
            self.registry.replace(group_of(server), tools)
        except DefinitionError as error:
            _log.error("no tool of the MCP server %s can be taken in: %s", server, error)
            return
        self._published.set()


def _place_of_examples(server: str, tool: str, data: Any) -> Place:
    around = ("mcpServers",) if isinstance(data, dict) and "mcpServers" in data else ()
    return (*around, server, "tools", tool, "examples")
