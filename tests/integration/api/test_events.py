"""What happens to a person as events, over a real socket; and what a server of events owes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from sqlalchemy import Engine, event
from temporalio.client import Client

from router.api.dependencies import AppState, Services
from router.domain.messages import FlowStatus
from router.domain.records import ConversationRecord, LogEntry, RunRecord
from router.runtime.server import ApiServer, create_app
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.integration.api.conftest import As, client_of, problem, served
from tests.integration.api.test_following import Event, Reader, followed
from tests.integration.api.test_runs import approval_record, run_record
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
EVENTS = "/v1/events"


def said(conversation: str, number: int, text: str = "hello", to: str | None = None) -> LogEntry:
    return LogEntry(
        key=f"{conversation}:{number}",
        kind="message",
        at=AT,
        conversation=conversation,
        recipient=to,
        data={"role": "user", "text": text},
    )


@asynccontextmanager
async def reading(
    address: str, user: str, path: str = EVENTS, after: str | None = None, about: str = ""
) -> AsyncIterator[Reader]:
    headers = {"Authorization": f"Bearer {user}"}
    async with (
        AsyncClient(base_url=address, headers=headers, timeout=60) as client,
        followed(client, path, after) as reader,
    ):
        reader.about = about
        yield reader


@pytest.fixture
def run(unique: str) -> RunRecord:
    """A run of frank's, whom no other test of this store has anything from."""
    return run_record(unique[:12], requester="frank", conversation="c1")


async def test_a_runs_new_state_is_news(address: str, store: Store, run: RunRecord) -> None:
    states: list[tuple[FlowStatus, str]] = [
        ("collecting", "details"),
        ("collecting", "details"),
        ("waiting_approval", "manager"),
        ("completed", "tell_yes"),
    ]
    async with reading(address, "frank", about=run.id) as reader:
        for events, (status, state) in enumerate(states, start=10):
            update = {"events": events, "status": status, "state": state}
            for _ in range(2):
                await store.runs.publish(run.model_copy(update=update), [])
        news = await reader.take(3)
    assert [(one.name, one.data["status"], one.data["state"]) for one in news] == [
        ("flow", *state) for state in states[1:]
    ]
    first = {"flow_run": run.id, "flow": run.flow, "title": run.title.en, "conversation": "c1"}
    stands = {"status": "collecting", "state": "details", "at": news[0].data["at"]}
    assert news[0].data == first | stands


async def test_what_is_outdated_is_no_news(address: str, store: Store, run: RunRecord) -> None:
    async with reading(address, "frank", about=run.id) as reader:
        for events, state in [(12, "new"), (11, "old"), (13, "newer")]:
            await store.runs.publish(run.model_copy(update={"events": events, "state": state}), [])
        assert [one.data["state"] for one in await reader.take(2)] == ["new", "newer"]


CLOSED: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    "another has decided": (None, "approve", "decided"),
    "sent back": (None, "return", "decided"),
    "cancelled": (None, "withdrawn", "withdrawn"),
    "corrected": (None, "corrected", "withdrawn"),
    "too late": (None, "expired", "expired"),
    "their own verdict": ({"verdict": "approve"}, "approve", "decided"),
    "passed up": ({"verdict": "escalated"}, "escalated", "passed_on"),
    "passed on": ({"verdict": "delegate"}, "delegate", "passed_on"),
    "somebody before them": ({"active": False}, "add before", "passed_on"),
}


@pytest.mark.parametrize(("stands", "happened", "reason"), CLOSED.values(), ids=CLOSED)
async def test_who_no_longer_has_to_decide_hears_why(
    address: str,
    store: Store,
    run: RunRecord,
    stands: dict[str, Any] | None,
    happened: str,
    reason: str,
) -> None:
    asked = approval_record(run, "bob")
    line = {"at": AT, "state": "manager", "event": happened}
    later = RunRecord.model_validate(
        run.model_dump() | {"events": run.events + 1, "history": [*run.history, line]}
    )
    still = [asked.model_copy(update=stands)] if stands else []
    await store.runs.publish(run, [asked])
    async with reading(address, "bob", about=run.id) as reader:
        for _ in range(2):
            await store.runs.publish(later, still)
        await store.log.append("default", [said(f"of {run.id}", 1, to="bob")])
        closed, last = await reader.take(2)
    assert (closed.name, last.name) == ("approval", "message")
    assert (closed.data["reason"], closed.data["approval"]) == (reason, asked.id)
    assert (closed.data["flow_run"], closed.data["requester"]) == (run.id, "frank")


