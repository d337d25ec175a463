"""What is kept no longer, by age or because a person is erased, and what a legal hold keeps.

Conversations, files and news of who is erased are deleted. Runs and approvals stay, with a
pseudonym for the person and without anything that anybody wrote in them.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    Column,
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
    exists,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
    union,
    update,
)

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.domain.messages import ENDED
from router.domain.records import Record
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.event_log import lock_of
from router.store.flow_runs import GOING_ON
from router.store.spending import NamedDay, fold, next_named
from router.store.tables import MomentType, begins_with, moment_there, records, to_row, upsert

_conversations = tables.conversations
_log = tables.log
_boxes = tables.mailboxes
_holds = tables.legal_holds
_AT_ONCE = 500
"""Rows that one transaction looks at."""

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
        # Their own tenants, not `here`: two levels below, the row itself is out of sight.
        runs.c.tenant == here,
        runs.c.conversation == there,
        _of_held_run(runs.c.tenant, runs.c.id),
    )
    own = exists().where(
        talks.c.tenant == here,
        talks.c.id == there,
        _of_held_person(talks.c.tenant, talks.c.owner),
    )
    return or_(begun, own)


class _Batch(NamedTuple):
    """What one transaction came to."""

    gone: int
    last: Any
    """Where the next one goes on; None where there is nothing more to look at."""


class _Aged(NamedTuple):
    """What goes by its own age: the column that says it, and whose it is."""

    table: Table
    moment: str
    person: str | None = None

    def due(self, before: datetime) -> Select[Any]:
        """The moments of what is older than that, the oldest first."""
        at = self.table.c[self.moment]
        return select(at).where(at < before).order_by(at)

    def delete(self, connection: Connection, after: datetime | None, before: datetime) -> _Batch:
        """Delete the oldest rows, of those behind `after` that are older than `before`."""
        at, due = self.table.c[self.moment], self.due(before)
        if after is not None:
            due = due.where(at > after)
        last = connection.scalar(due.offset(_AT_ONCE - 1).limit(1))
        gone = delete(self.table).where(at < before if last is None else at <= last)
        if after is not None:
            gone = gone.where(at > after)
        if self.person is not None:
            gone = gone.where(~_of_held_person(self.table.c.tenant, self.table.c[self.person]))
        if self.table is _log:
            gone = gone.where(~_of_held_conversation(_log, "conversation"))
        return _Batch(connection.execute(gone).rowcount, last)


_AGED = (
    _Aged(tables.results, "kept_at", "owner"),
    _Aged(tables.keys, "claimed_at", "user"),
    _Aged(_log, "at", "recipient"),
    _Aged(tables.workspace_files, "changed_at", "owner"),
)


class Retention(Aggregate):
    """What makes the house forget.

    A few hundred rows a transaction, found by an index, so that nobody waits for it for long; a
    second process that does the same finds nothing left. What a legal hold keeps is passed over.
    """

    async def check(self, days: int) -> None:
        """Return where no more is due than goes at once as a rule; `Conflict` says what would."""
        await self._database.read(lambda connection: _check_share(connection, days))

    async def expire(self, days: int, *, confirmed: bool = False) -> int:
        """Delete what nothing has happened to for so long; how many conversations that were.

        By the clock of the database, which is one for all processes. A conversation stays as long
        as a run begun in it goes on, a file as long as one has it, and both while on legal hold.
        What models cost stays, and is nobody's any more.

        Raises:
            Conflict: more would go at once than goes in three days as a rule, and more than a
                tenth; nothing has gone. A clock or the setting is wrong, or it is `confirmed`.
        """
        if not confirmed:
            await self.check(days)
        before = await self._database.read(moment_there) - timedelta(days=days)
        gone = await self._in_batches(lambda c, after: _silent_ones(c, before, after))
        for aged in (*_AGED, _Aged(tables.kept_answers, "kept_at")):
            await self._in_batches(partial(aged.delete, before=before))
        in_use = await self._database.read(_files_in_use)
        await self._in_batches(lambda c, after: _old_files(c, before, after, in_use))
        await self._in_batches(lambda c, after: self._nobodys(c, before.date(), after))
        return gone

    async def forget(self, days: int) -> int:
        """Delete what people asked to have remembered so long ago; how much that was.

        A setting of its own says how long: it is kept because somebody wants it kept, whatever
        becomes of the conversation in which they said so. A legal hold keeps it still.
        """
        before = await self._database.read(moment_there) - timedelta(days=days)
        memories = _Aged(tables.memories, "created_at", "owner")
        return await self._in_batches(partial(memories.delete, before=before))

    async def _in_batches(self, step: Callable[[Connection, Any], _Batch]) -> int:
        """Take the step, a transaction each time, until it has no more; how much went in all."""
        gone, after = 0, None
        while True:

            def work(connection: Connection, after: Any = after) -> _Batch:
                self._database.serialise(connection, "retention")
                return step(connection, after)

            batch = await self._database.write(work)
            gone += batch.gone
            if batch.last is None:
                return gone
            after = batch.last

    def _nobodys(self, connection: Connection, before: date, after: NamedDay | None) -> _Batch:
        """Have what some persons' day has cost be nobody's."""
        some = next_named(connection, after, before, _AT_ONCE)
        if some is not None:
            spent = tables.spending.c
            fold(self._database, connection, some, _of_held_person(spent.tenant, spent.user))
        return _Batch(int(some is not None), some)


def _check_share(connection: Connection, days: int) -> None:
    """Refuse what no day does, where things come and go evenly: a day's share is 1 / (days + 1)."""
    before = moment_there(connection) - timedelta(days=days)
    most = max(_SHARE, 3 / (days + 1))
    due: list[tuple[Table, Select[Any]]] = [
        (_conversations, select(_conversations.c.id).where(_silent(before))),
        *((a.table, a.due(before)) for a in (_Aged(tables.files, "at"), *_AGED)),
    ]
    for table, old in due:
        there = _rows_there(connection, table)
        # As many are counted as tell, and no more.
        enough = max(_FEW, int(most * there)) + 1
        counted = select(func.count()).select_from(old.limit(enough).subquery())
        if (number := connection.scalar(counted) or 0) >= enough:
            raise Conflict(
                f"more than {number - 1} of {there} rows of {table.name} are older than {days} "
                "days: nothing was deleted; see that the database's clock and "
                "ROUTER_RETENTION_DAYS are right, then run `intent-router expire --yes`"
            )


