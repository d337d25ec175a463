"""What is kept no longer, by age or because a person is erased, and what a legal hold keeps.

Conversations, files and news of who is erased are deleted. Runs and approvals stay, with a
pseudonym for the person and without anything that anybody wrote in them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    Text,
    and_,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.domain.messages import ENDED
from router.domain.records import Record
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.event_log import lock_of
from router.store.tables import moment_there, records, to_row, upsert

_conversations = tables.conversations
_log = tables.log
_boxes = tables.mailboxes
_holds = tables.legal_holds
_AT_ONCE = 500
"""Conversations of one transaction."""

_AGED: tuple[tuple[Table, str, str], ...] = (
    (tables.results, "kept_at", "owner"),
    (tables.keys, "claimed_at", "user"),
    (tables.log, "at", "recipient"),
    (tables.workspace_files, "changed_at", "owner"),
)
"""What goes by its own age, the column that says it, and whose it is."""


_SHARE = 0.1
_FEW = 20
"""What may always go at once, of each kind: a share of twelve says nothing."""


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


def _of_held_person(tenant: ColumnElement[Any], person: ColumnElement[Any]) -> ColumnElement[bool]:
    same = (_holds.c.tenant == tenant, _holds.c.kind == "person", _holds.c.subject == person)
    return exists().where(*same)


def _of_held_run(tenant: ColumnElement[Any], run: ColumnElement[Any]) -> ColumnElement[bool]:
    same = (_holds.c.tenant == tenant, _holds.c.kind == "run", _holds.c.subject == run)
    return exists().where(*same)


def _of_held_conversation(table: Table, column: str) -> ColumnElement[bool]:
    """True where the row's conversation is a held person's, or a held run was begun in it."""
    runs, talks = tables.runs.alias(), _conversations.alias()
    here, there = table.c.tenant, table.c[column]
    begun = exists().where(
        runs.c.tenant == here, runs.c.conversation == there, _of_held_run(here, runs.c.id)
    )
    own = exists().where(
        talks.c.tenant == here, talks.c.id == there, _of_held_person(here, talks.c.owner)
    )
    return or_(begun, own)


class Retention(Aggregate):
    """What makes the house forget."""

    async def check(self, days: int) -> None:
        """Return where no more is due than goes at once as a rule; `Conflict` says what would."""
        await self._database.read(lambda connection: _check_share(connection, days))

    async def expire(self, days: int, *, confirmed: bool = False) -> int:
        """Delete what nothing has happened to for so long; how many conversations that were.

        By the clock of the database, which is one for all processes. A conversation stays as long
        as a run begun in it goes on, a file as long as one has it, and both while on legal hold.

        Raises:
            Conflict: more would go at once than goes in three days as a rule, and more than a
                tenth; nothing has gone. A clock or the setting is wrong, or it is `confirmed`.
        """
        if not confirmed:
            await self.check(days)
        before = await self._database.read(moment_there) - timedelta(days=days)
        gone = 0
        while some := await self._database.write(lambda c: _silent_ones(c, before)):
            gone += some
        await self._database.write(lambda c: _aged(c, before))
        return gone

    async def forget(self, days: int) -> int:
        """Delete what people asked to have remembered so long ago; how much that was.

        A setting of its own says how long: it is kept because somebody wants it kept, whatever
        becomes of the conversation in which they said so. A legal hold keeps it still.
        """
        before = await self._database.read(moment_there) - timedelta(days=days)
        memories = tables.memories
        kept = _of_held_person(memories.c.tenant, memories.c.owner)
        gone = delete(memories).where(memories.c.created_at < before, ~kept)
        return int(await self._database.write(lambda c: c.execute(gone).rowcount))


def _check_share(connection: Connection, days: int) -> None:
    """Refuse what no day does, where things come and go evenly: a day's share is 1 / (days + 1)."""
    before = moment_there(connection) - timedelta(days=days)
    most = max(_SHARE, 3 / (days + 1))
    own_age = {tables.files: "at"} | {table: moment for table, moment, _ in _AGED}
    for table in (_conversations, *own_age):
        old = _silent(before) if table is _conversations else table.c[own_age[table]] < before
        there = connection.scalar(select(func.count()).select_from(table)) or 0
        due = connection.scalar(select(func.count()).select_from(table).where(old)) or 0
        if due > max(_FEW, most * there):
            raise Conflict(
                f"{due} of {there} rows of {table.name} are older than {days} days: nothing was "
                "deleted; see that the database's clock and ROUTER_RETENTION_DAYS are right, then "
                "run `intent-router expire --yes`"
            )


