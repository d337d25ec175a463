"""A turn as events, over a real socket: what a client sees, and when."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.domain.progress import Progress, ProgressType
from router.store.live import Live, Readers
from router.store.store import Store
from tests.integration.api.conftest import desk, problem, until
from tests.integration.api.workflows import MUCH
from tests.waiting import HANGS_AFTER_S

Event = tuple[str, Any]
STREAM = {"Accept": "text/event-stream"}


class Chat:
    """One conversation of alice's, and what is told of it."""

    def __init__(self, alice: AsyncClient, live: Live, id_: str) -> None:
        self.alice, self.live, self.id = alice, live, id_
        self.messages = f"/v1/conversations/{id_}/messages"

    @asynccontextmanager
    async def stream(self, text: str, begun: bool = False) -> AsyncIterator["Events"]:
        """The events of a turn; those behind the first one where it has `begun`."""
        body = {"text": text, "message_id": "m1"}
        async with self.alice.stream("POST", self.messages, json=body, headers=STREAM) as answer:
            assert answer.status_code == 200
            events = Events(answer)
            if begun:
                assert (await anext(events))[0] == "message"
            yield events

    async def tell(self, type_: ProgressType, message_id: str = "m1", **data: Any) -> None:
        told = {"message_id": message_id, "type": type_, "data": data}
        place = {"tenant": "default", "conversation": self.id}
        await self.live.tell(Progress.model_validate(place | told))

    async def write(self, text: str, attempt: int = 1) -> None:
        await self.tell("text_delta", text=text, attempt=attempt)

    async def cancel(self) -> None:
        """Stop the turn, as soon as its workflow has it: what is told of it may come before."""
        path = f"/v1/conversations/{self.id}/cancel"
        await until(lambda: self.alice.post(path), lambda answer: answer.status_code == 202)

    async def end(self, events: "Events") -> list[Event]:
        """Stop the turn; what was still to come."""
        await self.cancel()
        return await events.rest()