_EXACTLY = 100_000
"""Rows that are counted. Of more, PostgreSQL says about how many there are, which is enough."""


def _rows_there(connection: Connection, table: Table) -> int:
    if connection.dialect.name == "postgresql":
        asked = text("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(:name)")
        about = connection.scalar(asked, {"name": table.name}) or 0
        if about > _EXACTLY:
            return int(about)
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _silent(before: datetime) -> ColumnElement[bool]:
    """True of a conversation in which nothing has happened since, and nothing goes on."""
    newest = (
        select(_log.c.at)
        .where(_log.c.tenant == _conversations.c.tenant)
        .where(_log.c.conversation == _conversations.c.id)
        .order_by(_log.c.sequence.desc())
        .limit(1)
        .scalar_subquery()
    )
    runs = tables.runs
    going_on = and_(
        runs.c.tenant == _conversations.c.tenant,
        runs.c.conversation == _conversations.c.id,
        runs.c.status.in_(GOING_ON),
    )
    return and_(
        _conversations.c.created_at < before,
        func.coalesce(newest, _conversations.c.created_at) < before,
        ~exists().where(going_on),
        ~_of_held_conversation(_conversations, "id"),
    )


def _silent_ones(connection: Connection, before: datetime, after: Any) -> _Batch:
    """Delete the silent ones of so many conversations that were begun before then."""
    place = [_conversations.c[name] for name in ("created_at", "tenant", "id")]
    old = select(*place).where(_conversations.c.created_at < before)
    looked_at = connection.execute(_behind(old, place, after)).all()
    if not looked_at:
        return _Batch(0, None)
    gone = 0
    for tenant, ids in _by_tenant((row.tenant, row.id) for row in looked_at):
        these = (_conversations.c.tenant == tenant, _conversations.c.id.in_(ids))
        silent = select(_conversations.c.id).where(*these, _silent(before))
        found = connection.scalars(silent).all()
        _delete_conversations(connection, tenant, found)
        gone += len(found)
    return _Batch(gone, looked_at[-1])