def _silent(before: datetime) -> ColumnElement[bool]:
    """True of a conversation in which nothing has happened since, and nothing goes on."""
    here = (_log.c.tenant == _conversations.c.tenant, _log.c.conversation == _conversations.c.id)
    runs = tables.runs
    going_on = and_(
        runs.c.tenant == _conversations.c.tenant,
        runs.c.conversation == _conversations.c.id,
        runs.c.status.not_in(sorted(ENDED)),
    )
    return and_(
        _conversations.c.created_at < before,
        ~exists().where(*here, _log.c.at >= before),
        ~exists().where(going_on),
        ~_of_held_conversation(_conversations, "id"),
    )


def _silent_ones(connection: Connection, before: datetime) -> int:
    silent = select(_conversations.c.tenant, _conversations.c.id).where(_silent(before))
    found = connection.execute(silent.limit(_AT_ONCE)).all()
    for tenant in {row.tenant for row in found}:
        _delete_conversations(connection, tenant, [r.id for r in found if r.tenant == tenant])
    return len(found)


def _delete_conversations(connection: Connection, tenant: str, ids: Iterable[str]) -> None:
    conversations = list(ids)
    _delete_words(connection, tenant, conversations)
    gone = (_conversations.c.tenant == tenant, _conversations.c.id.in_(conversations))
    connection.execute(delete(_conversations).where(*gone))


def _delete_words(connection: Connection, tenant: str, conversations: Sequence[str]) -> None:
    for table in (_log, tables.snapshots):
        said = (table.c.tenant == tenant, table.c.conversation.in_(conversations))
        connection.execute(delete(table).where(*said))
    posted = (_boxes.c.kind == "conversation", _boxes.c.subject.in_(conversations))
    connection.execute(delete(_boxes).where(_boxes.c.tenant == tenant, *posted))


def _aged(connection: Connection, before: datetime) -> None:
    for table, moment, person in _AGED:
        kept = _of_held_person(table.c.tenant, table.c[person])
        if table is _log:
            kept = or_(kept, _of_held_conversation(_log, "conversation"))
        connection.execute(delete(table).where(table.c[moment] < before, ~kept))
    answers = tables.kept_answers
    connection.execute(delete(answers).where(answers.c.kept_at < before))
    runs, files, shown = tables.runs, tables.files, tables.run_files
    kept_run = or_(runs.c.status.not_in(sorted(ENDED)), _of_held_run(runs.c.tenant, runs.c.id))
    in_use = {
        file for row in connection.scalars(select(runs.c.files).where(kept_run)) for file in row
    }
    kept = _of_held_person(files.c.tenant, files.c.owner)
    aged = select(files.c.tenant, files.c.id).where(files.c.at < before, ~kept)
    old = [row for row in connection.execute(aged) if row.id not in in_use]
    for row in old:
        here = {"tenant": row.tenant}
        connection.execute(delete(shown).filter_by(file=row.id, **here))
        connection.execute(delete(files).filter_by(id=row.id, **here))


