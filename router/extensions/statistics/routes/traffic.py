"""What went on over some days, for operators: figures, and the same as tables for spreadsheets."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, get_args

from fastapi import APIRouter, Response

from router.api.dependencies import Audited, Given, Services
from router.api.errors import problems
from router.api.figures import CSV, FigureRow, PeriodQuery, csv_response, days_of, written_csv
from router.api.params import StrictRoute
from router.domain.messages import RouteBy, RouteKind
from router.domain.periods import Period
from router.domain.principals import Principal
from router.extensions.statistics.store import TrafficCounts
from router.extensions.statistics.traffic import (
    Traffic,
    approval_traffic,
    flow_traffic,
    is_abandoned,
    overall_median,
    turn_days,
)
from router.flow.definition import FlowDefinition

router = APIRouter(prefix="/v1", tags=["operators"], route_class=StrictRoute)

FILLING = frozenset({"collect", "check", "confirm", "say"})
"""Kinds of states in which a request is still its requester's alone."""

TrafficTable = Literal["days", "flows", "approvals", "model"]
Tabulated = Callable[[Traffic], tuple[Sequence[str], Iterable[FigureRow]]]
"""Tells a table's columns, and its rows by those."""


@router.get("/traffic", responses=problems(403))
async def show(services: Given, audit: Audited, period: PeriodQuery) -> Traffic:
    """Sum up what went on over at most 92 days, whole ones of the caller's own time zone.

    Turns by where they went; runs that were begun then, by how they stand now; how quickly
    approvals were decided; what models cost, in tokens.
    """
    await audit.note("traffic.read", detail=days_of(period))
    return await traffic_of(services, audit.person, period)


@router.get("/traffic.csv", response_class=Response, responses=CSV | problems(403))
async def export(
    services: Given, audit: Audited, period: PeriodQuery, table: TrafficTable
) -> Response:
    """Export one table of the same figures as CSV (RFC 4180), its names in the first row."""
    await audit.note("traffic.read", detail=f"{days_of(period)} table={table}")
    found = await traffic_of(services, audit.person, period)
    name = f"traffic-{table}-{period.first}-{period.last}.csv"
    return csv_response(name, as_csv(found, table))


async def traffic_of(services: Services, reader: Principal, period: Period) -> Traffic:
    """The figures of the reader's tenant, titles in their language."""
    counts = TrafficCounts(services.store.database)
    tenant, locale = reader.tenant, reader.locale
    taken = await counts.hours_taken(tenant, period)
    return Traffic(
        since=period.first,
        until=period.last,
        timezone=reader.timezone,
        days=turn_days(period.days, await counts.turns(tenant, period)),
        flows=flow_traffic(
            await counts.runs(tenant, period),
            await _abandoned(services, counts, tenant, period),
            locale,
        ),
        approvals=approval_traffic(await counts.awaited(tenant, period), taken, locale),
        median_hours=overall_median(taken),
        model=await counts.model(tenant, period),
    )


async def _abandoned(
    services: Services, counts: TrafficCounts, tenant: str, period: Period
) -> Mapping[str, int]:
    doing: dict[str, frozenset[str]] = {}
    found = Counter[str]()
    async for run in counts.unfinished(tenant, period, datetime.now(UTC)):
        if run.flow not in doing:
            definition = services.offered.of(tenant).definition(run.flow)
            doing[run.flow] = handing_in(definition) if definition else frozenset()
        found[run.flow] += is_abandoned(run, doing[run.flow])
    return found


def handing_in(definition: FlowDefinition) -> frozenset[str]:
    """The states by which a request has been handed in, by the flow's file of today.

    A call is one where nothing is confirmed: before a confirmation it only looks something up.
    """
    kinds = {name: state.kind for name, state in definition.states.items()}
    alone = FILLING | {"call"} if "confirm" in kinds.values() else FILLING
    return frozenset(name for name, kind in kinds.items() if kind not in alone)


def as_csv(found: Traffic, table: TrafficTable) -> str:
    """One of the tables as CSV."""
    return written_csv(*_TABLES[table](found))


def _days_table(found: Traffic) -> tuple[Sequence[str], Iterable[FigureRow]]:
    kinds, means = get_args(RouteKind), get_args(RouteBy)
    columns = ["day", "turns", "misses", "handoffs", *kinds, *(f"by_{name}" for name in means)]
    rows = (
        day.model_dump(exclude={"routes", "by"})
        | {**day.routes}
        | {f"by_{name}": count for name, count in day.by.items()}
        for day in found.days
    )
    return columns, rows


def _plain_table(name: Literal["flows", "approvals", "model"]) -> Tabulated:
    kind = Traffic.model_fields[name].annotation
    (row,) = get_args(kind)
    columns = list(row.model_fields)
    return lambda found: (columns, [each.model_dump() for each in getattr(found, name)])


_TABLES: Mapping[TrafficTable, Tabulated] = {
    "days": _days_table,
    "flows": _plain_table("flows"),
    "approvals": _plain_table("approvals"),
    "model": _plain_table("model"),
}
