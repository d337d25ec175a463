"""Answers put into the schema that a caller gives: by rules, by a scripted model, or refused."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from openai import AsyncOpenAI, BadRequestError
from pydantic import BaseModel
from temporalio.client import Client

from router.domain.budgets import Budget, Budgets
from router.domain.locale import Locale
from router.domain.messages import RefusalCode
from router.routing.structured import REFUSALS
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Behaviour, calls, fails, says
from tests.workflow.desk import Talk
from tests.workflow.test_streaming import served
from tests.workflow.tooled import Tooled

DAYS: dict[str, Any] = {
    "type": "object",
    "properties": {"days": {"type": "integer"}},
    "required": ["days"],
    "additionalProperties": False,
}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "left": {"type": "integer"},
        "until": {"type": ["string", "null"], "format": "date"},
        "enough": {"type": "boolean"},
    },
    "required": ["summary", "left", "until", "enough"],
    "additionalProperties": False,
}
ASKED = "帮我看看"
COUNT, SAID = calls(("count", {})), says("你还有 158 天。")


@tool(permission="read", title={"zh": "假期", "en": "Leave"})
async def count() -> dict[str, Any]:
    """How many days of leave there are."""
    return {"days": 158, "until": "2026-12-31"}


def answer(**given: Any) -> Behaviour:
    return calls(("answer", given))


GOOD = {"summary": "还有 158 天年假。", "left": 158, "until": "2026-12-31", "enough": True}


@dataclass
class Desk:
    """Alice's connection to a house of these tools, whose model, if any, is scripted."""

    api: AsyncClient
    talk: Talk

    @property
    def chats(self) -> list[dict[str, Any]]:
        return list(self.talk.model.chats)

    async def ask(self, text: str, schema: Any, **more: Any) -> dict[str, Any]:
        return await asked(self.api, await begun(self.api), text, schema, **more)


async def begun(api: AsyncClient) -> str:
    return str((await api.post("/v1/conversations")).json()["id"])


async def asked(
    api: AsyncClient, conversation: str, text: str, schema: Any, **more: Any
) -> dict[str, Any]:
    body = {"text": text, "response_schema": schema, **more}
    sent = await api.post(f"/v1/conversations/{conversation}/messages", json=body)
    assert sent.status_code == 200, sent.text
    turn: dict[str, Any] = sent.json()
    return turn


Opened = Callable[..., Awaitable[Desk]]


@pytest.fixture
async def desk(tooled: Tooled, real_client: Client) -> AsyncIterator[Opened]:
    async with AsyncExitStack() as stack:

        async def opened(*script: Behaviour, tools: Sequence[Tool] = (count,), **more: Any) -> Desk:
            talk = await stack.enter_async_context(tooled(tools, script, **more))
            api = await stack.enter_async_context(served(talk.parts, real_client, talk.queue))
            return Desk(api, talk)

        yield opened


def openai(api: AsyncClient) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{api.base_url}/v1", api_key="alice", max_retries=0)


async def test_what_the_one_tool_found_fits_by_its_names_and_no_model_is_asked(
    desk: Opened,
) -> None:
    house = await desk(COUNT, SAID)
    turn = await house.ask(ASKED, DAYS)
    assert turn["structured"] == {"days": 158}
    assert "structured_refusal" not in turn
    assert turn["replies"][0]["text"] == "你还有 158 天。"
    assert turn["usage"]["llm_calls"] == len(house.chats) == 2


@tool(permission="read", title={"zh": "很多数", "en": "Many numbers"})
async def many() -> dict[str, Any]:
    """Count to a few thousand."""
    return {"days": [1] * 4_000}


@pytest.mark.slow
async def test_what_takes_too_long_to_check_is_no_answer_and_is_said_to_be_none(
    desk: Opened,
) -> None:
    called = calls(("answer", {"days": [1] * 4_000}))
    house = await desk(calls(("many", {})), SAID, called, called, tools=(many,))
    schema = {**DAYS, "properties": {"days": {"items": {"allOf": [{"minimum": 0}] * 300}}}}
    turn = await house.ask(ASKED, schema)
    assert "structured" not in turn
    assert turn["structured_refusal"]["code"] == "unfit"
    assert "too long to check" in json.dumps(house.chats[-1])


