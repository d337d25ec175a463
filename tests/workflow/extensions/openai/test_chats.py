"""The real `openai` client over everything real: whole requests, typed into a chat UI."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from openai import AsyncOpenAI, NotFoundError
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.model_server import ModelServer, calls, drops, says, waits
from tests.waiting import HANGS_AFTER_S
from tests.workflow.test_files import HAND_IN
from tests.workflow.test_streaming import served
from tests.workflow.test_streaming_models import SAID, TALK
from tests.workflow.tooled import MODEL, furnished, modelled

FILES = "openai-face-files"


@dataclass
class Chat:
    """A chat as a UI has it: it sends all of it, each time."""

    client: AsyncOpenAI
    headers: dict[str, str] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)

    async def say(self, text: Any, model: str = "intent-router") -> str:
        self.messages.append({"role": "user", "content": text})
        made = await self.client.chat.completions.create(
            model=model, messages=self.messages, extra_headers=self.headers
        )
        answer = made.choices[0].message.content or ""
        self.messages.append({"role": "assistant", "content": answer})
        return answer

    async def say_all(self, *texts: str) -> list[str]:
        return [await self.say(text) for text in texts]


def as_person(api: AsyncClient, name: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{api.base_url}/v1", api_key=name, max_retries=0)


@pytest.fixture
def alice(api: AsyncClient) -> AsyncOpenAI:
    return as_person(api, "alice")


@pytest.fixture
def frank(api: AsyncClient) -> AsyncOpenAI:
    return as_person(api, "frank")


async def decided(api: AsyncClient, decision: str) -> None:
    """Have bob decide everything that waits for him."""
    bob = {"Authorization": "Bearer bob"}
    for waiting in (await api.get("/v1/approvals", headers=bob)).json()["items"]:
        path = f"/v1/approvals/{waiting['id']}/decision"
        await api.post(path, json={"decision": decision, "digest": waiting["digest"]}, headers=bob)


async def told(api: AsyncClient, text: str) -> None:
    """Return once a run of alice's has said this by itself, in her latest conversation."""
    latest = (await api.get("/v1/conversations")).json()["items"][0]["id"]
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            shown = (await api.get(f"/v1/conversations/{latest}/messages")).json()
            if any(text in line["text"] and "message_id" not in line for line in shown["items"]):
                return
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_decision_comes_with_the_next_answer(api: AsyncClient, alice: AsyncOpenAI) -> None:
    chat = Chat(alice)
    kinds, first_day, _, reason, card = await chat.say_all(
        "我要请假", "第三个", "2026-12-21", "12月22日", "搬家"
    )
    assert "\n3. 事假\n" in kinds
    assert first_day == "从哪天开始？"
    assert "事由" in reason
    assert "请确认：\n事假" in card
    assert card.endswith("回复“确认”或“取消”。")
    assert "陈博 Bob" in await chat.say("确认")
    await decided(api, "approve")
    await told(api, "批准")
    answer = await chat.say("谢谢")
    assert answer.startswith("（上次之后的消息）")
    assert "批准" in answer
    assert answer.endswith("直接说就行。")
    assert "批准" not in await chat.say("好的")


@pytest.mark.slow
async def test_a_claim_of_two_items_is_made_in_english_by_numbers(frank: AsyncOpenAI) -> None:
    answers = await Chat(frank).say_all(
        *("I'd like to claim expenses", "2", "58", "yesterday", f"INV-{uuid4().int % 10**8}"),
        *("1", "1", "30", "yesterday", f"INV-{uuid4().int % 10**8}"),
        *("2", "client visit"),
    )
    assert "2. meal" in answers[0]
    assert answers[2] == "On which day did you pay?"
    assert answers[4].endswith("1. Add another\n2. That's all")
    assert answers[5].startswith("Item 2: What kind")
    assert answers[6] == "Item 2 (transport): How much was it?"
    assert "88" in answers[-1]
    assert answers[-1].endswith("Answer “yes” or “no”.")


