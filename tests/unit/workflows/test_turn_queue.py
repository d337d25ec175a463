import asyncio

import pytest
from temporalio import workflow

from tests.waiting import HANGS_AFTER_S
from workflows.activity import TurnQueue


async def test_turns_are_had_one_after_the_other_in_the_order_of_arrival() -> None:
    queue, order = TurnQueue(), list[str]()

    async def turn(name: str) -> None:
        async with queue.turn():
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(turn("a"), turn("b"))
    assert order == ["a begins", "a ends", "b begins", "b ends"]


async def test_who_has_begun_already_is_let_in_where_the_queue_is_closed() -> None:
    """A sub-agent heeded the message: in the next run it would be taken a second time."""
    queue = TurnQueue()
    queue._closed = True
    async with asyncio.timeout(HANGS_AFTER_S), queue.turn(lambda: True):
        assert queue._at_work
    assert not queue._at_work


async def test_who_has_begun_is_let_in_from_behind_one_who_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What comes again to the next run waits here for ever, and nobody behind it."""
    monkeypatch.setattr(workflow, "wait_condition", lambda _: asyncio.Event().wait())
    queue, order = TurnQueue(), list[str]()

    async def turn(name: str, *, begun: bool) -> None:
        async with queue.turn(lambda: begun):
            order.append(name)

    queue._closed = True
    ahead = asyncio.create_task(turn("comes again", begun=False))
    async with asyncio.timeout(HANGS_AFTER_S):
        await turn("heeded", begun=True)

    assert order == ["heeded"]
    assert not ahead.done()
    ahead.cancel()
