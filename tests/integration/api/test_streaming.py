"""A turn as events, over a real socket: what a client sees, and when."""

import asyncio
import json
import socket
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from router.api.dependencies import Services
from router.domain.progress import Progress, ProgressType
from router.runtime.server import GRACE, ApiServer, create_app
from router.store.live import Live, Readers
from router.store.store import Store
from tests.integration.api.workflows import MUCH

Event = tuple[str, Any]
STREAM = {"Accept": "text/event-stream"}


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The application behind a real server; its address."""
    server = ApiServer(app, GRACE)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.stop()
        await serving


@pytest.fixture(scope="session")
async def address(app: FastAPI) -> AsyncIterator[str]:
    async with served(app) as address:
        yield address


@pytest.fixture
async def alice(address: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": "Bearer alice"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
        yield client


class Chat:
    """One conversation of alice's, and what is told of it."""

    def __init__(self, alice: httpx.AsyncClient, live: Live, id_: str) -> None:
        self.alice, self.live, self.id = alice, live, id_
        self.messages = f"/v1/conversations/{id_}/messages"

    @asynccontextmanager
    async def stream(self, text: str, message_id: str = "m1") -> AsyncIterator["Events"]:
        body = {"text": text, "message_id": message_id}
        async with self.alice.stream("POST", self.messages, json=body, headers=STREAM) as answer:
            assert answer.status_code == 200
            yield Events(answer)

    async def tell(self, type_: ProgressType, message_id: str = "m1", **data: Any) -> None:
        await self.live.tell(
            Progress(
                tenant="default",
                conversation=self.id,
                message_id=message_id,
                type=type_,
                data=data,
            )
        )

    async def cancel(self) -> None:
        await self.alice.post(f"/v1/conversations/{self.id}/cancel")


