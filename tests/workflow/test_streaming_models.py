"""Turns as events where a model decides and speaks: all real but the model's words."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.composition import Parts
from tests.fakes.model_server import ModelServer, calls, drops, says, waits
from tests.workflow.test_streaming import Stream, served
from tests.workflow.tooled import modelled

ASKED = "我的年假还有多少来着呗"
BALANCE = calls(("get_leave_balance", {"leave_type": "annual"}))
TALK = "我是公司的前台，请假、报销这些事都可以跟我说。"
SAID = "你还有 365 天年假，用不完的可以接着留到以后。"


@pytest.fixture
async def alice(
    parts: Parts, real_client: Client, model: ModelServer
) -> AsyncIterator[AsyncClient]:
    """Alice's connection to a house whose worker asks the scripted model."""
    async with (
        modelled(real_client, parts, model) as talk,
        served(parts, real_client, talk.queue) as client,
    ):
        yield client


def written(events: list[tuple[str, Any]]) -> str:
    """The text as a reader has it after these events."""
    text, attempt = "", 0
    for name, data in events:
        if name == "text_delta":
            text = (text if data["attempt"] == attempt else "") + data["text"]
            attempt = data["attempt"]
    return text


async def test_a_text_is_heard_while_it_is_written(alice: AsyncClient, model: ModelServer) -> None:
    rest = asyncio.Event()
    model.then(BALANCE, waits(rest, before=6, then=says(SAID)))
    async with Stream.of(alice, ASKED) as stream:
        before = await stream.until("text_delta")
        rest.set()
        after = await stream.until("turn")
    seen = [name for name, _ in before if name != "thinking"]
    assert seen == ["message", "tool_started", "tool_finished", "text_delta"]
    turn = after[-1][1]
    assert written([*before, *after]) == turn["replies"][0]["text"] == SAID
    assert turn["tool_calls"][0]["id"] == dict(before)["tool_started"]["id"]


@pytest.mark.slow
async def test_a_text_that_broke_off_is_replaced(alice: AsyncClient, model: ModelServer) -> None:
    reply = calls(("respond_message", {"text": TALK}))
    broken = calls(("respond_message", {"text": "早上好。今天我在这里，什么都可以问"}))
    model.then(drops(broken, pieces=14), reply)
    async with Stream.of(alice, "你是谁呀") as stream:
        events = await stream.until("turn")
    attempts = [data["attempt"] for name, data in events if name == "text_delta"]
    assert (attempts[0], attempts[-1]) == (1, 2)
    assert written(events) == events[-1][1]["replies"][0]["text"] == TALK


async def test_what_is_to_be_mended_is_written_anew(alice: AsyncClient, model: ModelServer) -> None:
    wrong = calls(("respond_message", {"text": "先说一句"}), ("dance", {"how": "well"}))
    model.then(wrong, calls(("respond_message", {"text": TALK})))
    async with Stream.of(alice, "你是谁呀") as stream:
        events = await stream.until("turn")
    assert len(model.chats) == 2
    assert written(events) == events[-1][1]["replies"][0]["text"] == TALK


@pytest.mark.slow
async def test_questions_are_seen_to_begin_and_end(alice: AsyncClient, model: ModelServer) -> None:
    model.then(BALANCE, says(SAID))
    async with Stream.of(alice, ASKED) as stream:
        events = await stream.until("turn")
    turn = events[-1][1]
    thoughts = [data for name, data in events if name == "thinking"]
    assert [(data["task"], data["status"]) for data in thoughts] == [
        *(("decide", "started"), ("decide", "finished")),
        *(("decide", "started"), ("decide", "finished")),
    ]
    assert {(data["skill"], data["step"], data["attempt"]) for data in thoughts} == {(None, 1, 1)}
    for count in ("prompt_tokens", "completion_tokens"):
        assert sum(data.get(count, 0) for data in thoughts) == turn["usage"][count] > 0
    assert all(data["model"] for data in thoughts if data["status"] == "finished")