@pytest.mark.slow
@pytest.mark.parametrize("text", ["帮我看看", "have a look for me please"], ids=["zh", "en"])
async def test_what_is_named_otherwise_a_model_puts_into_the_schema(
    desk: Opened, text: str
) -> None:
    house = await desk(COUNT, SAID, answer(**GOOD))
    turn = await house.ask(text, NOTE)
    assert turn["structured"] == GOOD
    assert turn["usage"]["llm_calls"] == 3
    last = house.chats[-1]
    given = next(t["function"] for t in last["tools"] if t["function"]["name"] == "answer")
    assert given["strict"] is True
    assert set(given["parameters"]["properties"]) == set(NOTE["properties"])
    assert "158" in last["messages"][-1]["content"]
    rules = last["messages"][0]["content"]
    assert ("前台" in rules) is (text == "帮我看看")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (answer(**GOOD | {"left": "many"}), "left"),
        (answer(**GOOD | {"until": "soon"}), "until"),
        (answer(**GOOD | {"left": 90}), "'90' stands nowhere"),
        (answer(**GOOD | {"until": "2027-03-01"}), "'2027-03-01' stands nowhere"),
        (answer(**GOOD | {"summary": "李雷批准了 158 天。"}), "stands nowhere"),
        (answer(**GOOD | {"summary": "Bob"}), "'Bob' stands nowhere"),
        (says("There are 158 days."), "no function was called"),
    ],
    ids=["type", "format", "figure", "day", "deed", "name", "text"],
)
@pytest.mark.slow
async def test_what_is_wrong_with_an_answer_is_told_once_and_mended(
    desk: Opened, first: Behaviour, told: str
) -> None:
    house = await desk(COUNT, SAID, first, answer(**GOOD))
    turn = await house.ask(ASKED, NOTE)
    assert turn["structured"] == GOOD
    said = house.chats[-1]["messages"][-1]["content"]
    assert said.startswith("error: ")
    assert told in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "code", "chats"),
    [
        ([answer(**GOOD | {"left": 90})] * 2, "unfaithful", 4),
        ([answer(left=158)] * 2, "unfit", 4),
        ([calls(("cannot_answer", {"missing": "until"}))], "missing", 3),
        ([answer(**GOOD | {"summary": "年假 158 天。" * 6_000})], "too_long", 3),
        ([fails(400)], "no_model", 3),
    ],
    ids=["unfaithful", "unfit", "missing", "too_long", "no_model"],
)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_what_comes_to_nothing_is_refused_in_words_and_the_turn_stands(
    desk: Opened, second: list[Behaviour], code: RefusalCode, chats: int, locale: Locale
) -> None:
    house = await desk(COUNT, SAID, *second)
    text = ASKED if locale == "zh" else "have a look for me please"
    turn = await house.ask(text, NOTE)
    assert "structured" not in turn
    said = REFUSALS[code].within(locale)
    assert turn["structured_refusal"] == {"code": code, "message": said}
    assert turn["status"] == "done"
    assert turn["replies"][0]["text"] == "你还有 158 天。"
    assert len(house.chats) == chats


async def test_a_spent_budget_is_a_refusal(desk: Opened) -> None:
    budgets = Budgets(turn=Budget(calls=2))
    house = await desk(COUNT, SAID, answer(**GOOD), llm_budgets=budgets)
    turn = await house.ask(ASKED, NOTE)
    assert turn["structured_refusal"]["code"] == "budget"
    assert len(house.chats) == 2


@pytest.mark.slow
async def test_the_same_message_again_has_the_same_object_and_nothing_is_asked(
    desk: Opened,
) -> None:
    house = await desk(COUNT, SAID, answer(**GOOD))
    place, id_ = await begun(house.api), "m1"
    first = await asked(house.api, place, ASKED, NOTE, message_id=id_)
    assert await asked(house.api, place, ASKED, NOTE, message_id=id_) == first
    shown = (await house.api.get(f"/v1/conversations/{place}/messages/{id_}")).json()
    assert shown == first
    assert len(house.chats) == 3
    body = {"text": ASKED, "response_schema": DAYS, "message_id": id_}
    other = await house.api.post(f"/v1/conversations/{place}/messages", json=body)
    assert other.status_code == 422


async def test_what_calls_an_object_by_none_of_its_names_gets_the_turn_itself(
    desk: Opened,
) -> None:
    house = await desk(COUNT, SAID)
    turn = await house.ask(ASKED, {"type": "object"})
    assert turn["structured"] == {
        "text": "你还有 158 天。",
        "asks": False,
        "route": {"kind": "tool", "target": "count"},
        "results": [{"tool": "count", "result": {"days": 158, "until": "2026-12-31"}}],
        "flow": None,
    }


@pytest.mark.slow
async def test_a_flow_s_question_is_the_refusal_and_its_slots_the_answer(api: AsyncClient) -> None:
    slots = ("leave_type", "start", "end")
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in slots},
        "required": list(slots),
        "additionalProperties": False,
    }
    place = await begun(api)
    first = await asked(api, place, "我要请事假，2026-12-21 到 2026-12-22，搬家", schema)
    assert first["flow"]["status"] == "confirming"
    assert first["structured_refusal"]["code"] == "asks"
    assert first["replies"][-1]["text"] in first["structured_refusal"]["message"]
    sent = {"action": {"type": "confirm", "value": True}, "response_schema": schema}
    turn = (await api.post(f"/v1/conversations/{place}/messages", json=sent)).json()
    assert turn["flow"]["status"] == "waiting_approval"
    wanted = {"leave_type": "personal", "start": "2026-12-21", "end": "2026-12-22"}
    assert turn["structured"] == wanted
    assert turn["usage"]["llm_calls"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("who", "locale"), [("alice", "zh"), ("frank", "en")])
