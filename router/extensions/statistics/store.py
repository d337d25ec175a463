"""What went on over some days, counted where it is kept: turns, runs, approvals, models.

What a database can add up it does. What only a program can tell is read in pages, so that no
number of rows needs more memory than a page of them.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    Row,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)

from router.domain.locale import Localised
from router.domain.messages import ASKING
from router.domain.periods import Period
from router.domain.run_history import HistoryEntry
from router.extensions.statistics.flow_statistics import DecisionTime, RunPath, VersionCount
from router.extensions.statistics.traffic import (
    SILENT,
    AwaitedCount,
    ModelDay,
    RunCount,
    TurnCount,
    Unfinished,
)
from router.store import tables
from router.store.columns import MomentType
from router.store.database import Aggregate
from router.store.flow_runs import IS_WHOLE, UNDECIDED

_log = tables.log
_runs = tables.runs
_approvals = tables.approvals
_spending = tables.spending

ROWS = 1000
"""Of a page."""

_PATH = tuple(_runs.c[name] for name in ("created_at", "id", "status", "updated_at"))


class TrafficCounts(Aggregate):
    """How much of everything there was in one tenant, over a period."""

    async def turns(self, tenant: str, period: Period) -> list[TurnCount]:
        """Turns by day, by where they went and by which means."""
        days = period.days
        # The ends of days are the zone's, which only the program knows: one comparison for each.
        ended = [(_log.c.at < _moment(period.begins(day)), n) for n, day in enumerate(days[1:])]
        number = case(*ended, else_=len(days) - 1) if ended else literal(0)
        each = (
            select(number.label("day"), _log.c.route_kind, _log.c.route_by, _log.c.missed)
            .where(_log.c.tenant == tenant, _log.c.kind == literal_column("'turn'"))
            .where(_log.c.at >= _moment(period.since), _log.c.at < _moment(period.until))
            .where(_log.c.route_kind.is_not(None))
            .subquery()
        )
        query = select(*each.c, func.count()).group_by(*each.c)
        return [
            TurnCount(days[day], kind, by, missed, count)
            for day, kind, by, missed, count in await self._rows(query)
        ]

    async def runs(self, tenant: str, period: Period) -> list[RunCount]:
        """Runs that were begun then, by flow and by how they stand now; no branches of others."""
        title = func.max(cast(_runs.c.title, Text))
        query = (
            select(_runs.c.flow, title, _runs.c.status, func.count())
            .where(*_begun(tenant, period))
            .group_by(_runs.c.flow, _runs.c.status)
        )
        return [
            RunCount(flow, Localised.model_validate_json(said), status, count)
            for flow, said, status, count in await self._rows(query)
        ]

    async def unfinished(
        self, tenant: str, period: Period, now: datetime
    ) -> AsyncIterator[Unfinished]:
        """Of the same runs those that may have been given up while they were filled in."""
        silent = and_(_runs.c.status.in_(sorted(ASKING)), _runs.c.updated_at < now - SILENT)
        given_up = or_(_runs.c.status.in_(["cancelled", "expired"]), silent)
        query = select(_runs.c.created_at, _runs.c.id, _runs.c.flow, _runs.c.history)
        query = query.where(*_begun(tenant, period), given_up)
        async for row in self._paged(query, _runs.c.created_at, _runs.c.id):
            yield Unfinished(row.flow, [(line["state"], line["event"]) for line in row.history])

    async def awaited(self, tenant: str, period: Period) -> list[AwaitedCount]:
        """The flows of which approvals wait, or were decided then, and how many wait."""
        approvals = _approvals.c
        open_ = and_(approvals.active, approvals.verdict.is_(None))
        waits = and_(open_, approvals.since < _moment(period.until))
        # One after the other, each by an index of its own: with `or` SQLite looks at them all.
        either = union_all(
            *(
                select(approvals.tenant, approvals.run, approvals.flow, literal(n).label("waits"))
                .where(approvals.tenant == tenant)
                .where(which)
                for n, which in ((1, waits), (0, _decided(period)))
            )
        ).subquery()
        its_run = and_(_runs.c.tenant == either.c.tenant, _runs.c.id == either.c.run)
        title = func.max(cast(_runs.c.title, Text))
        query = (
            select(either.c.flow, title, func.sum(either.c.waits))
            .join_from(either, _runs, its_run)
            .group_by(either.c.flow)
        )
        return [
            AwaitedCount(flow, Localised.model_validate_json(said), waiting)
            for flow, said, waiting in await self._rows(query)
        ]

    async def hours_taken(self, tenant: str, period: Period) -> Mapping[str, Sequence[float]]:
        """How long each decision of the period took, by flow."""
        found: dict[str, list[float]] = defaultdict(list)
        approvals = _approvals.c
        query = select(approvals.decided_at, approvals.id, approvals.flow, approvals.since)
        query = query.where(approvals.tenant == tenant, _decided(period))
        async for row in self._paged(query, approvals.decided_at, approvals.id):
            found[row.flow].append((row.decided_at - row.since) / timedelta(hours=1))
        return found

    async def versions(self, tenant: str, flow: str, period: Period) -> list[VersionCount]:
        """Runs of this flow that were begun then, by version and by how they stand now."""
        columns = (_runs.c.version, _runs.c.status)
        query = select(*columns, func.count()).where(_runs.c.flow == flow, *_begun(tenant, period))
        return [VersionCount(*row) for row in await self._rows(query.group_by(*columns))]

    async def paths(
        self, tenant: str, flow: str, period: Period, version: int | None = None
    ) -> AsyncIterator[RunPath]:
        """What each run of a flow that was begun then went through; of one version, or of all."""
        columns = (*_PATH, _runs.c.history, _runs.c.asked)
        query = select(*columns).where(_runs.c.flow == flow, *_begun(tenant, period))
        if version is not None:
            query = query.where(_runs.c.version == version)
        async for row in self._paged(query, _runs.c.created_at, _runs.c.id):
            history = [HistoryEntry.model_validate(line) for line in row.history]
            about = (row.status, row.created_at, row.updated_at)
            yield RunPath(*about, history, row.asked)

    async def decisions(
        self, tenant: str, flow: str, period: Period, version: int | None = None
    ) -> AsyncIterator[DecisionTime]:
        """Who decided on requests of a flow then, and how long each decision took."""
        approvals = _approvals.c
        query = select(
            *(approvals.decided_at, approvals.id, approvals.person),
            *(approvals.verdict, approvals.since),
        ).where(approvals.tenant == tenant, approvals.flow == flow, _decided(period))
        if version is not None:
            its_run = and_(_runs.c.tenant == approvals.tenant, _runs.c.id == approvals.run)
            query = query.join(_runs, its_run).where(_runs.c.version == version)
        async for row in self._paged(query, approvals.decided_at, approvals.id):
            hours = (row.decided_at - row.since) / timedelta(hours=1)
            yield DecisionTime(row.person, row.verdict, hours)

    async def model(self, tenant: str, period: Period) -> list[ModelDay]:
        """What models cost on each day that they were asked on, oldest first."""
        amounts = [_spending.c.calls, _spending.c.prompt_tokens, _spending.c.completion_tokens]
        query = (
            select(_spending.c.day, *(func.sum(amount).label(amount.name) for amount in amounts))
            .where(_spending.c.tenant == tenant)
            .where(_spending.c.day.between(period.first, period.last))
            .group_by(_spending.c.day)
            .order_by(_spending.c.day)
        )
        return [ModelDay.model_validate(row._asdict()) for row in await self._rows(query)]

    async def _rows(self, query: Select[Any]) -> Sequence[Any]:
        return await self._database.read(lambda connection: connection.execute(query).all())

    async def _paged(
        self, query: Select[Any], moment: Column[Any], name: Column[Any]
    ) -> AsyncIterator[Row[Any]]:
        """All rows, the oldest first; the query's first two columns are `moment` and `name`."""
        ordered = query.order_by(moment, name).limit(ROWS)
        rows = await self._rows(ordered)
        while rows:
            for row in rows:
                yield row
            if len(rows) < ROWS:
                return
            at, last = rows[-1][:2]
            behind = tuple_(moment, name) > tuple_(_moment(at), literal(last))
            rows = await self._rows(ordered.where(behind))


def _moment(at: datetime) -> Any:
    return literal(at, MomentType)


def _begun(tenant: str, period: Period) -> Sequence[Any]:
    began = _runs.c.created_at
    within = (began >= _moment(period.since), began < _moment(period.until))
    return (_runs.c.tenant == tenant, *within, IS_WHOLE)


def _decided(period: Period) -> Any:
    """What somebody has decided then; what went on to somebody else was decided by the clock."""
    at = _approvals.c.decided_at
    within = and_(at >= _moment(period.since), at < _moment(period.until))
    return and_(_approvals.c.verdict.is_not(None), within, _approvals.c.verdict.not_in(UNDECIDED))
