"""What is kept no longer because it is old: conversations, files, keys, news, what was found."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    tuple_,
)

from router.domain.errors import Conflict
from router.store import tables
from router.store.columns import MomentType, moment_there
from router.store.database import Aggregate, Database
from router.store.erasure import delete_words
from router.store.flow_runs import GOING_ON
from router.store.legal_holds import of_held_conversation, of_held_person, of_held_run
from router.store.spending import NamedDay, fold, next_named

_conversations = tables.conversations
_log = tables.log
_boxes = tables.mailboxes
_holds = tables.legal_holds
_AT_ONCE = 500
"""Rows that one transaction looks at."""

_SHARE = 0.1
_FEW = 20
"""What may always go at once, of each kind: a share of twelve says nothing."""


class _Batch(NamedTuple):
    """What one transaction came to."""

    gone: int
    last: Any
    """Where the next one goes on; None where there is nothing more to look at."""


class AgedRows(NamedTuple):
    """The rows of a table that are deleted when they are old, unless they are on legal hold."""

    table: Table
    moment: str
    """The column with the moment that their age counts from; it has an index."""
    person: str | None = None
    """The column with the person whose they are."""

    def due(self, before: datetime) -> Select[Any]:
        """The moments of what is older than that and may go."""
        at = self.table.c[self.moment]
        return select(at).where(at < before, *self._unheld())

    def delete(self, connection: Connection, after: datetime | None, before: datetime) -> _Batch:
        """Delete the oldest rows, of those behind `after` that are older than `before`."""
        at = self.table.c[self.moment]
        # Held ones count among those that are looked at: however many, no batch takes longer.
        old = select(at).where(at < before).order_by(at)
        if after is not None:
            old = old.where(at > after)
        last = connection.scalar(old.offset(_AT_ONCE - 1).limit(1))
        gone = delete(self.table).where(at < before if last is None else at <= last)
        if after is not None:
            gone = gone.where(at > after)
        return _Batch(connection.execute(gone.where(*self._unheld())).rowcount, last)

    def _unheld(self) -> Iterator[ColumnElement[bool]]:
        """True together of what no legal hold keeps."""
        if self.person is not None:
            yield ~of_held_person(self.table.c.tenant, self.table.c[self.person])
        if self.table is _log:
            yield ~of_held_conversation(_log, "conversation")
        if self.table is tables.files:
            yield ~_shown_by_held_run()


_AGED = (
    AgedRows(tables.results, "kept_at", "owner"),
    AgedRows(tables.keys, "claimed_at", "user"),
    AgedRows(_log, "at", "recipient"),
)
_FILES = AgedRows(tables.files, "at", "owner")
"""What goes by its age too, unless a run has it."""
_UNREACHED = AgedRows(tables.webhook_deliveries, "created_at", "requester")
"""Events that were given up: however many, a consumer was away once, and no clock is wrong."""


class Retention(Aggregate):
    """What makes the house forget.

    A few hundred rows a transaction, found by an index, so that nobody waits for it for long; a
    second process that does the same finds nothing left. What a legal hold keeps is passed over.
    """

    def __init__(self, database: Database, aged: Sequence[AgedRows] = ()) -> None:
        """`aged` are rows of extensions."""
        super().__init__(database)
        self._aged = (*_AGED, *aged)

    async def check(self, days: int) -> None:
        """Return where no more is due than goes at once as a rule; `Conflict` says what would."""
        aged = (_FILES, *self._aged)
        await self._database.read(lambda connection: _check_share(connection, days, aged))

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
        for aged in (*self._aged, _UNREACHED, AgedRows(tables.kept_answers, "kept_at")):
            await self._in_batches(partial(aged.delete, before=before))
        await self._in_batches(lambda c, after: _old_files(c, before, after))
        await self._in_batches(lambda c, after: self._nobodys(c, before.date(), after))
        return gone

    async def forget(self, days: int) -> int:
        """Delete what people asked to have remembered so long ago; how much that was.

        A setting of its own says how long: it is kept because somebody wants it kept, whatever
        becomes of the conversation in which they said so. A legal hold keeps it still.
        """
        before = await self._database.read(moment_there) - timedelta(days=days)
        memories = AgedRows(tables.memories, "created_at", "owner")
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
            fold(self._database, connection, some, of_held_person(spent.tenant, spent.user))
        return _Batch(int(some is not None), some)


def _check_share(connection: Connection, days: int, aged: Iterable[AgedRows]) -> None:
    """Refuse what no day does, where things come and go evenly: a day's share is 1 / (days + 1)."""
    before = moment_there(connection) - timedelta(days=days)
    most = max(_SHARE, 3 / (days + 1))
    due: list[tuple[Table, Select[Any]]] = [
        (_conversations, select(_conversations.c.id).where(_silent(before))),
        *((each.table, each.due(before)) for each in aged),
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
        # Of one that its owner had forgotten the row stays as long as its last words would have.
        func.coalesce(newest, _conversations.c.forgotten_at, _conversations.c.created_at) < before,
        ~exists().where(going_on),
        ~of_held_conversation(_conversations, "id"),
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
    delete_words(connection, tenant, conversations)
    gone = (_conversations.c.tenant == tenant, _conversations.c.id.in_(conversations))
    connection.execute(delete(_conversations).where(*gone))


def _shown_by_held_run() -> ColumnElement[bool]:
    """True of a file that a run on legal hold has shown to whoever decides."""
    files, shown = tables.files, tables.run_files
    same = (shown.c.tenant == files.c.tenant, shown.c.file == files.c.id)
    return exists().where(*same, of_held_run(shown.c.tenant, shown.c.run))


def _old_files(connection: Connection, before: datetime, after: Any) -> _Batch:
    """Delete what may go of so many old files."""
    files, shown = tables.files, tables.run_files
    place = [files.c[name] for name in ("at", "tenant", "id")]
    old = select(*place, files.c.owner).where(files.c.at < before)
    old = old.where(~of_held_person(files.c.tenant, files.c.owner))
    looked_at = connection.execute(_behind(old, place, after)).all()
    owners = dict(_by_tenant((row.tenant, row.owner) for row in looked_at))
    gone = 0
    for tenant, ids in _by_tenant((row.tenant, row.id) for row in looked_at):
        unused = set(ids) - _in_use(connection, tenant, owners[tenant])
        for column in (shown.c.file, files.c.id):
            of = column.table
            connection.execute(delete(of).where(of.c.tenant == tenant, column.in_(unused)))
        gone += len(unused)
    return _Batch(gone, looked_at[-1][: len(place)] if looked_at else None)


def _in_use(connection: Connection, tenant: str, owners: Iterable[str]) -> set[str]:
    """Those files of these people that a run of theirs has which goes on, or is on legal hold.

    Nobody's run has a file of somebody else's. Asked in the transaction that deletes: what a run
    has taken just now, or a hold covers since, is in use.
    """
    runs = tables.runs
    theirs = select(runs.c.files).where(runs.c.tenant == tenant, runs.c.requester.in_(set(owners)))
    on_hold = and_(
        *(_holds.c.tenant == runs.c.tenant, _holds.c.kind == "run", _holds.c.subject == runs.c.id)
    )
    queries = (theirs.where(runs.c.status.in_(GOING_ON)), theirs.join(_holds, on_hold))
    return {file for query in queries for files in connection.scalars(query) for file in files}