async def test_an_approval_is_news(address: str, store: Store, run: RunRecord, caller: As) -> None:
    asked = approval_record(run, "bob")
    notice = LogEntry(
        key=f"{run.id}:asked",
        kind="approval",
        at=AT,
        recipient="bob",
        data={"approval": asked.id, "flow_run": run.id, "reason": "asked"}
        | {"flow": run.flow, "title": run.title.model_dump(), "requester": "frank"},
    )
    async with (
        reading(address, "bob", about=run.id) as bobs,
        reading(address, "dave", about=run.id) as daves,
    ):
        await store.runs.publish(run, [asked], [notice])
        (heard,) = await bobs.take(1)
        waiting = (await caller("bob").get("/v1/approvals?limit=200")).json()["items"]
        await store.log.append("default", [said(f"of {run.id}", 1, to="dave")])
        assert (await daves.take(1))[0].name == "message"
    assert (heard.data["reason"], heard.data["title"]) == ("asked", run.title.zh)
    assert heard.data["approval"] in {one["id"] for one in waiting}


async def test_what_is_said_is_news_in_short(address: str, store: Store, unique: str) -> None:
    async with reading(address, "gina", about=unique) as reader:
        await store.log.append("default", [said(unique, 1, "长" * 999, to="gina")])
        (heard,) = await reader.take(1)
    place = {"conversation": unique, "id": (heard.id or "").partition(".")[0]}
    told = {"at": "2026-11-22T10:00:00Z", "role": "user", "text": "长" * 200}
    assert (heard.name, heard.data) == ("message", place | told)


async def test_what_is_looked_up_is_no_news(address: str, store: Store, run: RunRecord) -> None:
    looked = run.model_copy(update={"flow": "get_current_time", "id": f"y{run.id}"})
    async with reading(address, "frank", about=run.id) as reader:
        await store.runs.publish(looked, [])
        await store.runs.publish(run, [])
        assert (await reader.take(1))[0].data["flow_run"] == run.id


@each_row("query", ["", "?token=alice", "?access_token=alice"])
async def test_a_token_in_the_address_is_none(app: FastAPI, query: str) -> None:
    async with client_of(app, None) as nobody:
        problem(await nobody.get(EVENTS + query), 401)


class House:
    """A desk of its own, with a database that outlives it and Temporal out of reach."""

    def __init__(self, services: Services, file: Path) -> None:
        self.url = f"sqlite:///{file}"
        self.database = Database(self.url)
        self.services = services
        self.id = uuid4().hex
        self.written = 0

    @property
    def paths(self) -> list[str]:
        """Both streams, which have the same number of events of what `write` writes."""
        return [EVENTS, f"/v1/conversations/{self.id}/events"]

    async def open(self) -> FastAPI:
        """The API as if it had just been started."""
        nowhere = await Client.connect("127.0.0.1:1", lazy=True)
        await self.database.dispose()
        self.database = Database(self.url)
        await self.database.migrate(ROUTER)
        self.store = Store(self.database)
        return create_app(replace(self.services, temporal=nowhere, store=self.store))

    async def furnish(self) -> None:
        record = {"id": self.id, "tenant": "default", "owner": "alice", "locale": "zh"}
        await self.store.conversations.create(
            ConversationRecord.model_validate(record | {"created_at": AT})
        )

    async def write(self, count: int, text: str = "") -> None:
        for _ in range(count):
            self.written += 1
            row = said(self.id, self.written, f"{self.written} {text}", to="alice")
            await self.store.log.append("default", [row])


@pytest.fixture
async def house(services: Services, tmp_path: Path) -> AsyncIterator[House]:
    house = House(services, tmp_path / "router.db")
    yield house
    await house.database.dispose()


def numbers(events: list[Event]) -> list[int]:
    return [int(str(one.data["text"]).split()[0]) for one in events]


