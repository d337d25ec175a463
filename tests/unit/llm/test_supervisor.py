"""Model servers outside of turns: they read ahead, and are found away and back by nobody's message.

Pauses are a hundredth of what they are: what is asserted is what happens, and in which order.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from router.domain.concurrency import ConcurrencyLimiter
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.llm.servers import ServerMemory
from router.llm.supervisor import COLD, ModelSupervisor
from router.llm.types import ChatAnswer, ChatRequest, NoModelAnswered
from tests.fakes.model_server import (
    MODEL,
    ModelServer,
    fails,
    hangs,
    rate_limits,
    reaches,
    refuses,
    says,
)
from tests.fakes.web_server import Received, Reply
from tests.unit.llm.asking import question
from tests.waiting import HANGS_AFTER_S

ZH, EN = (question(text, max_tokens=1) for text in ("规则", "rules"))


class House:
    """A model that is attended, and what questions to it begin with."""

    def __init__(self, url: str, at_once: int, *beginnings: ChatRequest) -> None:
        self.memory = ServerMemory()
        self.model = ChatModel(url, MODEL, None, self.memory, ConcurrencyLimiter(at_once))
        self.chains = FallbackChains([self.model])
        self.beginnings = list(beginnings)
        self.supervisor = ModelSupervisor(self.chains, lambda: self.beginnings, self._pause)
        self.is_cold = asyncio.Event()
        """Set where a reading takes long: by itself none does, however slow the machine."""
        self._pauses = 0

    async def _pause(self, seconds: float) -> None:
        self._pauses += 1
        if seconds == COLD:
            await self.is_cold.wait()
        await asyncio.sleep(seconds / 100)

    async def is_looked_after(self) -> None:
        """Return after some more looks at it."""
        before = self._pauses
        await until(lambda: self._pauses > before + 10)

    @property
    def state(self) -> str:
        (state,) = self.chains.states.values()
        return state

    async def ask(self) -> ChatAnswer:
        assert self.chains.usual is not None
        return (await self.chains.usual.answer(question(), 20)).answer

    async def ask_in_vain(self) -> None:
        with pytest.raises(NoModelAnswered):
            await self.ask()


@asynccontextmanager
async def attended(url: str, *beginnings: ChatRequest, at_once: int = 8) -> AsyncIterator[House]:
    house = House(url, at_once, *beginnings)
    attending = asyncio.create_task(house.supervisor.run())
    try:
        yield house
    finally:
        attending.cancel()
        await asyncio.gather(attending, return_exceptions=True)
        await house.chains.aclose()


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(HANGS_AFTER_S):
        while not is_so():  # noqa: ASYNC110 - of several parts
            await asyncio.sleep(0.002)


def read(server: ModelServer) -> list[str]:
    """What the server was to read, by its last words."""
    return [body["messages"][-1]["content"] for body in server.readings]


async def test_what_questions_begin_with_is_read_once_before_anybody_asks() -> None:
    async with ModelServer([says("好")]) as server, attended(server.url, ZH, EN) as house:
        await until(lambda: read(server) == ["规则", "rules"])
        assert (await house.ask()).text == "好"
        assert read(server) == ["规则", "rules"]
        assert all(body["tools"] for body in server.readings)


async def test_what_has_changed_is_read_anew_and_nothing_else() -> None:
    async with ModelServer() as server, attended(server.url, ZH, EN) as house:
        await until(lambda: len(server.readings) == 2)
        house.beginnings[1] = question("new rules", max_tokens=1)
        await until(lambda: read(server) == ["规则", "rules", "new rules"])


async def test_a_server_reads_one_thing_at_a_time_whichever_model_is_to_read_it() -> None:
    let_go = asyncio.Event()
    async with ModelServer() as server:
        server.reading = hangs(let_go)
        async with attended(server.url, ZH) as house:
            other = ChatModel(server.url, "other")
            assert house.chains.usual is not None
            house.chains.usual.links += FallbackChains([other]).links
            await until(lambda: server.readings)
            await house.is_looked_after()
            assert len(server.readings) == 1
            let_go.set()
            server.reading = says("")
            await until(lambda: {body["model"] for body in server.readings} == {MODEL, "other"})
            await other.aclose()


async def test_a_server_that_refuses_a_part_is_asked_without_it_and_has_read_then() -> None:
    async with ModelServer([says("好")]) as server:
        server.reading = refuses("strict", otherwise=says(""))
        async with attended(server.url, ZH) as house:
            await until(lambda: house.memory.refused(house.model.endpoint))
            assert (await house.ask()).attempts == 1
            assert len(server.readings) == 2


async def test_a_reading_gives_way_to_a_turn_that_needs_its_place() -> None:
    reading = asyncio.Event()
    async with ModelServer([says("sofort")]) as server:
        server.reading = reaches(reading, hangs())
        async with attended(server.url, ZH, at_once=1) as house:
            await reading.wait()
            answer = asyncio.create_task(house.ask())
            assert (await answer).text == "sofort"
            server.reading = says("")
            await until(lambda: len(server.readings) > 1)


async def test_one_that_is_cold_gets_no_turn_until_it_has_read() -> None:
    read_it = asyncio.Event()
    async with ModelServer([says("warm")]) as server:
        server.reading = hangs(read_it)
        async with attended(server.url, ZH) as house:
            house.is_cold.set()
            await until(lambda: house.state == "half-open")
            await house.ask_in_vain()
            assert server.chats == []
            server.reading = says("")
            read_it.set()
            await until(lambda: house.state == "closed")
            assert (await house.ask()).text == "warm"


async def test_no_message_finds_out_that_a_server_is_not_there() -> None:
    async with ModelServer() as server:
        url = server.url
    async with attended(url, ZH) as house:
        await until(lambda: house.state == "open")
        await house.ask_in_vain()


async def test_a_server_that_goes_away_costs_one_message_at_most() -> None:
    async with ModelServer([says("hi")]) as server, attended(server.url, ZH) as house:
        await until(lambda: read(server) == ["规则"])
        await house.ask()
        await server.__aexit__(None, None, None)
        await house.ask_in_vain()
        await until(lambda: house.state == "open")


async def test_a_server_that_comes_back_has_read_before_the_first_turn_gets_it() -> None:
    async with ModelServer([fails(500)] * 3) as server, attended(server.url, ZH) as house:
        await until(lambda: read(server) == ["规则"])
        for _ in range(3):
            await house.ask_in_vain()
        server.listing = fails(503)
        assert house.state == "open"
        port = server.port
        await server.__aexit__(None, None, None)
        await house.ask_in_vain()
        async with ModelServer([says("wieder da")], port) as again:
            await until(lambda: house.state == "closed")
            # A slow server gets a second trial next to the first.
            assert list(dict.fromkeys(read(again))) == ["Hello", "规则"]
            assert (await house.ask()).text == "wieder da"
            assert len(again.chats) == 1


async def test_one_that_is_there_but_does_not_answer_stays_open_and_turns_never_try_it() -> None:
    async with ModelServer([fails(500)] * 3) as server, attended(server.url) as house:
        server.reading = fails(500)
        for _ in range(3):
            await house.ask_in_vain()
        await until(lambda: read(server).count("Hello") > 2)
        await house.ask_in_vain()
        assert len(server.chats) == 3
        server.reading = says("")
        await until(lambda: house.state == "closed")


async def test_a_trial_that_is_never_answered_keeps_no_server_away_that_is_back() -> None:
    async with ModelServer([fails(500)] * 3) as server, attended(server.url) as house:
        server.reading = hangs()
        for _ in range(3):
            await house.ask_in_vain()
        await until(lambda: server.readings)
        server.reading = says("")
        await until(lambda: house.state == "closed")


async def test_one_that_fails_while_it_reads_is_tried_and_not_waited_for() -> None:
    script = [says("hi"), *[fails(500)] * 3]
    async with ModelServer(script) as server, attended(server.url, ZH) as house:
        await until(lambda: server.readings)
        await house.ask()
        server.reading = hangs()
        house.beginnings[0] = EN
        await until(lambda: read(server)[-1] == "rules")
        for _ in range(3):
            await house.ask_in_vain()
        server.reading = says("")
        await until(lambda: house.state == "closed")
        await server.let_go.wait()


async def test_one_that_cannot_read_ahead_but_answers_is_used() -> None:
    def reads_little(received: Received) -> Reply:
        is_trial = received.body["messages"][-1]["content"] == "Hello"
        return (says("") if is_trial else fails(500))(received)

    async with ModelServer([says("好")]) as server:
        server.reading = reads_little
        async with attended(server.url, ZH) as house:
            await until(lambda: read(server) == ["规则", "Hello"])
            await until(lambda: house.state == "closed")
            assert (await house.ask()).text == "好"


async def test_a_server_that_wants_to_be_left_alone_is_by_trials_too() -> None:
    async with ModelServer([rate_limits("300")]) as server, attended(server.url) as house:
        await house.ask_in_vain()
        await house.is_looked_after()
        assert (house.state, server.readings) == ("open", [])


async def test_at_the_end_nothing_is_left_under_way() -> None:
    async with ModelServer() as server:
        server.reading = hangs()
        before = asyncio.all_tasks()
        async with attended(server.url, ZH) as house:
            await until(lambda: server.readings)
            (link,) = house.chains.links
            assert link.breaker.attended
        await server.let_go.wait()
        left = {task.get_name() for task in asyncio.all_tasks() - before}
        assert not [name for name in left if house.model.endpoint in name]
        assert not link.breaker.attended
