"""Progress in the event log: once however often it is written, whole, and heard of at once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from router.domain.messages import Usage
from router.domain.progress import ProgressPlace, Thinking, ToolCallProgress
from router.domain.records import LogEntry
from router.store.database import Database
from router.store.store import Store

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
CALL = ToolCallProgress(ProgressPlace("c1", "m1"), "c0", "look")
THOUGHT = Thinking(ProgressPlace("c1", "m1"), "r:1:1:1", "decide", None, 1, 1)


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(database)
    yield store
    await store.aclose()


async def kinds(store: Store, after: int = 0) -> list[str]:
    return [row.kind for row in await store.log.since("t", "c1", after, 100)]


async def test_a_call_that_is_written_again_is_there_once(store: Store) -> None:
    first, second = CALL.finished(AT, "done", 12), CALL.finished(AT, "skipped")

    for rows in ([CALL.started(AT)], [CALL.started(AT), first], [second], [first]):
        await store.log.append("t", rows)

    _, ended = await store.log.since("t", "c1", 0, 100)
    assert await kinds(store) == ["tool_started", "tool_finished"]
    assert ended.data == {"id": "c0", "name": "look", "status": "done", "milliseconds": 12}


async def test_what_has_never_begun_has_no_end(store: Store) -> None:
    other = ToolCallProgress(ProgressPlace("c1", "m1"), "c1", "look")
    await store.log.append("t", [CALL.started(AT)])

    await store.log.append("t", [other.finished(AT, "skipped"), CALL.finished(AT, "skipped")])
    await store.log.append("t", [other.finished(AT, "skipped")])

    rows = await store.log.since("t", "c1", 0, 100)
    assert [(row.kind, row.data["id"]) for row in rows] == [
        ("tool_started", "c0"),
        ("tool_finished", "c0"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        ToolCallProgress(ProgressPlace("c1", "m2"), "c0", "look"),
        ToolCallProgress(ProgressPlace("c1", run="look/t/r1"), "c0", "look"),
        ToolCallProgress(ProgressPlace("c2", "m1"), "c0", "look"),
    ],
)
async def test_the_same_id_elsewhere_is_another_call(store: Store, other: ToolCallProgress) -> None:
    await store.log.append("t", [CALL.started(AT)])

    begun, ended = other.started(AT), other.finished(AT, "done")
    await store.log.append("t", [begun, ended])

    rows = await store.log.since("t", other.place.conversation, 0, 100)
    assert [row.key for row in rows][-2:] == [begun.key, ended.key]
    assert CALL.finished(AT, "done").key != ended.key


async def test_ids_as_long_as_models_like_fit(store: Store) -> None:
    call = ToolCallProgress(ProgressPlace("c1", "m1"), "x" * 50_000, "look")

    await store.log.append("t", [call.started(AT), call.finished(AT, "done")])

    assert await kinds(store) == ["tool_started", "tool_finished"]


async def test_everything_of_a_conversation_is_read_on_from_anywhere(store: Store) -> None:
    rows = [CALL.started(AT), THOUGHT.started(AT), THOUGHT.finished(AT, 9, Usage(), "m")]
    await store.log.append("t", rows)
    await store.log.append(
        "t", [ToolCallProgress(ProgressPlace("c2", "m1"), "c0", "look").started(AT)]
    )

    read = await store.log.since("t", "c1", 0, 2)
    rest = await store.log.since("t", "c1", read[-1].sequence or 0, 2)

    assert [row.key for row in [*read, *rest]] == [row.key for row in rows]
    assert await store.log.latest("t", "c1") == rest[-1].sequence
    assert await store.log.latest("t", "nothing") == 0


async def test_what_is_for_a_person_is_read_on_from_anywhere(store: Store) -> None:
    to_bob = CALL.started(AT).model_copy(update={"recipient": "bob"})
    alone = to_bob.model_copy(update={"key": "n", "conversation": None})
    await store.log.append("t", [THOUGHT.started(AT), to_bob, alone])
    await store.log.append("other", [alone])
    await store.log.append("t", [alone.model_copy(update={"key": "m", "recipient": "carol"})])

    first, second = await store.log.news("t", "bob", 0, 9)

    assert [first.key, second.key] == [to_bob.key, "n"]
    assert await store.log.news("t", "bob", first.sequence or 0, 9) == [second]
    assert await store.log.latest_news("t", "bob") == second.sequence
    assert await store.log.latest_news("t", "nobody") == 0


async def test_whoever_listens_for_a_person_hears_of_their_news_alone(store: Store) -> None:
    row = CALL.started(AT)
    async with store.live.listen_for("t", "bob") as told, asyncio.timeout(5):
        await store.log.append("t", [row.model_copy(update={"recipient": "carol"})])
        await store.log.append("t", [row.model_copy(update={"key": "n", "recipient": "bob"})])
        heard = await anext(told)

    assert (heard.type, heard.person, heard.conversation) == ("recorded", "bob", "")


async def test_whoever_listens_hears_that_there_is_more(store: Store) -> None:
    async with store.live.listen("t", "c1") as told, asyncio.timeout(5):
        await store.log.append("t", [CALL.started(AT)])
        assert (await anext(told)).type == "recorded"
        assert await kinds(store) == ["tool_started"]


def line(number: int, kind: str, message_id: str | None = None) -> LogEntry:
    return LogEntry.model_validate(
        {
            "key": f"c1:{number}",
            "kind": kind,
            "at": AT,
            "conversation": "c1",
            "message_id": message_id,
            "data": {"role": "assistant", "text": str(number)},
        }
    )


async def test_news_is_what_came_by_itself_between_a_turn_and_the_one_before(store: Store) -> None:
    rows = [
        *(line(1, "message"), line(2, "message", "m1"), line(3, "turn", "m1")),
        *(line(4, "message"), line(5, "route"), line(6, "message", "m2"), line(7, "message")),
        *(line(8, "turn", "m2"), line(9, "message")),
    ]
    await store.log.append("t", rows)

    async def news(message_id: str, conversation: str = "c1") -> list[object]:
        return [row.data["text"] for row in await store.log.untold("t", conversation, message_id)]

    assert await news("m1") == ["1"]
    assert await news("m2") == ["4", "7"]
    assert await news("m3") == ["9"]
    assert await news("m1", "c2") == []
