"""The append-only event log, in the database.

A reader follows one conversation, or one person, by sequence number: having seen 7 it asks
for what is beyond 7, and must never miss a 6 that shows up later. SQLite hands numbers out
in the order of commits, for it has one writer at a time. PostgreSQL hands them out when a
row is inserted, and the later number may be committed first; so an append holds a lock on
each conversation and person that it writes to, from before it draws numbers until it has
committed. Within what one reader follows, numbers therefore appear in order. Across
conversations they may not: nobody may follow the whole log by sequence number alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, func, literal_column, select, tuple_

from router.domain.happenings import begun_by
from router.domain.ports import Live
from router.domain.progress import Progress
from router.domain.records import LogEntry, RecordedTurn
from router.store import tables
from router.store.database import Database
from router.store.rows import from_row, to_row

_log = tables.log
LAST_SEQUENCE = 2**63 - 1


class DatabaseLog:
    """`router.domain.ports.EventLog`."""

    def __init__(self, database: Database, live: Live) -> None:
        self._database = database
        self._live = live
        self._append = database.insert(_log).on_conflict_do_nothing()

    async def append(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Append, in order and in one transaction, the entries whose keys aren't there yet.

        A second `turn` of the same message id is passed over as well: the first answer stands.
        So is a `tool_finished` whose `tool_started` isn't there: nothing has begun. Whoever
        listens to a conversation hears that there is more of it.
        """
        if not entries:
            return
        streams = set(_streams(tenant, entries))
        rows = [to_row(entry, tenant=tenant) for entry in entries]
        for row in rows:
            del row["sequence"]

        def append(connection: Connection) -> None:
            self._database.serialise(connection, *streams)
            if kept := _without_unbegun(connection, rows):
                connection.execute(self._append, kept)

        await self._database.write(append)
        for conversation in {entry.conversation for entry in entries} - {None}:
            await self._live.tell(
                Progress(
                    tenant=tenant,
                    conversation=conversation or "",
                    message_id="",
                    type="recorded",
                    data={},
                )
            )

    async def since(self, tenant: str, conversation: str, after: int, limit: int) -> list[LogEntry]:
        """Everything of the conversation after a sequence number, oldest first."""
        query = (
            select(_log)
            .where(
                _log.c.tenant == tenant,
                _log.c.conversation == conversation,
                _log.c.sequence > after,
            )
            .order_by(_log.c.sequence)
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [from_row(LogEntry, row) for row in rows]

    async def latest(self, tenant: str, conversation: str) -> int:
        """The conversation's highest sequence number; 0 where nothing has happened in it."""
        query = select(func.max(_log.c.sequence)).where(
            _log.c.tenant == tenant, _log.c.conversation == conversation
        )
        return await self._database.read(lambda c: c.execute(query).scalar()) or 0

    async def transcript(
        self, tenant: str, conversation: str, after: int | None, limit: int
    ) -> list[LogEntry]:
        """The conversation's `message` entries after a sequence number, oldest first."""
        query = (
            select(_log)
            .where(
                _log.c.tenant == tenant,
                _log.c.conversation == conversation,
                _log.c.kind == "message",
                _log.c.sequence > (after or 0),
            )
            .order_by(_log.c.sequence)
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [from_row(LogEntry, row) for row in rows]

    async def turn(self, tenant: str, conversation: str, message_id: str) -> RecordedTurn | None:
        """What this message id was answered with, however long ago; None where it never was."""
        query = select(_log.c.data).where(
            _log.c.tenant == tenant,
            _log.c.conversation == conversation,
            _log.c.message_id == message_id,
            # Spelled out, not a parameter: only so is the index on turns alone of use.
            _log.c.kind == literal_column("'turn'"),
        )
        data = await self._database.read(lambda c: c.execute(query).scalar())
        return RecordedTurn.model_validate(data) if data else None

    async def news(self, tenant: str, conversation: str, message_id: str) -> list[LogEntry]:
        """What runs have said by themselves between a message's turn and the one before it.

        `message` entries, oldest first; where the message has no turn yet, those up to now.
        """
        here = (_log.c.tenant == tenant, _log.c.conversation == conversation)
        # Spelled out, not a parameter: only so is the index on turns alone of use.
        turns = select(_log.c.sequence).where(*here, _log.c.kind == literal_column("'turn'"))
        own = turns.where(_log.c.message_id == message_id).scalar_subquery()
        until = func.coalesce(own, LAST_SEQUENCE)
        before = turns.with_only_columns(func.max(_log.c.sequence)).where(_log.c.sequence < until)
        query = (
            select(_log)
            .where(
                *here,
                _log.c.kind == "message",
                _log.c.message_id.is_(None),
                _log.c.sequence > func.coalesce(before.scalar_subquery(), 0),
                _log.c.sequence < until,
            )
            .order_by(_log.c.sequence)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [from_row(LogEntry, row) for row in rows]

    async def exchanges(
        self, tenant: str, after: tuple[str, int] | None, limit: int
    ) -> list[LogEntry]:
        """The `message` and `turn` entries of all conversations, one conversation after another.

        Each conversation oldest first; `after` is the conversation and the sequence number of
        the last entry that the caller has seen.
        """
        place = tuple_(_log.c.conversation, _log.c.sequence)
        query = (
            select(_log)
            .where(
                _log.c.tenant == tenant,
                _log.c.conversation.is_not(None),
                _log.c.kind.in_(["message", "turn"]),
                place > (after or ("", 0)),
            )
            .order_by(_log.c.conversation, _log.c.sequence)
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [from_row(LogEntry, row) for row in rows]


def _without_unbegun(connection: Connection, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without ends of what has never begun."""
    begun = {row["key"]: begun_by(row["key"]) for row in rows if row["kind"] == "tool_finished"}
    wanted = set(begun.values()) - {row["key"] for row in rows}
    if wanted:
        there = select(_log.c.key).where(
            _log.c.tenant == rows[0]["tenant"], _log.c.key.in_(sorted(wanted))
        )
        wanted -= set(connection.execute(there).scalars())
    return [row for row in rows if begun.get(row["key"]) not in wanted]


def _streams(tenant: str, entries: Sequence[LogEntry]) -> Iterator[str]:
    for entry in entries:
        if entry.conversation is not None:
            yield f"log/{tenant}/conversation/{entry.conversation}"
        if entry.recipient is not None:
            yield f"log/{tenant}/recipient/{entry.recipient}"
