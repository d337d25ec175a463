"""A conversation as events, over a real socket: nothing is lost, and nothing comes twice."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.api import events
from router.domain.messages import FlowSummary, Route, TextReply, Turn, Usage
from router.domain.progress import Progress, ProgressPlace, ProgressType, Thinking, ToolCallProgress
from router.domain.records import LogEntry
from router.store.live import InProcessLive
from router.store.store import Store
from tests.integration.api.conftest import problem
from tests.waiting import HANGS_AFTER_S

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
WHOLE = [
    *("thinking", "tool_started", "tool_finished", "thinking"),
    *("message", "route", "flow", "reply", "reply", "turn"),
]


@dataclass(frozen=True)
class Event:
    """One event as a client has it."""

    name: str
    data: dict[str, Any]
    id: str | None


class Reader:
    """Reads a stream strictly, and leaves out the ping that it begins with."""

    def __init__(self, answer: Response) -> None:
        self._lines = answer.aiter_lines()
        self.about = ""
        """What has to stand in an event: what other tests began may be news of the same person."""

    async def next(self) -> Event:
        while self.about not in json.dumps((event := await self._next()).data):
            pass
        return event

    async def _next(self) -> Event:
        fields: dict[str, str] = {}
        async for line in self._lines:
            if not line:
                return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
            name, _, value = line.partition(": ")
            fields[name] = value
        raise AssertionError("the stream has ended")

    async def take(self, count: int) -> list[Event]:
        async with asyncio.timeout(HANGS_AFTER_S):
            return [await self.next() for _ in range(count)]

    async def until_it_ends(self) -> None:
        async with asyncio.timeout(HANGS_AFTER_S):
            async for _ in self._lines:
                pass


@dataclass
class House:
    """One conversation of alice's, whose log is written by hand."""

    alice: AsyncClient
    store: Store
    id: str

    @property
    def events(self) -> str:
        return f"/v1/conversations/{self.id}/events"

    @asynccontextmanager
    async def reading(self, after: str | None = None) -> AsyncIterator[Reader]:
        async with followed(self.alice, self.events, after) as reader:
            yield reader

    async def write(self, *rows: LogEntry) -> None:
        await self.store.log.append("default", rows)

    def rows(self, message_id: str = "m1") -> list[LogEntry]:
        """Everything that a turn leaves in the log."""
        place = ProgressPlace(self.id, message_id)
        call = ToolCallProgress(place, "c0", "look")
        thought = Thinking(place, f"{message_id}:1", "decide", None, 1, 1)
        turn = Turn(
            message_id=message_id,
            turn=1,
            route=Route(kind="tool", target="look", by="llm"),
            replies=[TextReply(text="one"), TextReply(text="two")],
            flow=FlowSummary(id="r", name="leave_request", status="collecting", state="details"),
        )
        said = {"role": "user", "text": "look", "message_id": message_id}
        answered = {"role": "assistant", "text": "one\ntwo", "message_id": message_id}
        whole = {"digest": "d", "turn": turn.model_dump(mode="json")}
        return [
            thought.started(AT),
            call.started(AT),
            call.finished(AT, "done", 12),
            thought.finished(AT, 40, Usage(prompt_tokens=7, completion_tokens=2), "qwen"),
            self.row("message", "user", message_id, said),
            self.row("message", "assistant", message_id, answered),
            self.row("turn", "turn", message_id, whole),
        ]

    def row(self, kind: str, part: str, message_id: str | None, data: dict[str, Any]) -> LogEntry:
        key = f"{self.id}:{message_id}:{part}"
        entry = {"key": key, "kind": kind, "at": AT, "conversation": self.id, "data": data}
        return LogEntry.model_validate(entry | {"message_id": message_id})

    async def tell(self, type_: ProgressType, **data: Any) -> None:
        await self.store.live.tell(
            Progress(tenant="default", conversation=self.id, message_id="m1", type=type_, data=data)
        )


