"""Flow runs, their approvals, and what each version of a flow was when it was first run."""

import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    func,
    literal,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from router.domain import progress
from router.domain.messages import ENDED, FlowStatus
from router.domain.principals import Directory
from router.domain.records import (
    EVERY_RUN,
    EXPIRING,
    ApprovalRecord,
    LogEntry,
    Orphaned,
    RunFilter,
    RunHead,
    RunRecord,
    Waiting,
    WithdrawalNote,
)
from router.store import tables
from router.store.database import Aggregate, Database
from router.store.event_log import LogAppender
from router.store.live import Live
from router.store.rows import from_row, page, record, records, to_row, upsert
from router.store.webhook_deliveries import WebhookOutbox

_runs = tables.runs
_approvals = tables.approvals
_files = tables.run_files
_people = tables.run_people
_definitions = tables.flow_definitions
_AWAITED = (_approvals.c.active, _approvals.c.verdict.is_(None))

IS_WHOLE = or_(
    _runs.c.parent.is_(None),
    func.substr(_runs.c.parent, 1, func.length(_runs.c.flow) + 1) != _runs.c.flow.concat("/"),
)
"""`not RunRecord.is_branch`, as the database tells it."""

GOING_ON = sorted(set(get_args(FlowStatus)) - ENDED)
"""Statuses of runs that haven't ended: named, for an index finds what is, not what isn't."""

UNDECIDED = ("escalated", "changed")
"""Verdicts that nobody gave: the clock passed it on, or its requester changed it."""
_AT_ONCE = 200
"""Runs of one query."""
_HEAD = [_runs.c[name] for name in RunHead.model_fields]
_PLACE = (_runs.c.tenant, _runs.c.created_at, _runs.c.id)
"""The order of the index by status."""


LAST_EVENT = 2**31 - 1
"""What no publication of a run has reached: after an erasure one that is on its way is too late."""

_log = logging.getLogger(__name__)


def _ahead(kept: RunRecord, run: RunRecord) -> int | None:
    """The number of a row that isn't of this run's past; None of one that is."""
    # What an operator's commands add to a history stands at its end.
    is_other = kept.events == run.events and kept.history[: len(run.history)] != run.history
    return kept.events if is_other or kept.events > run.events else None