@pytest.mark.parametrize("stream", [0, 1], ids=["caller", "conversation"])
class TestBothStreams:
    async def test_a_restart_loses_and_repeats_nothing(self, house: House, stream: int) -> None:
        path = house.paths[stream]
        async with served(await house.open()) as where:
            await house.furnish()
            async with reading(where, "alice", path) as reader:
                await house.write(3)
                seen = await reader.take(2)
        await house.write(2)
        async with (
            served(await house.open()) as where,
            reading(where, "alice", path, seen[-1].id) as reader,
        ):
            await house.write(2)
            rest = await reader.take(5)
        assert numbers([*seen, *rest]) == [1, 2, 3, 4, 5, 6, 7]

    @pytest.mark.slow
    async def test_silence_is_broken_by_pings(
        self, house: House, stream: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.02)
        async with served(await house.open()) as where:
            await house.furnish()
            async with reading(where, "alice", house.paths[stream]) as reader:
                assert [one.name for one in await reader.take(2)] == ["ping", "ping"]

    async def test_each_reader_gets_everything_once(self, house: House, stream: int) -> None:
        path = house.paths[stream]
        async with served(await house.open()) as where:
            await house.furnish()
            await house.write(3)
            async with (
                reading(where, "alice", path, "0") as first,
                reading(where, "alice", path, "2") as second,
                reading(where, "alice", path) as third,
            ):
                await house.write(60)
                assert numbers(await first.take(63)) == list(range(1, 64))
                assert numbers(await second.take(61)) == list(range(3, 64))
                assert numbers(await third.take(60)) == list(range(4, 64))

    @pytest.mark.slow
    async def test_readers_share_reads_of_the_database(self, house: House, stream: int) -> None:
        path = house.paths[stream]
        reads: list[str] = []

        def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("SELECT event_log."):
                reads.append(statement)

        async with served(await house.open()) as where:
            await house.furnish()
            async with many(where, path, 20) as readers:
                event.listen(Engine, "before_cursor_execute", note)
                await house.write(10)
                for reader in readers:
                    assert numbers(await reader.take(10)) == list(range(1, 11))
                event.remove(Engine, "before_cursor_execute", note)
        assert 1 <= len(reads) <= 10

    @pytest.mark.slow
    async def test_they_end_when_the_server_is_stopped(self, house: House, stream: int) -> None:
        app = await house.open()
        await house.furnish()
        server = ApiServer(app, 120.0)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(server.serve([listening]))
            where = f"http://127.0.0.1:{listening.getsockname()[1]}"
            async with reading(where, "alice", house.paths[stream]) as reader:
                await house.write(1)
                assert numbers(await reader.take(1)) == [1]
                server.stop()
                assert [line async for line in reader._lines] == []
                async with asyncio.timeout(30):  # under its grace: nobody was cancelled
                    await serving

    @pytest.mark.slow
    async def test_who_stops_reading_is_dropped_and_can_go_on(
        self, house: House, stream: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, long = house.paths[stream], "x" * 6000
        app = await house.open()
        state: AppState = app.state.shared
        async with served(app, unread=65_536) as where:
            await house.furnish()
            with idle_reader(where, path) as idle:
                async with reading(where, "alice", path) as other, asyncio.timeout(HANGS_AFTER_S):
                    # Not before: a busy machine takes longer than this to be connected.
                    monkeypatch.setattr("router.runtime.server.PATIENCE", 0.2)
                    got = 0
                    while state.hub.readers() < 2:  # noqa: ASYNC110 - the server's doing
                        await asyncio.sleep(0.01)
                    while state.hub.readers() == 2:
                        await house.write(50, long)
                        assert numbers(await other.take(50)) == list(range(got + 1, got + 51))
                        got += 50
                last = last_id(idle)
            seen = house.written if last is None else int(last.partition(".")[0])
            async with reading(where, "alice", path, last) as again:
                rest = numbers(await again.take(got - seen))
        assert rest == list(range(seen + 1, got + 1))
        assert 0 < seen < got


@asynccontextmanager
async def many(where: str, path: str, count: int) -> AsyncIterator[list[Reader]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(reading(where, "alice", path)) for _ in range(count)]


def idle_reader(where: str, path: str) -> socket.socket:
    """A client that asks for the stream and doesn't read it, with little room for what comes."""
    host, _, port = where.removeprefix("http://").partition(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect((host, int(port)))
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer alice\r\n\r\n"
    client.sendall(request.encode())
    return client


def last_id(client: socket.socket) -> str | None:
    """The id of the last event that came whole."""
    client.settimeout(5)
    came = b""
    try:
        while some := client.recv(1 << 16):
            came += some
    except ConnectionResetError:
        pass
    ids = [line[4:] for line in came.decode(errors="replace").split("\n") if line[:4] == "id: "]
    return ids[-2] if len(ids) > 1 else None
