"""Telling who watches, and the rows of it."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import pytest

from activities.progress import EVERY, MOST_WAITING, ProgressPublisher, Recording
from router.domain.errors import Unavailable
from router.domain.progress import Progress
from router.domain.records import LogEntry
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.llm.types import OnText, TextDelta
from router.store.event_log import EventLog
from tests.fakes.audience import Audience
from tests.fakes.model_server import ModelServer, drips, drops, says, waits
from tests.unit.llm.asking import question
from tests.waiting import HANGS_AFTER_S

ASKED = question(functions=())


@pytest.fixture
def audience() -> Audience:
    return Audience()


def text_for(audience: Audience) -> AbstractAsyncContextManager[OnText]:
    return ProgressPublisher(audience).of("t", "c", "m")


def shown(told: list[Progress]) -> str:
    """The text as a reader has it after these deltas."""
    text, attempt = "", 0
    for delta in told:
        number = delta.data["attempt"]
        assert isinstance(number, int)
        assert number >= attempt
        text = (text if number == attempt else "") + str(delta.data["text"])
        attempt = number
    return text


def pieces(text: str, attempt: int = 1) -> Iterator[TextDelta]:
    return (TextDelta(attempt=attempt, text=letter) for letter in text)


async def test_the_first_piece_is_told_at_once_and_all_by_the_end(audience: Audience) -> None:
    async with text_for(audience) as on_text:
        first, *rest = pieces("你好, this is quick")
        await on_text(first)
        for _ in range(3):
            await asyncio.sleep(0)
        assert [one.data["text"] for one in audience.told] == ["你"]
        for piece in rest:
            await on_text(piece)
    assert shown(audience.told) == "你好, this is quick"
    told = {(p.tenant, p.conversation, p.message_id, p.type) for p in audience.told}
    assert told == {("t", "c", "m", "text_delta")}


async def test_a_long_text_is_told_about_twenty_times_a_second(audience: Audience) -> None:
    began = time.perf_counter()
    async with text_for(audience) as on_text:
        for piece in pieces("长" * 1000):
            await on_text(piece)
            await asyncio.sleep(0.0002)
    took = time.perf_counter() - began
    assert shown(audience.told) == "长" * 1000
    assert 1 < len(audience.told) <= took / EVERY + 2


async def test_a_model_never_waits_for_those_who_read(audience: Audience) -> None:
    audience.door.clear()
    async with text_for(audience) as on_text:
        for piece in pieces("a" * 100):
            async with asyncio.timeout(HANGS_AFTER_S):
                await on_text(piece)
            await asyncio.sleep(0)
        audience.door.set()
    assert shown(audience.told) == "a" * 100
    assert len(audience.told) == 2


async def test_another_attempt_begins_the_text_anew(audience: Audience) -> None:
    async with text_for(audience) as on_text:
        for piece in (*pieces("broken o", 1), *pieces("whole", 2)):
            await on_text(piece)
            await asyncio.sleep(EVERY / 4)
    assert shown(audience.told) == "whole"
    assert len({p.data["attempt"] for p in audience.told}) == 2


async def test_what_was_not_told_of_an_earlier_attempt_never_is(audience: Audience) -> None:
    async with text_for(audience) as on_text:
        for piece in (*pieces("old", 1), *pieces("new", 2)):
            await on_text(piece)
    assert [p.data["text"] for p in audience.told] == ["new"]


async def test_an_activity_tried_again_begins_the_text_anew(audience: Audience) -> None:
    telling = ProgressPublisher(audience)
    for _ in range(2):
        async with telling.of("t", "c", "m") as on_text:
            for piece in pieces("again"):
                await on_text(piece)
    assert shown(audience.told) == "again"


async def test_no_text_tells_nothing(audience: Audience) -> None:
    async with text_for(audience):
        pass
    assert audience.told == []


def test_an_error_passes_as_it_is_and_leaves_nothing_running() -> None:
    audience = Audience()

    async def fail() -> None:
        async with text_for(audience) as on_text:
            await on_text(TextDelta(attempt=1, text="a"))
            raise KeyError("model")

    async def fail_alone() -> set["asyncio.Task[Any]"]:
        with pytest.raises(KeyError, match="model"):
            await fail()
        return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    # In a loop of its own: other tests leave generators to the loop that all of them share.
    assert asyncio.run(fail_alone()) == set()


class TestModels:
    async def test_the_text_is_read_while_it_is_being_written(self, audience: Audience) -> None:
        rest = asyncio.Event()
        async with ModelServer([waits(rest, before=3, then=says("你还有 15 天年假。"))]) as server:
            model = ChatModel(server.url, "scripted")
            async with text_for(audience) as on_text, audience.listen("t", "c") as events:
                answering = asyncio.create_task(FallbackChain([model]).answer(ASKED, 10, on_text))
                first = await anext(events)
                assert not answering.done()
                rest.set()
                await answering
            await model.aclose()
        assert str(first.data["text"])
        assert shown(audience.told) == "你还有 15 天年假。"

    @pytest.mark.slow
    async def test_a_model_that_breaks_off_is_followed_by_one(self, audience: Audience) -> None:
        broken, whole = says("This is the first model, which"), says("The second one is whole.")
        async with (
            ModelServer([drops(drips(broken, 0.0005), pieces=1200)]) as first,
            ModelServer([drips(whole, 0.0001)]) as second,
        ):
            models = [ChatModel(first.url, "first"), ChatModel(second.url, "second")]
            async with text_for(audience) as on_text:
                await FallbackChain(models).answer(ASKED, 10, on_text)
            for model in models:
                await model.aclose()
        assert len({delta.data["attempt"] for delta in audience.told}) == 2
        assert shown(audience.told) == "The second one is whole."


class Scribe(EventLog):
    """A log that remembers what it was given; while `door` is shut, whoever appends waits."""

    def __init__(self) -> None:
        self.appended: list[tuple[str, list[str]]] = []
        self.failures: list[Exception] = []
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


def row(key: object) -> LogEntry:
    return LogEntry(key=str(key), kind="thinking", at=datetime.now(UTC), conversation="c", data={})


@pytest.fixture
def scribe() -> Scribe:
    return Scribe()


@pytest.fixture
def recording(scribe: Scribe) -> Recording:
    return Recording(scribe)


async def written(event: asyncio.Event) -> None:
    async with asyncio.timeout(HANGS_AFTER_S):
        await event.wait()


async def test_what_is_noted_is_written_in_its_order(scribe: Scribe, recording: Recording) -> None:
    *_, last = [recording.note("t", row(number)) for number in range(250)]
    await written(last)
    assert scribe.keys == [str(number) for number in range(250)]
    assert len(scribe.appended) == 3


async def test_noting_never_waits_for_the_database(scribe: Scribe, recording: Recording) -> None:
    scribe.door.clear()
    noted = [recording.note("t", row(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert scribe.appended == []
    scribe.door.set()
    await written(noted[-1])
    assert all(event.is_set() for event in noted)


async def test_rows_of_several_tenants_are_kept_apart(scribe: Scribe, recording: Recording) -> None:
    *_, last = [recording.note(tenant, row("k")) for tenant in ("a", "a", "b", "a")]
    await written(last)
    assert scribe.appended == [("a", ["k", "k"]), ("b", ["k"]), ("a", ["k"])]


async def test_rows_outlast_a_database_that_is_away(
    scribe: Scribe, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.progress.RETRY_SECONDS", 0.0)
    scribe.failures = [Unavailable("down"), Unavailable("down")]
    await written(recording.note("t", row("1")))
    assert scribe.keys == ["1"]


async def test_what_can_never_be_written_keeps_nothing_back(
    scribe: Scribe, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    scribe.failures = [ValueError("no such row")]
    lost = recording.note("t", row("1"), at_once=True)
    while scribe.failures:  # noqa: ASYNC110 - the writer's doing
        await asyncio.sleep(0)
    await written(recording.note("t", row("2")))
    assert (scribe.keys, lost.is_set()) == (["2"], False)
    assert "1 rows can't be written" in caplog.text


async def test_of_too_many_rows_the_oldest_are_lost(scribe: Scribe, recording: Recording) -> None:
    scribe.door.clear()
    *_, last = [recording.note("t", row(number)) for number in range(MOST_WAITING + 2)]
    scribe.door.set()
    await written(last)
    assert (scribe.keys[0], len(scribe.keys)) == ("2", MOST_WAITING)


async def test_a_beginning_waits_for_its_end_and_goes_with_it_in_one_transaction(
    scribe: Scribe, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.progress.LINGER", 60.0)
    recording.note("t", row("begun"))
    await asyncio.sleep(0)
    assert scribe.appended == []
    await written(recording.note("t", row("ended"), at_once=True))
    assert scribe.appended == [("t", ["begun", "ended"])]
