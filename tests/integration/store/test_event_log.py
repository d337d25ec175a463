"""The event log, and mailboxes of what has yet to be posted, on both databases."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from router.domain.messages import Route, Turn, Usage
from router.domain.progress import ProgressPlace, Thinking, ToolCallProgress
from router.domain.records import LogEntry, LogKind, Mailbox
from router.store.store import Store
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
CALL = ToolCallProgress(ProgressPlace("c1", "m1"), "c0", "look")
THOUGHT = Thinking(ProgressPlace("c1", "m1"), "r:1:1:1", "decide", None, 1, 1)


async def kinds(store: Store, after: int = 0) -> list[str]:
    return [row.kind for row in await store.log.since("t", "c1", after, 100)]


@pytest.mark.slow
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
        *(("tool_started", "c0"), ("tool_finished", "c0"))
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
    async with store.live.listen_for("t", "bob") as told, asyncio.timeout(HANGS_AFTER_S):
        await store.log.append("t", [row.model_copy(update={"recipient": "carol"})])
        await store.log.append("t", [row.model_copy(update={"key": "n", "recipient": "bob"})])
        heard = await anext(told)
    assert (heard.type, heard.person, heard.conversation) == ("recorded", "bob", "")


async def test_whoever_listens_hears_that_there_is_more(store: Store) -> None:
    async with store.live.listen("t", "c1") as told, asyncio.timeout(HANGS_AFTER_S):
        await store.log.append("t", [CALL.started(AT)])
        assert (await anext(told)).type == "recorded"
        assert await kinds(store) == ["tool_started"]


def line(number: int, kind: LogKind, message_id: str | None = None) -> LogEntry:
    return entry(f"c1:{number}", kind, message_id, role="assistant", text=str(number))


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


def entry(
    key: str, kind: LogKind = "message", message_id: str | None = None, **data: JsonValue
) -> LogEntry:
    data = data or {"role": "user", "text": "你好"}
    return LogEntry(key=key, kind=kind, at=AT, conversation="c1", message_id=message_id, data=data)


def turn_entry(message_id: str, key: str = "", turn: int = 1) -> LogEntry:
    said = Turn(message_id=message_id, turn=turn, route=Route(kind="reply", by="fallback"))
    about: dict[str, Any] = {"digest": "d1", "turn": said.model_dump(mode="json")}
    return entry(key or f"turn:{message_id}", "turn", message_id, **about)


async def test_a_number_is_given_to_one_turn_whoever_writes_late(store: Store) -> None:
    async def kept(*entries: LogEntry) -> list[str]:
        unknown = await store.log.append_turn("t", entries)
        return [one.turn.message_id for one in unknown]

    assert await kept(entry("said:a"), turn_entry("a")) == []
    assert await kept(entry("said:b"), turn_entry("b")) == ["a"]
    assert await kept(entry("said:a"), turn_entry("a")) == ["a"]
    assert await kept(entry("said:b"), turn_entry("b", turn=2)) == []
    assert await kept(turn_entry("late")) == ["a", "b"]
    assert await kept(turn_entry("late", turn=2)) == ["b"]
    there = [row.key for row in await store.log.since("t", "c1", 0, 100)]
    assert there == ["said:a", "turn:a", "said:b", "turn:b"]
    elsewhere = turn_entry("a", key="elsewhere").model_copy(update={"conversation": "c2"})
    assert await kept(elsewhere) == []


async def test_of_two_turns_of_one_number_at_once_one_is_kept(store: Store) -> None:
    at_once = (store.log.append_turn("t", [turn_entry(name)]) for name in "abcdef")
    unknown = await asyncio.gather(*at_once)
    assert sorted(map(len, unknown)) == [0, 1, 1, 1, 1, 1]
    assert await kinds(store) == ["turn"]


class TestLog:
    async def test_appending_again_writes_once_and_keeps_the_order(self, store: Store) -> None:
        await store.log.append("default", [])
        await store.log.append("default", [entry("1"), entry("2")])
        await store.log.append("default", [entry("2"), entry("3")])
        entries = await store.log.transcript("default", "c1", None, 10)
        assert [e.key for e in entries] == ["1", "2", "3"]
        numbers = [e.sequence or 0 for e in entries]
        assert numbers == sorted(set(numbers))
        assert entries[0] == entry("1").model_copy(update={"sequence": entries[0].sequence})

    async def test_a_transcript_of_messages_is_read_on_from_a_number(self, store: Store) -> None:
        await store.log.append("default", [entry(str(n)) for n in range(5)])
        await store.log.append("default", [entry("route", "route"), turn_entry("m1")])
        await store.log.append("other", [entry("1")])
        first = await store.log.transcript("default", "c1", None, 2)
        rest = await store.log.transcript("default", "c1", first[-1].sequence, 10)
        assert [e.key for e in first + rest] == ["0", "1", "2", "3", "4"]
        assert len(await store.log.transcript("other", "c1", None, 10)) == 1

    async def test_a_turn_is_found_by_its_id_as_answered_first(self, store: Store) -> None:
        await store.log.append("default", [turn_entry("m1", "k1", turn=1)])
        await store.log.append("default", [turn_entry("m1", "k2", turn=2), entry("after")])
        found = await store.log.turn("default", "c1", "m1")
        assert found is not None
        assert (found.digest, found.turn.message_id, found.turn.turn) == ("d1", "m1", 1)
        for place in (("default", "c1", "m2"), ("default", "c2", "m1"), ("other", "c1", "m1")):
            assert await store.log.turn(*place) is None
        assert len(await store.log.transcript("default", "c1", None, 10)) == 1

    async def test_exchanges_are_read_on_conversation_by_conversation(self, store: Store) -> None:
        elsewhere = entry("b1").model_copy(update={"conversation": "c0"})
        of_bob = entry("p").model_copy(update={"conversation": None, "recipient": "bob"})
        await store.log.append("default", [entry("1"), entry("2", "route"), elsewhere, of_bob])
        await store.log.append("default", [turn_entry("m1"), entry("3")])
        await store.log.append("other", [entry("of another tenant")])
        seen: list[str] = []
        after = None
        while page := await store.log.exchanges("default", after, 2):
            seen += [e.key for e in page]
            after = (page[-1].conversation or "", page[-1].sequence or 0)
        assert seen == ["b1", "1", "turn:m1", "3"]

    async def test_a_reader_who_follows_a_conversation_misses_nothing(self, store: Store) -> None:
        """Numbers become visible in order, though many append at once."""
        seen: list[str] = []

        async def follow() -> None:
            after = None
            while len(seen) < 200:
                for found in await store.log.transcript("default", "c1", after, 50):
                    seen.append(found.key)
                    after = found.sequence

        async def append(writer: int) -> None:
            for n in range(20):
                await store.log.append("default", [entry(f"{writer}:{n}")])

        async with asyncio.timeout(HANGS_AFTER_S), asyncio.TaskGroup() as group:
            group.create_task(follow())
            for writer in range(10):
                group.create_task(append(writer))
        assert len(set(seen)) == 200


MINUTE = timedelta(minutes=1)


def mailbox(subject: str = "c1", **more: Any) -> Mailbox:
    whole = {"tenant": "t", "platform": "slack", "kind": "conversation", "subject": subject}
    return Mailbox.model_validate({**whole, "place": {"channel": "C1"}, "due": AT, **more})


def posted(key: str, **more: Any) -> LogEntry:
    return entry(key, "turn").model_copy(update=more)


async def claimed(store: Store, now: datetime = AT, *platforms: str) -> list[Mailbox]:
    return await store.mailboxes.claim(platforms or ("slack",), now, now + MINUTE, 10)


async def test_only_what_has_something_new_is_claimed(store: Store) -> None:
    for subject in ("c1", "c2"):
        await store.mailboxes.open(mailbox(subject))
    await store.log.append("t", [posted("k1"), posted("k2", kind="tool_started")])
    await store.log.append("u", [posted("k3", conversation="c2")])
    (box,) = await claimed(store)
    assert box.subject == "c1"
    assert [row.key for row in await store.mailboxes.unread(box, 10)] == ["k1"]
    assert await claimed(store, AT, "feishu") == []


async def test_a_mailbox_is_one_process_s_until_it_lets_go_or_dies(store: Store) -> None:
    await store.mailboxes.open(mailbox())
    await store.log.append("t", [posted("k1"), posted("k2")])
    (box,) = await claimed(store)
    assert await claimed(store, AT + MINUTE / 2) == []
    (after_its_death,) = await claimed(store, AT + MINUTE)
    first, second = await store.mailboxes.unread(after_its_death, 10)
    await store.mailboxes.advance(after_its_death, first.sequence or 0, AT)
    (box,) = await claimed(store)
    assert await store.mailboxes.unread(box, 10) == [second]


async def test_who_was_held_up_for_longer_than_their_lease_notes_nothing(store: Store) -> None:
    await store.mailboxes.open(mailbox())
    await store.log.append("t", [posted("k1"), posted("k2")])
    (held_up,) = await claimed(store)
    first, second = await store.mailboxes.unread(held_up, 10)
    (theirs,) = await claimed(store, AT + MINUTE)
    assert await store.mailboxes.advance(held_up, first.sequence or 0, AT) is None
    still = await store.mailboxes.advance(theirs, second.sequence or 0, AT + 3 * MINUTE)
    assert still is not None
    assert await store.mailboxes.advance(held_up, first.sequence or 0, AT) is None
    assert await store.mailboxes.advance(still, second.sequence or 0, AT) is not None
    assert await claimed(store, AT + MINUTE * 9) == []


async def test_what_is_posted_is_never_claimed_again(store: Store) -> None:
    await store.mailboxes.open(mailbox())
    await store.log.append("t", [posted("k1")])
    (box,) = await claimed(store)
    (row,) = await store.mailboxes.unread(box, 10)
    await store.mailboxes.advance(box, row.sequence or 0, AT)
    await store.mailboxes.open(mailbox(place={"channel": "C2"}))
    assert await claimed(store, AT + MINUTE) == []
    await store.log.append("t", [posted("k2")])
    (box,) = await claimed(store, AT + MINUTE)
    assert box.place == {"channel": "C2"}


async def test_people_get_their_approvals_from_the_first_time_on(store: Store) -> None:
    asked = {"kind": "approval", "conversation": None, "recipient": "bob"}
    await store.log.append("t", [posted("before", **asked)])
    await store.mailboxes.open(mailbox("bob", kind="person"))
    assert await claimed(store) == []
    await store.log.append(
        "t", [posted("k1", **asked), posted("k2", **asked | {"recipient": "al"})]
    )
    await store.mailboxes.open(mailbox("bob", kind="person"))
    (box,) = await claimed(store)
    assert [row.key for row in await store.mailboxes.unread(box, 10)] == ["k1"]
