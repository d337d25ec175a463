"""Events on their way to other systems, kept with the change that they tell of.

A row a consumer and event, written in the transaction of the change and deleted once it is there.
Of those of one run, or conversation, that go to one consumer only the first is ever due: those
behind it are when it is delivered, or given up. Nothing else waits for anything.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, or_, select, update

from router.domain.records import ApprovalRecord, LogEntry, RunRecord
from router.domain.webhook_events import (
    TRIED_FOR,
    KnownApproval,
    WebhookBacklog,
    WebhookDelivery,
    WebhookEvent,
    WebhookState,
    WebhookSubscription,
    is_handoff,
    of_handoffs,
    of_run,
)
from router.store import tables
from router.store.columns import moment_there
from router.store.database import Aggregate, Database
from router.store.rows import page, records

_rows = tables.webhook_deliveries
_approvals = tables.approvals
_conversations = tables.conversations
_WAITS = _rows.c.state == "waiting"


class WebhookOutbox:
    """How events come in: with what they tell of, or not at all."""

    def __init__(self, database: Database, subscriptions: Sequence[WebhookSubscription]) -> None:
        self._database = database
        self._subscriptions = subscriptions
        self._add = database.insert(_rows).on_conflict_do_nothing()

    def known(
        self, connection: Connection, tenant: str, approvals: Sequence[ApprovalRecord]
    ) -> dict[str, KnownApproval]:
        """How these approvals stand by now; ask before they are kept anew."""
        if not self._subscriptions or not approvals:
            return {}
        columns = (_approvals.c.id, _approvals.c.active, _approvals.c.verdict)
        these = _approvals.c.id.in_(sorted(one.id for one in approvals))
        found = connection.execute(select(*columns).where(_approvals.c.tenant == tenant, these))
        return {row.id: KnownApproval(row.active, row.verdict) for row in found}

    def run_changed(
        self,
        connection: Connection,
        before: RunRecord | None,
        after: RunRecord,
        known: dict[str, KnownApproval],
        approvals: Sequence[ApprovalRecord],
        key: str,
    ) -> None:
        """Keep what the change of a run is told as; call it last, for it holds up others."""
        if self._subscriptions:
            self._keep(connection, of_run(before, after, known, approvals, key))

    def appended(self, connection: Connection, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Keep what rows of the log are told as; call it last as well."""
        handed = [entry for entry in entries if is_handoff(entry)] if self._subscriptions else []
        if handed:
            talks = {entry.conversation for entry in handed if entry.conversation}
            theirs = select(_conversations.c.id, _conversations.c.owner).where(
                _conversations.c.tenant == tenant, _conversations.c.id.in_(sorted(talks))
            )
            owners = {row.id: row.owner for row in connection.execute(theirs)}
            self._keep(connection, list(of_handoffs(tenant, handed, owners)))

    def _keep(self, connection: Connection, events: Sequence[WebhookEvent]) -> None:
        wanted = [(s, event) for event in events for s in self._subscriptions if s.wants(event)]
        if not wanted:
            return
        streams = {_stream(e.tenant, s.consumer, e.subject) for s, e in wanted}
        self._database.serialise(connection, *streams)
        now = moment_there(connection)
        for subscription, event in wanted:
            row = _row(subscription, event, now)
            # One at a time: whether one is behind another depends on those before it.
            is_behind = connection.execute(_first_of(row).limit(1)).first() is not None
            connection.execute(self._add, {**row, "due": None if is_behind else now})


def _row(subscription: WebhookSubscription, event: WebhookEvent, now: datetime) -> dict[str, Any]:
    return {
        "tenant": event.tenant,
        "id": event.id_for(subscription.consumer),
        "consumer": subscription.consumer,
        "url": subscription.shown_url,
        "event": event.name,
        "subject": event.subject,
        "data": event.payload(slots=subscription.slots),
        "state": "waiting",
        "attempts": 0,
        "created_at": now,
        "until": now + TRIED_FOR,
        "error": "",
        "requester": event.requester or None,
        "person": event.person or None,
    }


def _stream(tenant: str, consumer: str, subject: str) -> str:
    return f"webhook/{tenant}/{consumer}/{subject}"


def _same_stream(row: dict[str, Any]) -> ColumnElement[bool]:
    return and_(*(_rows.c[name] == row[name] for name in ("tenant", "consumer", "subject")))


def _first_of(row: dict[str, Any]) -> Any:
    """The number of the first that waits for the same consumer, of the same run."""
    return select(_rows.c.sequence).where(_same_stream(row), _WAITS).order_by(_rows.c.sequence)


def _key_of(delivery: WebhookDelivery) -> ColumnElement[bool]:
    return and_(_rows.c.tenant == delivery.tenant, _rows.c.id == delivery.id)


