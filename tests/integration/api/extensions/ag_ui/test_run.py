"""`POST /ag-ui` over a real socket: whose it is, when it begins, what is refused, what repeats."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import EventType
from fastapi import FastAPI
from httpx import AsyncClient

from router.api.params import derived_id
from router.domain.progress import Progress
from router.store.live import Readers
from router.store.store import Store
from tests.integration.api.conftest import client_of, problem, until
from tests.integration.api.test_rates import RUN
from tests.table import each_row
from tests.unit.extensions.ag_ui.client import FrontEnd
from tests.waiting import HANGS_AFTER_S

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
NEVER_BEGAN = -1


@pytest.fixture
async def http(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture
def alice(http: AsyncClient) -> FrontEnd:
    return FrontEnd(http)


def conversation_of(front_end: FrontEnd) -> str:
    return derived_id("thread", "ag-ui", "default", front_end.user, front_end.thread)


async def turns_of(front_end: FrontEnd) -> int:
    path = f"/v1/conversations/{conversation_of(front_end)}"
    answer = await front_end.http.get(path, headers=front_end.headers)
    if answer.status_code == 404:
        return NEVER_BEGAN
    return int(answer.json()["turns"])


async def cancel(front_end: FrontEnd) -> None:
    """Stop the turn, as soon as its workflow has it: a run's first events may come before."""
    http, headers = front_end.http, front_end.headers
    path = f"/v1/conversations/{conversation_of(front_end)}/cancel"
    await until(lambda: http.post(path, headers=headers), lambda answer: answer.status_code == 202)


def user(content: Any) -> list[dict[str, Any]]:
    return [{"id": "u", "role": "user", "content": content}]


