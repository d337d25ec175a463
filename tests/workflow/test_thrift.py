"""A cheaper model before a budget is spent, and half of the history where all is too long."""

from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.domain.budgets import Budget, Budgets
from router.domain.principals import DEFAULT_TENANT
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.runtime.composition import Parts
from tests.fakes.model_server import ModelServer, calls, fails, says
from tests.workflow.desk import Talk, person, texts
from tests.workflow.test_streaming import served
from tests.workflow.tooled import working

TOO_LONG = fails(400, "maximum context length is 100 tokens", code="context_length_exceeded")
ASKS = "嗯这个那个随便说说吧"


async def events_of(talk: Talk) -> list[dict[str, Any]]:
    rows = await talk.parts.store.log.since(DEFAULT_TENANT, talk.id, 0, 200)
    return [row.data for row in rows if row.kind == "model"]


async def transcript(talk: Talk, api: AsyncClient) -> list[dict[str, Any]]:
    path = f"/v1/conversations/{talk.id}/messages"
    items: list[dict[str, Any]] = (await api.get(path)).json()["items"]
    return items


@pytest.mark.slow
async def test_a_cheaper_model_answers_once_little_is_left(
    real_client: Client, parts: Parts
) -> None:
    budgets = Budgets(user=Budget(calls=4))
    async with ModelServer(says("好的。")) as server:
        dear, cheap = ChatModel(server.url, "dear"), ChatModel(server.url, "cheap")
        chains = FallbackChains([dear], thrift=[(0.6, cheap)])
        settings = parts.settings.model_copy(update={"llm_budgets": budgets})
        async with working(
            real_client, replace(parts, chains=chains, settings=settings), [server]
        ) as house:
            # Somebody from whose day no other test takes anything.
            thrifty = (await person(parts, "alice")).model_copy(update={"id": "thrifty-alice"})
            talk = await replace(house, person=thrifty, id=f"{house.id}t").open()
            turns = [await talk.say(f"{ASKS}{number}") for number in range(4)]
            changes = await events_of(talk)
            items = await parts.store.log.transcript(DEFAULT_TENANT, talk.id, None, 50)
        await chains.aclose()
    answered = [str(chat["model"]) for chat in server.chats]
    assert answered == ["dear", "dear", "cheap", "cheap"]
    assert [turn.usage.model for turn in turns] == answered
    assert changes == [{"model": "cheap", "before": "dear"}]
    usages: list[Any] = [row.data["usage"] for row in items if row.data["role"] == "assistant"]
    assert [(usage["model"], usage["llm_calls"]) for usage in usages] == [(n, 1) for n in answered]


async def test_where_little_is_left_doubt_is_put_to_the_person_and_to_no_other_model(
    real_client: Client, parts: Parts
) -> None:
    unsure = calls(
        ("ask_clarification", {"text": "是要请假吗？", "options": ["请假", "报销"]}),
    )
    async with ModelServer(unsure) as server:
        strong = ChatModel(server.url, "strong")
        chains = FallbackChains(
            [ChatModel(server.url, "dear")],
            lambda role, *_: strong if role == "escalate" else None,
            thrift=[(0.9, ChatModel(server.url, "cheap"))],
        )
        settings = parts.settings.model_copy(update={"llm_budgets": Budgets(user=Budget(calls=4))})
        async with working(
            real_client, replace(parts, chains=chains, settings=settings), [server]
        ) as house:
            unsure_one = house.person.model_copy(update={"id": "unsure-alice"})
            talk = await replace(house, person=unsure_one, id=f"{house.id}u").open()
            turn = await talk.say("牙疼得厉害，三月头两天来不了")
        await chains.aclose()
    assert [chat["model"] for chat in server.chats] == ["dear"]
    assert turn.route.kind == "clarify"


@pytest.mark.slow
async def test_what_is_too_long_is_asked_once_more_with_half_of_the_history(
    real_client: Client, parts: Parts
) -> None:
    async with ModelServer() as server:
        chains = FallbackChains([ChatModel(server.url, "small")])
        async with (
            working(real_client, replace(parts, chains=chains), [server]) as talk,
            served(talk.parts, talk.client, talk.queue) as api,
        ):
            for number in range(3):
                await talk.scripted(f"{ASKS}{number}", says(f"答{number}"))
            turn = await talk.scripted(f"{ASKS}末", TOO_LONG, says("短一些就行"))
            items = await transcript(talk, api)
        await chains.aclose()
    asked = [str(chat["messages"]) for chat in server.chats[-2:]]
    assert [["答0" in one, "答2" in one] for one in asked] == [[True, True], [False, True]]
    assert texts(turn) == ["短一些就行"]
    assert (items[-1]["usage"]["model"], items[-1]["text"]) == ("small", "短一些就行")


async def test_what_is_too_long_all_the_same_is_decided_without_a_model(
    real_client: Client, parts: Parts
) -> None:
    async with ModelServer() as server:
        chains = FallbackChains([ChatModel(server.url, "small")])
        async with working(real_client, replace(parts, chains=chains), [server]) as talk:
            await talk.scripted(f"{ASKS}一", says("答一"))
            turn = await talk.scripted(f"{ASKS}二", TOO_LONG, TOO_LONG)
        await chains.aclose()
    assert len(server.chats) == 3
    assert turn.route.by != "llm"
