"""What goes a few rows at a time, what is left of spending, and tables from before all that."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, column, delete, func, insert, select, table

from router.domain.costs import Purpose
from router.domain.messages import Cost, Usage
from router.domain.periods import Period
from router.domain.records import ConversationRecord, LogEntry, Mailbox
from router.store import retention, tables
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.legal_holds import LegalHold
from router.store.store import Store
from router.store.tables import ROUTER

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


def _as_before(name: str, rows: list[dict[str, Any]]) -> Any:
    """An insert of what a program before this wrote."""
    kinds = tables.metadata.tables[name].c
    there = table(name, *(column(each, kinds[each].type) for each in rows[0]))
    return insert(there).values(rows)


@pytest.mark.slow
async def test_rows_from_before_are_found_as_those_of_today(database_url: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(ROUTER.folder))
    config.set_main_option("path_separator", "os")
    news: dict[str, Any] = {"tenant": "t", "at": OLD, "data": {"requester": "alice"}}
    history = [{"at": OLD.isoformat(), "state": "s", "event": "approve", "by": "carol"}]
    run: dict[str, Any] = dict.fromkeys(("workflow_id", "run_id", "flow", "state"), "x")
    run |= {"tenant": "t", "id": "r1", "title": {}, "version": 1, "status": "completed"}
    run |= {"slots": {}, "requester": "bob", "history": history, "events": 1, "readers": ["dave"]}
    amounts = {"prompt_tokens": 5, "completion_tokens": 0, "cached_tokens": 0}
    amounts |= {"cache_write_tokens": 0, "reasoning_tokens": 0, "cost": 0}
    paid: dict[str, Any] = {"tenant": "t", "day": OLD.date(), "role": "", "model": "", "calls": 1}
    paid |= {"prompt": "", "currency": "", **amounts}
    box: dict[str, Any] = {"tenant": "t", "platform": "chat", "kind": "person", "subject": "erin"}

    def as_it_was(connection: Connection) -> None:
        config.attributes.update(connection=connection, version_table=ROUTER.version_table)
        command.upgrade(config, "0007")
        told = {**news, "key": "k", "kind": "approval", "recipient": "erin"}
        connection.execute(_as_before("event_log", [told]))
        connection.execute(_as_before("flow_runs", [{**run, "created_at": OLD, "updated_at": OLD}]))
        people = [{**paid, "user": user} for user in ("alice", "bob")]
        connection.execute(_as_before("spending", people))
        connection.execute(
            _as_before("mailboxes", [{**box, "place": {}, "position": 0, "due": OLD}])
        )
        command.upgrade(config, "head")

    database = Database(database_url)
    await database.write(as_it_was)
    store = Store(database)
    assert (await store.spending.of_day("t", "bob", OLD.date())).tenant.prompt_tokens == 10
    (waiting,) = await store.mailboxes.claim(["chat"], NOW, NOW, 10)
    assert waiting.news > 0
    named = select(tables.run_people.c.person).order_by(tables.run_people.c.person)
    assert await database.read(lambda c: list(c.scalars(named))) == ["carol", "dave"]
    await PersonErasure(database, "t", "alice").erase("erased-1")
    assert await rows_of(database, "event_log") == 0
    await store.aclose()
    await database.dispose()
