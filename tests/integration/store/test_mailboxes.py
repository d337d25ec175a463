"""What has yet to be posted: in order, by one process at a time, and nothing twice or never."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from router.domain.records import LogEntry, Mailbox
from router.store.database import Database
from router.store.store import Store

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(database)
    yield store
    await store.aclose()


def mailbox(subject: str = "c1", **more: Any) -> Mailbox:
    whole: dict[str, Any] = {
        "tenant": "t",
        "face": "slack",
        "kind": "conversation",
        "subject": subject,
        "place": {"channel": "C1"},
        "due": NOW,
    }
    return Mailbox.model_validate(whole | more)


def entry(key: str, **more: Any) -> LogEntry:
    whole: dict[str, Any] = {"key": key, "kind": "turn", "at": NOW, "conversation": "c1"}
    return LogEntry.model_validate(whole | {"data": {}} | more)


async def claimed(store: Store, now: datetime = NOW, *faces: str) -> list[Mailbox]:
    return await store.mailboxes.claim(faces or ("slack",), now, now + MINUTE, 10)


async def test_only_what_has_something_new_is_claimed(store: Store) -> None:
    for subject in ("c1", "c2"):
        await store.mailboxes.open(mailbox(subject))
    await store.log.append("t", [entry("k1"), entry("k2", kind="tool_started")])
    await store.log.append("u", [entry("k3", conversation="c2")])

    (box,) = await claimed(store)

    assert box.subject == "c1"
    assert [row.key for row in await store.mailboxes.unread(box, 10)] == ["k1"]
    assert await claimed(store, NOW, "feishu") == []


async def test_a_mailbox_is_one_process_s_until_it_lets_go_or_dies(store: Store) -> None:
    await store.mailboxes.open(mailbox())
    await store.log.append("t", [entry("k1"), entry("k2")])

    (box,) = await claimed(store)
    assert await claimed(store, NOW + MINUTE / 2) == []
    (after_its_death,) = await claimed(store, NOW + MINUTE)
    first, second = await store.mailboxes.unread(after_its_death, 10)
    await store.mailboxes.advance(box, first.sequence or 0, NOW)
    (box,) = await claimed(store)

    assert await store.mailboxes.unread(box, 10) == [second]


async def test_what_is_posted_is_never_claimed_again(store: Store) -> None:
    await store.mailboxes.open(mailbox())
    await store.log.append("t", [entry("k1")])
    (box,) = await claimed(store)
    (row,) = await store.mailboxes.unread(box, 10)

    await store.mailboxes.advance(box, row.sequence or 0, NOW)
    await store.mailboxes.open(mailbox(place={"channel": "C2"}))

    assert await claimed(store, NOW + MINUTE) == []
    await store.log.append("t", [entry("k2")])
    (box,) = await claimed(store, NOW + MINUTE)
    assert box.place == {"channel": "C2"}


async def test_people_get_their_approvals_from_the_first_time_on(store: Store) -> None:
    asked = {"kind": "approval", "conversation": None, "recipient": "bob"}
    await store.log.append("t", [entry("before", **asked)])
    await store.mailboxes.open(mailbox("bob", kind="person"))
    assert await claimed(store) == []

    await store.log.append("t", [entry("k1", **asked), entry("k2", **asked | {"recipient": "al"})])
    await store.mailboxes.open(mailbox("bob", kind="person"))

    (box,) = await claimed(store)
    assert [row.key for row in await store.mailboxes.unread(box, 10)] == ["k1"]