class Events:
    """A stream, read strictly: an event is a name and one line of JSON."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> Event:
        name = await anext(self._lines)
        data, end = await anext(self._lines), await anext(self._lines)
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        assert end == ""
        return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    async def rest(self) -> list[Event]:
        return [event async for event in self]


@pytest.fixture
async def chat(alice: httpx.AsyncClient, store: Store) -> Chat:
    made = await alice.post("/v1/conversations", json={})
    return Chat(alice, store.live, made.json()["id"])


def names(events: list[Event]) -> list[str]:
    return [name for name, _ in events]


async def test_the_parts_come_in_order_and_last_the_turn_as_a_plain_answer_has_it(
    chat: Chat,
) -> None:
    async with chat.stream("much") as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["cache-control"] == "no-store"
        got = await events.rest()
    assert names(got) == ["message", "route", "route", "flow", "reply", "reply", "turn"]
    assert got[0] == ("message", {"message_id": "m1", "status": "running"})
    plain = await chat.alice.post(chat.messages, json={"text": "much", "message_id": "m1"})
    turn = plain.json()
    assert got[-1] == ("turn", turn)
    assert [data for name, data in got if name == "route"] == turn["routes"]
    assert [data for name, data in got if name == "reply"] == turn["replies"]
    assert [data for name, data in got if name == "flow"] == [turn["flow"]]
    assert turn["replies"][0]["text"] == MUCH["replies"][0].text  # type: ignore[index]


async def test_what_happens_is_heard_before_the_turn_is_over(chat: Chat) -> None:
    async with chat.stream("slow") as events:
        assert (await anext(events))[0] == "message"
        await chat.tell("tool_started", id="c0", name="look")
        assert await anext(events) == ("tool_started", {"id": "c0", "name": "look"})
        done: dict[str, Any] = {"id": "c0", "name": "look", "status": "done", "milliseconds": 3}
        await chat.tell("tool_finished", **done)
        assert await anext(events) == ("tool_finished", done)
        await chat.tell("text_delta", text="你好\n\n", attempt=1)
        assert await anext(events) == ("text_delta", {"text": "你好\n\n", "attempt": 1})
        await chat.cancel()
        got = await events.rest()
    assert names(got) == ["route", "reply", "turn"]
    assert got[-1][1]["status"] == "cancelled"


async def test_a_call_that_a_stop_leaves_open_is_ended_before_its_turn(chat: Chat) -> None:
    async with chat.stream("slow") as events:
        await anext(events)
        await chat.tell("tool_started", id="c0", name="look")
        await chat.tell("tool_started", id="c1", name="look")
        await chat.tell("tool_finished", id="c0", name="look", status="done", milliseconds=3)
        await chat.tell("tool_started", "", id="look:1", name="a_flow_by_itself")
        for _ in range(4):
            await anext(events)
        await chat.cancel()
        got = await events.rest()
    assert names(got) == ["tool_finished", "route", "reply", "turn"]
    assert got[0][1] == {"id": "c1", "name": "look", "status": "skipped"}


async def test_what_was_told_before_the_end_comes_before_the_end(chat: Chat) -> None:
    async with chat.stream("slow") as events:
        await anext(events)
        for number in range(50):
            await chat.tell("text_delta", text=str(number), attempt=1)
        await chat.cancel()
        got = await events.rest()
    assert names(got) == ["text_delta"] * 50 + ["route", "reply", "turn"]
    assert [data["text"] for _, data in got[:50]] == [str(number) for number in range(50)]


async def test_a_text_begun_anew_has_the_next_attempt_and_stragglers_are_dropped(
    chat: Chat,
) -> None:
    async with chat.stream("slow") as events:
        await anext(events)
        for attempt, text in [(71, "bro"), (71, "ken"), (90, "who"), (71, "late"), (90, "le")]:
            await chat.tell("text_delta", text=text, attempt=attempt)
        await chat.cancel()
        got = await events.rest()
    heard = [(data["attempt"], data["text"]) for name, data in got if name == "text_delta"]
    assert heard == [(1, "bro"), (1, "ken"), (2, "who"), (2, "le")]


async def test_progress_of_the_turn_begins_the_stream_by_itself(chat: Chat) -> None:
    """The workflow is slow, but whoever works for the message has been heard of."""

    async def keep_telling() -> None:
        while True:
            await chat.tell("text_delta", text="a", attempt=1)
            await asyncio.sleep(0.01)

    telling = asyncio.create_task(keep_telling())
    async with chat.stream("slow") as events:
        first, second = await anext(events), await anext(events)
        telling.cancel()
        await chat.cancel()
        await events.rest()
    assert (first[0], second[0]) == ("message", "text_delta")


async def test_what_flows_do_before_the_stream_begins_is_held_for_it(chat: Chat) -> None:
    told = 0

    async def keep_telling() -> None:
        nonlocal told
        while True:
            await chat.tell("tool_started", "", id=str(told), name="look")
            told += 1
            await asyncio.sleep(0.005)

    telling = asyncio.create_task(keep_telling())
    async with chat.stream("slow") as events:
        assert (await anext(events))[0] == "message"
        by_then = told
        heard = [int((await anext(events))[1]["id"]) for _ in range(10)]
        telling.cancel()
        await chat.cancel()
        await events.rest()
    assert by_then - heard[0] >= 5
    assert heard == list(range(heard[0], heard[0] + 10))


async def test_only_what_is_of_this_message_or_of_none_is_heard(chat: Chat) -> None:
    async with chat.stream("slow") as events:
        await anext(events)
        await chat.tell("tool_started", "m2", id="1", name="another_message")
        await chat.tell("tool_started", "", id="2", name="a_flow_by_itself")
        await chat.cancel()
        got = await events.rest()
    heard = [data["name"] for name, data in got if name == "tool_started"]
    assert heard == ["a_flow_by_itself"]


async def test_two_readers_hear_the_same(chat: Chat) -> None:
    async with chat.stream("slow") as first, chat.stream("slow") as second:
        for events in (first, second):
            assert (await anext(events))[0] == "message"
        await chat.tell("text_delta", text="a", attempt=1)
        await chat.cancel()
        assert await first.rest() == await second.rest()


async def test_a_repeat_streams_the_first_answer_and_does_nothing_twice(chat: Chat) -> None:
    async def answered() -> list[Event]:
        async with chat.stream("hello") as events:
            return await events.rest()

    assert await answered() == await answered()
    standing = await chat.alice.get(f"/v1/conversations/{chat.id}")
    assert standing.json()["turns"] == 1


async def test_a_reader_who_leaves_stops_no_turn_and_is_forgotten(chat: Chat) -> None:
    readers: Readers = chat.live._readers
    async with chat.stream("slow") as events:
        await anext(events)
        assert ("default", chat.id, "") in readers._inboxes
    async with asyncio.timeout(10):
        while ("default", chat.id, "") in readers._inboxes:  # noqa: ASYNC110 - the server's doing
            await asyncio.sleep(0.01)
    await chat.cancel()
    turn = await chat.alice.post(chat.messages, json={"text": "slow", "message_id": "m1"})
    assert (turn.status_code, turn.json()["turn"]) == (200, 1)


async def test_a_reader_who_does_not_read_holds_nobody_up_and_still_gets_the_turn(
    chat: Chat,
) -> None:
    async with chat.stream("slow") as events:
        await anext(events)
        async with asyncio.timeout(5):
            for _ in range(3000):
                await chat.tell("text_delta", text="长" * 1000, attempt=1)
                await asyncio.sleep(0)
        await chat.cancel()
        got = await events.rest()
    assert names(got)[-3:] == ["route", "reply", "turn"]
    assert 0 < names(got).count("text_delta") < 3000


async def test_silence_is_broken_by_pings(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.02)
    async with chat.stream("slow") as events:
        assert (await anext(events))[0] == "message"
        assert [await anext(events) for _ in range(2)] == [("ping", {})] * 2
        await chat.cancel()
        assert names(await events.rest())[-1] == "turn"


async def test_a_turn_that_fails_ends_with_the_problem(chat: Chat) -> None:
    async with chat.stream("break") as events:
        assert (await anext(events))[0] == "message"
        await chat.cancel()
        ((name, problem),) = await events.rest()
    assert name == "error"
    assert set(problem) == {"type", "title", "status", "detail"}
    assert (problem["status"], problem["detail"]) == (409, "it broke")


async def test_progress_is_with_the_client_within_a_tenth_of_a_second(chat: Chat) -> None:
    late: list[float] = []
    async with chat.stream("slow") as events:
        await anext(events)
        for number in range(30):
            began = time.perf_counter()
            await chat.tell("text_delta", text=str(number), attempt=1)
            await anext(events)
            late.append(time.perf_counter() - began)
        await chat.cancel()
        await events.rest()
    assert statistics.median(late) < 0.1


REFUSED: dict[str, tuple[Any, int]] = {
    "no JSON": (b"{", 400),
    "twice the same key": (b'{"text": "a", "text": "b"}', 400),
    "nothing": ({}, 422),
    "empty": ({"text": " "}, 422),
    "control": ({"text": "\x00"}, 422),
    "field": ({"text": "a", "colour": "red"}, 422),
    "id": ({"text": "a", "message_id": "a b"}, 422),
    "large": ({"text": "a" * 70_000}, 413),
    "busy": ({"text": "busy"}, 409),
    "full": ({"text": "full"}, 429),
}


@pytest.mark.parametrize(("body", "status"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_refused_is_a_problem_and_no_stream(
    chat: Chat, body: Any, status: int
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**STREAM, "Content-Type": "application/json"}
    answer = await chat.alice.post(chat.messages, content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await chat.alice.get(f"/v1/conversations/{chat.id}")).json()["turns"] == 0


async def test_another_body_under_the_same_id_is_a_problem_and_no_stream(chat: Chat) -> None:
    async with chat.stream("one") as events:
        await events.rest()
    body = {"text": "two", "message_id": "m1"}
    answer = await chat.alice.post(chat.messages, json=body, headers=STREAM)
    assert (answer.status_code, answer.json()["status"]) == (422, 422)


@pytest.mark.parametrize("user", ["bob", "olga", "nobody"])
async def test_nobody_else_hears_anything(chat: Chat, user: str) -> None:
    headers = {**STREAM, "Authorization": f"Bearer {user}"}
    answer = await chat.alice.post(chat.messages, json={"text": "a"}, headers=headers)
    assert answer.status_code == (404 if user in {"bob", "olga"} else 401)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("text/event-stream;q=0", "application/json"),
        ("text/event-stream;q=nan", "application/json"),
        ("image/png", "application/json"),
        (";q=" * 5_000, "application/json"),
        (b"\xff\xfe", "application/json"),
        ("application/json, text/event-stream", "text/event-stream"),
    ],
)
async def test_the_accept_header_decides_and_never_fails(
    chat: Chat, accept: str | bytes, kind: str
) -> None:
    headers = [("Accept", accept)]
    answer = await chat.alice.post(chat.messages, json={"text": "hi"}, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)


async def test_without_a_worker_it_is_503_and_no_stream(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.api.turns.ACCEPTANCE", 0.5)
    settings = services.settings.model_copy(update={"task_queue": uuid4().hex})
    async with (
        served(create_app(replace(services, settings=settings))) as address,
        httpx.AsyncClient(base_url=address, headers={"Authorization": "Bearer alice"}) as alice,
    ):
        begun = (await alice.post("/v1/conversations")).json()["id"]
        messages = f"/v1/conversations/{begun}/messages"
        answer = await alice.post(messages, json={"text": "hi"}, headers=STREAM)
    assert (answer.status_code, answer.json()["title"]) == (503, "Service Unavailable")
