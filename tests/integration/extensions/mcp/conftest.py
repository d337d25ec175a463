"""MCP servers as real processes, and the tools that they come to here."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from router.extensions.mcp.file import ServerEntry
from router.extensions.mcp.servers import Servers, connected
from router.tool.context import Dependencies
from router.tool.results import ToolFile
from router.tool.tool import Tool
from tests.fakes.mcp_program import PROGRAM
from tests.unit.tool.samples import context
from tests.waiting import HANGS_AFTER_S


class House:
    """What a process has of the tools of servers."""

    def __init__(self) -> None:
        self.tools: dict[str, dict[str, Tool]] = {}
        self.kept: list[ToolFile] = []
        self.servers: Servers
        self._changed = asyncio.Condition()

    async def publish(self, server: str, tools: Sequence[Tool]) -> None:
        async with self._changed:
            self.tools[server] = {tool.name: tool for tool in tools}
            self._changed.notify_all()

    def __getitem__(self, name: str) -> Tool:
        return {n: tool for tools in self.tools.values() for n, tool in tools.items()}[name]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for news until it holds."""
        async with asyncio.timeout(HANGS_AFTER_S), self._changed:
            await self._changed.wait_for(holds)

    async def has(self, *servers: str) -> None:
        await self.until(lambda: set(servers) <= self.tools.keys())

    async def up(self, *servers: str) -> None:
        """Wait until these are there themselves, and not what stands in for them."""
        connections = [self.servers.connections[name] for name in servers]
        await self.has(*servers)
        await self.until(lambda: all(each.listing is not None for each in connections))

    async def call(self, name: str, /, key: str = "", **arguments: Any) -> JsonValue:
        tool = self[name]
        assert tool.implementation.problems(arguments) == []
        async with asyncio.timeout(HANGS_AFTER_S):
            return await tool.call(arguments, context(key=key, keep=self.keep), Dependencies())

    async def keep(self, files: Mapping[str, ToolFile]) -> None:
        self.kept += files.values()


Open = Callable[..., Awaitable[House]]


def program(*options: str, **about: Any) -> ServerEntry:
    """The program that does what servers shouldn't."""
    return ServerEntry(command=sys.executable, args=(PROGRAM, *options), **about)


@asynccontextmanager
async def house_of(**entries: ServerEntry) -> AsyncIterator[House]:
    house = House()
    async with connected(entries, os.environ, house.publish, Path("servers.json")) as servers:
        house.servers = servers
        yield house


@pytest.fixture
async def open_house() -> AsyncIterator[Open]:
    """Servers by name, connected until the test ends."""
    # Entered and left in one task, as tasks of the servers want it.
    async with AsyncExitStack() as stack:

        async def open_(**entries: ServerEntry) -> House:
            return await stack.enter_async_context(house_of(**entries))

        yield open_
