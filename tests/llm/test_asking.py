"""Asking a real server: ways of asking, streams, and a server that dies over its answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.llm.servers import ServerMemory
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    Function,
    How,
    ModelUnavailable,
    NoModelAnswered,
    SystemMessage,
    TextDelta,
    UserMessage,
)
from router.routing.offer import function
from tests.llm.answers import REFUSING
from tests.llm.local_model import SMALL, LocalModel

WEATHER = Function(
    name="get_weather",
    description="The weather of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
        "required": ["city"],
    },
)
SAY = function("respond_message", "Say something to the user.", text={"type": "string"})
RULES = SystemMessage(text="Call the function that does what the user wants.")
SECONDS = 120.0

Asked = tuple[ChatModel, How]


def question(text: str, *functions: Function, max_tokens: int = 200) -> ChatRequest:
    return ChatRequest(
        messages=(RULES, UserMessage(text=text)),
        functions=functions,
        spoken={"respond_message": "text"},
        max_tokens=max_tokens,
    )


@pytest.fixture(params=["functions", "json_schema"])
async def asked(small: LocalModel, request: pytest.FixtureRequest) -> AsyncIterator[Asked]:
    """A model that is asked in this way, and the way."""
    memory = ServerMemory()
    chat = ChatModel(small.url, small.name, memory=memory)
    memory.learn(chat.endpoint, REFUSING[request.param])
    yield chat, request.param
    await chat.aclose()


async def test_either_way_of_asking_brings_a_call_that_can_be_used(asked: Asked) -> None:
    chat, how = asked
    answer = await chat.answer(question("What is the weather in Paris?", WEATHER), SECONDS)
    assert (answer.how, answer.attempts, answer.problems) == (how, 1, ())
    assert answer.calls[0].name == "get_weather"
    assert "Paris" in str(answer.calls[0].arguments["city"])
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.completion_tokens > 0
    assert not answer.usage.estimated


async def test_who_takes_no_functions_is_asked_by_schema(models: None, tmp_path: Path) -> None:
    memory = ServerMemory()
    with LocalModel(SMALL, tmp_path / "server.log", takes_functions=False) as server:
        chat = ChatModel(server.url, server.name, memory=memory)
        asking = question("What is the weather in Paris?", WEATHER)
        first, second = [await chat.answer(asking, SECONDS) for _ in range(2)]
        await chat.aclose()
    assert (first.how, second.how) == ("json_schema", "json_schema")
    assert first.attempts > 1
    assert second.attempts == 1
    assert "tools" in memory.refused(chat.endpoint)
    assert second.calls[0].name == "get_weather"


async def test_what_is_streamed_is_what_is_answered(asked: Asked) -> None:
    chat, _ = asked
    asking = question("Say good morning to the team, in two sentences.", SAY)
    told: list[str] = []

    async def tell(delta: TextDelta) -> None:
        told.append(delta.text)

    streamed = await chat.answer(asking, SECONDS, tell)
    whole = await chat.answer(asking, SECONDS)
    assert len(told) > 1
    assert "".join(told) == said(streamed)
    assert said(whole) == said(streamed)


def said(answer: ChatAnswer) -> str:
    return str(answer.calls[0].arguments["text"])


async def test_a_death_opens_the_breaker_until_it_is_back(models: None, tmp_path: Path) -> None:
    now = [0.0]
    with LocalModel(SMALL, tmp_path / "server.log") as server:
        chat = ChatModel(server.url, server.name)
        chain = FallbackChain([chat], clock=lambda: now[0])
        with pytest.raises(NoModelAnswered):
            await killed_in_mid_answer(server, chain)
        for _ in range(2):
            with pytest.raises(NoModelAnswered):
                await chain.answer(question("Hello?", SAY), SECONDS)
        assert chain.states == {chat.endpoint: "open"}
        server.start()
        with pytest.raises(NoModelAnswered, match="failed just now"):
            await chain.answer(question("Hello?", SAY), SECONDS)
        now[0] += 60
        answered = await chain.answer(question("Hello?", SAY), SECONDS)
        await chat.aclose()
    assert answered.answer.text or answered.answer.calls
    assert chain.states == {chat.endpoint: "closed"}


async def killed_in_mid_answer(server: LocalModel, chain: FallbackChain) -> None:
    """A long answer, the server of which is gone once its first words have come."""
    begun = asyncio.Event()

    async def tell(_: TextDelta) -> None:
        begun.set()

    tale = question("Tell me a long story about a dragon.", SAY, max_tokens=1000)
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(failing(chain, tale, tell))
        await begun.wait()
        server.kill()
    raise await answering


async def failing(chain: FallbackChain, asking: ChatRequest, tell: object) -> ModelUnavailable:
    try:
        await chain.answer(asking, SECONDS, tell)  # type: ignore[arg-type]
    except ModelUnavailable as error:
        return error
    raise AssertionError("the server answered before it was killed")