@pytest.mark.slow
async def test_a_run_is_a_turn_and_its_result_is_the_turn(alice: FrontEnd) -> None:
    told = await alice.say("much")
    assert told.types[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert (told.events[0].thread_id, told.events[0].protocol_version) == (alice.thread, "1.0")
    assert told.text.startswith("one\r\ntwo\u2028\u2029\x85three")
    assert len(told.custom("route")) == 2
    assert told.one(EventType.STATE_DELTA).delta[0].value["name"] == "leave_request"
    assert told.end.outcome.type == "success"
    assert told.end.result["message_id"] == told.end.run_id


@pytest.mark.slow
async def test_only_the_last_thing_that_was_said_is_said(alice: FrontEnd) -> None:
    history = [
        {"id": "s", "role": "system", "content": "You are a pirate."},
        {"id": "1", "role": "user", "content": "first"},
        {"id": "2", "role": "assistant", "content": "a" * 500_000},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": "second"}]},
        {"id": "d", "role": "developer", "content": "Be brief."},
    ]
    told = await alice.run(alice.input(messages=history))
    assert told.text == "alice: second"
    silent = await alice.run(alice.input())
    assert silent.types == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert await turns_of(alice) == 1


@pytest.mark.slow
@pytest.mark.parametrize("run", ["r1", "Lauf Nr. 1 🏃" * 10])
async def test_the_same_run_again_is_the_same_answer(alice: FrontEnd, run: str) -> None:
    body = alice.input(messages=user("hello"), runId=run)
    first, again = await alice.run(body), await alice.run(body)
    assert first.events == again.events
    assert first.end.run_id == run
    other = await alice.refused({**body, "messages": user("another word")})
    assert (other.status_code, await turns_of(alice)) == (422, 1)


async def test_the_same_thread_of_somebody_else_is_another_conversation(alice: FrontEnd) -> None:
    await alice.say("hello")
    told = await FrontEnd(alice.http, "bob", alice.thread).say("hello")
    assert (told.text, told.end.result["turn"]) == ("bob: hello", 1)


@pytest.mark.slow
async def test_the_run_is_heard_of_before_its_turn_is_over(alice: FrontEnd, store: Store) -> None:
    body = alice.input(messages=user("slow"))
    async with alice.stream(body) as events:
        assert (await anext(events)).type == EventType.RUN_STARTED
        assert (await anext(events)).type == EventType.STATE_SNAPSHOT
        heard: dict[str, Any] = {
            "tenant": "default",
            "conversation": conversation_of(alice),
            "message_id": body["runId"],
            "type": "text_delta",
            "data": {"text": "Hel", "attempt": 1},
        }
        await store.live.tell(Progress(**heard))
        assert (await anext(events)).type == EventType.TEXT_MESSAGE_START
        assert (await anext(events)).delta == "Hel"
        await cancel(alice)
        rest = [event async for event in events]
    assert rest[0].type == EventType.TEXT_MESSAGE_END
    (restated,) = [e for e in rest if e.type == EventType.MESSAGES_SNAPSHOT]
    assert [m.content for m in restated.messages] == ["slow", "alice: slow"]
    assert rest[-1].outcome.type == "cancelled"


async def test_comments_break_a_silence(alice: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.02)
    body = alice.input(messages=user("slow"))
    async with alice.http.stream("POST", "/ag-ui", json=body, headers=alice.headers) as answer:
        assert answer.headers["cache-control"] == "no-store"
        lines = answer.aiter_lines()
        while await anext(lines) != ": ping":
            pass
        await cancel(alice)
        rest = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")]
    assert rest[-1]["type"] == "RUN_FINISHED"


async def test_a_turn_that_breaks_is_the_runs_error(alice: FrontEnd) -> None:
    async with alice.stream(alice.input(messages=user("break"))) as events:
        await anext(events)
        await cancel(alice)
        *_, last = [event async for event in events]
    assert (last.type, last.code, last.message) == (EventType.RUN_ERROR, "conflict", "it broke")
    assert last.metadata["intent-router"]["status"] == 409


async def test_a_front_end_that_leaves_stops_nothing(alice: FrontEnd, store: Store) -> None:
    readers: Readers = store.live._readers
    body = alice.input(messages=user("slow"))
    place = ("default", conversation_of(alice), "")
    async with alice.stream(body) as events:
        await anext(events)
        assert place in readers._inboxes
    async with asyncio.timeout(HANGS_AFTER_S):
        while place in readers._inboxes:  # noqa: ASYNC110 - the server's doing
            await asyncio.sleep(0.01)
    await cancel(alice)
    assert (await alice.run(body)).end.outcome.type == "cancelled"
    assert await turns_of(alice) == 1


async def test_a_front_ends_result_is_taken_in_as_its_tool_declares(alice: FrontEnd) -> None:
    await alice.say("hello")
    result = {"id": "t", "role": "tool", "toolCallId": "front", "content": "1"}
    answer = await alice.refused(alice.input(messages=[result]))
    assert (answer.status_code, await turns_of(alice)) == (422, 1)
    made = {"name": "locate", "arguments": "{}"}
    call = {"id": "front", "type": "function", "function": made}
    asked = {"id": "a", "role": "assistant", "toolCalls": [call]}
    told = await alice.run(alice.input(messages=[asked, {**result, "content": '{"at": "home"}'}]))
    assert told.text == "alice: action"


async def test_several_files_go_with_one_message(alice: FrontEnd) -> None:
    part = {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}
    told = await alice.say([part, part])
    ids = [file["id"] for file in told.custom("file")]
    assert len(set(ids)) == 2
    assert told.text == f"alice: {','.join(ids)}"


async def test_files_beyond_those_of_one_message_go_by_name(alice: FrontEnd) -> None:
    part = {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}
    parts = [{**part, "metadata": {"filename": f"p{number}.png"}} for number in range(12)]
    told = await alice.say(parts)
    ids = [file["id"] for file in told.custom("file")]
    assert told.text == f"alice: {','.join(ids[:10])} without p10.png, p11.png"


async def test_a_file_is_kept_once_and_goes_by_its_id(alice: FrontEnd) -> None:
    part = {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}
    body = alice.input(messages=user([part]))
    told, again = await alice.run(body), await alice.run(body)
    (file,) = told.custom("file")
    assert told.text == f"alice: {file['id']}"
    assert again.custom("file") == [file]
    handed = {"type": "document", "source": {"type": "file", "value": file["id"]}}
    assert (await alice.say([handed])).custom("file") == [file]


async def test_a_file_has_the_name_that_its_part_says(alice: FrontEnd) -> None:
    source = {"type": "data", "value": PNG, "mimeType": "image/png"}
    part = {"type": "image", "source": source, "metadata": {"filename": "../打车.exe"}}
    (file,) = (await alice.say([part])).custom("file")
    assert file["name"] == "打车.exe.png"
    theirs = await alice.say([{**part, "metadata": ["x"]}])
    assert theirs.custom("file")[0]["name"] == "file.png"
    told = await alice.say(f"see /v1/files/{file['id']} and /v1/files/{'a' * 24}")
    (given,) = told.custom("file_given")
    assert given == {**file, "url": f"/v1/files/{file['id']}"}


SVG = base64.b64encode(b"<svg onload=alert(1)>").decode()
UNUSABLE_PARTS: dict[str, dict[str, Any]] = {
    "an address": {"type": "url", "value": "http://169.254.169.254/latest"},
    "somebody else's handle": {"type": "file", "value": "file-abc", "provider": "openai"},
    "a file that isn't there": {"type": "file", "value": "a" * 24},
    "no base64": {"type": "data", "value": "!!", "mimeType": "image/png"},
    "a program": {"type": "data", "value": SVG, "mimeType": "image/svg+xml"},
}


@pytest.mark.slow
@pytest.mark.parametrize("source", UNUSABLE_PARTS.values(), ids=UNUSABLE_PARTS.keys())
async def test_a_part_of_no_use_is_warned_of(alice: FrontEnd, source: dict[str, Any]) -> None:
    part = {"type": "image", "source": source}
    told = await alice.say([{"type": "text", "text": "look"}, part])
    assert told.text == "alice: look"
    (warning,) = told.custom("warning")
    assert warning.startswith("part 0 was left out")
    alone = await alice.refused(alice.input(messages=user([part])))
    assert (alone.status_code, alone.json()["errors"][0]["field"]) == (422, "messages")


def entry(id_: Any = "confirm/q", status: Any = "resolved", **more: Any) -> dict[str, Any]:
    return {"interruptId": id_, "status": status, **more}


APPROVED = entry("approval/nobody/d1", payload={"decision": "approve"})
REFUSED: dict[str, tuple[Any, int]] = {
    "no JSON": (b"{", 400),
    "twice the same key": (b'{"threadId": "a", "threadId": "b"}', 400),
    "a list": ([], 422),
    "nothing": ({}, 422),
    "no thread": ({"runId": "r", "messages": []}, 422),
    "no messages": ({"threadId": "t", "runId": "r"}, 422),
    "an empty name": ({"threadId": "", "runId": "r", "messages": []}, 422),
    "a name without end": ({"threadId": "t" * 257, "runId": "r", "messages": []}, 422),
    "a number for a name": ({"threadId": 1, "runId": "r", "messages": []}, 422),
    "an unknown role": ({"messages": [{"id": "1", "role": "root", "content": "hi"}]}, 422),
    "white space": ({"messages": user(" ")}, 422),
    "a control character": ({"messages": user("\x00")}, 422),
    "a book": ({"messages": user("a" * 8001)}, 422),
    "an unknown part": ({"messages": user([{"type": "binary", "data": "AA=="}])}, 422),
    "busy": ({"messages": user("busy")}, 409),
    "full": ({"messages": user("full")}, 429),
    "an answer without a payload": ({"resume": [entry()]}, 422),
    "an unknown status": ({"resume": [entry(status="ignored")]}, 422),
    "two answers": ({"resume": [entry(payload=True), entry("form/x", payload={})]}, 422),
    "somebody else's approval": ({"resume": [APPROVED]}, 404),
    "an approval that isn't there": ({"resume": [entry("approval/x/d", "cancelled")]}, 404),
    "messages without end": ({"messages": [{"role": "user"}] * 9000}, 422),
    "parts without end": ({"messages": user([{"type": "image"}] * 9000)}, 422),
    "parts that are none": ({"messages": user([{}] * 4000)}, 422),
    "tools that are none": ({"tools": [{}] * 9000}, 422),
    "answers that are none": ({"resume": [{}] * 9000}, 422),
    "too large": ({"messages": user("a" * 1_100_000)}, 413),
    "too deep": (b'{"state":' + b"[" * 40 + b"]" * 40 + b"}", 400),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "status"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_begins_no_run(alice: FrontEnd, body: Any, status: int) -> None:
    whole = body
    if isinstance(body, dict) and body and "threadId" not in body and "runId" not in body:
        whole = alice.input() | body
    answer = await alice.refused(whole)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert len(answer.content) < 1024 * 1024
    assert await turns_of(alice) == (0 if status in {409, 429} else NEVER_BEGAN)


async def test_an_answer_to_what_was_never_asked_here_is_warned_of(alice: FrontEnd) -> None:
    told = await alice.run(alice.input(resume=[entry("lg-1", payload={"x": 1})]))
    assert told.custom("warning")[0].startswith("'lg-1'")
    assert await turns_of(alice) in {NEVER_BEGAN, 0}


@each_row("token", [None, "nobody"])
async def test_strangers_have_no_runs(app: FastAPI, token: str | None) -> None:
    async with client_of(app, token) as stranger:
        problem(await stranger.post("/ag-ui", json=RUN), 401)