class ConversationErasure(Aggregate):
    """Having one conversation forgotten, as its owner wishes, and nothing else of theirs."""

    async def check(self, tenant: str, conversation: str) -> None:
        """Return where it may go; `Conflict` where a legal hold keeps it."""
        await self._database.read(lambda c: _check_unheld(c, tenant, conversation))

    async def erase(self, tenant: str, conversation: str) -> None:
        """Delete what was said and happened in it, and files that came with it and nothing has.

        A row with its id and its owner is left, so that what comes late of it is kept no more;
        runs that were begun in it stay, with their files and their audit. Once more does nothing.

        Raises:
            Conflict: a legal hold keeps it; nothing has gone.
        """

        def erase(connection: Connection) -> None:
            self._database.serialise(connection, lock_of(tenant, conversation))
            _check_unheld(connection, tenant, conversation)
            _delete_files(connection, tenant, conversation)
            _delete_words(connection, tenant, [conversation])
            here = (_conversations.c.tenant == tenant, _conversations.c.id == conversation)
            now = {"forgotten_at": datetime.now(UTC), "metadata": {}}
            connection.execute(update(_conversations).where(*here).values(**now))

        await self._database.write(erase)
        await self._database.scrub()


HELD = Localised(
    zh="这个对话目前依法须保留，暂时不能删除。",
    en="This conversation has to be kept on legal grounds for now, and can't be deleted yet.",
)


def _check_unheld(connection: Connection, tenant: str, conversation: str) -> None:
    here = (_conversations.c.tenant == tenant, _conversations.c.id == conversation)
    held = select(_conversations.c.id).where(*here, _of_held_conversation(_conversations, "id"))
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


LAST_EVENT = 2**31 - 1
"""What no publication of a run has reached: one that is still on its way comes too late."""