class Events:
    """A stream, read strictly: an event is a name and one line of JSON."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> Event:
        async with asyncio.timeout(HANGS_AFTER_S):
            name = await anext(self._lines)
            data, end = await anext(self._lines), await anext(self._lines)
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        assert end == ""
        return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    async def rest(self) -> list[Event]:
        return [event async for event in self]


@pytest.fixture
async def chat(online: AsyncClient, store: Store) -> Chat:
    made = await online.post("/v1/conversations", json={})
    return Chat(online, store.live, made.json()["id"])


def names(events: list[Event]) -> list[str]:
    return [name for name, _ in events]


def told(events: list[Event], name: str) -> list[Any]:
    return [data for each, data in events if each == name]


async def test_the_parts_come_in_order_and_last_the_turn_as_a_plain_answer(chat: Chat) -> None:
    async with chat.stream("much") as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["cache-control"] == "no-store"
        got = await events.rest()
    assert names(got) == ["message", "route", "route", "flow", "reply", "reply", "turn"]
    assert got[0] == ("message", {"message_id": "m1", "status": "running"})
    plain = await chat.alice.post(chat.messages, json={"text": "much", "message_id": "m1"})
    turn = plain.json()
    assert told(got, "turn") == [turn]
    assert told(got, "route") == turn["routes"]
    assert told(got, "reply") == turn["replies"]
    assert told(got, "flow") == [turn["flow"]]
    assert turn["replies"][0]["text"] == MUCH["replies"][0].text  # type: ignore[index]


async def test_what_happens_is_heard_before_the_turn_is_over(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        await chat.tell("tool_started", id="c0", name="look")
        assert await anext(events) == ("tool_started", {"id": "c0", "name": "look"})
        done: dict[str, Any] = {"id": "c0", "name": "look", "status": "done", "milliseconds": 3}
        await chat.tell("tool_finished", **done)
        assert await anext(events) == ("tool_finished", done)
        await chat.write("你好\n\n")
        assert await anext(events) == ("text_delta", {"text": "你好\n\n", "attempt": 1})
        got = await chat.end(events)
    assert names(got) == ["route", "reply", "turn"]
    assert got[-1][1]["status"] == "cancelled"


async def test_a_call_that_a_stop_leaves_open_is_ended_before_its_turn(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        await chat.tell("tool_started", id="c0", name="look")
        await chat.tell("tool_started", id="c1", name="look")
        await chat.tell("tool_finished", id="c0", name="look", status="done", milliseconds=3)
        await chat.tell("tool_started", "", id="look:1", name="a_flow_by_itself")
        for _ in range(4):
            await anext(events)
        got = await chat.end(events)
    assert names(got) == ["tool_finished", "route", "reply", "turn"]
    assert got[0][1] == {"id": "c1", "name": "look", "status": "skipped"}


async def test_what_was_told_before_the_end_comes_before_the_end(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        for number in range(50):
            await chat.write(str(number))
        got = await chat.end(events)
    assert names(got) == ["text_delta"] * 50 + ["route", "reply", "turn"]
    assert [data["text"] for _, data in got[:50]] == [str(number) for number in range(50)]


async def test_a_text_begun_anew_has_the_next_attempt_and_drops_stragglers(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        for attempt, text in [(71, "bro"), (71, "ken"), (90, "who"), (71, "late"), (90, "le")]:
            await chat.write(text, attempt)
        got = await chat.end(events)
    heard = [(data["attempt"], data["text"]) for data in told(got, "text_delta")]
    assert heard == [(1, "bro"), (1, "ken"), (2, "who"), (2, "le")]


async def test_progress_of_the_turn_begins_the_stream_by_itself(chat: Chat) -> None:
    """The workflow is slow, but whoever works for the message has been heard of."""

    async def keep_telling() -> None:
        while True:
            await chat.write("a")
            await asyncio.sleep(0.01)

    telling = asyncio.create_task(keep_telling())
    async with chat.stream("slow", begun=True) as events:
        assert (await anext(events))[0] == "text_delta"
        telling.cancel()
        await chat.end(events)


async def test_what_flows_do_before_the_stream_begins_is_held_for_it(chat: Chat) -> None:
    told: list[int] = []

    async def keep_telling() -> None:
        while True:
            told.append(len(told))
            await chat.tell("tool_started", "", id=str(told[-1]), name="look")
            await asyncio.sleep(0.005)

    telling = asyncio.create_task(keep_telling())
    async with chat.stream("slow", begun=True) as events:
        by_then = len(told)
        heard = [int((await anext(events))[1]["id"]) for _ in range(10)]
        telling.cancel()
        await chat.end(events)
    assert by_then - heard[0] >= 5
    assert heard == list(range(heard[0], heard[0] + 10))


async def test_only_what_is_of_this_message_or_of_none_is_heard(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        await chat.tell("tool_started", "m2", id="1", name="another_message")
        await chat.tell("tool_started", "", id="2", name="a_flow_by_itself")
        got = await chat.end(events)
    assert [data["name"] for data in told(got, "tool_started")] == ["a_flow_by_itself"]


async def test_two_readers_hear_the_same(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as first, chat.stream("slow", begun=True) as second:
        await chat.write("a")
        assert await chat.end(first) == await second.rest()


async def test_a_repeat_streams_the_first_answer_and_does_nothing_twice(chat: Chat) -> None:
    async with chat.stream("hello") as first:
        answered = await first.rest()
    async with chat.stream("hello") as again:
        assert await again.rest() == answered
    standing = await chat.alice.get(f"/v1/conversations/{chat.id}")
    assert standing.json()["turns"] == 1


async def test_a_reader_who_leaves_stops_no_turn_and_is_forgotten(chat: Chat) -> None:
    readers: Readers = chat.live._readers
    place = ("default", chat.id, "")
    async with chat.stream("slow", begun=True):
        assert place in readers._inboxes
    async with asyncio.timeout(HANGS_AFTER_S):
        while place in readers._inboxes:  # noqa: ASYNC110 - the server's doing
            await asyncio.sleep(0.01)
    await chat.cancel()
    turn = await chat.alice.post(chat.messages, json={"text": "slow", "message_id": "m1"})
    assert (turn.status_code, turn.json()["turn"]) == (200, 1)


@pytest.mark.slow
async def test_who_does_not_read_holds_nobody_up_and_still_gets_the_turn(chat: Chat) -> None:
    async with chat.stream("slow", begun=True) as events:
        async with asyncio.timeout(HANGS_AFTER_S):
            for _ in range(3000):
                await chat.write("长" * 1000)
                await asyncio.sleep(0)
        got = await chat.end(events)
    assert names(got)[-3:] == ["route", "reply", "turn"]
    assert 0 < names(got).count("text_delta") < 3000


async def test_silence_is_broken_by_pings(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.02)
    async with chat.stream("slow", begun=True) as events:
        assert [await anext(events) for _ in range(2)] == [("ping", {})] * 2
        assert names(await chat.end(events))[-1] == "turn"


async def test_a_turn_that_fails_ends_with_the_problem(chat: Chat) -> None:
    async with chat.stream("break", begun=True) as events:
        ((name, problem),) = await chat.end(events)
    assert name == "error"
    assert set(problem) == {"type", "title", "status", "detail"}
    assert (problem["status"], problem["detail"]) == (409, "it broke")


async def test_each_piece_of_progress_is_with_the_client_before_the_next_is_made(
    chat: Chat,
) -> None:
    async with chat.stream("slow", begun=True) as events:
        for number in range(30):
            await chat.write(str(number))
            _, piece = await anext(events)
            assert piece["text"] == str(number)
        await chat.end(events)


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


@pytest.mark.slow
@pytest.mark.parametrize(("body", "status"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_is_no_stream(chat: Chat, body: Any, status: int) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**STREAM, "Content-Type": "application/json"}
    problem(await chat.alice.post(chat.messages, content=content, headers=headers), status)
    assert (await chat.alice.get(f"/v1/conversations/{chat.id}")).json()["turns"] == 0


async def test_another_body_under_the_same_id_is_a_problem_and_no_stream(chat: Chat) -> None:
    async with chat.stream("one") as events:
        await events.rest()
    body = {"text": "two", "message_id": "m1"}
    problem(await chat.alice.post(chat.messages, json=body, headers=STREAM), 422)


@pytest.mark.parametrize(("user", "status"), [("bob", 404), ("olga", 404), ("nobody", 401)])
async def test_nobody_else_hears_anything(chat: Chat, user: str, status: int) -> None:
    headers = {**STREAM, "Authorization": f"Bearer {user}"}
    answer = await chat.alice.post(chat.messages, json={"text": "a"}, headers=headers)
    assert answer.status_code == status


async def test_without_a_worker_it_is_503_and_no_stream(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.api.turns.RESTART_S", 0.5)
    async with desk(services, "alice", task_queue=uuid4().hex) as alice:
        begun = (await alice.post("/v1/conversations")).json()["id"]
        messages = f"/v1/conversations/{begun}/messages"
        problem(await alice.post(messages, json={"text": "hi"}, headers=STREAM), 503)
