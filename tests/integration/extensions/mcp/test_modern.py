"""A server of the newest protocol, as a program and at an address."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from router.domain.errors import AnswersNeeded, ArgumentsToolError, PermanentToolError
from router.extensions.mcp.file import ServerEntry
from router.tool.context import Dependencies
from tests.fakes.mcp_modern import PROGRAM
from tests.integration.extensions.mcp.conftest import House, house_of
from tests.ports import free_ports
from tests.unit.tool.samples import context
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow


@pytest.fixture(params=["program", "address"])
async def modern(request: pytest.FixtureRequest) -> AsyncIterator[Mapping[str, Any]]:
    """How the server is reached: a program that is started, or an address where it is."""
    if request.param == "program":
        yield {"command": sys.executable, "args": (PROGRAM,)}
        return
    (port,) = free_ports(1)
    serving = await asyncio.create_subprocess_exec(sys.executable, PROGRAM, "--http", str(port))
    yield {"url": f"http://127.0.0.1:{port}/mcp"}
    serving.send_signal(signal.SIGTERM)
    await asyncio.wait_for(serving.wait(), HANGS_AFTER_S)


@pytest.fixture
async def house(modern: Mapping[str, Any]) -> AsyncIterator[House]:
    async with house_of(it=ServerEntry.model_validate(modern)) as house:
        await house.has("it")
        yield house


@pytest.fixture
async def of_old(modern: Mapping[str, Any]) -> AsyncIterator[House]:
    entry = ServerEntry.model_validate({**modern, "protocol": "legacy"})
    async with house_of(it=entry) as house:
        await house.has("it")
        yield house


async def test_each_call_learns_what_it_was_asked_itself(house: House) -> None:
    names = ("Ada", "Bob", "Cy")
    calls = [house.call("it__ask", key=name, name=name) for name in names]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for name, outcome in zip(names, outcomes, strict=True):
        assert isinstance(outcome, ArgumentsToolError)
        assert f"wants to know first: Which seat for {name}? (fields: " in str(outcome)
        assert not any(f"for {other}?" in str(outcome) for other in names if other != name)


async def test_a_tool_that_is_added_later_appears(house: House) -> None:
    await house.call("it__grow")
    await house.until(lambda: "it__sing" in house.tools["it"])
    assert await house.call("it__sing") == {"result": "la"}


async def test_what_is_asked_amid_a_call_is_passed_on_in_a_legacy_session(of_old: House) -> None:
    with pytest.raises(AnswersNeeded) as needed:
        await of_old.call("it__book", key="a", name="Ada")
    (asked,) = needed.value.asked
    assert asked.message == "Which seat for Ada?"
    answers: dict[str, JsonValue] = {asked.key: {"action": "accept", "content": {"seat": "5A"}}}
    told = replace(context(key="a", keep=of_old.keep), answers=answers)
    booked = await of_old["it__book"].call({"name": "Ada"}, told, Dependencies())
    assert booked == {"result": "accept"}


async def test_a_newer_session_says_what_to_write_for_that(house: House) -> None:
    with pytest.raises(PermanentToolError, match='write "protocol": "legacy"') as refused:
        await house.call("it__book", key="a", name="Ada")
    assert '"protocol": "legacy"' in refused.value.said.zh
