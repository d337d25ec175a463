"""The append-only event log, appended to, read on, and searched by operators.

A reader follows one conversation, or one person, by sequence number, and must never miss a lower
one that shows up later. PostgreSQL hands numbers out before commits: so an append holds a lock on
each conversation and person that it writes to. Nobody may follow the whole log by number alone.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    and_,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from router.domain.messages import Turn
from router.domain.progress import Progress, begun_by
from router.domain.records import (
    ConversationPreview,
    LogEntry,
    RecordedTurn,
    RoutedTurn,
    TurnFilter,
)
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.live import Live
from router.store.rows import from_row, records, to_row
from router.store.webhook_deliveries import WebhookOutbox

_log = tables.log
_boxes = tables.mailboxes
_conversations = tables.conversations
_IS_TURN = _log.c.kind == literal_column("'turn'")
"""Spelled out, not a parameter: only so is the index on turns alone of use."""


class LogAppender:
    """How rows come into the log: in the order in which its readers see them.

    Call `within` as late in a transaction as can be, for it holds up others; `tell` once committed.
    """

    def __init__(self, database: Database, live: Live, webhooks: WebhookOutbox) -> None:
        self._database = database
        self._live = live
        self._webhooks = webhooks
        self._append = database.insert(_log).on_conflict_do_nothing()

    def within(self, connection: Connection, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Append, in order, the entries whose keys aren't there yet.

        Of a conversation that was forgotten nothing is.
        """
        if not entries:
            return
        rows = [to_row(entry, tenant=tenant, **_found_by(entry)) for entry in entries]
        for row in rows:
            del row["sequence"]
        self.lock(connection, tenant, entries)
        talks = {e.conversation for e in entries if e.conversation is not None}
        gone = forgotten_among(connection, tenant, talks)
        rows = [row for row in rows if row["conversation"] not in gone]
        if kept := _without_unbegun(connection, rows):
            connection.execute(self._append, kept)
            announce(connection, tenant, kept)
        there = [entry for entry in entries if entry.conversation not in gone]
        self._webhooks.appended(connection, tenant, there)

    def lock(self, connection: Connection, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Have nobody else append to what these are for, until the transaction is over."""
        talks = {e.conversation for e in entries if e.conversation is not None}
        people = {e.recipient for e in entries if e.recipient is not None}
        streams = {lock_of(tenant, talk) for talk in talks}
        streams |= {f"log/{tenant}/recipient/{person}" for person in people}
        self._database.serialise(connection, *streams)

    async def tell(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Have everyone look who listens to their conversations and people; never raises."""
        about: dict[str, Any] = {"tenant": tenant, "message_id": "", "type": "recorded", "data": {}}
        for conversation in sorted({entry.conversation or "" for entry in entries} - {""}):
            await self._live.tell(Progress(conversation=conversation, **about))
        for person in sorted({entry.recipient or "" for entry in entries} - {""}):
            await self._live.tell(Progress(conversation="", person=person, **about))


IN_CONVERSATION = and_(
    _boxes.c.kind == "conversation",
    _log.c.conversation == _boxes.c.subject,
    _log.c.kind.in_(["message", "turn"]),
)
FOR_PERSON = and_(
    _boxes.c.kind == "person",
    _log.c.recipient == _boxes.c.subject,
    or_(
        _log.c.kind.in_(["approval", "handoff"]),
        # News that nobody asked for just now: what is said in a turn has the turn's message.
        and_(_log.c.kind == "message", _log.c.message_id.is_(None)),
    ),
)


def announce(connection: Connection, tenant: str, rows: Sequence[dict[str, Any]]) -> None:
    """Note with the mailboxes that these rows are for, if any, how far the log goes by now.

    Only ever further: whoever posts sets another column, so neither undoes what the other said.
    """
    said = {row["conversation"] for row in rows if row["kind"] in {"message", "turn"}} - {None}
    told = {row["recipient"] for row in rows if _is_for_person(row)} - {None}
    here = _boxes.c.tenant == tenant
    for subjects, kind, which in (
        (said, "conversation", IN_CONVERSATION),
        (told, "person", FOR_PERSON),
    ):
        if subjects:
            theirs = (here, _boxes.c.kind == kind, _boxes.c.subject.in_(sorted(subjects)))
            newest = select(_log.c.sequence).where(_log.c.tenant == _boxes.c.tenant, which)
            last = newest.order_by(_log.c.sequence.desc()).limit(1).scalar_subquery()
            connection.execute(update(_boxes).where(*theirs).values(news=func.coalesce(last, 0)))


def _is_for_person(row: dict[str, Any]) -> bool:
    told = row["kind"] in {"approval", "handoff"}
    return told or (row["kind"] == "message" and not row.get("message_id"))


def _found_by(entry: LogEntry) -> dict[str, Any]:
    """Whom news is about, and what traffic counts of a turn; of anything else that is nothing."""
    about = entry.data.get("requester") if entry.recipient is not None else None
    return {"about": about, **_where_it_went(entry)}


def lock_of(tenant: str, conversation: str) -> str:
    """What a transaction holds that writes anything of the conversation, or has it forgotten."""
    return f"log/{tenant}/conversation/{conversation}"


def forgotten_among(
    connection: Connection, tenant: str, conversations: Collection[str]
) -> set[str]:
    """Those that their owners had forgotten; ask while holding their locks."""
    if not conversations:
        return set()
    those = _conversations.c.id.in_(sorted(conversations))
    query = select(_conversations.c.id).where(
        _conversations.c.tenant == tenant, those, _conversations.c.forgotten_at.is_not(None)
    )
    return set(connection.scalars(query))


def _where_it_went(entry: LogEntry) -> dict[str, Any]:
    recorded = entry.data.get("turn") if entry.kind == "turn" else None
    if recorded is None:
        return dict.fromkeys(("route_kind", "route_by", "missed", "prompt"))
    turn = Turn.model_validate(recorded)
    # Where rules took a part of the message, a model may have been asked about the rest.
    asked = (route.prompt for route in [turn.route, *(turn.routes or [])] if route.prompt)
    went = {"route_kind": turn.route.kind, "route_by": turn.route.by, "missed": turn.missed}
    return {**went, "prompt": next(asked, None)}


def _without_unbegun(connection: Connection, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    begun = {row["key"]: begun_by(row["key"]) for row in rows if row["kind"] == "tool_finished"}
    wanted = set(begun.values()) - {row["key"] for row in rows}
    if wanted:
        there = select(_log.c.key).where(
            _log.c.tenant == rows[0]["tenant"], _log.c.key.in_(sorted(wanted))
        )
        wanted -= set(connection.execute(there).scalars())
    return [row for row in rows if begun.get(row["key"]) not in wanted]


MOST_UNKNOWN = 10
"""Turns of one conversation that are given at once: more than can have been under way."""


def _turns_from(
    connection: Connection, tenant: str, conversation: str | None, number: int
) -> list[RecordedTurn]:
    """The conversation's newest turns, as far as they have this number or a higher one."""
    # Not `_IS_TURN`: by the index of everybody's turns a conversation's first is looked for in all.
    is_turn = _log.c.kind.concat("") == "turn"
    its = _numbers.filter_by(tenant=tenant, conversation=conversation).where(is_turn)
    newest = its.order_by(_log.c.sequence.desc())
    last = connection.execute(newest.limit(1)).first()
    if last is None or last.number < number:
        return []
    whole = newest.add_columns(_log.c.data).limit(MOST_UNKNOWN)
    rows = [row.data for row in connection.execute(whole) if row.number >= number]
    return [RecordedTurn.model_validate(data) for data in reversed(rows)]


_numbers = select(_log.c.data[("turn", "turn")].as_integer().label("number"))


class RoutedTurns(Aggregate):
    """Where everybody's messages went, for operators."""

    async def listed(
        self, tenant: str, wanted: TurnFilter, before: int | None, limit: int
    ) -> list[RoutedTurn]:
        """Turns before a sequence number, newest first."""
        of_tenant = _conversations.c.tenant == _log.c.tenant
        owned = of_tenant & (_conversations.c.id == _log.c.conversation)
        query = (
            select(_log, _conversations.c.owner, _conversations.c.locale)
            .join(_conversations, owned)
            .where(_log.c.tenant == tenant, _IS_TURN, *_narrowing(tenant, wanted))
            .where(_log.c.sequence < (LAST_SEQUENCE if before is None else before))
            .order_by(_log.c.sequence.desc())
            .limit(limit)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_turn(row) for row in rows]

    async def said(self, tenant: str, conversation: str, message_id: str) -> str | None:
        """What the person said under this id; None where nothing is kept of it any more."""
        query = (
            select(_log.c.data["text"].as_string())
            .filter_by(tenant=tenant, conversation=conversation, message_id=message_id)
            .where(_log.c.kind == "message", _log.c.data["role"].as_string() == "user")
        )
        return await self._database.read(lambda connection: connection.execute(query).scalar())


def _narrowing(tenant: str, wanted: TurnFilter) -> list[ColumnElement[bool]]:
    columns: dict[str, ColumnElement[Any]] = {
        "conversation": _log.c.conversation,
        "message_id": _log.c.message_id,
        "kind": _log.c.route_kind,
        "by": _log.c.route_by,
        "target": _log.c.data[("turn", "route", "target")].as_string(),
    }
    given = wanted.model_dump(exclude={"since", "person"}, exclude_none=True)
    conditions = [columns[name] == value for name, value in given.items()]
    if wanted.since is not None:
        conditions.append(_log.c.at >= wanted.since)
    if wanted.person is not None:
        # Their conversations first: of a person there are few, of everybody's turns all.
        theirs = select(_conversations.c.id).where(
            _conversations.c.tenant == tenant, _conversations.c.owner == wanted.person
        )
        conditions.append(_log.c.conversation.in_(theirs))
    return conditions


def _turn(row: Row[Any]) -> RoutedTurn:
    found = row._asdict()
    return RoutedTurn.model_validate({**found, "person": row.owner, "turn": row.data["turn"]})


LAST_SEQUENCE = 2**63 - 1
_AT_ONCE = 500
"""Entries that are read with one query."""


class EventLog:
    """The append-only log of everything people may look at later."""

    def __init__(self, database: Database, live: Live, webhooks: WebhookOutbox) -> None:
        self._database = database
        self._appending = LogAppender(database, live, webhooks)

    async def append(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        """Append, in order and in one transaction, the entries whose keys aren't there yet.

        A second `turn` of a message id is passed over too, a `tool_finished` of what never
        began. Whoever listens to a conversation or a recipient's news hears that there is more.
        """
        if not entries:
            return
        await self._database.write(lambda c: self._appending.within(c, tenant, entries))
        await self._appending.tell(tenant, entries)

    async def append_turn(self, tenant: str, entries: Sequence[LogEntry]) -> list[RecordedTurn]:
        """Append the rows of a turn, unless turns of its number or a higher one are on record.

        Then nothing is appended, and those are given, oldest first. Whoever numbers turns doesn't
        know of them: what they had done was forgotten after it was written here. It may be this
        turn itself.
        """
        (turn,) = (entry for entry in entries if entry.kind == "turn")
        number = RecordedTurn.model_validate(turn.data).turn.turn

        def keep(connection: Connection) -> list[RecordedTurn]:
            self._appending.lock(connection, tenant, entries)
            found = _turns_from(connection, tenant, turn.conversation, number)
            if not found:
                self._appending.within(connection, tenant, entries)
            return found

        unknown = await self._database.write(keep)
        if not unknown:
            await self._appending.tell(tenant, entries)
        return unknown

    async def since(self, tenant: str, conversation: str, after: int, limit: int) -> list[LogEntry]:
        """Everything of the conversation after a sequence number, oldest first."""
        return await self._since(tenant, _log.c.conversation == conversation, after, limit)

    async def back_from(self, tenant: str, conversation: str, moment: datetime, back: int) -> int:
        """The number behind which there are so many things said by that moment; 0: all of them."""
        said = select(_log.c.sequence).filter_by(tenant=tenant, conversation=conversation)
        query = (
            said.where(_log.c.kind == "message", _log.c.at <= moment)
            .order_by(_log.c.sequence.desc())
            .offset(back)
            .limit(1)
        )
        return await self._database.read(lambda c: c.execute(query).scalar()) or 0

    async def latest(self, tenant: str, conversation: str) -> int:
        """The conversation's highest sequence number; 0 where nothing has happened in it."""
        return await self._latest(tenant, _log.c.conversation == conversation)

    async def news(self, tenant: str, person: str, after: int, limit: int) -> list[LogEntry]:
        """Everything for this recipient after a sequence number, oldest first."""
        return await self._since(tenant, _log.c.recipient == person, after, limit)

    async def latest_news(self, tenant: str, person: str) -> int:
        """The highest sequence number of what is for this recipient; 0 where nothing is."""
        return await self._latest(tenant, _log.c.recipient == person)

    async def _since(
        self, tenant: str, whose: ColumnElement[bool], after: int, limit: int
    ) -> list[LogEntry]:
        query = (
            select(_log)
            .where(_log.c.tenant == tenant, whose, _log.c.sequence > after)
            .order_by(_log.c.sequence)
            .limit(limit)
        )
        return await records(self._database, LogEntry, query)

    async def _latest(self, tenant: str, whose: ColumnElement[bool]) -> int:
        query = select(func.max(_log.c.sequence)).where(_log.c.tenant == tenant, whose)
        return await self._database.read(lambda c: c.execute(query).scalar()) or 0

    async def transcript(
        self, tenant: str, conversation: str, after: int | None, limit: int
    ) -> list[LogEntry]:
        """The conversation's `message` entries after a sequence number, oldest first."""
        said = (_log.c.conversation == conversation) & (_log.c.kind == "message")
        return await self._since(tenant, said, after or 0, limit)

    async def turn(self, tenant: str, conversation: str, message_id: str) -> RecordedTurn | None:
        """What this message id was answered with, however long ago; None where it never was."""
        about = {"tenant": tenant, "conversation": conversation, "message_id": message_id}
        query = select(_log.c.data).filter_by(**about).where(_IS_TURN)
        data = await self._database.read(lambda c: c.execute(query).scalar())
        return RecordedTurn.model_validate(data) if data else None

    async def untold(self, tenant: str, conversation: str, message_id: str) -> list[LogEntry]:
        """What runs said by themselves between a message's turn, or now, and the one before."""
        here = (_log.c.tenant == tenant, _log.c.conversation == conversation)
        turns = select(_log.c.sequence).where(*here, _IS_TURN)
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
        return await records(self._database, LogEntry, query)

    async def previews(
        self, tenant: str, conversations: Collection[str]
    ) -> dict[str, ConversationPreview]:
        """What begins each of these conversations and ends it so far, where anything was said."""
        these = _conversations.c.id.in_(sorted(conversations))
        ends = select(_said(first=True), _said(first=False))
        ends = ends.where(_conversations.c.tenant == tenant, these)

        def read(connection: Connection) -> dict[str, ConversationPreview]:
            found = [(a, z) for a, z in connection.execute(ends) if a is not None]
            numbers = {number for pair in found for number in pair}
            query = select(_log).where(_log.c.sequence.in_(sorted(numbers)))
            rows = {row.sequence: from_row(LogEntry, row) for row in connection.execute(query)}
            return {
                str(rows[a].conversation): ConversationPreview(
                    opening=str(rows[a].data.get("text") or ""), latest=z, latest_at=rows[z].at
                )
                for a, z in found
            }

        return await self._database.read(read)

    async def every_exchange(
        self, tenant: str, since: datetime | None = None
    ) -> AsyncIterator[LogEntry]:
        """All `message` and `turn` entries from then on, conversation by conversation."""
        after = None
        while page := await self.exchanges(tenant, after, _AT_ONCE, since):
            for entry in page:
                yield entry
            after = (str(page[-1].conversation), page[-1].sequence or 0)

    async def exchanges(
        self,
        tenant: str,
        after: tuple[str, int] | None,
        limit: int,
        since: datetime | None = None,
    ) -> list[LogEntry]:
        """At most `limit` of them, behind a conversation and a number within it."""
        place = tuple_(_log.c.conversation, _log.c.sequence)
        query = (
            select(_log)
            .where(
                _log.c.tenant == tenant,
                _log.c.conversation.is_not(None),
                _log.c.kind.in_(["message", "turn"]),
                place > (after or ("", 0)),
                *([_log.c.at >= since] if since else []),
            )
            .order_by(_log.c.conversation, _log.c.sequence)
            .limit(limit)
        )
        return await records(self._database, LogEntry, query)


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
