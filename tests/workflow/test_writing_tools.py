"""Tools that a model stands behind: what they cost is the turn's, and held to its budget."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client

from activities.models import Models
from activities.writer import Writer, writer
from company.tools.texts import summarise, translate
from router.domain.budgets import Budget, Budgets
from router.domain.messages import Usage
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.runtime.composition import Parts
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls, says
from tests.workflow.desk import Talk, texts
from tests.workflow.tooled import Tooled, skill, talking

pytestmark = pytest.mark.slow

TRANSLATE: tuple[str, Any] = ("translate", {"text": "你好", "to": "English"})
ONE = Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10, model="scripted")


@tool(permission="read", title={"zh": "今天的菜单", "en": "Menu"})
async def get_menu() -> list[str]:
    """What the canteen has today."""
    return ["noodles", "rice"]


@pytest.fixture
def house(real_client: Client, parts: Parts, model: ModelServer) -> Tooled:
    """Opens conversations where texts are written by the model that also decides."""

    @asynccontextmanager
    async def opened(budgets: Budgets | None = None, **more: Any) -> AsyncIterator[Talk]:
        chat, spends = ChatModel(model.url, "scripted"), budgets or Budgets()
        writing = Writer(Models(spends), FallbackChain([chat]), parts.prompts)
        limited = replace(parts, settings=parts.settings.model_copy(update={"llm_budgets": spends}))
        with parts.dependencies.override(writer, writing):
            tools = (translate, summarise, get_menu)
            async with talking(real_client, limited, tools, model, **more) as talk:
                yield talk
        await chat.aclose()

    return opened


def times(usage: Usage, count: int) -> Usage:
    return sum([usage] * count, start=Usage())


def names_offered(talk: Talk) -> set[str]:
    return {function["function"]["name"] for function in talk.model.chats[-1].get("tools", ())}


async def test_what_a_translation_costs_is_the_turns(house: Tooled) -> None:
    async with house() as talk:
        turn = await talk.scripted("把“你好”翻译成英文", calls(TRANSLATE), says("Hello"))
    assert texts(turn) == ["Hello"]
    assert turn.usage == times(ONE, 2)


async def test_beside_another_tool_it_is_counted_with_the_words_for_both(house: Tooled) -> None:
    async with house() as talk:
        turn = await talk.scripted(
            "翻译你好，再看看菜单", calls(TRANSLATE, ("get_menu", {})), says("Hello"), says("Both.")
        )
    assert texts(turn) == ["Both."]
    assert turn.usage == times(ONE, 3)


async def test_a_skills_calls_of_it_are_the_turns_too(house: Tooled) -> None:
    scribe = skill("scribe", "把文字换种说法", "Writes texts in other words")
    async with house(skills=[scribe]) as talk:
        turn = await talk.scripted(
            "把这些文字换种说法",
            calls(("dispatch_to_skill", {"skill_name": "scribe", "request": "both"})),
            calls(TRANSLATE),
            says("Hello"),
        )
    assert texts(turn) == ["Hello"]
    assert turn.usage == times(ONE, 3)


async def test_it_is_not_offered_where_deciding_takes_the_last_call(house: Tooled) -> None:
    async with house(Budgets(turn=Budget(calls=1))) as talk:
        await talk.scripted("翻译一下菜单", says("不行。"))
        assert {"translate", "summarise"}.isdisjoint(names_offered(talk))
        assert "get_menu" in names_offered(talk)
    async with house(Budgets(turn=Budget(calls=2))) as talk:
        await talk.scripted("翻译一下菜单", says("不行。"))
        assert "translate" in names_offered(talk)
