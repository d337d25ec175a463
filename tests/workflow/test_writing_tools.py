"""Tools that a model stands behind: what they cost is the turn's, and held to its budget."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client

from activities.models import Models
from activities.tools.texts import summarise, translate
from activities.writer import Writer, writer
from router.domain.budgets import Budget, Budgets
from router.domain.locale import Localised
from router.domain.messages import Turn, Usage
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.runtime.composition import Parts
from router.skill.skill import Skill
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls, says
from tests.workflow.desk import Talk
from tests.workflow.tooled import talking

TRANSLATE: tuple[str, Any] = ("translate", {"text": "你好", "to": "English"})
ONE = Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10)


@tool(permission="read", title={"zh": "今天的菜单", "en": "Menu"})
async def get_menu() -> list[str]:
    """What the canteen has today."""
    return ["noodles", "rice"]


@pytest.fixture(scope="session")
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([]) as server:
        yield server


@asynccontextmanager
async def house(
    client: Client, parts: Parts, model: ModelServer, budgets: Budgets | None = None, **more: Any
) -> AsyncIterator[Talk]:
    """A conversation where texts are written by the model that also decides."""
    chat, spends = ChatModel(model.url, "scripted"), budgets or Budgets()
    writing = Writer(Models(spends), FallbackChain([chat]), parts.prompts)
    limited = replace(parts, settings=parts.settings.model_copy(update={"llm_budgets": spends}))
    with parts.dependencies.override(writer, writing):
        tools = (translate, summarise, get_menu)
        async with talking(client, limited, tools, model, **more) as talk:
            yield talk
    await chat.aclose()


def times(usage: Usage, count: int) -> Usage:
    return sum([usage] * count, start=Usage())


def names_offered(model: ModelServer, chat: int = -1) -> set[str]:
    return {function["function"]["name"] for function in model.chats[chat].get("tools", ())}


def texts(turn: Turn) -> list[str]:
    return [reply.text for reply in turn.replies]


async def test_what_a_translation_costs_is_the_turns(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    async with house(real_client, parts, model) as talk:
        model.then(calls(TRANSLATE), says("Hello"))
        turn = await talk.say("把“你好”翻译成英文")
    assert texts(turn) == ["Hello"]
    assert turn.usage == times(ONE, 2)


async def test_beside_another_tool_it_is_counted_with_the_words_for_both(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    async with house(real_client, parts, model) as talk:
        model.then(calls(TRANSLATE, ("get_menu", {})), says("Hello"), says("Both."))
        turn = await talk.say("翻译你好，再看看菜单")
    assert texts(turn) == ["Both."]
    assert turn.usage == times(ONE, 3)


async def test_a_skills_calls_of_it_are_the_turns_too(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    about = Localised(zh="把文字换种说法", en="Writes texts in other words")
    scribe = Skill(name="scribe", title=about, description=about, instructions="Write them.")
    async with house(real_client, parts, model, skills=[scribe]) as talk:
        model.then(
            calls(("dispatch_to_skill", {"skill_name": "scribe", "request": "both"})),
            calls(TRANSLATE),
            says("Hello"),
        )
        turn = await talk.say("把这些文字换种说法")
    assert texts(turn) == ["Hello"]
    assert turn.usage == times(ONE, 3)


async def test_it_is_not_offered_where_deciding_takes_the_last_call(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    async with house(real_client, parts, model, Budgets(turn=Budget(calls=1))) as talk:
        model.then(says("不行。"))
        await talk.say("翻译一下菜单")
        assert {"translate", "summarise"}.isdisjoint(names_offered(model))
        assert "get_menu" in names_offered(model)
    async with house(real_client, parts, model, Budgets(turn=Budget(calls=2))) as talk:
        model.then(says("不行。"))
        await talk.say("翻译一下菜单")
        assert "translate" in names_offered(model)
