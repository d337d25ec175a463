"""How many questions one server is asked at once."""

import asyncio

import pytest

from router.llm.client import ChatModel
from router.llm.fallback import CircuitBreaker, ConcurrencyLimiter
from router.llm.types import Crowded
from tests.fakes.model_server import ModelServer, hangs, reaches, says
from tests.unit.llm.asking import question


async def test_one_question_more_waits_until_another_is_answered() -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()
    async with ModelServer([reaches(asked, hangs(let_go)), says("second")]) as server:
        slots = ConcurrencyLimiter(1)
        first, second = (ChatModel(server.url, name, slots=slots) for name in ("a", "b"))
        hanging = asyncio.create_task(first.answer(question(), 30))
        await asked.wait()
        waiting = asyncio.create_task(second.answer(question(), 30))
        await asyncio.wait({waiting}, timeout=0.1)
        assert len(server.chats) == 1
        hanging.cancel()
        assert (await waiting).text == "second"
        await first.aclose()
        await second.aclose()


async def test_who_finds_no_place_in_time_is_told_so() -> None:
    slots = ConcurrencyLimiter(1)
    async with slots.taken(1):
        with pytest.raises(Crowded, match="1 questions"):
            async with slots.taken(0.01):
                pass
    async with slots.taken(0.01) as left:
        assert left > 0


def test_a_crowd_of_ours_is_no_fault_of_the_servers() -> None:
    breaker = CircuitBreaker(failures=1)
    for _ in range(5):
        with pytest.raises(Crowded), breaker.call():
            raise Crowded("full")
    assert breaker.state == "closed"
