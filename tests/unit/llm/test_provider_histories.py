"""A conversation goes on with whatever model answers, each given back its own thoughts alone."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import permutations

import pytest

from router.llm.answers import MAX_REASONING
from router.llm.types import (
    NO_REASONING,
    AssistantMessage,
    ChatAnswer,
    ChatMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.routing.skill_memory import AgentMemory
from router.settings import ModelOptions
from tests.fakes.model_server import Behaviour
from tests.fakes.provider_rules import NO_SIGNATURE, seals_in, strictly
from tests.fakes.providers import ANTHROPIC, CHAT, DIALECTS, GEMINI, Dialect, Said, sealed
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, question
from tests.unit.llm.test_providers import SICK, Counter, counter, dialect, streaming

__all__ = ["dialect", "streaming"]

BOTH = Said("我查一下", (ANNUAL, SICK), ("先查年假", "再查病假"))
ONE = Said(calls=(ANNUAL,), thoughts=("还要再看一次",))
DONE = Said("年假五天，病假十天。", thoughts=("够了",))
THINKS = ModelOptions(effort="high")
PAIRS = list(permutations(DIALECTS, 2))
NAMES = [f"{one.name}-{other.name}" for one, other in PAIRS]


def seal_of(dialect: Dialect, thought: str) -> str:
    """A thought as it has to come back."""
    return thought if dialect is CHAT else sealed(thought)


def seals(dialect: Dialect, *said: Said) -> list[str]:
    """The thoughts of these answers as they have to come back: those that lead to calls."""
    thoughts = [each.thoughts for each in said if each.calls]
    if dialect is CHAT:
        return ["".join(each) for each in thoughts]
    return [seal_of(dialect, thought) for each in thoughts for thought in each]


@dataclass
class Dialogue:
    """What was said so far."""

    messages: list[ChatMessage] = field(
        default_factory=lambda: [
            SystemMessage(text="You route."),
            UserMessage(text="还有几天年假和病假？"),
        ]
    )

    async def ask(self, here: Counter, *, streaming: bool = False) -> ChatAnswer:
        """Ask the model there, and take its answer in, with a result for each of its calls."""
        asked = question(messages=tuple(self.messages))
        answer = await here.model.answer(asked, 20, here.hear if streaming else None)
        # As it is carried in a workflow.
        memory = AgentMemory(dialogue=(answer.said,))
        (said,) = AgentMemory.model_validate_json(memory.model_dump_json()).dialogue
        assert said == answer.said
        results = [ToolMessage(call_id=c.id, name=c.name, text="5") for c in answer.calls]
        self.messages += [said, *results]
        if not answer.calls:
            self.messages.append(UserMessage(text="那我请三天"))
        return answer


@asynccontextmanager
async def counters(*scripts: tuple[Dialect, list[Said]]) -> AsyncIterator[list[Counter]]:
    """Servers that take nothing but what their providers take, each with a model that thinks."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(counter(dialect, told(dialect, script), THINKS))
            for dialect, script in scripts
        ]


def told(dialect: Dialect, script: list[Said]) -> list[Behaviour]:
    return [strictly(dialect, dialect.says(said)) for said in script]


@pytest.mark.slow
async def test_a_model_is_given_back_what_it_thought_where_it_thought_it(
    dialect: Dialect, streaming: bool
) -> None:
    async with counters((dialect, [BOTH, ONE, DONE, DONE])) as (here,):
        dialogue = Dialogue()
        for _ in range(4):
            answer = await dialogue.ask(here, streaming=streaming)
            assert answer.attempts == 1
        sent = here.server.chats
    assert [seals_in(body) for body in sent] == [
        [],
        seals(dialect, BOTH),
        seals(dialect, BOTH, ONE),
        seals(dialect, BOTH, ONE),
    ]


async def test_thoughts_stand_before_the_calls_that_they_led_to(streaming: bool) -> None:
    async with counters((ANTHROPIC, [BOTH, DONE])) as (here,):
        dialogue = Dialogue()
        for _ in range(2):
            await dialogue.ask(here, streaming=streaming)
        (_, answered, _) = here.server.chats[1]["messages"]
    kinds = [block["type"] for block in answered["content"]]
    assert kinds == ["thinking", "text", "tool_use", "thinking", "tool_use"]
    assert answered["content"][0] == {
        "type": "thinking",
        "thinking": "先查年假",
        "signature": sealed("先查年假"),
    }