class Runs:
    """Flow runs and their approvals, as last published by the runs themselves."""

    def __init__(self, database: Database, live: Live, webhooks: WebhookOutbox) -> None:
        self._database = database
        self._webhooks = webhooks
        self._appending = LogAppender(database, live, webhooks)
        run = database.insert(_runs)
        self._replace_run = upsert(run, _runs)
        self._keep_run = upsert(run, _runs, where=_runs.c.events <= run.excluded.events)
        self._keep_approvals = upsert(database.insert(_approvals), _approvals)
        self._close_others = (
            update(_approvals)
            .where(
                _approvals.c.tenant == bindparam("of_tenant"),
                _approvals.c.run == bindparam("of_run"),
                _approvals.c.active,
                _approvals.c.id.not_in(bindparam("but", expanding=True)),
            )
            .values(active=False)
        )

    async def publish(
        self,
        run: RunRecord,
        approvals: Sequence[ApprovalRecord],
        entries: Sequence[LogEntry] = (),
        *,
        anew: bool = False,
    ) -> int | None:
        """Keep the run and its approvals unless something newer (`events`) is kept already.

        With `anew` even then: its workflow is from before that, and goes on from there. Else the
        number of events that is kept is given back: a run that waits for this answer, and isn't an
        older try of its own, has then been made to forget what was published by a server that died
        or heard too late, and what is so has to be published by a higher number.

        `approvals` is all of them: others of this run stay on record but wait for nobody. In the
        same transaction `entries` go to the event log, and the news that the change itself is.
        Of a run that has ended nothing else is kept, or told, ever: whoever says so is a workflow
        that a restore has brought back.
        """

        def publish(connection: Connection) -> tuple[list[LogEntry], int | None]:
            # This lock always comes before those on streams of the log, and there is only one
            # of its kind in a transaction: so nobody waits for anybody crosswise.
            self._database.serialise(connection, _lock(run.tenant, run.id))
            before = _stored(connection, run.tenant, run.id)
            if before is not None and before.status in ENDED and before.status != run.status:
                _log.warning("%s, which has ended, isn't opened again", run.workflow_id)
                return [], None
            ahead = None if anew or before is None else _ahead(before, run)
            change = self._change(connection, before, run, approvals)
            known = self._webhooks.known(connection, run.tenant, approvals)
            kept = ahead is None and self._keep(connection, run, approvals, anew=anew)
            if kept:
                self._name_people(connection, before, run)
            noted = [*entries, *change] if kept else [*entries]
            self._appending.within(connection, run.tenant, noted)
            if kept:
                told = (before, run, known, approvals, str(run.events))
                self._webhooks.run_changed(connection, *told)
            return noted, ahead if ahead != LAST_EVENT else None

        noted, ahead = await self._database.write(publish)
        await self._appending.tell(run.tenant, noted)
        return ahead

    def _keep(
        self,
        connection: Connection,
        run: RunRecord,
        approvals: Sequence[ApprovalRecord],
        *,
        anew: bool,
    ) -> bool:
        """False where something newer is kept already."""
        row = to_row(run, held=run.is_held)
        keep = self._replace_run if anew else self._keep_run
        if not connection.execute(keep, row).rowcount:
            return False
        if approvals:
            connection.execute(self._keep_approvals, [to_row(asked) for asked in approvals])
        # Nobody sees a file before they are asked to decide.
        if approvals and run.files:
            files = [{"tenant": run.tenant, "file": file, "run": run.id} for file in run.files]
            connection.execute(self._database.insert_new(_files), files)
        still = {"of_tenant": run.tenant, "of_run": run.id, "but": [a.id for a in approvals]}
        connection.execute(self._close_others, still)
        return True

    def _name_people(
        self, connection: Connection, before: RunRecord | None, run: RunRecord
    ) -> None:
        """Have the run found by whom it names besides its requester, where that is new."""
        known = _named(before) if before else set()
        if new := sorted(_named(run) - known):
            rows = [{"tenant": run.tenant, "person": person, "run": run.id} for person in new]
            connection.execute(self._database.insert_new(_people), rows)

    @staticmethod
    def _change(
        connection: Connection,
        before: RunRecord | None,
        run: RunRecord,
        approvals: Sequence[ApprovalRecord],
        key: str = "",
    ) -> list[LogEntry]:
        """What the run is news of, `before` being what is kept; `key` tells changes apart."""
        awaited = select(_approvals).filter_by(tenant=run.tenant, run=run.id).where(*_AWAITED)
        open_before = [from_row(ApprovalRecord, one) for one in connection.execute(awaited)]
        return [
            *progress.of_change(before, run, key or str(run.events)),
            *progress.of_closed(before, run, open_before, approvals),
        ]

    async def find(self, tenant: str, run: str) -> RunRecord | None:
        """The run with this public id."""
        query = select(_runs).filter_by(tenant=tenant, id=run)
        return await record(self._database, RunRecord, query)

    async def started_by(self, run: RunRecord) -> list[RunRecord]:
        """The runs that this one started and waits for, or did; the oldest first."""
        theirs = {"tenant": run.tenant, "requester": run.requester, "parent": run.workflow_id}
        query = select(_runs).filter_by(**theirs).order_by(_runs.c.created_at, _runs.c.id)
        return await records(self._database, RunRecord, query)

    async def listed(  # noqa: PLR0913 - each narrows the list
        self,
        tenant: str,
        requester: str | None,
        status: FlowStatus | None,
        flow: str | None,
        before: str | None,
        limit: int,
        besides: Collection[str] = (),
        *,
        branches: bool = True,
        narrowed: RunFilter = EVERY_RUN,
    ) -> tuple[list[RunRecord], str | None]:
        """Runs, newest first (of everyone where `requester` is None), and the next cursor.

        Those of the flows `besides` are left out, and without `branches` parts of other runs.
        """
        wanted: dict[str, Any] = {"requester": requester, "status": status, "flow": flow}
        given = {name: value for name, value in wanted.items() if value is not None}
        conditions = _narrowing(tenant, narrowed)
        if besides:
            conditions.append(_runs.c.flow.not_in(besides))
        if not branches:
            conditions.append(IS_WHOLE)
        matching = select(_runs).filter_by(tenant=tenant, **given).where(*conditions)
        return await page(self._database, RunRecord, matching, _runs.c.created_at, before, limit)

    async def outcomes(self, tenant: str, since: datetime) -> dict[str, dict[str, int]]:
        """By flow, how many runs that began since then have come to each status."""
        counted = select(_runs.c.flow, _runs.c.status, func.count().label("times"))
        lately = counted.where(_runs.c.tenant == tenant, _runs.c.created_at >= since)
        found: dict[str, dict[str, int]] = {}
        for row in await self._rows(lately.group_by(_runs.c.flow, _runs.c.status)):
            found.setdefault(row.flow, {})[row.status] = row.times
        return found

    async def open_by_version(self, tenant: str, flow: str) -> dict[int, int]:
        """How many runs of the flow are under way, by the version that each began with."""
        its = select(_runs.c.version, func.count().label("times")).filter_by(
            tenant=tenant, flow=flow
        )
        counted = its.where(_runs.c.status.in_(GOING_ON)).group_by(_runs.c.version)
        rows = await self._rows(counted.order_by(_runs.c.version))
        return {row.version: row.times for row in rows}

    async def note_withdrawal(self, note: WithdrawalNote) -> None:
        """Note with a completed run what becomes of it; noting it again changes nothing."""
        tenant, run, by = note.tenant, note.run, note.withdrawn_by
        await self.revise(tenant, run, by, lambda before: with_withdrawal_note(before, note))

    async def revise(
        self,
        tenant: str,
        run: str,
        key: str,
        change: Callable[[RunRecord], RunRecord | None],
        entries: Sequence[LogEntry] = (),
    ) -> bool:
        """Have the run be what `change` makes of it, with nobody's decision awaited any more.

        In the same transaction `entries` go to the event log, and the news that the change is;
        `key` tells it from others. False where there is no such run, or nothing to change.
        """
        here = (_runs.c.tenant == tenant, _runs.c.id == run)

        def revise(connection: Connection) -> tuple[bool, list[LogEntry]]:
            self._database.serialise(connection, _lock(tenant, run))
            before = _stored(connection, tenant, run)
            after = change(before) if before else None
            if after is None:
                return False, []
            noted = [*entries, *self._change(connection, before, after, (), key)]
            row = to_row(after, held=after.is_held)
            # Not its key: whatever refers to that would be looked for.
            del row["tenant"], row["id"]
            connection.execute(update(_runs).where(*here).values(**row))
            self._name_people(connection, before, after)
            closed = {"of_tenant": tenant, "of_run": run, "but": []}
            connection.execute(self._close_others, closed)
            self._appending.within(connection, tenant, noted)
            self._webhooks.run_changed(connection, before, after, {}, (), key)
            return True, noted

        changed, noted = await self._database.write(revise)
        await self._appending.tell(tenant, noted)
        return changed

    async def standings(self, runs: Collection[tuple[str, str]]) -> list[RunHead]:
        """Where these runs stand, by tenant and public id."""
        found, by_tenant = [], groupby(sorted(runs), key=itemgetter(0))
        # By tenant: of pairs SQLite would look at every row.
        for tenant, ids in ((tenant, [run for _, run in pairs]) for tenant, pairs in by_tenant):
            of_tenant = select(*_HEAD).where(_runs.c.tenant == tenant)
            for start in range(0, len(ids), _AT_ONCE):
                these = of_tenant.where(_runs.c.id.in_(ids[start : start + _AT_ONCE]))
                found += await records(self._database, RunHead, these)
        return found

    async def going_on(self) -> AsyncIterator[list[RunHead]]:
        """Where all runs stand that go on, a few hundred at a time.

        One whose status changes meanwhile may be passed over, or come twice.
        """
        for status in GOING_ON:
            of_status = select(*_HEAD, _runs.c.created_at).where(_runs.c.status == status)
            query = of_status.order_by(*_PLACE).limit(_AT_ONCE)
            rows = await self._rows(query)
            while rows:
                yield [from_row(RunHead, row) for row in rows]
                last = tuple_(*(literal(getattr(rows[-1], c.name), c.type) for c in _PLACE))
                rows = await self._rows(query.where(tuple_(*_PLACE) > last))

    async def keep_definition(self, fingerprint: str, definition: str) -> None:
        """Keep what a completed run may be taken back with, in JSON, under its fingerprint."""
        row = {"fingerprint": fingerprint, "definition": definition}
        keep = self._database.insert_new(_definitions)
        await self._database.write(lambda c: c.execute(keep, row))

    async def definition(self, fingerprint: str) -> str | None:
        """The definition with this fingerprint, in JSON."""
        query = select(_definitions.c.definition).where(_definitions.c.fingerprint == fingerprint)
        return await self._database.read(lambda c: c.execute(query).scalar())

    async def concerned(self, tenant: str, run: str) -> set[str]:
        """Everyone who was ever asked to decide in this run, or told of that."""
        people = select(_approvals.c.person).filter_by(tenant=tenant, run=run)
        readers = select(_runs.c.readers).filter_by(tenant=tenant, id=run)
        return await self._database.read(
            lambda c: {*c.scalars(people), *(c.execute(readers).scalar() or ())}
        )

    async def showing(self, tenant: str, file: str) -> list[str]:
        """The runs, by public id, that have shown this file to whom they asked to decide."""
        query = select(_files.c.run).filter_by(tenant=tenant, file=file)
        return await self._database.read(lambda c: list(c.scalars(query)))

    async def waiting_for(
        self, tenant: str, person: str, before: str | None, limit: int
    ) -> tuple[list[ApprovalRecord], str | None]:
        """What waits for this person's decision, newest first, and the next cursor."""
        theirs = select(_approvals).filter_by(tenant=tenant, person=person).where(*_AWAITED)
        return await page(self._database, ApprovalRecord, theirs, _approvals.c.since, before, limit)

    async def count_waiting(self, tenant: str, person: str) -> int:
        """How many decisions of this person's are awaited."""
        theirs = select(func.count()).select_from(_approvals)
        query = theirs.filter_by(tenant=tenant, person=person).where(*_AWAITED)
        return await self._database.read(lambda c: c.execute(query).scalar_one())

    async def decided_by(
        self, tenant: str, person: str, before: str | None, limit: int
    ) -> tuple[list[ApprovalRecord], str | None]:
        """What this person has decided, the latest decision first, and the next cursor."""
        at = _approvals.c.decided_at
        theirs = select(_approvals).filter_by(tenant=tenant, person=person)
        # What went on to somebody else was decided by the clock.
        given = theirs.where(at.is_not(None), _approvals.c.verdict.not_in(UNDECIDED))
        return await page(self._database, ApprovalRecord, given, at, before, limit)

    async def waiting(self) -> Waiting:
        """How many approvals anybody is waited for with, since when, and how many expire soon."""
        expiring = func.count().filter(_approvals.c.expires < datetime.now(UTC) + EXPIRING)
        query = select(func.count(), func.min(_approvals.c.since), expiring).where(*_AWAITED)
        count, since, soon = await self._database.read(lambda c: c.execute(query).one())
        return Waiting(count=count, since=since, expiring=soon)

    async def orphaned(self, directory: Directory) -> list[Orphaned]:
        """Whom approvals wait for who aren't in the directory."""
        return await orphaned(self._database, directory)

    async def left_behind(self, directory: Directory) -> list[Orphaned]:
        """Whose requests go on who aren't in the directory."""
        return await left_behind(self._database, directory)

    async def awaited(self, tenant: str, runs: Sequence[str]) -> list[ApprovalRecord]:
        """The decisions that these runs, by public id, wait for; the longest awaited first."""
        theirs = select(_approvals).filter_by(tenant=tenant).where(_approvals.c.run.in_(runs))
        query = theirs.where(*_AWAITED).order_by(_approvals.c.since, _approvals.c.id)
        return await records(self._database, ApprovalRecord, query)

    async def shown_before(self, tenant: str, runs: Sequence[str]) -> dict[str, ApprovalRecord]:
        """What was sent back last, or changed by its requester, in these runs, by their public ids.

        A branch was another run then: it is what any branch of the same run was.
        """
        parts = select(_runs.c.id, _runs.c.parent).filter_by(tenant=tenant)
        branches = parts.where(_runs.c.id.in_(runs), _runs.c.parent.is_not(None))
        whole = {row.id: row.parent for row in await self._rows(branches)}
        siblings = parts.where(_runs.c.parent.in_(sorted(set(whole.values()))))
        parent = {row.id: row.parent for row in await self._rows(siblings)} if whole else {}
        closed = select(_approvals).filter_by(tenant=tenant)
        theirs = closed.where(_approvals.c.run.in_(sorted({*runs, *parent})))
        query = theirs.where(_approvals.c.verdict.in_(("return", "changed")))
        rows = sorted(await self._rows(query), key=lambda row: row.decided_at)
        before = {parent[row.run]: row for row in rows if row.run in parent}
        own = {row.run: row for row in rows}
        last = {run: own.get(run, before.get(whole.get(run))) for run in runs}
        return {run: from_row(ApprovalRecord, row) for run, row in last.items() if row is not None}

    async def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        return await self._database.read(lambda connection: connection.execute(query).all())

    async def find_approval(self, tenant: str, approval: str) -> ApprovalRecord | None:
        """The approval, decided or not."""
        query = select(_approvals).filter_by(tenant=tenant, id=approval)
        return await record(self._database, ApprovalRecord, query)


