"""Progress reaches whoever listens, on both databases, and never troubles whoever tells."""

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import chain, zip_longest
from typing import Any

import pytest
from sqlalchemy import text

from router.domain.progress import Progress
from router.store.database import Database
from router.store.live import (
    CHANNEL,
    MOST_BEGUN,
    PAYLOAD_BYTES,
    WAITING,
    Live,
    LiveInbox,
    Pieces,
    PostgresLive,
    payloads,
)
from router.store.store import Store
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.both_databases

STRANGE = [
    *(f"{'0' * 32} 1/1 hello", f"{'0' * 32} 0/0 {{}}", f"{'0' * 32} 2/99 {{}}"),
    *("", "hello", "{}", '{"type": "dance"}', "[1]", "null"),
    '{"tenant":"t","conversation":"c1","message_id":"m","type":"text_delta","data":{"text":"a"}}',
]
HANG_UP = text(
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be lost because the machine is busy: progress is given up on after a second."""
    for bound in ("TELL_SECONDS", "READY_SECONDS", "CHECK_TIMEOUT"):
        monkeypatch.setattr(f"router.store.live.{bound}", HANGS_AFTER_S)


def progress(kind: str, data: dict[str, Any], conversation: str = "c1", **more: Any) -> Progress:
    where = {"tenant": "t", "conversation": conversation, "message_id": "m1"}
    return Progress.model_validate({**where, "type": kind, "data": data, **more})


def delta(said: str, attempt: int = 1, **more: Any) -> Progress:
    return progress("text_delta", {"text": said, "attempt": attempt}, **more)


def started(name: str) -> Progress:
    return progress("tool_started", {"id": "1", "name": name})


async def heard(events: AsyncIterator[Progress], count: int) -> list[Progress]:
    async with asyncio.timeout(HANGS_AFTER_S):
        return [await anext(events) for _ in range(count)]


async def texts(events: AsyncIterator[Progress], count: int) -> list[str]:
    return [str(one.data["text"]) for one in await heard(events, count)]


@pytest.fixture
def live(store: Store) -> Live:
    return store.live


@pytest.fixture
async def others(database_url: str, store: Store) -> AsyncIterator[Live]:
    """The channel as another process has it; on SQLite there is no other process."""
    if store.live.__class__ is not PostgresLive:
        yield store.live
        return
    database = Database(database_url)
    elsewhere = Store(database)
    yield elsewhere.live
    await elsewhere.aclose()
    await database.dispose()


async def test_what_is_told_is_heard_whole_and_in_order(live: Live, others: Live) -> None:
    told = [delta("你好，"), delta("“quoted”\n\\ 😀\x00"), started("look"), delta("", attempt=2)]
    await live.tell(delta("into the void: telling needs nobody to listen"))
    async with live.listen("t", "c1") as events:
        for one in told:
            await others.tell(one)
        assert await heard(events, len(told)) == told


async def test_readers_hear_their_own_conversation_and_no_other(live: Live, others: Live) -> None:
    async with live.listen("t", "c1") as mine, live.listen("t", "c2") as second:
        await others.tell(delta("other tenant", tenant="u"))
        await others.tell(delta("two", conversation="c2"))
        await others.tell(delta("one"))
        assert await texts(mine, 1) == ["one"]
        assert await texts(second, 1) == ["two"]


async def test_every_reader_of_a_conversation_hears_all_of_it(live: Live, others: Live) -> None:
    async with live.listen("t", "c1") as first, others.listen("t", "c1") as second:
        async with live.listen("t", "c1"):
            await live.tell(delta("a"))
        await live.tell(delta("b, after one has left"))
        assert await texts(first, 2) == await texts(second, 2) == ["a", "b, after one has left"]


async def test_a_cancelled_wait_loses_nothing(live: Live, others: Live) -> None:
    async with live.listen("t", "c1") as events:
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await others.tell(delta("a"))
        assert await texts(events, 1) == ["a"]


async def test_a_long_text_arrives_whole_in_pieces(live: Live, others: Live) -> None:
    long = "请假😀\n" * 8000
    async with live.listen("t", "c1") as events:
        await others.tell(delta(long))
        said = ""
        while len(said) < len(long):
            said += (await texts(events, 1))[0]
    assert said == long


async def test_each_piece_of_progress_is_heard_before_the_next_is_told(
    live: Live, others: Live
) -> None:
    async with live.listen("t", "c1") as events:
        for number in range(20):
            await others.tell(delta(str(number)))
            assert await texts(events, 1) == [str(number)]


class TestInbox:
    async def test_a_slow_reader_loses_the_oldest_text_and_no_tool(self) -> None:
        inbox = LiveInbox()
        deltas = [delta(str(number)) for number in range(WAITING + 9)]
        for one in [started("look"), *deltas]:
            inbox.put(one)
        assert await heard(inbox, WAITING) == [started("look"), *deltas[10:]]

    async def test_who_has_yet_to_look_is_not_told_twice(self) -> None:
        inbox = LiveInbox()
        look = delta("").model_copy(update={"type": "recorded"})
        for one in [look, look, started("look"), look, look]:
            inbox.put(one)
        assert await heard(inbox, 3) == [look, started("look"), look]

    async def test_even_tools_are_bounded(self) -> None:
        inbox = LiveInbox()
        for number in range(WAITING + 1):
            inbox.put(started(str(number)))
        assert (await heard(inbox, 1))[0].data["name"] == "1"

    @pytest.mark.slow
    async def test_a_slow_reader_holds_nobody_up(self, live: Live) -> None:
        async with live.listen("t", "c1"), live.listen("t", "c1") as quick:
            for number in range(3 * WAITING):
                await live.tell(delta(str(number)))
                assert await texts(quick, 1) == [str(number)]


class TestPayloads:
    """What PostgreSQL takes is counted in bytes, and JSON makes some texts longer."""

    @pytest.mark.parametrize("letter", ["a", "假", "😀", '"', "\x00", "\n"])
    def test_no_payload_is_too_long_and_nothing_is_lost(self, letter: str) -> None:
        said = letter * 20_000
        parts = list(payloads(delta(said)))
        assert max(len(part.encode()) for part in parts) <= PAYLOAD_BYTES
        read = [Progress.model_validate_json(part) for part in parts]
        assert "".join(str(part.data["text"]) for part in read) == said
        assert {part.data["attempt"] for part in read} == {1}

    @pytest.mark.parametrize("letter", ["a", "假", "😀", '"', "\x00", "\n"])
    def test_what_is_no_text_comes_in_pieces_that_are_put_together(self, letter: str) -> None:
        told, pieces = [started(letter * 12_000), started(letter * 8_001)], Pieces()
        parts = [list(payloads(each)) for each in told]
        assert max(len(part.encode()) for part in chain(*parts)) <= PAYLOAD_BYTES
        heard = [pieces.joined(part) for part in chain(*zip_longest(*parts)) if part]
        read = [Progress.model_validate_json(whole) for whole in heard if whole]
        assert sorted(read, key=str) == sorted(told, key=str)

    def test_pieces_of_which_one_is_missing_come_to_nothing(self) -> None:
        first, second, third, *_ = payloads(started("x" * 8_000))
        for missing in [
            (second, third),
            (first, third),
            (first, first, third),
            ("0" * 32 + " 1/1",),
        ]:
            pieces = Pieces()
            assert not [p for p in map(pieces.joined, missing) if p and p.startswith("{")]

    def test_pieces_of_those_who_told_no_more_are_forgotten(self) -> None:
        pieces = Pieces()
        first, *others = payloads(started("x" * 8_000))
        assert pieces.joined(first) is None
        for _ in range(MOST_BEGUN):
            assert pieces.joined(next(payloads(started("x" * 8_000)))) is None
        assert [pieces.joined(each) for each in others] == [None] * len(others)

    def test_what_is_too_long_is_passed_over(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            assert list(payloads(started("x" * 130_000))) == []
        assert "tool_started is too long" in caplog.text


async def test_what_is_longer_than_a_notification_is_heard_whole(live: Live, others: Live) -> None:
    told = [started("申请理由" * 5_000), started("look")]
    async with live.listen("t", "c1") as events:
        for one in told:
            await others.tell(one)
        assert await heard(events, 2) == told


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
class TestPostgres:
    async def test_readers_hear_again_after_the_connection_was_lost(
        self, live: Live, others: Live, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("router.store.live.RETRY_SECONDS", 0.01)
        async with live.listen("t", "c1") as events:
            await database.read(lambda c: c.execute(HANG_UP).scalar())
            assert (await _told_until_heard(others, events)).data["text"] == "again"

    async def test_one_connection_hears_for_all(self, live: Live, database: Database) -> None:
        async with live.listen("t", "c1"), live.listen("t", "c2"), live.listen("t", "c3"):
            assert await database.read(lambda c: c.execute(HANG_UP).scalar()) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("payload", STRANGE)
    async def test_garbage_is_skipped(self, live: Live, database: Database, payload: str) -> None:
        strange = text("SELECT pg_notify(:channel, :payload)")
        async with live.listen("t", "c1") as events:
            given = {"channel": CHANNEL, "payload": payload}
            await database.read(lambda c: c.execute(strange, given))
            await live.tell(delta("after it"))
            assert await texts(events, 1) == ["after it"]


async def _told_until_heard(others: Live, events: AsyncIterator[Progress]) -> Progress:
    hearing = asyncio.ensure_future(anext(events))
    async with asyncio.timeout(HANGS_AFTER_S):
        while not hearing.done():
            await others.tell(delta("again"))
            await asyncio.wait({hearing}, timeout=0.05)
    return hearing.result()


async def test_a_database_out_of_reach_fails_neither_side_and_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.store.live.READY_SECONDS", 0.05)
    database = Database("postgresql://router@127.0.0.1:1/router")
    store = Store(database)
    async with store.live.listen("t", "c1") as events:
        for _ in range(3):
            await store.live.tell(delta("lost"))
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done()
        waiting.cancel()
    await store.aclose()
    await database.dispose()
    assert caplog.text.count("progress is lost") == 1
    assert "not listening on router_live" in caplog.text