@pytest.mark.slow
async def test_what_is_declined_is_changed_by_its_number(frank: AsyncOpenAI) -> None:
    chat = Chat(frank)
    await chat.say("I want annual leave from 2026-12-28 to 2026-12-28, family visit")
    assert "\n2. From\n" in (await chat.say("no"))
    assert await chat.say("2") == "From which day?"


@pytest.mark.slow
async def test_chats_that_begin_alike_are_told_apart_by_what_follows(alice: AsyncOpenAI) -> None:
    first, second = Chat(alice), Chat(alice)
    await first.say_all("帮我请个假", "年假")
    assert "1. 年假" in await second.say("帮我请个假")
    assert "到哪天" in await first.say("2026-12-23")
    assert "从哪天" in await second.say("病假")


@pytest.mark.slow
async def test_a_picture_answers_where_a_file_is_asked(parts: Parts, real_client: Client) -> None:
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\nreceipt").decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    async with (
        furnished(parts, [], flows=[HAND_IN]) as house,
        build_worker(real_client, house, FILES),
        served(house, real_client, FILES) as http,
    ):
        chat = Chat(as_person(http, "alice"))
        asked = await chat.say("交收据")
        before = list(chat.messages)
        given = [{"type": "text", "text": "给你"}, image]
        card = await chat.say(given)
        again = await Chat(chat.client, messages=before).say(given)
    assert asked == "收据呢？\n\n请附上图片或 PDF。"
    assert "file.png" in card
    assert again == card


@pytest.fixture
async def spoken(
    parts: Parts, real_client: Client, model: ModelServer
) -> AsyncIterator[AsyncOpenAI]:
    """Alice's client of a house whose worker asks the scripted model."""
    known = {"llm_base_url": model.url, "llm_model": MODEL}
    async with (
        modelled(real_client, parts, model, **known) as talk,
        served(talk.parts, real_client, talk.queue) as http,
    ):
        yield as_person(http, "alice")


async def streamed(client: AsyncOpenAI, text: str) -> AsyncIterator[Any]:
    chunks = await client.chat.completions.create(
        model="intent-router",
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
    )
    async for chunk in chunks:
        yield chunk


def written(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


async def test_a_text_is_heard_while_it_is_written(spoken: AsyncOpenAI, model: ModelServer) -> None:
    rest, chunks = asyncio.Event(), []
    balance = calls(("get_leave_balance", {"leave_type": "annual"}))
    model.then(balance, waits(rest, before=6, then=says(SAID)))
    async for chunk in streamed(spoken, "我的年假还有多少来着呗"):
        chunks.append(chunk)
        if written(chunks):
            rest.set()
    assert chunks[0].choices[0].delta.role == "assistant"
    assert written(chunks) == SAID
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens > 0


@pytest.mark.slow
async def test_a_text_that_broke_off_is_replaced(spoken: AsyncOpenAI, model: ModelServer) -> None:
    reply = calls(("respond_message", {"text": TALK}))
    broken = calls(("respond_message", {"text": "早上好。今天我在这里，什么都可以问"}))
    model.then(drops(broken, pieces=14), reply)
    text = written([chunk async for chunk in streamed(spoken, "你是谁呀")])
    assert text.endswith(f"\n\n---\n\n以上作废，改为：\n\n{TALK}")
    assert text.startswith("早")


@pytest.mark.slow
async def test_a_skill_is_asked_as_its_own_model(spoken: AsyncOpenAI, model: ModelServer) -> None:
    model.then(calls(("done", {"result": "试用期可以休两天半。"})))
    listed = [each.id async for each in spoken.models.list()]
    answer = await Chat(spoken).say("我要请假", "intent-router/policy-advisor")
    assert {"intent-router", "intent-router/policy-advisor"} <= set(listed)
    assert answer == "试用期可以休两天半。"
    assert len(model.chats) == 1


async def test_without_a_model_there_is_no_skill_to_ask(alice: AsyncOpenAI) -> None:
    assert [each.id async for each in alice.models.list()] == ["intent-router"]
    with pytest.raises(NotFoundError):
        await Chat(alice).say("试用期能休几天", "intent-router/policy-advisor")
