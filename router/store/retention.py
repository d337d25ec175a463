"""Doing away with what is older than the house keeps things."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, Table, and_, delete, exists, select

from router.domain.messages import ENDED
from router.store import tables
from router.store.database import Database

_conversations = tables.conversations
_log = tables.log
_boxes = tables.mailboxes
_AT_ONCE = 500
"""Conversations of one transaction."""

_AGED: tuple[tuple[Table, str], ...] = (
    (tables.results, "kept_at"),
    (tables.keys, "claimed_at"),
    (tables.log, "at"),
)
"""What goes by its own age, and the column that says it."""


class DatabaseRetention:
    """`router.domain.ports.Retention`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expire(self, before: datetime) -> int:
        """Delete what nothing has happened to since then; how many conversations that were.

        A conversation stays as long as a run that was begun in it goes on, a file as long as one
        that has it. Words of the log go by their own age, as do handles and keys.
        """
        gone = 0
        while some := await self._database.write(lambda c: _silent_ones(c, before)):
            gone += some
        await self._database.write(lambda c: _aged(c, before))
        return gone


def _silent_ones(connection: Connection, before: datetime) -> int:
    """Delete conversations that have been silent since then, a handful at once."""
    here = (_log.c.tenant == _conversations.c.tenant, _log.c.conversation == _conversations.c.id)
    runs = tables.runs
    going_on = and_(
        runs.c.tenant == _conversations.c.tenant,
        runs.c.conversation == _conversations.c.id,
        runs.c.status.not_in(sorted(ENDED)),
    )
    silent = (
        select(_conversations.c.tenant, _conversations.c.id)
        .where(_conversations.c.created_at < before)
        .where(~exists().where(*here, _log.c.at >= before), ~exists().where(going_on))
        .limit(_AT_ONCE)
    )
    found = connection.execute(silent).all()
    for tenant in {row.tenant for row in found}:
        _delete_conversations(connection, tenant, [r.id for r in found if r.tenant == tenant])
    return len(found)


def _delete_conversations(connection: Connection, tenant: str, ids: Iterable[str]) -> None:
    conversations = list(ids)
    for table, column in (
        (_log, "conversation"),
        (tables.snapshots, "conversation"),
        (_conversations, "id"),
    ):
        gone = (table.c.tenant == tenant, table.c[column].in_(conversations))
        connection.execute(delete(table).where(*gone))
    posted = (_boxes.c.kind == "conversation", _boxes.c.subject.in_(conversations))
    connection.execute(delete(_boxes).where(_boxes.c.tenant == tenant, *posted))


def _aged(connection: Connection, before: datetime) -> None:
    for table, moment in _AGED:
        connection.execute(delete(table).where(table.c[moment] < before))
    runs, files, shown = tables.runs, tables.files, tables.run_files
    needed = select(runs.c.files).where(runs.c.status.not_in(sorted(ENDED)))
    in_use = {file for row in connection.scalars(needed) for file in row}
    old = [
        row
        for row in connection.execute(select(files.c.tenant, files.c.id).where(files.c.at < before))
        if row.id not in in_use
    ]
    for row in old:
        here = {"tenant": row.tenant}
        connection.execute(delete(shown).filter_by(file=row.id, **here))
        connection.execute(delete(files).filter_by(id=row.id, **here))
