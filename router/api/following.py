"""A conversation as server-sent events, for as long as anybody reads: nothing lost or repeated.

What counts is read from the event log, in its order; what is told live only says when to look.
So a reader who comes again with the id of the last event goes on exactly there, whichever
process answers.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

from router.api import under_way
from router.api.streaming import Part, event, parts_of
from router.api.under_way import Attempts
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.ports import EventLog, Live
from router.domain.progress import Progress
from router.domain.records import ConversationRecord, LogEntry, RecordedTurn

LAST_SEQUENCE = 2**63 - 1
AT_ONCE = 200
"""Rows that are read at once."""


@dataclass(frozen=True, order=True)
class Position:
    """Where a reader stands: at a row of the log, having seen so many of its events.

    >>> str(Position.of("42.3")), str(Position.of("42"))
    ('42.3', '42')
    """

    row: int
    seen: int | None = None
    """None: all of them."""

    @classmethod
    def of(cls, text: str) -> Self:
        """The position that an event's `id` names, or a transcript item's.

        Raises:
            InvalidInput: it is neither.
        """
        row, point, seen = text.partition(".")
        parts = (row, seen) if point else (row,)
        if all(p.isascii() and p.isdigit() and len(p) <= 19 for p in parts):  # noqa: PLR2004
            position = cls(*map(int, parts))
            if position.row <= LAST_SEQUENCE:
                return position
        raise InvalidInput(
            f"{text[:80]!r} is the id of no event; send one that came with an event, or none",
            [FieldProblem("Last-Event-ID", "isn't the id of an event")],
        )

    def __str__(self) -> str:
        return str(self.row) if self.seen is None else f"{self.row}.{self.seen}"


@dataclass
class Following:
    """One reader of one conversation, who has seen everything up to `after`; None: up to now."""

    live: Live
    log: EventLog
    record: ConversationRecord
    after: Position | None

    async def events(self) -> AsyncGenerator[bytes]:
        """Everything that happens from there on, without an end; first of all a `ping`.

        Raises `Unavailable` where the database is out of reach.
        """
        record = self.record
        async with self.live.listen(record.tenant, record.id) as told:
            at = self.after or Position(await self.log.latest(record.tenant, record.id))
            texts = _Texts()
            yield event("ping", {})
            while True:
                async for row in self._rows(at):
                    for number, (name, data) in _unseen(row, at):
                        yield event(name, data, f"{row.sequence}.{number}")
                    at = Position(row.sequence or 0)
                    texts.end(row)
                async for one in _until_more(told, texts):
                    yield one

    async def _rows(self, at: Position) -> AsyncIterator[LogEntry]:
        """The log's rows from this position on; its own row too, where not all of it was seen."""
        after = at.row if at.seen is None else at.row - 1
        while True:
            rows = await self.log.since(self.record.tenant, self.record.id, after, AT_ONCE)
            for row in rows:
                yield row
                after = row.sequence or after
            if len(rows) < AT_ONCE:
                return


def _unseen(row: LogEntry, at: Position) -> Iterator[tuple[int, Part]]:
    seen = at.seen or 0 if row.sequence == at.row else 0
    return islice(enumerate(_parts(row), start=1), seen, None)


def _parts(row: LogEntry) -> Iterator[Part]:
    """The events of a row."""
    about = {"message_id": row.message_id} if row.message_id else {}
    if row.kind == "turn":
        yield from parts_of(RecordedTurn.model_validate(row.data).turn)
    elif row.kind != "message":
        yield row.kind, {**row.data, **about}
    elif row.data["role"] == "user":
        at = row.at.isoformat().replace("+00:00", "Z")
        yield "message", {"id": str(row.sequence), "at": at, **row.data}
    elif not row.message_id:
        # What a run says by itself. What answers a message is in the row of its turn.
        yield from _news(row.data)


def _news(data: dict[str, Any]) -> Iterator[Part]:
    if "flow" in data:
        yield "flow", data["flow"]
    for reply in data.get("replies", []):
        yield "reply", reply


class _Texts:
    """The texts that are being written, by message."""

    def __init__(self) -> None:
        self._attempts: dict[str, Attempts] = {}

    def shown(self, progress: Progress) -> dict[str, Any] | None:
        """The delta as a reader sees it; None for a straggler."""
        attempts = self._attempts.setdefault(progress.message_id, Attempts())
        data = attempts.shown(progress.data)
        return None if data is None else {**data, "message_id": progress.message_id}

    def end(self, row: LogEntry) -> None:
        """A turn is over, and so is its text."""
        if row.kind == "turn":
            self._attempts.pop(row.message_id or "", None)


async def _until_more(told: AsyncIterator[Progress], texts: _Texts) -> AsyncIterator[bytes]:
    """What is told and never recorded, until the log has more, or may have it unheard."""
    while True:
        try:
            async with asyncio.timeout(under_way.HEARTBEAT):
                progress = await anext(told)
        except TimeoutError:
            yield event("ping", {})
            return
        if progress.type == "recorded":
            return
        if progress.type == "text_delta":
            data = texts.shown(progress)
            if data is not None:
                yield event("text_delta", data)
        elif "progress" in progress.data:
            yield event("tool_started", {**progress.data, "message_id": progress.message_id})
