"""What can be followed: a conversation, or what happens to a person. Which events a row makes."""

from collections.abc import AsyncIterator, Collection, Hashable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from router.api.streaming import Part, parts_of
from router.api.under_way import Attempts
from router.domain.ports import EventLog, Live
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ConversationRecord, LogEntry, RecordedTurn
from router.domain.texts import Localised

SHOWN = 200
"""Letters of what was said that a list of conversations can show."""


class Feed(Protocol):
    """Rows of the event log, and what is told besides."""

    @property
    def key(self) -> Hashable:
        """The same for whatever has the same events."""

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        """What is told from now on."""

    async def latest(self) -> int:
        """The number of its last row; 0 where there is none."""

    async def since(self, row: int, limit: int) -> list[LogEntry]:
        """The rows after this one, oldest first."""

    def parts(self, row: LogEntry) -> Iterator[Part]:
        """The events of a row; another time the same ones."""

    def passing(self, progress: Progress) -> Part | None:
        """The event of what is told and never recorded; None where it makes none."""


class ConversationFeed:
    """Everything that happens in a conversation, whoever sent the message."""

    def __init__(self, live: Live, log: EventLog, record: ConversationRecord) -> None:
        self._live, self._log = live, log
        self._place = (record.tenant, record.id)
        self._attempts: dict[str, Attempts] = {}

    @property
    def key(self) -> Hashable:
        """The conversation."""
        return ("conversation", *self._place)

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        """What is told from now on."""
        return self._live.listen(*self._place)

    async def latest(self) -> int:
        """The number of its last row."""
        return await self._log.latest(*self._place)

    async def since(self, row: int, limit: int) -> list[LogEntry]:
        """The rows after this one."""
        return await self._log.since(*self._place, row, limit)

    def parts(self, row: LogEntry) -> Iterator[Part]:
        """The events of a row. With its turn, what was written for a message is over."""
        about = {"message_id": row.message_id} if row.message_id else {}
        if row.kind == "turn":
            self._attempts.pop(row.message_id or "", None)
            yield from parts_of(RecordedTurn.model_validate(row.data).turn)
        elif row.kind != "message":
            yield row.kind, {**row.data, **about}
        elif row.data["role"] == "user":
            yield "message", {"id": str(row.sequence), "at": _at(row), **row.data}
        elif not row.message_id:
            # What a run says by itself. What answers a message is in the row of its turn.
            yield from _news(row.data)

    def passing(self, progress: Progress) -> Part | None:
        """Text, and how far tools say they are."""
        about = {"message_id": progress.message_id}
        if progress.type == "text_delta":
            attempts = self._attempts.setdefault(progress.message_id, Attempts())
            data = attempts.shown(progress.data)
            return None if data is None else ("text_delta", {**data, **about})
        if "progress" in progress.data:
            return "tool_started", {**progress.data, **about}
        return None


class PersonFeed:
    """What happens to a person: approvals, their own runs, and their conversations.

    Runs of the flows `besides` are no news to anybody: they only look something up.
    """

    def __init__(
        self, live: Live, log: EventLog, person: Principal, besides: Collection[str] = ()
    ) -> None:
        self._live, self._log = live, log
        self._place = (person.tenant, person.id)
        self._locale = person.locale
        self._besides = frozenset(besides)

    @property
    def key(self) -> Hashable:
        """The person, and what their events depend on."""
        return ("person", *self._place, self._locale, self._besides)

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        """What is told from now on."""
        return self._live.listen_for(*self._place)

    async def latest(self) -> int:
        """The number of their last row."""
        return await self._log.latest_news(*self._place)

    async def since(self, row: int, limit: int) -> list[LogEntry]:
        """The rows after this one."""
        return await self._log.news(*self._place, row, limit)

    def parts(self, row: LogEntry) -> Iterator[Part]:
        """One event, or none; titles are in the person's language."""
        if row.kind == "message":
            yield "message", _said(row)
        elif row.kind == "approval" or (row.kind == "flow" and self._is_news(row)):
            title = Localised.model_validate(row.data["title"]).within(self._locale)
            yield row.kind, {"at": _at(row), **row.data, "title": title}

    def passing(self, progress: Progress) -> Part | None:
        """Nothing is told to people that isn't recorded."""
        del progress
        return None

    def _is_news(self, row: LogEntry) -> bool:
        return row.data["flow"] not in self._besides


def _said(row: LogEntry) -> dict[str, Any]:
    """As much as a list of conversations shows of it; the conversation has the whole."""
    about = {"message_id": row.message_id} if row.message_id else {}
    return {
        "conversation": row.conversation,
        "id": str(row.sequence),
        "at": _at(row),
        "role": row.data["role"],
        "text": str(row.data["text"])[:SHOWN],
        **about,
    }


def _news(data: dict[str, Any]) -> Iterator[Part]:
    if "flow" in data:
        yield "flow", data["flow"]
    for reply in data.get("replies", []):
        yield "reply", reply


def _at(row: LogEntry) -> str:
    return row.at.isoformat().replace("+00:00", "Z")
