"""What doesn't fit within the database: rows of one moment beside rows of another.

No transaction of ours leaves anything of the kind. A restore of some tables does, and a hand that
deletes in `psql`. All of it is looked for a few hundred rows at a time.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Row,
    ScalarSelect,
    Select,
    and_,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)

from router.domain.messages import ENDED
from router.domain.records import Record
from router.store import tables
from router.store.database import Aggregate
from router.store.event_log import FOR_PERSON, IN_CONVERSATION
from router.store.rows import from_row

_approvals = tables.approvals
_runs = tables.runs
_boxes = tables.mailboxes
_log = tables.log
_conversations = tables.conversations
_snapshots = tables.snapshots
PAGE = 200
"""Rows of one look."""


class StrayApproval(Record):
    """An approval that somebody is asked for, of a run that has ended, or that isn't there."""

    tenant: str
    id: str
    run: str
    workflow_id: str
    person: str
    status: str | None
    """The run's."""


class EffectLine(Record):
    """A line of the effects ledger: that a write was sent out."""

    key: str
    tool: str
    status: str
    begun_at: datetime


class StoppedMailbox(Record):
    """A mailbox whose place in the log isn't the log's: what comes next would never be posted."""

    tenant: str
    platform: str
    kind: str
    subject: str
    position: int
    news: int
    newest: int
    """The number of the last that is to be posted there; 0 where there is none."""


class CutOff(Record):
    """A conversation in which something was said that no snapshot has.

    That is usual while its workflow goes on, and a loss where it doesn't.
    """

    tenant: str
    id: str
    owner: str
    locale: str
    sequence: int
    """The number of its last turn."""
    at: datetime


class Consistency(Aggregate):
    """What is looked for after a restore, page by page, and what is mended of it."""

    async def stray_approvals(self) -> AsyncIterator[list[StrayApproval]]:
        """Those that wait for somebody and can't be decided on."""
        run = and_(_runs.c.tenant == _approvals.c.tenant, _runs.c.id == _approvals.c.run)
        own = [_approvals.c[name] for name in ("tenant", "id", "run", "workflow_id", "person")]
        query = select(*own, _runs.c.status).outerjoin_from(_approvals, _runs, run)
        async for rows in self._pages(query.where(*_STRAY), (_approvals.c.tenant, _approvals.c.id)):
            yield [from_row(StrayApproval, row) for row in rows]

    async def close_approval(self, tenant: str, approval: str) -> bool:
        """Have nobody be asked for it any more; False where it isn't such a one, or was closed."""
        run = select(_runs.c.status).where(
            _runs.c.tenant == _approvals.c.tenant, _runs.c.id == _approvals.c.run
        )
        status = run.correlate(_approvals).scalar_subquery()
        ended = func.coalesce(status, "failed").in_(sorted(ENDED))
        this = (_approvals.c.tenant == tenant, _approvals.c.id == approval, _approvals.c.active)
        close = update(_approvals).where(*this, ended).values(active=False)
        return bool(await self._database.write(lambda c: c.execute(close).rowcount))

    async def effects(self) -> AsyncIterator[list[EffectLine]]:
        """All lines of the ledger, by their keys."""
        lines = tables.effects
        query = select(*(lines.c[name] for name in EffectLine.model_fields))
        async for rows in self._pages(query, (lines.c.key,)):
            yield [from_row(EffectLine, row) for row in rows]

    async def stopped_mailboxes(self) -> AsyncIterator[list[StoppedMailbox]]:
        """Those that are ahead of the log, or haven't been told how far it goes."""
        newest = func.coalesce(_newest("conversation"), _newest("person"), 0)
        last = select(func.coalesce(func.max(_log.c.sequence), 0)).scalar_subquery()
        own = [_boxes.c[name] for name in ("tenant", "platform", "kind", "subject")]
        query = select(*own, _boxes.c.position, _boxes.c.news, newest.label("newest"))
        stopped = query.where(or_(newest > _boxes.c.news, _boxes.c.position > last))
        async for rows in self._pages(stopped, tuple(own)):
            yield [from_row(StoppedMailbox, row) for row in rows]

    async def set_mailbox(self, stopped: StoppedMailbox) -> bool:
        """Have it go on with what it hasn't posted; False where it has moved meanwhile."""
        named = stopped.model_dump(exclude={"newest"})
        this = [_boxes.c[name] == value for name, value in named.items()]
        values = {"position": min(stopped.position, stopped.newest), "news": stopped.newest}
        change = update(_boxes).where(*this).values(values)
        return bool(await self._database.write(lambda c: c.execute(change).rowcount))

    async def cut_off(self, before: datetime) -> AsyncIterator[list[CutOff]]:
        """Conversations whose last turn, of before then, is in no snapshot."""
        here = and_(
            _log.c.tenant == _conversations.c.tenant, _log.c.conversation == _conversations.c.id
        )
        turns = select(_log.c.sequence).where(here, _log.c.kind == "turn")
        newest = turns.order_by(_log.c.sequence.desc()).limit(1)
        last = newest.correlate(_conversations).scalar_subquery()
        kept = and_(
            _snapshots.c.tenant == _conversations.c.tenant,
            _snapshots.c.conversation == _conversations.c.id,
        )
        own = [_conversations.c[name] for name in ("tenant", "id", "owner", "locale")]
        query = (
            select(*own, _log.c.sequence, _log.c.at)
            .join_from(_conversations, _log, _log.c.sequence == last)
            .outerjoin(_snapshots, kept)
            .where(_conversations.c.forgotten_at.is_(None), _log.c.at < before)
            .where(or_(_snapshots.c.saved_at.is_(None), _snapshots.c.saved_at < _log.c.at))
        )
        async for rows in self._pages(query, (_conversations.c.tenant, _conversations.c.id)):
            yield [from_row(CutOff, row) for row in rows]

    async def _pages(
        self, query: Select[Any], key: tuple[Column[Any], ...]
    ) -> AsyncIterator[Sequence[Row[Any]]]:
        """The rows of the query in the order of this key, a page after the other."""
        ordered, names = query.order_by(*key).limit(PAGE), [column.name for column in key]
        rows = await self._found(ordered)
        while rows:
            yield rows
            if len(rows) < PAGE:
                return
            last = [literal(getattr(rows[-1], name)) for name in names]
            rows = await self._found(ordered.where(tuple_(*key) > tuple_(*last)))

    async def _found(self, query: Select[Any]) -> Sequence[Row[Any]]:
        return await self._database.read(lambda connection: connection.execute(query).all())


_STRAY: tuple[ColumnElement[bool], ...] = (
    _approvals.c.active,
    _approvals.c.verdict.is_(None),
    or_(_runs.c.id.is_(None), _runs.c.status.in_(sorted(ENDED))),
)


def _newest(kind: str) -> ScalarSelect[int]:
    """The number of the last row that a mailbox of this kind posts; NULL of one of another."""
    which = IN_CONVERSATION if kind == "conversation" else FOR_PERSON
    rows = select(_log.c.sequence).where(_log.c.tenant == _boxes.c.tenant, which)
    return rows.order_by(_log.c.sequence.desc()).limit(1).correlate(_boxes).scalar_subquery()
