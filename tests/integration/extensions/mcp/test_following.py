"""The file of MCP servers is followed while it is edited: servers come, change and go."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from router.domain.errors import NotFound, Unavailable
from router.extensions.mcp.file import ServerEntry
from router.extensions.mcp.servers import Servers
from router.extensions.mcp.settings import McpSettings
from router.extensions.mcp.source import McpSource
from router.extensions.mcp.tools import ServerOffer
from router.settings import Settings
from router.tool.registry import Registry
from router.tool.tool import Tool
from tests.fakes.mcp_program import PROGRAM
from tests.waiting import HANGS_AFTER_S


class Desk:
    """A process that follows a file of servers."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "servers.json"
        self.registry = Registry()
        self.write()
        settings = Settings(_env_file=None).having(McpSettings(servers=self.file))
        self.source = McpSource(settings, self.registry, [])

    def write(self, **servers: Any) -> None:
        about = {"command": sys.executable, "only": ["echo"]}
        made = {name: {**about, "args": [PROGRAM], **more} for name, more in servers.items()}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(made))
        fresh.rename(self.file)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(HANGS_AFTER_S):
            news = self.source.changes()
            while not holds():
                await anext(news)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    desk.source.load()
    async with desk.source.running():
        yield desk


async def test_a_server_that_is_written_into_the_file_brings_its_tools(desk: Desk) -> None:
    assert desk.registry.names == frozenset()
    desk.write(files={})
    await desk.until(lambda: "files__echo" in desk.registry)


@pytest.mark.slow
async def test_a_server_that_is_taken_out_takes_its_tools_with_it(desk: Desk) -> None:
    desk.write(files={}, mail={})
    await desk.until(lambda: {"files__echo", "mail__echo"} <= desk.registry.names)
    kept = desk.registry["mail__echo"]
    desk.write(mail={})
    await desk.until(lambda: "files__echo" not in desk.registry)
    with pytest.raises(NotFound):
        desk.registry["files__echo"]
    assert desk.registry["mail__echo"].name == kept.name
    assert desk.registry.prefixes == ("mail__",)


@pytest.mark.slow
async def test_what_is_said_of_a_server_counts_once_it_is_said_otherwise(desk: Desk) -> None:
    desk.write(files={})
    await desk.until(lambda: "files__echo" in desk.registry)
    assert desk.registry["files__echo"].permission == "write"
    desk.write(files={"tools": {"echo": {"permission": "read"}}})

    def reads() -> bool:
        try:
            return desk.registry["files__echo"].permission == "read"
        except Unavailable:
            return False

    await desk.until(reads)


@pytest.mark.slow
async def test_a_file_that_can_not_be_used_leaves_the_servers_as_they_were(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write(files={})
    await desk.until(lambda: "files__echo" in desk.registry)
    desk.file.write_text("{")
    async with asyncio.timeout(HANGS_AFTER_S):
        while "the MCP servers stay as they were" not in caplog.text:  # noqa: ASYNC110 - a look
            await asyncio.sleep(0.1)
    assert "files__echo" in desk.registry
    desk.write(mail={})
    await desk.until(lambda: "mail__echo" in desk.registry)
    assert "files__echo" not in desk.registry


async def test_a_server_that_goes_while_its_tools_are_read_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are read beside the loop, which may take a while: meanwhile the file is edited."""
    begun, released, published = asyncio.Event(), threading.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def tools(_: ServerOffer) -> list[Tool]:
        loop.call_soon_threadsafe(begun.set)
        released.wait(HANGS_AFTER_S)
        return []

    async def publish(server: str, _: Any) -> None:
        published.append(server)

    monkeypatch.setattr(ServerOffer, "tools", tools)
    entry = ServerEntry(url="http://127.0.0.1:9/mcp")
    servers = Servers({"files": entry, "mail": entry}, {}, publish, Path("servers.json"))
    for connection in servers.connections.values():
        connection.listing = Mock()
    offering = [asyncio.create_task(servers._offer(name)) for name in ("files", "mail")]
    await begun.wait()
    await servers.end(["files", "mail"])
    released.set()
    await asyncio.gather(*offering)
    assert published == []