def _by_tenant(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Ids by tenant: of pairs SQLite would look at every row."""
    found: dict[str, list[str]] = defaultdict(list)
    for tenant, id_ in pairs:
        found[tenant].append(id_)
    return found.items()


def _behind(query: Select[Any], place: Sequence[Column[Any]], after: Any) -> Select[Any]:
    """The next so many rows by their place, the first column of which is a moment."""
    if after is not None:
        values = (literal(after[0], MomentType), *map(literal, after[1:]))
        query = query.where(tuple_(*place) > tuple_(*values))
    return query.order_by(*place).limit(_AT_ONCE)


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


def _files_in_use(connection: Connection) -> set[tuple[str, str]]:
    """By tenant and id, those of runs that go on, and of runs on legal hold."""
    runs = tables.runs
    chosen = select(runs.c.tenant, runs.c.files)
    held = and_(
        *(_holds.c.tenant == runs.c.tenant, _holds.c.kind == "run", _holds.c.subject == runs.c.id)
    )
    queries = (chosen.where(runs.c.status.in_(GOING_ON)), chosen.join(_holds, held))
    rows = [row for query in queries for row in connection.execute(query)]
    return {(row.tenant, file) for row in rows for file in row.files}


def _old_files(
    connection: Connection, before: datetime, after: Any, in_use: set[tuple[str, str]]
) -> _Batch:
    files, shown = tables.files, tables.run_files
    place = [files.c[name] for name in ("at", "tenant", "id")]
    old = select(*place).where(files.c.at < before, ~_of_held_person(files.c.tenant, files.c.owner))
    looked_at = connection.execute(_behind(old, place, after)).all()
    gone = [(row.tenant, row.id) for row in looked_at if (row.tenant, row.id) not in in_use]
    for tenant, ids in _by_tenant(gone):
        for column in (shown.c.file, files.c.id):
            table = column.table
            connection.execute(delete(table).where(table.c.tenant == tenant, column.in_(ids)))
    return _Batch(len(gone), looked_at[-1] if looked_at else None)


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
            **{what: self._count(connection, table, column) for what, table, column in _owned},
            "decisions": self._count(connection, asked, "person"),
            "budgets": self._count(connection, tables.spending, "user"),
            "audited calls": self._count(connection, tables.audit, "person"),
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
        for _, table, column in _owned:
            self._delete(connection, table, table.c[column] == self._person)
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
        written, held = tables.configuration_versions, tables.configuration_activations
        authored = update(written).where(*self._theirs(written, "author"))
        connection.execute(authored.values(author=pseudonym, note=""))
        activated = update(held).where(*self._theirs(held, "activated_by"))
        connection.execute(activated.values(activated_by=pseudonym))
        mentions = update(trail).where(trail.c.tenant == self._tenant, named)
        connection.execute(mentions.values(detail=""))


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
    if own:
        clean |= {"slots": {}, "files": {}, "remedy": None, "conversation": None, "held": False}
        clean |= {"requester": pseudonym, "events": LAST_EVENT}
        if row["status"] not in ENDED:
            clean |= {"status": "cancelled", "updated_at": datetime.now(UTC)}
    return clean