@asynccontextmanager
async def followed(client: AsyncClient, path: str, after: str | None) -> AsyncIterator[Reader]:
    headers = {} if after is None else {"Last-Event-ID": after}
    async with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        reader = Reader(answer)
        assert (await reader.take(1))[0] == Event("ping", {}, None)
        yield reader


@pytest.fixture
async def house(online: AsyncClient, store: Store) -> House:
    made = await online.post("/v1/conversations", json={})
    return House(online, store, made.json()["id"])


def names(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events]


async def test_everything_that_happens_comes_in_its_order_while_it_happens(house: House) -> None:
    async with house.reading() as reader:
        for row in house.rows():
            await house.write(row)
        events = await reader.take(10)
    assert names(events) == WHOLE
    assert len({event.id for event in events}) == 10
    started, finished = events[1].data, events[2].data
    assert started == {"id": "c0", "name": "look", "message_id": "m1"}
    assert finished == {**started, "status": "done", "milliseconds": 12}
    thought = {"status": "finished", "task": "decide", "skill": None, "step": 1, "attempt": 1}
    cost = {"milliseconds": 40, "prompt_tokens": 7, "completion_tokens": 2, "model": "qwen"}
    assert events[3].data == {**thought, **cost, "message_id": "m1"}
    assert events[4].data["text"] == "look"
    assert events[-1].data["replies"] == [events[-3].data, events[-2].data]


async def test_who_comes_again_behind_any_event_gets_the_rest_and_no_more(house: House) -> None:
    await house.write(*house.rows("m1"))
    async with house.reading("0") as reader:
        whole = await reader.take(10)
    await house.write(*house.rows("m2"))
    for seen, event in enumerate(whole, start=1):
        async with house.reading(event.id) as reader:
            rest = await reader.take(20 - seen)
        assert rest[: 10 - seen] == whole[seen:]
        assert names(rest[10 - seen :]) == WHOLE


async def test_a_transcripts_item_is_a_place_to_begin_behind(house: House) -> None:
    await house.write(*house.rows("m1"))
    items = (await house.alice.get(f"/v1/conversations/{house.id}/messages")).json()["items"]
    await house.write(*house.rows("m2"))
    async with house.reading(items[-1]["id"]) as reader:
        assert names(await reader.take(5 + 10)) == [*WHOLE[5:], *WHOLE]


async def test_without_an_id_it_begins_now(house: House) -> None:
    await house.write(*house.rows("m1"))
    async with house.reading() as reader:
        await house.write(*house.rows("m2"))
        first, *_ = await reader.take(10)
    assert first.data["message_id"] == "m2"


