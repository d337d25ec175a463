"""How many calls run at once, of one tool and of all that share a pool."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import JsonValue

from activities.capabilities import MARGIN
from activities.tool_caller import MAX_SLOT_WAIT_S, SLOT_RETRY_S, ToolLimiters
from router.domain.errors import TransientToolError
from router.store.database import Database
from router.tool.context import ToolContext
from router.tool.tool import Tool, ToolOptions, tool
from tests.integration.activities.test_calling import House, call


def named(name: str, at_once: int | None = None, pool: str = "") -> Tool:
    @tool(permission="read")
    async def look(ctx: ToolContext) -> None:
        """Look."""

    return replace(look, name=name, options=ToolOptions(at_once=at_once, pool=pool))


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


async def test_only_so_many_calls_run_at_once(house: House) -> None:
    running, most, free = 0, 0, asyncio.Event()

    async def slowly(_: ToolContext, __: str) -> JsonValue:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await free.wait()
        running -= 1
        return None

    house.answering = slowly
    caller = house.made(at_once=2)
    calls = [asyncio.create_task(caller.call(call(str(n)))) for n in range(6)]
    while running < 2:
        await asyncio.wait(calls, timeout=0.01)
    free.set()
    await asyncio.gather(*calls)
    assert most == 2


async def test_who_finds_no_slot_in_time_may_try_again_and_has_sent_nothing(house: House) -> None:
    started, free = asyncio.Event(), asyncio.Event()

    async def slowly(_: ToolContext, __: str) -> JsonValue:
        started.set()
        await free.wait()
        return None

    house.answering = slowly
    caller = house.made(at_once=1, limiters=ToolLimiters(max_wait_s=0.01))
    first = asyncio.create_task(caller.call(call("first")))
    await started.wait()
    with pytest.raises(TransientToolError, match="look is busy: 1 calls are under way") as refused:
        await caller.call(call("second"))
    free.set()
    await first
    assert refused.value.retry_after == SLOT_RETRY_S
    assert "正忙" in refused.value.said.zh
    assert house.asked == ["first"]
    await caller.call(call("third"))


async def test_a_write_that_got_no_slot_is_no_unknown_outcome(house: House) -> None:
    limiters = ToolLimiters(max_wait_s=0.01)
    caller = house.made(permission="write", idempotent=False, at_once=1, limiters=limiters)
    write = call("x", key="k1")
    async with limiters.slot(caller.registry["look"]):
        with pytest.raises(TransientToolError, match="busy"):
            await caller.call(write, confirmed=True)
    await caller.call(write, confirmed=True)
    assert house.asked == ["x"]


async def test_tools_of_one_pool_share_its_slots_and_others_have_their_own() -> None:
    limiters = ToolLimiters(max_wait_s=0.01)
    one, other = named("a", 1, "mcp crm"), named("b", 1, "mcp crm")
    async with limiters.slot(one):
        with pytest.raises(TransientToolError):
            async with limiters.slot(other):
                pass
        async with limiters.slot(named("c", 1)), limiters.slot(named("d")):
            pass
    async with limiters.slot(other):
        pass


async def test_another_number_in_the_file_counts_at_once() -> None:
    limiters = ToolLimiters(max_wait_s=0.01)
    one, two = named("a", 1), named("a", 2)
    async with limiters.slot(one), limiters.slot(two), limiters.slot(two):
        pass


def test_who_waited_for_a_slot_still_has_all_of_the_tools_own_time() -> None:
    assert MARGIN.total_seconds() > MAX_SLOT_WAIT_S
