"""A system that fails again and again is left alone: reads fail at once, writes never."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from activities.tool_caller import FAILURES_IN_A_ROW, ToolCaller, ToolCircuits
from router.contracts.activities import ToolCall
from router.domain.errors import (
    ArgumentsToolError,
    BrokenTool,
    OutOfReach,
    PermanentToolError,
    RouterError,
    TransientToolError,
    Unavailable,
)
from router.domain.principals import Principal
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies
from router.tool.registry import Registry
from router.tool.tool import Tool, ToolOptions, tool
from tests.fakes.clock import Clock

ALICE = Principal(id="alice", name="Alice", roles=frozenset({"employee"}))
DOWN = TransientToolError("busy")


class Plant:
    """Two tools of one system, and one of its own, which do as told."""

    def __init__(self, database: Database) -> None:
        self.clock = Clock()
        self.fails: Exception | None = None
        self.asked: list[str] = []
        registry, store = Registry(), Store(database)
        for each in (self.tool("look", "read"), self.tool("put", "write")):
            registry.add(_of_system(each, "mcp plant"))
        registry.add(self.tool("other", "read"))
        books = store.ledger, store.audit, store.results
        self.caller = ToolCaller(registry, Dependencies(), *books)
        self.caller.circuits = ToolCircuits(clock=self.clock)

    def tool(self, name: str, permission: Any) -> Tool:
        async def act() -> JsonValue:
            """Act."""
            self.asked.append(name)
            if self.fails is not None:
                raise self.fails
            return name

        act.__name__ = name
        return tool(permission=permission, title={"zh": "看看", "en": "Look"})(act)

    async def call(self, name: str, key: str = "") -> JsonValue:
        about: dict[str, Any] = {"arguments": {}, "caller": ALICE, "now": datetime.now(UTC)}
        return await self.caller.call(ToolCall(tool=name, key=key, flow_run="r", **about))

    async def fail(self, error: Exception, times: int, name: str = "look") -> None:
        self.fails = error
        for _ in range(times):
            with pytest.raises(RouterError):
                await self.call(name)
        self.fails = None

    @property
    def state(self) -> str:
        return self.caller.circuits.states["mcp plant"]


def _of_system(made: Tool, system: str) -> Tool:
    return replace(made, options=ToolOptions(system=system))


@pytest.fixture
def plant(database: Database) -> Plant:
    return Plant(database)


async def test_a_read_fails_at_once_and_is_told_when_it_is_tried_again(plant: Plant) -> None:
    await plant.fail(DOWN, FAILURES_IN_A_ROW)
    plant.clock.now += 3
    with pytest.raises(OutOfReach, match=r"look isn't working just now.* again in 27 s") as caught:
        await plant.call("look")
    assert caught.value.said.zh == "“看看”现在用不了：它接连出错，27 秒后再试"
    assert len(plant.asked) == FAILURES_IN_A_ROW
    assert await plant.call("other") == "other"


async def test_after_the_rest_one_call_tries_and_an_answer_closes_it(plant: Plant) -> None:
    await plant.fail(DOWN, FAILURES_IN_A_ROW)
    plant.clock.now += 30
    await plant.fail(DOWN, 1)
    assert plant.state == "open"
    plant.clock.now += 30
    assert await plant.call("look") == "look"
    assert plant.state == "closed"


async def test_a_write_goes_through_all_the_same_and_closes_it(plant: Plant) -> None:
    await plant.fail(DOWN, FAILURES_IN_A_ROW)
    assert await plant.call("put", key="k") == "put"
    assert plant.state == "closed"
    assert await plant.call("look") == "look"


async def test_one_failed_write_opens_nothing(plant: Plant) -> None:
    plant.fails = DOWN
    with pytest.raises(TransientToolError):
        await plant.call("put", key="k")
    assert plant.state == "closed"
    assert plant.asked == ["put"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Unavailable("down"), "open"),
        (ConnectionError("cut"), "open"),
        (PermanentToolError("no such room"), "closed"),
        (ArgumentsToolError("which room?"), "closed"),
        (KeyError("a bug"), "closed"),
    ],
)
async def test_only_what_may_pass_counts(plant: Plant, error: Exception, state: str) -> None:
    await plant.fail(error, 2 * FAILURES_IN_A_ROW)
    assert plant.state == state


@pytest.mark.parametrize("between", [None, PermanentToolError("no such room")])
async def test_an_answer_in_between_begins_the_row_anew(
    plant: Plant, between: Exception | None
) -> None:
    await plant.fail(DOWN, FAILURES_IN_A_ROW - 1)
    if between is None:
        await plant.call("look")
    else:
        await plant.fail(between, 1)
    await plant.fail(DOWN, FAILURES_IN_A_ROW - 1)
    assert plant.state == "closed"


async def test_a_bug_while_it_is_tried_neither_opens_nor_closes_it(plant: Plant) -> None:
    await plant.fail(DOWN, FAILURES_IN_A_ROW)
    plant.clock.now += 30
    plant.fails = KeyError("a bug")
    with pytest.raises(BrokenTool):
        await plant.call("look")
    assert plant.state == "half-open"
