"""Rows are written beside whoever notes them: in order, few transactions, and never in the way."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from activities.progress import MOST_WAITING, Recording
from router.domain.errors import Unavailable
from router.domain.records import LogEntry
from router.store.event_log import EventLog


class Scribe(EventLog):
    """A log that remembers what it was given; while `door` is shut, whoever appends waits."""

    def __init__(self, *failures: Exception) -> None:
        self.appended: list[tuple[str, list[str]]] = []
        self.failures = list(failures)
        self.door = asyncio.Event()
        self.door.set()

    async def append(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        await self.door.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.appended.append((tenant, [entry.key for entry in entries]))

    @property
    def keys(self) -> list[str]:
        return [key for _, keys in self.appended for key in keys]


def row(key: str) -> LogEntry:
    return LogEntry(key=key, kind="thinking", at=datetime.now(UTC), conversation="c", data={})


async def written(event: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await event.wait()


async def test_what_is_noted_is_written_in_its_order() -> None:
    scribe = Scribe()
    recording = Recording(scribe)

    for number in range(250):
        last = recording.note("t", row(str(number)))
    await written(last)

    assert scribe.keys == [str(number) for number in range(250)]
    assert len(scribe.appended) == 3


async def test_noting_never_waits_for_a_database_that_does() -> None:
    scribe = Scribe()
    scribe.door.clear()
    recording = Recording(scribe)

    noted = [recording.note("t", row(str(number))) for number in range(3)]
    await asyncio.sleep(0)
    assert scribe.appended == []
    scribe.door.set()
    await written(noted[-1])

    assert all(event.is_set() for event in noted)


async def test_rows_of_several_tenants_are_kept_apart() -> None:
    scribe = Scribe()
    recording = Recording(scribe)

    for tenant in ("a", "a", "b", "a"):
        last = recording.note(tenant, row("k"))
    await written(last)

    assert scribe.appended == [("a", ["k", "k"]), ("b", ["k"]), ("a", ["k"])]


async def test_rows_outlast_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.progress.RETRY_SECONDS", 0.0)
    scribe = Scribe(Unavailable("down"), Unavailable("down"))
    recording = Recording(scribe)

    await written(recording.note("t", row("1")))

    assert scribe.keys == ["1"]


async def test_what_can_never_be_written_keeps_nothing_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scribe = Scribe(ValueError("no such row"))
    recording = Recording(scribe)

    lost = recording.note("t", row("1"), at_once=True)
    while scribe.failures:  # noqa: ASYNC110 - the writer's doing
        await asyncio.sleep(0)
    await written(recording.note("t", row("2")))

    assert scribe.keys == ["2"]
    assert not lost.is_set()
    assert "1 rows can't be written" in caplog.text


async def test_of_too_many_rows_the_oldest_are_given_up() -> None:
    scribe = Scribe()
    scribe.door.clear()
    recording = Recording(scribe)

    for number in range(MOST_WAITING + 2):
        last = recording.note("t", row(str(number)))
    scribe.door.set()
    await written(last)

    assert scribe.keys[0] == "2"
    assert len(scribe.keys) == MOST_WAITING


async def test_a_beginning_waits_for_its_end_and_goes_with_it_in_one_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("activities.progress.LINGER", 60.0)
    scribe = Scribe()
    recording = Recording(scribe)

    recording.note("t", row("begun"))
    await asyncio.sleep(0)
    assert scribe.appended == []
    await written(recording.note("t", row("ended"), at_once=True))

    assert scribe.appended == [("t", ["begun", "ended"])]