class WebhookDeliveries(Aggregate):
    """What has yet to reach a consumer, and what was given up."""

    async def claim(
        self, consumer: str, now: datetime, until: datetime, limit: int
    ) -> list[WebhookDelivery]:
        """Those that are due and nobody else is at; they are the caller's until then."""
        due = (_rows.c.consumer == consumer, _WAITS, _rows.c.due <= now)
        waiting = select(_rows).where(*due).order_by(_rows.c.due).limit(limit)
        found = await records(self._database, WebhookDelivery, waiting)

        def lease(connection: Connection) -> list[WebhookDelivery]:
            leased = []
            for one in found:
                # Unless another process was quicker.
                taken = update(_rows).where(_key_of(one), _WAITS, _rows.c.due <= now)
                if connection.execute(taken.values(due=until)).rowcount:
                    leased.append(one)
            return leased

        return await self._database.write(lease) if found else []

    async def deliver(self, delivery: WebhookDelivery) -> None:
        """It is there: forget it, and have the next one of its run be due."""
        gone = delete(_rows).where(_key_of(delivery))
        await self._ended(delivery, gone)

    async def bury(self, delivery: WebhookDelivery, error: str) -> None:
        """Give it up, for an operator to look at, and have the next one of its run be due."""
        dead: dict[str, Any] = {"state": "dead", "due": None, "error": error}
        values = {**dead, "attempts": _rows.c.attempts + 1}
        await self._ended(delivery, update(_rows).where(_key_of(delivery)).values(values))

    async def _ended(self, delivery: WebhookDelivery, change: Any) -> None:
        def end(connection: Connection) -> None:
            about = delivery.model_dump(include={"tenant", "consumer", "subject"})
            self._database.serialise(connection, _stream(**about))
            connection.execute(change)
            _promote(connection, about)

        await self._database.write(end)

    async def postpone(self, delivery: WebhookDelivery, due: datetime, error: str) -> None:
        """Have it tried again from then on."""
        values: dict[str, Any] = {"due": due, "error": error, "attempts": _rows.c.attempts + 1}
        again = update(_rows).where(_key_of(delivery), _WAITS).values(values)
        await self._database.write(lambda connection: connection.execute(again))

    async def bury_all(self, consumer: str, error: str) -> int:
        """Give up all that waits for a consumer; how many that were."""
        dead: dict[str, Any] = {"state": "dead", "due": None, "error": error}
        theirs = update(_rows).where(_rows.c.consumer == consumer, _WAITS).values(dead)
        return int(await self._database.write(lambda c: c.execute(theirs).rowcount))

    async def bury_overdue(
        self, besides: Collection[str], now: datetime, until: datetime, error: str
    ) -> int:
        """Give up what is due and was to be given up by `until`; how much that was.

        What is on its way to the consumers `besides`, or is leased, is left alone.
        """
        dead: dict[str, Any] = {"state": "dead", "due": None, "error": error}
        others = _rows.c.consumer.not_in(sorted(besides))
        theirs = update(_rows).where(others, _WAITS, _rows.c.due <= now, _rows.c.until <= until)
        return int(await self._database.write(lambda c: c.execute(theirs.values(dead)).rowcount))

    async def listed(
        self, tenant: str, state: WebhookState | None, before: str | None, limit: int
    ) -> tuple[list[WebhookDelivery], str | None]:
        """Deliveries in this state, or in any, newest first, and the next cursor."""
        narrowed = {"tenant": tenant} | ({"state": state} if state else {})
        query = select(_rows).filter_by(**narrowed)
        moment = _rows.c.created_at
        return await page(self._database, WebhookDelivery, query, moment, before, limit)

    async def retry(self, tenant: str, id_: str, now: datetime) -> WebhookDelivery | None:
        """Have one tried anew, for as long as a new one; None where there is none of this id.

        One that was given up is sent once nothing of its run is on its way to its consumer.
        """
        here = (_rows.c.tenant == tenant, _rows.c.id == id_)

        def retry(connection: Connection) -> WebhookDelivery | None:
            found = connection.execute(select(_rows).where(*here)).mappings().first()
            if found is None:
                return None
            about = {name: found[name] for name in ("tenant", "consumer", "subject")}
            self._database.serialise(connection, _stream(**about))
            first = connection.scalar(_first_of(about).limit(1))
            due = now if first in (None, found["sequence"]) else None
            values: dict[str, Any] = {"state": "waiting", "until": now + TRIED_FOR, "due": due}
            connection.execute(update(_rows).where(*here).values(values))
            return WebhookDelivery.model_validate({**found, **values})

        return await self._database.write(retry)

    async def backlog(self) -> list[WebhookBacklog]:
        """What hasn't reached whom, of all tenants; nothing of those whom everything has."""
        waits, dead = (
            func.sum(case((_rows.c.state == state, 1), else_=0)) for state in ("waiting", "dead")
        )
        oldest = func.min(case((_WAITS, _rows.c.created_at)))
        query = select(
            _rows.c.url, waits.label("waiting"), dead.label("dead"), oldest.label("oldest")
        )
        return await records(self._database, WebhookBacklog, query.group_by(_rows.c.url))

    async def release(self) -> None:
        """Have what waits behind nothing be due: what was before it may have been erased."""
        before = _rows.alias()
        same = (before.c[name] == _rows.c[name] for name in ("tenant", "consumer", "subject"))
        earlier = select(before.c.sequence).where(
            *same, before.c.state == "waiting", before.c.sequence < _rows.c.sequence
        )
        free = update(_rows).where(_WAITS, _rows.c.due.is_(None), ~earlier.exists())
        await self._database.write(lambda c: c.execute(free.values(due=moment_there(c))))


def _promote(connection: Connection, stream: dict[str, Any]) -> None:
    """Have the first that waits there be due, where that isn't so already."""
    first = connection.scalar(_first_of(stream).limit(1))
    if first is not None:
        behind = update(_rows).where(_rows.c.sequence == first, _rows.c.due.is_(None))
        connection.execute(behind.values(due=moment_there(connection)))


def of_person(tenant: str, person: str) -> ColumnElement[bool]:
    """True of what names somebody, as the requester or as whoever decides."""
    whose = or_(_rows.c.requester == person, _rows.c.person == person)
    return and_(_rows.c.tenant == tenant, whose)
