"""Legal holds: what retention and erasing leave alone until somebody releases it."""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Table, delete, exists, or_, select

from router.domain.records import Record
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import records, to_row, upsert

_conversations = tables.conversations
_holds = tables.legal_holds


class LegalHold(Record):
    """Why nothing of a person, or of a run and what was said and handed in for it, may go."""

    kind: Literal["person", "run"]
    subject: str
    """A user id, or a run's public id; either need not be known here."""
    reason: str
    placed_by: str
    placed_at: datetime


class LegalHolds(Aggregate):
    """What retention and erasing leave alone until it is released."""

    async def place(self, tenant: str, hold: LegalHold) -> None:
        """Keep it from now on; a hold on the same is replaced."""
        row = to_row(hold, tenant=tenant)
        placed = upsert(self._database.insert(_holds), _holds)
        await self._database.write(lambda connection: connection.execute(placed, row))

    async def release(self, tenant: str, kind: str, subject: str) -> bool:
        """Let it go its way again; False where there was no hold."""
        gone = delete(_holds).filter_by(tenant=tenant, kind=kind, subject=subject)
        return bool(await self._database.write(lambda c: c.execute(gone).rowcount))

    async def listed(self, tenant: str) -> list[LegalHold]:
        """All of the tenant's, the newest first."""
        ordered = select(_holds).filter_by(tenant=tenant).order_by(_holds.c.placed_at.desc())
        return await records(self._database, LegalHold, ordered)


def of_held_person(tenant: ColumnElement[Any], person: ColumnElement[Any]) -> ColumnElement[bool]:
    """True where the row's person is on hold."""
    same = (_holds.c.tenant == tenant, _holds.c.kind == "person", _holds.c.subject == person)
    return exists().where(*same)


def of_held_run(tenant: ColumnElement[Any], run: ColumnElement[Any]) -> ColumnElement[bool]:
    """True where the row's run is on hold."""
    same = (_holds.c.tenant == tenant, _holds.c.kind == "run", _holds.c.subject == run)
    return exists().where(*same)


def of_held_conversation(table: Table, column: str) -> ColumnElement[bool]:
    """True where the row's conversation is a held person's, or a held run was begun in it."""
    runs, talks = tables.runs.alias(), _conversations.alias()
    here, there = table.c.tenant, table.c[column]
    begun = exists().where(
        # Their own tenants, not `here`: two levels below, the row itself is out of sight.
        runs.c.tenant == here,
        runs.c.conversation == there,
        of_held_run(runs.c.tenant, runs.c.id),
    )
    own = exists().where(
        talks.c.tenant == here,
        talks.c.id == there,
        of_held_person(talks.c.tenant, talks.c.owner),
    )
    return or_(begun, own)
