"""A server of the newest protocol, as a program and at an address."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from router.domain.errors import ArgumentsToolError
from router.tool.mcp.file import ServerEntry
from tests.e2e.house import free_ports
from tests.fakes.mcp_modern import PROGRAM
from tests.unit.tool.mcp.conftest import PATIENCE, House, Open, house_of


@pytest.fixture(params=["program", "address"])
async def house(request: pytest.FixtureRequest, open_house: Open) -> AsyncIterator[House]:
    if request.param == "program":
        house = await open_house(it=ServerEntry(command=sys.executable, args=(PROGRAM,)))
        await house.has("it")
        yield house
        return
    (port,) = free_ports(1)
    serving = await asyncio.create_subprocess_exec(sys.executable, PROGRAM, "--http", str(port))
    async with house_of(it=ServerEntry(url=f"http://127.0.0.1:{port}/mcp")) as house:
        await house.has("it")
        yield house
    serving.send_signal(signal.SIGTERM)
    await asyncio.wait_for(serving.wait(), PATIENCE)


async def test_each_call_learns_what_it_was_asked_itself(house: House) -> None:
    names = ("Ada", "Bob", "Cy")
    calls = [house.call("it__ask", key=name, name=name) for name in names]
    for name, outcome in zip(
        names, await asyncio.gather(*calls, return_exceptions=True), strict=True
    ):
        assert isinstance(outcome, ArgumentsToolError)
        assert f"wants to know first: Which seat for {name}? (fields: " in str(outcome)
        assert not any(f"for {other}?" in str(outcome) for other in names if other != name)


async def test_a_tool_that_is_added_later_appears(house: House) -> None:
    await house.call("it__grow")
    await house.until(lambda: "it__sing" in house.tools["it"])
    assert await house.call("it__sing") == {"result": "la"}