async def orphaned(database: Database, directory: Directory) -> list[Orphaned]:
    """Whom approvals wait for who aren't in the directory, by tenant and id."""
    whose = (_approvals.c.tenant, _approvals.c.person)
    query = select(*whose, func.count().label("count")).where(*_AWAITED)
    waited_for = await records(database, Orphaned, query.group_by(*whose).order_by(*whose))
    return [one for one in waited_for if await directory.find(one.tenant, one.person) is None]


async def left_behind(database: Database, directory: Directory) -> list[Orphaned]:
    """Whose requests go on who aren't in the directory, by tenant and id."""
    person = _runs.c.requester.label("person")
    query = select(_runs.c.tenant, person, func.count().label("count"))
    going_on = query.where(_runs.c.status.in_(GOING_ON), IS_WHOLE)
    whose = (_runs.c.tenant, _runs.c.requester)
    requesters = await records(database, Orphaned, going_on.group_by(*whose).order_by(*whose))
    return [one for one in requesters if await directory.find(one.tenant, one.person) is None]


def _named(run: RunRecord) -> set[str]:
    return {*run.readers, *(line.by for line in run.history if line.by)} - {run.requester}


def _lock(tenant: str, run: str) -> str:
    return f"run/{tenant}/{run}"


def _stored(connection: Connection, tenant: str, run: str) -> RunRecord | None:
    row = connection.execute(select(_runs).filter_by(tenant=tenant, id=run)).first()
    return from_row(RunRecord, row) if row else None