async def test_rows_of_several_reads_come(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.api.events.AT_ONCE", 2)
    await house.write(*house.rows("m1"), *house.rows("m2"))
    async with house.reading("0") as reader:
        assert names(await reader.take(20)) == [*WHOLE, *WHOLE]


async def test_text_and_words_of_progress_come_live_and_have_no_id(house: House) -> None:
    async with house.reading() as reader:
        await house.tell("tool_started", id="c0", name="look")
        await house.tell("tool_started", id="c0", name="look", progress="1 of 2")
        for attempt, text in [(7, "old"), (9, "new"), (7, "late")]:
            await house.tell("text_delta", attempt=attempt, text=text)
        await house.write(*house.rows())
        progress, old, new, *rest = await reader.take(13)
    assert progress.data == {"id": "c0", "name": "look", "progress": "1 of 2", "message_id": "m1"}
    assert [(one.data["attempt"], one.data["text"]) for one in (old, new)] == [
        (1, "old"),
        (2, "new"),
    ]
    assert {progress.id, old.id, new.id} == {None}
    assert names(rest) == WHOLE


async def test_what_a_run_says_by_itself_is_a_flow_and_its_replies(house: House) -> None:
    news = {
        "role": "assistant",
        "text": "approved",
        "replies": [{"type": "text", "text": "approved"}],
        "flow": {"id": "r", "name": "leave_request", "status": "completed", "state": "end"},
    }
    async with house.reading() as reader:
        await house.write(house.row("message", "news", None, news))
        flow, reply = await reader.take(2)
    assert (flow.name, flow.data["status"]) == ("flow", "completed")
    assert (reply.name, reply.data["text"]) == ("reply", "approved")


async def test_a_heartbeat_brings_the_untold(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
    appending = house.store.log._appending
    async with house.reading() as reader:
        assert (await reader.take(1))[0].name == "ping"
        with monkeypatch.context() as patch:
            patch.setattr(appending, "_live", InProcessLive())
            await house.write(*house.rows())
        events = [event for event in await reader.take(12) if event.name != "ping"]
    assert names(events)[:4] == WHOLE[:4]


async def test_a_conversation_that_is_forgotten_unheard_ends_at_the_next_heartbeat(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
    async with house.reading() as reader:
        await house.store.erasure.erase("default", house.id)
        await reader.until_it_ends()


async def test_a_conversation_that_is_forgotten_before_anybody_listens_ends_at_once(
    house: House,
) -> None:
    record = await house.store.conversations.find("default", house.id)
    assert record is not None
    store = house.store
    feed = events.conversation_feed(store.live, store.log, store.conversations, record)
    following = events.Following(events.Hub(), feed, None)
    await store.erasure.erase("default", house.id)
    async with asyncio.timeout(HANGS_AFTER_S):
        assert [event async for event in following.events()] == [events.PING]


@pytest.mark.parametrize("id_", ["99999999", "99999999.2"])
async def test_an_id_that_is_still_to_come_begins_with_now(house: House, id_: str) -> None:
    await house.write(*house.rows("m1"))
    async with house.reading(after=id_) as reader:
        await house.write(*house.rows("m2"))
        events = await reader.take(10)
    assert names(events) == WHOLE
    assert {event.data.get("message_id", "m2") for event in events} == {"m2"}


STRANGE = ["abc", "-1", "1.", ".1", "1.2.3", "1e3", "9" * 19, "9" * 5_000, "٣", "1 2", "0x1"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/events", None])
@pytest.mark.parametrize("id_", STRANGE)
async def test_what_is_no_id_is_refused(house: House, id_: str, path: str | None) -> None:
    headers = {b"Last-Event-ID": id_.encode()}
    said = problem(await house.alice.get(path or house.events, headers=headers), 422)
    assert "is the id of no event" in said["detail"]


@pytest.mark.parametrize(("user", "status"), [("bob", 404), ("olga", 404), ("nobody", 401)])
async def test_nobody_else_follows(house: House, user: str, status: int) -> None:
    answer = await house.alice.get(house.events, headers={"Authorization": f"Bearer {user}"})
    assert answer.status_code == status


@pytest.mark.slow
async def test_the_document_tells_of_it(alice: AsyncClient) -> None:
    paths = (await alice.get("/openapi.json")).json()["paths"]
    for path, told in (("/conversations/{conversation}", "thinking"), ("", "passed_on")):
        answer = paths[f"/v1{path}/events"]["get"]["responses"]["200"]
        assert "text/event-stream" in answer["content"]
        assert told in answer["description"]


async def test_nobody_takes_all_connections_by_following(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 2)
    async with house.reading():
        async with followed(house.alice, "/v1/events", None):
            for path in (house.events, "/v1/events"):
                problem(await house.alice.get(path), 429)
            bob = {"Authorization": "Bearer bob"}
            async with house.alice.stream("GET", "/v1/events", headers=bob) as answer:
                assert answer.status_code == 200
        async with asyncio.timeout(HANGS_AFTER_S):
            while not await can_follow(house):
                pass


async def can_follow(house: House) -> bool:
    async with house.alice.stream("GET", house.events) as answer:
        return answer.status_code == 200
