"""How a flow goes, for its authors: figures by state, way, slot and version; as CSV, and drawn.

What single people did, and what they wrote, is for operators alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from router.api.dependencies import OPERATOR, Audited, AuthorWork, Given, RequestWork, Services
from router.api.errors import problems
from router.api.figures import (
    CSV,
    SVG,
    AskedByAuthor,
    FigureRow,
    csv_response,
    days_of,
    svg_response,
    written_csv,
)
from router.api.flow_documents import partly_held
from router.api.params import StrictRoute
from router.domain.configuration_documents import LONGEST_NAME, is_name
from router.domain.errors import InvalidInput, NotFound
from router.domain.locale import Localised
from router.domain.periods import Period
from router.drawing import graph_of
from router.extensions.statistics.flow_load import load_of
from router.extensions.statistics.flow_statistics import (
    MOST_RUNS,
    ApproverFigures,
    FlowDay,
    FlowStatistics,
    FlowTally,
    FlowVersionFigures,
    ReasonFigures,
    SlotFigures,
    StateFigures,
    WayFigures,
    approver_figures,
    version_figures,
)
from router.extensions.statistics.store import TrafficCounts
from router.flow.definition import FlowDefinition

router = APIRouter(prefix="/v1/flow-statistics", tags=["operators"], route_class=StrictRoute)

FlowNamePath = Annotated[str, Path(max_length=LONGEST_NAME, description="A flow's name.")]
VersionQuery = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="Only runs of this version of the flow.")
]
FlowTable = Literal["versions", "states", "ways", "slots", "days", "approvers", "reasons"]
TABLES: Mapping[FlowTable, type[BaseModel]] = {
    "versions": FlowVersionFigures,
    "states": StateFigures,
    "ways": WayFigures,
    "slots": SlotFigures,
    "days": FlowDay,
    "approvers": ApproverFigures,
    "reasons": ReasonFigures,
}
_NONE = Localised(zh="没有这个流程。", en="There is no such flow.")
_DRAWN: dict[int | str, Any] = {
    200: {
        "description": "The picture.",
        "content": {SVG: {"schema": {"type": "string"}}},
    }
}


@router.get("/{flow}.csv", response_class=Response, responses=CSV | problems(404, 422))
async def export(
    services: Given,
    work: AuthorWork,
    audit: Audited,
    period: AskedByAuthor,
    flow: FlowNamePath,
    table: FlowTable,
    version: VersionQuery = None,
) -> Response:
    """Export one table of a flow's figures as CSV (RFC 4180), its names in the first row."""
    found = await _noted(services, work, audit, period, flow, version)
    rows: Iterable[FigureRow] = [each.model_dump() for each in getattr(found, table) or ()]
    columns: Sequence[str] = [*TABLES[table].model_fields]
    name = f"{flow}-{table}-{period.first}-{period.last}.csv"
    return csv_response(name, written_csv(columns, rows))


@router.get("/{flow}", responses=problems(404, 422))
async def show(
    services: Given,
    work: AuthorWork,
    audit: Audited,
    period: AskedByAuthor,
    flow: FlowNamePath,
    version: VersionQuery = None,
) -> FlowStatistics:
    """Tell how a flow goes: the runs that were begun on these days, whole ones of the caller's.

    Times of states are between being entered and being left; what stands in one still isn't in
    them. Decisions are those of these days. Approvers and reasons are for operators, else null.
    """
    return await _noted(services, work, audit, period, flow, version)


@router.get("/{flow}/picture", response_class=Response, responses=_DRAWN | problems(404, 422))
async def picture(
    services: Given,
    work: AuthorWork,
    audit: Audited,
    period: AskedByAuthor,
    flow: FlowNamePath,
    version: VersionQuery = None,
) -> Response:
    """Draw the same figures on the flow as it is today; what it has no more isn't drawn."""
    definition = await _defined(services, work, flow)
    if definition is None:
        raise NotFound(_NONE)
    found = await _noted(services, work, audit, period, flow, version)
    locale = work.person.locale
    graph = graph_of(definition, locale, plain=True)
    return await svg_response(work, graph, load_of(found, locale))


async def _defined(services: Services, work: RequestWork, flow: str) -> FlowDefinition | None:
    """The flow as everybody has it, else as some do or will."""
    whole = services.offered.of(work.person.tenant).definition(flow)
    if whole is not None or not is_name("flows", flow):
        return whole
    return await partly_held(services, work, flow)


async def _noted(
    services: Services,
    work: RequestWork,
    audit: Audited,
    period: Period,
    flow: str,
    version: int | None,
) -> FlowStatistics:
    author = work.person
    counts, tenant = TrafficCounts(services.store.database), author.tenant
    versions = version_figures(await counts.versions(tenant, flow, period))
    if not versions and await _defined(services, work, flow) is None:
        raise NotFound(_NONE)
    if (begun := sum(each.begun for each in versions)) > MOST_RUNS:
        raise InvalidInput.at(
            "since", f"{begun} runs began on these days; {MOST_RUNS} are the most: ask for fewer"
        )
    await audit.note("flow.statistics", flow, detail=days_of(period))
    tally = FlowTally(datetime.now(UTC))
    async for run in counts.paths(tenant, flow, period, version):
        tally.add(run, run.created_at.astimezone(period.zone).date())
    decisions = counts.decisions(tenant, flow, period, version)
    sees_people = OPERATOR in author.roles
    return FlowStatistics(
        flow=flow,
        since=period.first,
        until=period.last,
        timezone=author.timezone,
        version=version,
        versions=versions,
        states=tally.states,
        ways=tally.ways,
        slots=tally.slots,
        days=tally.days(period),
        approvers=approver_figures([each async for each in decisions]) if sees_people else None,
        reasons=tally.reasons if sees_people else None,
    )