def with_withdrawal_note(run: RunRecord, note: WithdrawalNote) -> RunRecord:
    """The run with what is noted; as it was where that is noted already, by a crash told twice."""
    last = run.history[-1].event if run.history else None
    again = run.withdrawn_by == note.withdrawn_by and last == note.line.event
    noted = again or note.line in run.history
    return run.replace(
        withdrawn_by=note.withdrawn_by,
        status=note.status or run.status,
        history=run.history if noted else [*run.history, note.line],
        updated_at=run.updated_at if noted else note.line.at,
    )


def _narrowing(tenant: str, wanted: RunFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    # Approvals first: of those that wait there are few, of runs all that there ever were.
    asked = select(_approvals.c.run).where(_approvals.c.tenant == tenant, *_AWAITED)
    if wanted.person is not None:
        conditions.append(_runs.c.requester == wanted.person)
    if wanted.waiting_for is not None:
        of_person = asked.where(_approvals.c.person == wanted.waiting_for)
        conditions.append(_runs.c.id.in_(of_person))
    if wanted.expires_before is not None:
        soon = asked.where(_approvals.c.expires < wanted.expires_before)
        conditions.append(_runs.c.id.in_(soon))
    if wanted.held is not None:
        conditions.append(_runs.c.held if wanted.held else not_(_runs.c.held))
    if wanted.since is not None:
        conditions.append(_runs.c.created_at >= wanted.since)
    if wanted.quiet_since is not None:
        conditions.append(_runs.c.updated_at < wanted.quiet_since)
    return conditions


_versions = tables.flow_versions


class FlowVersions(Aggregate):
    """What each version of each flow does, as it was when a process first ran it."""

    async def keep(self, flow: str, version: int, behaviour: str) -> str:
        """Keep what the version is unless that is known, and give what is known."""
        named = {"flow": flow, "version": version}
        row = {**named, "behaviour": behaviour, "first_seen": datetime.now(UTC)}
        known = select(_versions.c.behaviour).filter_by(**named)

        def work(connection: Connection) -> str:
            # Several processes start at once: whoever is first writes, the others read that.
            connection.execute(self._database.insert_new(_versions), row)
            return str(connection.execute(known).scalar_one())

        return await self._database.write(work)

    async def known(self, flow: str, version: int) -> str | None:
        """What is known of the version; None where no process has run it."""
        query = select(_versions.c.behaviour).filter_by(flow=flow, version=version)
        return await self._database.read(lambda connection: connection.execute(query).scalar())

    async def flows(self) -> set[str]:
        """The names of all flows that any process ever had."""
        query = select(_versions.c.flow).distinct()
        return await self._database.read(lambda connection: set(connection.scalars(query)))

    async def replace(self, flow: str, version: int, behaviour: str) -> None:
        """Have the version be this from now on."""
        statement = update(_versions).filter_by(flow=flow, version=version)
        changed = statement.values(behaviour=behaviour)
        await self._database.write(lambda connection: connection.execute(changed))