_owned: tuple[tuple[str, Table, str], ...] = (
    ("files", tables.files, "owner"),
    ("results of tools", tables.results, "owner"),
    ("idempotency keys", tables.keys, "user"),
    ("news", tables.log, "recipient"),
    ("memories", tables.memories, "owner"),
    ("workspace files", tables.workspace_files, "owner"),
)
"""What is simply theirs: what it is called, its table and the column with the person."""


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

    def __init__(self, database: Database, tenant: str, person: str) -> None:
        self._database = database
        self._tenant = tenant
        self._person = person

    async def holdings(self) -> Holdings:
        """What there is now."""
        return await self._database.read(self._look)

    async def erase(self, pseudonym: str) -> None:
        """Delete what is theirs, and put the pseudonym wherever somebody has to stand."""

        def erase(connection: Connection) -> None:
            self._clean_runs(connection, pseudonym)
            self._clean_approvals(connection, pseudonym)
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
            **{what: self._count(connection, table, column) for what, table, column in _owned},
            "decisions": self._count(connection, asked, "person"),
            "budgets": self._count(connection, tables.spending, "user"),
            "audited calls": self._count(connection, tables.audit, "person"),
        }
        of_others = (asked.c.requester != self._person, asked.c.active, asked.c.verdict.is_(None))
        awaited = select(asked.c.id).where(*self._theirs(asked, "person"), *of_others)
        going_on = (runs.c.requester != self._person, runs.c.status.not_in(sorted(ENDED)))
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
        runs = tables.runs
        own = and_(_holds.c.kind == "person", _holds.c.subject == self._person)
        theirs = or_(runs.c.requester == self._person, self._mentioned())
        known = select(runs.c.id).where(runs.c.tenant == self._tenant, theirs)
        of_run = and_(_holds.c.kind == "run", _holds.c.subject.in_(known))
        return select(_holds).where(_holds.c.tenant == self._tenant, or_(own, of_run))

    def _count(self, connection: Connection, table: Table, column: str) -> int:
        query = select(func.count()).select_from(table).where(*self._theirs(table, column))
        return connection.scalar(query) or 0

    def _theirs(self, table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
        return (table.c.tenant == self._tenant, table.c[column] == self._person)

    def _conversations(self) -> Select[Any]:
        theirs = tables.conversations
        return select(theirs.c.id).where(*self._theirs(theirs, "owner"))

    def _mentioned(self) -> ColumnElement[bool]:
        """True of a run that the person was asked in, told of, or did something to."""
        runs, asked = tables.runs, tables.approvals
        decided = select(asked.c.run).where(*self._theirs(asked, "person"))
        quoted = json.dumps(self._person, ensure_ascii=False)
        return or_(
            runs.c.id.in_(decided),
            *(cast(runs.c[name], Text).contains(quoted, autoescape=True) for name in _PEOPLE),
        )

    def _clean_runs(self, connection: Connection, pseudonym: str) -> None:
        runs = tables.runs
        own = runs.c.requester == self._person
        query = select(runs).where(runs.c.tenant == self._tenant, or_(own, self._mentioned()))
        for row in connection.execute(query).mappings().all():
            clean = _cleaned(row, self._person, pseudonym)
            here = (runs.c.tenant == self._tenant, runs.c.id == row["id"])
            connection.execute(update(runs).where(*here).values(**clean))

    def _clean_approvals(self, connection: Connection, pseudonym: str) -> None:
        asked = tables.approvals
        by_them = update(asked).where(*self._theirs(asked, "person"))
        for_them = update(asked).where(*self._theirs(asked, "requester"))
        connection.execute(by_them.values(person=pseudonym, comment=None))
        wordless: dict[str, Any] = {"summary": {}, "comment": None, "active": False}
        connection.execute(for_them.values(requester=pseudonym, **wordless))

    def _delete_words(self, connection: Connection) -> None:
        here, log = self._conversations().scalar_subquery(), tables.log
        for table in (log, tables.snapshots):
            self._delete(connection, table, table.c.conversation.in_(here))
        self._delete(connection, log, log.c.data["requester"].as_string() == self._person)
        box, files, shown = tables.mailboxes, tables.files, tables.run_files
        self._delete(connection, box, (box.c.kind == "person") & (box.c.subject == self._person))
        self._delete(connection, box, (box.c.kind == "conversation") & box.c.subject.in_(here))
        handed_in = select(files.c.id).where(*self._theirs(files, "owner"))
        self._delete(connection, shown, shown.c.file.in_(handed_in.scalar_subquery()))
        for _, table, column in _owned:
            self._delete(connection, table, table.c[column] == self._person)
        self._delete_effects(connection)
        owner = tables.conversations.c.owner
        self._delete(connection, tables.conversations, owner == self._person)

    def _delete_effects(self, connection: Connection) -> None:
        """By keys that begin with the person, and of runs by the audit, which has the keys."""
        key = tables.effects.c.key
        audited = select(tables.audit.c.key).where(*self._theirs(tables.audit, "person"))
        theirs = key.startswith(f"{self._tenant}/{self._person}/", autoescape=True)
        connection.execute(delete(tables.effects).where(or_(theirs, key.in_(audited))))

    def _delete(self, connection: Connection, table: Table, which: ColumnElement[bool]) -> None:
        connection.execute(delete(table).where(table.c.tenant == self._tenant, which))

    def _rename(self, connection: Connection, pseudonym: str) -> None:
        """What the house's totals and its audit are made of stays, and is nobody's any more."""
        spent, audit = tables.spending, tables.audit
        connection.execute(update(spent).where(*self._theirs(spent, "user")).values(user=pseudonym))
        wordless = {"detail": "", "key": "", "conversation": None}
        called = update(audit).where(*self._theirs(audit, "person"))
        connection.execute(called.values(person=pseudonym, **wordless))
        # That it was done stays, and by whom; not to whom, nor what was said about it.
        trail = tables.audit_trail
        for column in ("subject", "who", "whose"):
            theirs = update(trail).where(*self._theirs(trail, column))
            connection.execute(theirs.values({column: pseudonym, "reason": "", "detail": ""}))
        named = trail.c.detail.contains(self._person, autoescape=True)
        shares = tables.prompt_shares
        for column in ("set_by", "rolled_back_by"):
            set_ = update(shares).where(*self._theirs(shares, column))
            connection.execute(set_.values({column: pseudonym}))
        mentions = update(trail).where(trail.c.tenant == self._tenant, named)
        connection.execute(mentions.values(detail=""))


_PEOPLE = ("readers", "history")
"""Columns of a run that name people other than its requester."""


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
    if own:
        clean |= {"slots": {}, "files": {}, "remedy": None, "conversation": None, "held": False}
        clean |= {"requester": pseudonym, "events": LAST_EVENT}
        if row["status"] not in ENDED:
            clean |= {"status": "cancelled", "updated_at": datetime.now(UTC)}
    return clean
