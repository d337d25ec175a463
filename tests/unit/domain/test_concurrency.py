"""How many calls run at the same time."""

import asyncio

import pytest

from router.domain.concurrency import ConcurrencyLimiter


class Full(Exception):
    """No slot is free."""


async def test_a_call_that_finds_no_slot_in_time_is_refused_and_the_next_one_gets_it() -> None:
    limiter = ConcurrencyLimiter(1)
    async with limiter.slot(1, Full):
        with pytest.raises(Full):
            async with limiter.slot(0.01, Full):
                pass
    async with limiter.slot(0.01, Full) as left:
        assert 0 < left <= 0.01


async def test_a_call_that_gives_up_waiting_takes_no_slot() -> None:
    limiter = ConcurrencyLimiter(1)

    async def wait() -> None:
        async with limiter.slot(60, Full):
            pass

    async with limiter.slot(1, Full):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with limiter.slot(0.01, Full):
        pass


async def test_a_borrowed_slot_is_lost_as_soon_as_a_call_needs_it() -> None:
    limiter, borrowed = ConcurrencyLimiter(1), asyncio.Event()

    async def borrow() -> None:
        async with limiter.borrowed_slot(Full):
            borrowed.set()
            await asyncio.Event().wait()

    borrowing = asyncio.create_task(borrow())
    await borrowed.wait()
    async with limiter.slot(60, Full):
        with pytest.raises(Full):
            await borrowing
        with pytest.raises(Full):
            async with limiter.borrowed_slot(Full):
                pass
    async with limiter.borrowed_slot(Full):
        pass


async def test_a_timeout_within_a_borrowed_slot_is_no_refusal() -> None:
    limiter = ConcurrencyLimiter(1)
    with pytest.raises(TimeoutError):
        async with limiter.borrowed_slot(Full):
            raise TimeoutError
    async with limiter.slot(0.01, Full):
        pass
