"""The append-only event log, in the database.

A reader follows one conversation, or one person, by sequence number: having seen 7 it asks
for what is beyond 7, and must never miss a 6 that shows up later. SQLite hands numbers out
in the order of commits, for it has one writer at a time. PostgreSQL hands them out when a
row is inserted, and the later number may be committed first; so an append holds a lock on
each conversation and person that it writes to, from before it draws numbers until it has
committed. Within what one reader follows, numbers therefore appear in order. Across
conversations they may not: nobody may follow the whole log by sequence number alone.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, ScalarSelect, func, literal_column, select, tuple_

from router.domain.happenings import begun_by
from router.domain.ports import Live
from router.domain.progress import Progress
from router.domain.records import Gist, LogEntry, RecordedTurn
from router.store import tables
from router.store.database import Database
from router.store.rows import from_row, to_row

_log = tables.log
_conversations = tables.conversations


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

    async def gists(self, tenant: str, conversations: Collection[str]) -> dict[str, Gist]:
        """What begins each of these conversations and ends it so far, where anything was said."""
        ends = select(_said(first=True), _said(first=False)).where(
            _conversations.c.tenant == tenant, _conversations.c.id.in_(sorted(conversations))
        )

        def read(connection: Connection) -> dict[str, Gist]:
            found = [(a, z) for a, z in connection.execute(ends) if a is not None]
            numbers = {number for pair in found for number in pair}
            query = select(_log).where(_log.c.sequence.in_(sorted(numbers)))
            rows = {row.sequence: from_row(LogEntry, row) for row in connection.execute(query)}
            return {str(rows[a].conversation): _gist(rows[a], rows[z]) for a, z in found}

        return await self._database.read(read)

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


def _said(*, first: bool) -> ScalarSelect[Any]:
    """The number of a conversation's first or last `message` entry, from the end of an index."""
    order = _log.c.sequence.asc() if first else _log.c.sequence.desc()
    return (
        select(_log.c.sequence)
        .where(
            _log.c.tenant == _conversations.c.tenant,
            _log.c.conversation == _conversations.c.id,
            _log.c.kind == "message",
        )
        .order_by(order)
        .limit(1)
        .scalar_subquery()
    )


def _gist(first: LogEntry, last: LogEntry) -> Gist:
    opening = str(first.data.get("text") or "")
    return Gist(opening=opening, latest=last.sequence or 0, latest_at=last.at)


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
