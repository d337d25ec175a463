import asyncio

from workflows.conversation import TurnQueue


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
    async with asyncio.timeout(5), queue.turn(lambda: True):
        assert queue._at_work
    assert not queue._at_work
