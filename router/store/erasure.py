"""Having things forgotten for good: one conversation as its owner wishes, or all of a person.

Runs and approvals stay, with a pseudonym for the person and without anything that anybody wrote in
them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    RowMapping,
    Select,
    Table,
    Text,
    and_,
    cast,
    delete,
    func,
    or_,
    select,
    union,
    update,
)

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.domain.messages import ENDED
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.event_log import lock_of
from router.store.flow_runs import GOING_ON, LAST_EVENT
from router.store.legal_holds import of_held_conversation
from router.store.rows import begins_with
from router.store.webhook_deliveries import of_person

_conversations = tables.conversations
_log = tables.log
_boxes = tables.mailboxes
_holds = tables.legal_holds
_AT_ONCE = 500
"""Ids that one statement names."""


def delete_words(connection: Connection, tenant: str, conversations: Sequence[str]) -> None:
    """Delete what was said and happened in these conversations."""
    for table in (_log, tables.snapshots):
        said = (table.c.tenant == tenant, table.c.conversation.in_(conversations))
        connection.execute(delete(table).where(*said))
    handed = tables.hand_offs
    here = (handed.c.tenant == tenant, handed.c.conversation.in_(conversations))
    connection.execute(delete(handed).where(*here))
    posted = (_boxes.c.kind == "conversation", _boxes.c.subject.in_(conversations))
    connection.execute(delete(_boxes).where(_boxes.c.tenant == tenant, *posted))


class ConversationErasure(Aggregate):
    """Having one conversation forgotten, as its owner wishes, and nothing else of theirs."""

    async def erase(self, tenant: str, conversation: str) -> datetime:
        """Delete what was said and happened in it, and files that came with it and nothing has.

        A row with its id and its owner is left, so that what comes late of it is kept no more;
        runs that were begun in it stay, with their files and their audit, and long results of
        tools, which are by person. The moment since which it is forgotten is given back; once more
        deletes nothing else.

        Raises:
            Conflict: a legal hold keeps it; nothing has gone.
        """

        def erase(connection: Connection) -> datetime:
            self._database.serialise(connection, lock_of(tenant, conversation))
            _check_unheld(connection, tenant, conversation)
            _delete_files(connection, tenant, conversation)
            delete_words(connection, tenant, [conversation])
            here = (_conversations.c.tenant == tenant, _conversations.c.id == conversation)
            now = datetime.now(UTC)
            row = update(_conversations).where(*here).values(forgotten_at=now, metadata={})
            connection.execute(row)
            return now

        at = await self._database.write(erase)
        await self._database.scrub()
        return at


HELD = Localised(
    zh="这个对话目前依法须保留，暂时不能删除。",
    en="This conversation has to be kept on legal grounds for now, and can't be deleted yet.",
)


def _check_unheld(connection: Connection, tenant: str, conversation: str) -> None:
    here = (_conversations.c.tenant == tenant, _conversations.c.id == conversation)
    held = select(_conversations.c.id).where(*here, of_held_conversation(_conversations, "id"))
    if connection.scalar(held) is not None:
        raise Conflict(HELD)


def _delete_files(connection: Connection, tenant: str, conversation: str) -> None:
    """Those that came with its messages, unless a run has them or they came elsewhere too."""
    whose = select(_conversations.c.owner).filter_by(tenant=tenant, id=conversation)
    owner, runs, files = whose.scalar_subquery(), tables.runs, tables.files
    said = select(_log.c.data).where(_log.c.tenant == tenant, _log.c.recipient == owner)
    here = connection.scalars(said.where(_log.c.conversation == conversation))
    came = {file["id"] for data in here for file in data.get("files", ())}
    theirs = select(runs.c.id).where(runs.c.tenant == tenant, runs.c.requester == owner)
    for file in sorted(came):
        named = json.dumps(file)
        in_use = (
            said.where(_log.c.conversation != conversation, _names(_log.c.data, named)),
            theirs.where(or_(_names(runs.c.files, named), _names(runs.c.slots, named))),
            select(tables.run_files.c.run).filter_by(tenant=tenant, file=file),
        )
        if not any(connection.execute(query.limit(1)).first() for query in in_use):
            connection.execute(delete(files).filter_by(tenant=tenant, id=file))


def _names(column: ColumnElement[Any], quoted: str) -> ColumnElement[bool]:
    return cast(column, Text).contains(quoted, autoescape=True)


class PersonalRows(NamedTuple):
    """The rows of a table that are deleted with the person whose they are."""

    label: str
    """What they are called where they are counted, such as `files`."""
    table: Table
    """It has a column `tenant`."""
    column: str
    """The column with the id of the person."""


_PERSONAL = (
    PersonalRows("files", tables.files, "owner"),
    PersonalRows("results of tools", tables.results, "owner"),
    PersonalRows("idempotency keys", tables.keys, "user"),
    PersonalRows("news", tables.log, "recipient"),
    PersonalRows("memories", tables.memories, "owner"),
    PersonalRows("hand-offs", tables.hand_offs, "requester"),
)


class PseudonymizedRows(NamedTuple):
    """The rows of a table that stay when somebody in them is erased, who has a pseudonym then."""

    table: Table
    """It has a column `tenant`."""
    column: str
    """The column with the id of the person."""
    words: Mapping[str, Any] = MappingProxyType({})
    """What the columns with words of theirs, or about them, get instead."""


_PSEUDONYMIZED = (
    PseudonymizedRows(tables.spending, "user"),
    PseudonymizedRows(tables.audit, "person", {"detail": "", "key": "", "conversation": None}),
    # That it was done stays, and by whom; not to whom, nor what was said about it.
    *(
        PseudonymizedRows(tables.audit_trail, column, {"reason": "", "detail": ""})
        for column in ("subject", "who", "whose")
    ),
    PseudonymizedRows(tables.prompt_shares, "set_by"),
    PseudonymizedRows(tables.prompt_shares, "rolled_back_by"),
    PseudonymizedRows(tables.hand_offs, "agent"),
    PseudonymizedRows(tables.configuration_versions, "author", {"note": ""}),
    PseudonymizedRows(tables.configuration_activations, "activated_by"),
    PseudonymizedRows(tables.configuration_activations, "taken_back_by"),
)


@dataclass(frozen=True)
class Holdings:
    """What is kept of a person."""

    counts: Mapping[str, int]
    """By what it is; only what there is."""
    workflows: Sequence[str]
    """Ids of the workflows of their conversations and runs, as far as the database knows."""
    awaited: Sequence[str]
    """Approvals that wait for their decision in requests of others."""
    named: Sequence[str]
    """Runs of others that go on and know the person, by public id."""
    on_hold: Sequence[str] = ()
    """Legal holds that keep something of theirs, each as `kind subject: reason`."""


class PersonErasure:
    """What a database keeps of one person of a tenant, and doing away with it."""

    def __init__(
        self,
        database: Database,
        tenant: str,
        person: str,
        personal: Sequence[PersonalRows] = (),
        pseudonymized: Sequence[PseudonymizedRows] = (),
    ) -> None:
        """`personal` and `pseudonymized` are rows of extensions."""
        self._database = database
        self._tenant = tenant
        self._person = person
        self._personal = (*_PERSONAL, *personal)
        self._pseudonymized = (*_PSEUDONYMIZED, *pseudonymized)

    async def holdings(self) -> Holdings:
        """What there is now."""
        return await self._database.read(self._look)

    async def erase(self, pseudonym: str) -> None:
        """Delete what is theirs, and put the pseudonym wherever somebody has to stand."""

        def erase(connection: Connection) -> None:
            self._clean_approvals(connection, pseudonym)
            self._clean_runs(connection, pseudonym)
            self._delete_words(connection)
            self._rename(connection, pseudonym)

        await self._database.write(erase)
        await self._database.scrub()

    def _look(self, connection: Connection) -> Holdings:
        runs, asked = tables.runs, tables.approvals
        conversations = connection.scalars(self._conversations()).all()
        own = select(runs.c.workflow_id).where(*self._theirs(runs, "requester"))
        workflows = connection.scalars(own).all()
        counts = {
            "conversations": len(conversations),
            "runs": len(workflows),
            **{
                label: self._count(connection, table, column)
                for label, table, column in self._personal
            },
            "decisions": self._count(connection, asked, "person"),
            "budgets": self._count(connection, tables.spending, "user"),
            "audited calls": self._count(connection, tables.audit, "person"),
            "events for other systems": self._count_told(connection),
        }
        of_others = (asked.c.requester != self._person, asked.c.active, asked.c.verdict.is_(None))
        awaited = select(asked.c.id).where(*self._theirs(asked, "person"), *of_others)
        going_on = (runs.c.requester != self._person, runs.c.status.in_(GOING_ON))
        named = select(runs.c.id).where(runs.c.tenant == self._tenant, *going_on, self._mentioned())
        return Holdings(
            counts={what: count for what, count in counts.items() if count},
            workflows=[*(f"conversation/{self._tenant}/{c}" for c in conversations), *workflows],
            awaited=connection.scalars(awaited).all(),
            named=connection.scalars(named).all(),
            on_hold=[
                f"{hold.kind} {hold.subject}: {hold.reason}"
                for hold in connection.execute(self._holds())
            ],
        )

    def _holds(self) -> Select[Any]:
        """On themselves, on a run of theirs, and on one that knows them."""
        own = and_(_holds.c.kind == "person", _holds.c.subject == self._person)
        of_run = and_(_holds.c.kind == "run", _holds.c.subject.in_(self._known_to()))
        return select(_holds).where(_holds.c.tenant == self._tenant, or_(own, of_run))

    def _count(self, connection: Connection, table: Table, column: str) -> int:
        query = select(func.count()).select_from(table).where(*self._theirs(table, column))
        return connection.scalar(query) or 0

    def _count_told(self, connection: Connection) -> int:
        told = select(func.count()).select_from(tables.webhook_deliveries)
        return connection.scalar(told.where(of_person(self._tenant, self._person))) or 0

    def _theirs(self, table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
        return (table.c.tenant == self._tenant, table.c[column] == self._person)

    def _conversations(self) -> Select[Any]:
        theirs = tables.conversations
        return select(theirs.c.id).where(*self._theirs(theirs, "owner"))

    def _mentioned(self) -> ColumnElement[bool]:
        """True of a run that the person was asked in, told of, or did something to."""
        return tables.runs.c.id.in_(union(*self._named_in()))

    def _named_in(self) -> tuple[Select[Any], ...]:
        asked, named = tables.approvals, tables.run_people
        return tuple(
            select(table.c.run).where(*self._theirs(table, "person")) for table in (asked, named)
        )

    def _known_to(self) -> CompoundSelect[Any]:
        """The public ids of runs that are theirs, or know them."""
        runs = tables.runs
        own = select(runs.c.id).where(*self._theirs(runs, "requester"))
        return union(own, *self._named_in())

    def _clean_runs(self, connection: Connection, pseudonym: str) -> None:
        runs = tables.runs
        for known in _few(connection.scalars(self._known_to()).all()):
            query = select(runs).where(runs.c.tenant == self._tenant, runs.c.id.in_(known))
            for row in connection.execute(query).mappings().all():
                clean = _cleaned(row, self._person, pseudonym)
                here = (runs.c.tenant == self._tenant, runs.c.id == row["id"])
                connection.execute(update(runs).where(*here).values(**clean))
        named = tables.run_people
        self._delete(connection, named, named.c.person == self._person)

    def _clean_approvals(self, connection: Connection, pseudonym: str) -> None:
        asked = tables.approvals
        by_them = update(asked).where(*self._theirs(asked, "person"))
        # Requests are found by their requester, and approvals by what they are asked for.
        requested = select(tables.runs.c.id).where(*self._theirs(tables.runs, "requester"))
        own = connection.scalars(requested).all()
        connection.execute(by_them.values(person=pseudonym, comment=None))
        wordless: dict[str, Any] = {"summary": {}, "comment": None, "active": False}
        for few in _few(own):
            for_them = update(asked).where(asked.c.tenant == self._tenant, asked.c.run.in_(few))
            connection.execute(for_them.values(requester=pseudonym, **wordless))

    def _delete_words(self, connection: Connection) -> None:
        here, log = self._conversations().scalar_subquery(), tables.log
        for table in (log, tables.snapshots):
            self._delete(connection, table, table.c.conversation.in_(here))
        self._delete(connection, log, log.c.about == self._person)
        box, files, shown = tables.mailboxes, tables.files, tables.run_files
        self._delete(connection, box, (box.c.kind == "person") & (box.c.subject == self._person))
        self._delete(connection, box, (box.c.kind == "conversation") & box.c.subject.in_(here))
        handed_in = select(files.c.id).where(*self._theirs(files, "owner"))
        self._delete(connection, shown, shown.c.file.in_(handed_in.scalar_subquery()))
        for _, table, column in self._personal:
            self._delete(connection, table, table.c[column] == self._person)
        told = tables.webhook_deliveries
        self._delete(connection, told, of_person(self._tenant, self._person))
        self._delete_effects(connection)
        owner = tables.conversations.c.owner
        self._delete(connection, tables.conversations, owner == self._person)

    def _delete_effects(self, connection: Connection) -> None:
        """By keys that begin with the person, and of runs by the audit, which has the keys."""
        key = tables.effects.c.key
        audited = select(tables.audit.c.key).where(*self._theirs(tables.audit, "person"))
        theirs = begins_with(self._database, key, f"{self._tenant}/{self._person}/")
        for which in (theirs, key.in_(audited)):
            connection.execute(delete(tables.effects).where(which))

    def _delete(self, connection: Connection, table: Table, which: ColumnElement[bool]) -> None:
        connection.execute(delete(table).where(table.c.tenant == self._tenant, which))

    def _rename(self, connection: Connection, pseudonym: str) -> None:
        """What the house's totals and its audit are made of stays, and is nobody's any more."""
        self._clean_help(connection, pseudonym)
        for table, column, words in self._pseudonymized:
            theirs = update(table).where(*self._theirs(table, column))
            connection.execute(theirs.values({column: pseudonym, **words}))
        trail = tables.audit_trail
        named = trail.c.detail.contains(self._person, autoescape=True)
        mentions = update(trail).where(trail.c.tenant == self._tenant, named)
        connection.execute(mentions.values(detail=""))

    def _clean_help(self, connection: Connection, pseudonym: str) -> None:
        """What they said as a person who helps stays as a gap, in conversations of others."""
        handed, log = tables.hand_offs, tables.log
        helped = select(handed.c.conversation).where(
            *self._theirs(handed, "agent"), handed.c.agent.is_not(None)
        )
        for talks in _few(connection.scalars(helped.distinct()).all()):
            said = select(log.c.sequence, log.c.data).where(
                log.c.tenant == self._tenant,
                log.c.conversation.in_(talks),
                log.c.kind.in_(["message", "handoff"]),
            )
            for sequence, data in connection.execute(said).all():
                if data.get("agent") == self._person:
                    row = update(log).where(log.c.sequence == sequence)
                    connection.execute(row.values(data=_gap(data, pseudonym)))


def _gap(data: dict[str, Any], pseudonym: str) -> dict[str, Any]:
    """A row of the log without what this person said in it, or was called."""
    clean = {**data, "agent": pseudonym}
    if "text" not in data:
        return clean
    said = {"text": "…", "replies": [{"type": "text", "text": "…"}]}
    author = {"id": pseudonym, "name": pseudonym}
    return {**clean, **said, **({"author": author} if "author" in data else {})}


def _few(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """As many as one statement may name."""
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))


def _cleaned(row: RowMapping, person: str, pseudonym: str) -> dict[str, Any]:
    """What becomes of a run's columns: of their own run all words go, of others' only theirs."""
    own = row["requester"] == person

    def line(was: dict[str, Any]) -> dict[str, Any]:
        theirs = was.get("by") == person
        by, comment = pseudonym if theirs else was.get("by"), was.get("comment")
        return {**was, "by": by, "comment": None if own or theirs else comment}

    clean: dict[str, Any] = {
        "history": [line(was) for was in row["history"]],
        "readers": [pseudonym if reader == person else reader for reader in row["readers"]],
    }
    if row["incident"] is not None:
        gone = [pseudonym if id_ == person else id_ for id_ in row["incident"]["people"]]
        clean["incident"] = {**row["incident"], "people": gone}
    if own:
        clean |= {"slots": {}, "files": {}, "remedy": None, "conversation": None}
        clean |= {"held": False, "incident": None}
        clean |= {"requester": pseudonym, "events": LAST_EVENT}
        if row["status"] not in ENDED:
            clean |= {"status": "cancelled", "updated_at": datetime.now(UTC)}
    return clean
