"""What goes a few rows at a time, what is left of spending, and tables from before all that."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from router.domain.costs import Purpose
from router.domain.messages import Cost, Usage
from router.domain.periods import Period
from router.domain.records import ConversationRecord, LogEntry, Mailbox
from router.store import retention, tables
from router.store.database import Database
from router.store.legal_holds import LegalHold
from router.store.store import Store

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=100)
ROUTED = Purpose(role="router", model="small")


def conversation(number: int, at: datetime = OLD) -> ConversationRecord:
    about = {"id": f"c{number}", "tenant": f"t{number % 2}", "owner": "alice", "locale": "zh"}
    return ConversationRecord.model_validate({**about, "created_at": at})


def said(number: int, at: datetime = OLD) -> LogEntry:
    about: dict[str, Any] = {"conversation": f"c{number}", "at": at, "data": {}}
    return LogEntry(key=f"k{number}", kind="message", **about)


async def rows_of(database: Database, name: str) -> int:
    counted = select(func.count()).select_from(tables.metadata.tables[name])
    return await database.read(lambda connection: connection.execute(counted).scalar_one())


async def test_what_is_more_than_goes_at_once_goes_all_the_same(
    store: Store, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_AT_ONCE", 3)
    for number in range(11):
        await store.conversations.create(conversation(number))
        await store.log.append(f"t{number % 2}", [said(number)])
        await store.results.keep("t0", "alice", "look_up", "{}")
    aged = tables.results.update().values(kept_at=OLD)
    await database.write(lambda connection: connection.execute(aged))
    alive = conversation(11)
    await store.conversations.create(alive)
    await store.log.append(alive.tenant, [said(11, NOW)])
    assert await store.retention.expire(30, confirmed=True) == 11
    left = {
        name: await rows_of(database, name) for name in ("conversations", "event_log", "results")
    }
    assert left == {"conversations": 1, "event_log": 1, "results": 0}


async def spent(store: Store, person: str, day: datetime) -> None:
    cost = Cost(amount=Decimal("0.25"), currency="USD")
    usage = Usage(llm_calls=2, prompt_tokens=10, cost=cost)
    await store.spending.add("default", person, day.date(), usage, ROUTED)


async def by_person(store: Store, day: datetime) -> dict[str | None, int]:
    period = Period.read(day.date(), day.date(), "UTC", NOW)
    lines = await store.spending.lines("default", period, ("person",), "USD")
    return {line.person: line.calls for line in lines}


async def test_what_models_cost_long_ago_stays_and_is_nobody_s(store: Store) -> None:
    for person in ("alice", "bob", "carol"):
        await spent(store, person, OLD)
    await spent(store, "alice", NOW)
    hold = {"subject": "carol", "reason": "case 7", "placed_by": "olga", "placed_at": NOW}
    await store.legal_holds.place("default", LegalHold(kind="person", **hold))
    before = await store.spending.of_day("default", "alice", OLD.date(), "USD")
    for _ in range(2):
        await store.retention.expire(30, confirmed=True)
    after = await store.spending.of_day("default", "alice", OLD.date(), "USD")
    assert await by_person(store, OLD) == {"": 4, "carol": 2}
    assert await by_person(store, NOW) == {"alice": 2}
    assert (after.tenant, after.day) == (before.tenant, before.day)
    assert after.tenant.cost == Cost(amount=Decimal("0.75"), currency="USD")
    assert after.user.llm_calls == 0


async def test_a_mailbox_doesn_t_wait_for_what_has_gone(store: Store, database: Database) -> None:
    place: dict[str, Any] = {"platform": "chat", "kind": "conversation", "place": {}}
    await store.mailboxes.open(Mailbox(tenant="t1", subject="c1", due=OLD, **place))
    await store.log.append("t1", [said(1)])
    await database.write(lambda connection: connection.execute(delete(tables.log)))
    (box,) = await store.mailboxes.claim(["chat"], NOW, NOW, 10)
    assert await store.mailboxes.unread(box, 10) == []
    assert await store.mailboxes.oldest(["chat"]) == {}
    await store.mailboxes.advance(box, box.news, NOW)
    assert await store.mailboxes.claim(["chat"], NOW, NOW, 10) == []


async def test_a_mailbox_that_is_opened_late_has_what_was_said_before(store: Store) -> None:
    await store.log.append("t1", [said(1)])
    place: dict[str, Any] = {"platform": "chat", "kind": "conversation", "place": {}}
    await store.mailboxes.open(Mailbox(tenant="t1", subject="c1", due=OLD, **place))
    (box,) = await store.mailboxes.claim(["chat"], NOW, NOW, 10)
    assert [entry.key for entry in await store.mailboxes.unread(box, 10)] == ["k1"]