async def test_without_a_model_what_isn_t_certain_is_refused_in_words(
    api: AsyncClient, who: str, locale: Locale
) -> None:
    api.headers["Authorization"] = f"Bearer {who}"
    text = "我还有几天年假" if locale == "zh" else "how many days of annual leave do I have"
    turn = await asked(api, await begun(api), text, NOTE)
    said = REFUSALS["no_model"].within(locale)
    assert turn["structured_refusal"] == {"code": "no_model", "message": said}
    assert turn["tool_calls"]


class Note(BaseModel):
    summary: str
    left: int
    until: str | None
    enough: bool


def chat(text: str = ASKED) -> Any:
    """A chat that no other test has begun: by its first words it is known."""
    return [{"role": "user", "content": f"{text} {uuid4().int % 10**9}"}]


@pytest.mark.slow
async def test_openai_s_own_client_parses_the_answer(desk: Opened) -> None:
    house = await desk(COUNT, SAID, answer(**GOOD))
    made = await openai(house.api).chat.completions.parse(
        model="intent-router", messages=chat(), response_format=Note
    )
    message = made.choices[0].message
    assert message.parsed == Note(**GOOD)
    assert json.loads(message.content or "") == GOOD


@pytest.mark.slow
async def test_openai_s_own_client_parses_a_stream(desk: Opened) -> None:
    house = await desk(COUNT, SAID, answer(**GOOD))
    completions = openai(house.api).chat.completions
    async with completions.stream(
        model="intent-router", messages=chat(), response_format=Note
    ) as events:
        kinds = [event.type async for event in events]
        made = await events.get_final_completion()
    assert kinds.count("content.delta") == 1
    assert made.choices[0].message.parsed == Note(**GOOD)


@pytest.mark.slow
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_refusal_is_openai_s_with_what_was_said(desk: Opened, streams: bool) -> None:
    house = await desk(COUNT, SAID, calls(("cannot_answer", {"missing": "until"})))
    given: Any = {"model": "intent-router", "messages": chat(), "response_format": Note}
    completions = openai(house.api).chat.completions
    if streams:
        async with completions.stream(**given) as events:
            message = (await events.get_final_completion()).choices[0].message
    else:
        message = (await completions.parse(**given)).choices[0].message
    assert message.parsed is None
    assert not message.content
    assert message.refusal == f"{REFUSALS['missing'].zh}\n\n你还有 158 天。"


async def test_a_json_object_is_the_turn_also_where_it_asks(api: AsyncClient) -> None:
    made = await openai(api).chat.completions.create(
        model="intent-router", messages=chat("我要请假"), response_format={"type": "json_object"}
    )
    given = json.loads(made.choices[0].message.content or "")
    assert given["asks"] is True
    assert given["flow"]["name"] == "leave_request"
    assert "事假" in given["text"]


@pytest.mark.slow
async def test_a_chat_of_objects_goes_on_in_its_own_conversation(api: AsyncClient) -> None:
    opening = chat("我要请假")[0]["content"]
    completions = openai(api).chat.completions
    given: Any = {"model": "intent-router", "response_format": {"type": "json_object"}}
    chats: list[list[Any]] = []
    for kind in ("事假", "年假"):
        said: list[Any] = []
        for text in (opening, kind):
            said.append({"role": "user", "content": text})
            made = await completions.create(messages=said, **given)
            said.append({"role": "assistant", "content": made.choices[0].message.content})
        chats.append(said)
    first = await completions.create(
        messages=[*chats[0], {"role": "user", "content": "2026-12-21"}], **given
    )
    slots = json.loads(first.choices[0].message.content or "")["flow"]["slots"]
    assert slots["leave_type"] == "personal"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "place"),
    [
        ({"type": "xml"}, "response_format"),
        ({}, "response_format"),
        ("json", "response_format"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"name": "n"}}, "schema"),
        ({"type": "json_schema", "json_schema": {"name": "a b", "schema": DAYS}}, "name"),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": 5}}}, "schema"),
    ],
    ids=["kind", "none", "text", "no_schema", "no_inner", "name", "not_a_schema"],
)
async def test_a_format_of_no_use_is_a_400_in_openai_s_shape(
    api: AsyncClient, format_: Any, place: str
) -> None:
    with pytest.raises(BadRequestError) as refused:
        await openai(api).chat.completions.create(
            model="intent-router", messages=chat(), response_format=format_
        )
    fault: Any = refused.value.body
    assert place in fault["param"]
    assert fault["type"] == "invalid_request_error"
    assert fault["message"]
