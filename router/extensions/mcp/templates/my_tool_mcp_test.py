"""What the MCP server `my_tool` offers, and how its tool answers."""

import asyncio
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from router.domain.principals import Principal
from router.extensions.mcp.file import load_servers
from router.extensions.mcp.servers import connected
from router.tool.context import Dependencies, ToolContext
from router.tool.tool import Tool

FILE = Path(__file__).parent / "my_tool_mcp.json"
ALICE = Principal(id="alice", name="Alice")
PATIENCE = 30


async def asked(topic: str) -> object:
    offered: asyncio.Future[Sequence[Tool]] = asyncio.get_running_loop().create_future()

    async def publish(_: str, tools: Sequence[Tool]) -> None:
        if not offered.done():
            offered.set_result(tools)

    servers = connected(load_servers(FILE, os.environ), os.environ, publish, FILE)
    async with asyncio.timeout(PATIENCE), servers:
        (tool,) = await offered
        assert (tool.name, tool.permission) == ("my_tool__look_up", "read")
        log = logging.LoggerAdapter(logging.getLogger("my_tool"))
        context = ToolContext(ALICE, datetime(2026, 11, 18, 10, tzinfo=UTC), log)
        return await tool.call({"topic": topic}, context, Dependencies())


def test_its_tool_is_offered_as_a_read_and_answers() -> None:
    assert "two words" in str(asyncio.run(asked(" two  words ")))