@pytest.mark.slow
@each_row(("one", "other"), PAIRS, ids=NAMES)
async def test_a_conversation_goes_on_with_another_provider_and_comes_back(
    one: Dialect, other: Dialect, streaming: bool
) -> None:
    scripts = (one, [BOTH, DONE]), (other, [BOTH, ONE, DONE, DONE])
    async with counters(*scripts) as (first, second):
        dialogue = Dialogue()
        # In the middle of its work: calls were made, results are there.
        for here in (first, second, second, second, first, second):
            answer = await dialogue.ask(here, streaming=streaming)
            assert answer.attempts == 1
        theirs = [_own(seals_in(body)) for body in second.server.chats]
        ours = [_own(seals_in(body)) for body in first.server.chats]
    own = seals(other, BOTH), seals(other, BOTH, ONE)
    assert theirs == [[], own[0], own[1], own[1]]
    assert ours == [[], seals(one, BOTH)]
    # What was said and found is there for all.
    assert all("我查一下" in str(body) for body in second.server.chats)


def _own(found: list[str]) -> list[str]:
    return [seal for seal in found if seal != NO_SIGNATURE]


async def test_who_has_no_use_for_a_given_signature_says_so_once() -> None:
    dialogue = Dialogue()
    message = "Invalid thought signature: thought_signature is not supported"
    script = GEMINI.refuses(NO_SIGNATURE, message, GEMINI.says(DONE))
    async with counter(CHAT, [CHAT.says(BOTH)]) as before:
        await dialogue.ask(before)
    async with counter(GEMINI, [script] * 3) as here:
        assert [(await dialogue.ask(here)).attempts for _ in range(2)] == [2, 1]
        assert here.memory.refused(here.model.endpoint) == {"given_signatures"}


async def test_a_history_that_began_without_thoughts_costs_them_once_and_teaches_nothing() -> None:
    said = "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is…"
    dialogue = Dialogue()
    async with counter(CHAT, [CHAT.says(BOTH)]) as before:
        await dialogue.ask(before)
    script = [ANTHROPIC.refuses('"thinking"', said, ANTHROPIC.says(DONE)), ANTHROPIC.says(DONE)]
    async with counter(ANTHROPIC, [script[0], *script], THINKS) as here:
        assert (await dialogue.ask(here)).attempts == 2
        assert here.memory.refused(here.model.endpoint) == frozenset()
        await dialogue.ask(here)
        assert here.server.chats[-1]["thinking"] == {"type": "adaptive"}


async def test_redacted_thoughts_come_back_as_they_came() -> None:
    hidden = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    body = ANTHROPIC.whole(Said(calls=(ANNUAL,)), "scripted")
    body["content"].insert(0, hidden)
    events = list(ANTHROPIC.events(Said(), "scripted"))
    begun = {"type": "content_block_start", "index": 0, "content_block": hidden}
    call = [
        {**event, "index": 1} if "index" in event else event
        for event in ANTHROPIC.events(Said(calls=(ANNUAL,)), "scripted")
    ][2:]
    async with counter(
        ANTHROPIC,
        [
            lambda _: ANTHROPIC.streamed([events[0], begun, *call]),
            strictly(ANTHROPIC, ANTHROPIC.says(DONE)),
        ],
    ) as here:
        dialogue = Dialogue()
        for _ in range(2):
            await dialogue.ask(here, streaming=True)
        assert here.server.chats[1]["messages"][1]["content"][0] == hidden


async def test_thoughts_without_end_are_let_go(dialect: Dialect) -> None:
    long = Said(calls=(ANNUAL,), thoughts=("想" * MAX_REASONING,))
    async with counters((dialect, [long, DONE])) as (here,):
        dialogue = Dialogue()
        assert (await dialogue.ask(here)).reasoning == NO_REASONING
        await dialogue.ask(here)
        assert _own(seals_in(here.server.chats[1])) == []


def test_a_message_without_thoughts_is_written_as_ever() -> None:
    assert set(AssistantMessage(text="好").model_dump()) == {"role", "text", "calls"}
