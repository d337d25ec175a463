"""Appending to the event log, within the transaction it belongs to, and telling of it after."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, select

from router.domain.happenings import begun_by
from router.domain.ports import Live
from router.domain.progress import Progress
from router.domain.records import LogEntry
from router.store import tables
from router.store.database import Database
from router.store.rows import to_row

_log = tables.log


class Appending:
    """How rows come into the log: in the order in which its readers see them.

    Call `within` as late in a transaction as can be, for it holds up others who write to the
    same conversations and people; and `tell` once it is committed.
    """

    def __init__(self, database: Database, live: Live) -> None:
        self._database = database
        self._live = live
        self._append = database.insert(_log).on_conflict_do_nothing()

    def within(self, connection: Connection, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Append, in order, the entries whose keys aren't there yet."""
        if not entries:
            return
        rows = [to_row(entry, tenant=tenant) for entry in entries]
        for row in rows:
            del row["sequence"]
        self._database.serialise(connection, *set(_streams(tenant, entries)))
        if kept := _without_unbegun(connection, rows):
            connection.execute(self._append, kept)

    async def tell(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Have everyone look who listens to their conversations and people; never raises."""
        for conversation in sorted({entry.conversation or "" for entry in entries} - {""}):
            await self._live.tell(_recorded(tenant, conversation=conversation))
        for person in sorted({entry.recipient or "" for entry in entries} - {""}):
            await self._live.tell(_recorded(tenant, person=person))


def _recorded(tenant: str, conversation: str = "", person: str = "") -> Progress:
    return Progress(
        tenant=tenant,
        conversation=conversation,
        message_id="",
        person=person,
        type="recorded",
        data={},
    )


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
