"""Flow runs: what was asked for, how it stands, and the way that it took."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from router.api.body import StrictRoute
from router.api.deps import OPERATOR, Caller, Given, Paged, Services, Witnessed
from router.api.plain import Name, Since
from router.api.problems import problems
from router.api.run_access import ReadRun
from router.api.run_view import FlowRun, todays_definition
from router.api.witness import in_words
from router.contracts import runs
from router.domain.errors import Forbidden, NotFound
from router.domain.messages import FlowStatus
from router.domain.principals import Principal
from router.domain.records import RunFilter, RunRecord
from router.drawing import Graph, Journey, graph_of, journey_of, mermaid_of, svg_of
from router.flow.model import FlowDefinition

router = APIRouter(prefix="/v1/flow-runs", tags=["flow runs"], route_class=StrictRoute)

INERT = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""A picture may look as it says, and do nothing."""


class FlowRunPage(BaseModel):
    """Runs, newest first."""

    items: list[FlowRun]
    next: str | None


async def _run_filter(
    requester: Annotated[Name | None, Query(description="Whose; with `all`.")] = None,
    waiting_for: Annotated[Name | None, Query(description="Whose decision it awaits.")] = None,
    held: Annotated[bool | None, Query(description="Whether it waits for an operator.")] = None,
    since: Annotated[Since | None, Query(description="Begun then or later.")] = None,
    quiet_since: Annotated[Since | None, Query(description="Unchanged since then.")] = None,
) -> RunFilter:
    return RunFilter(
        person=requester,
        waiting_for=waiting_for,
        held=held,
        since=since,
        quiet_since=quiet_since,
    )


Narrowed = Annotated[RunFilter, Depends(_run_filter)]


@router.get("", responses=problems(403))
async def index(
    services: Given,
    witness: Witnessed,
    page: Paged,
    narrowed: Narrowed,
    status: FlowStatus | None = None,
    flow: Annotated[str | None, Query(pattern="^[a-z0-9_]{1,64}$")] = None,
    everyone: Annotated[bool, Query(alias="all", description="Operators only.")] = False,
) -> FlowRunPage:
    """List the caller's own runs, newest first; an operator may list everyone's.

    Of one's own those are left out that only looked something up, unless their flow is named.
    """
    caller = witness.person
    if everyone and OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may list everyone's flow runs.")
    if everyone:
        asked = {"status": status, "flow": flow} | narrowed.model_dump(mode="json")
        await witness.note("runs.list", detail=in_words(asked))
    requester, besides = (None, ()) if everyone else (caller.id, services.offered.look_ups())
    found, following = await services.store.runs.listed(
        *(caller.tenant, requester, status, flow, page.after, page.limit),
        () if flow else besides,
        branches=everyone,
        narrowed=narrowed,
    )
    awaited = await _awaited(services, caller, found)
    items = [FlowRun.of(run, services, caller, awaited.get(run.id, ())) for run in found]
    return FlowRunPage(items=items, next=following)


async def _awaited(
    services: Services, caller: Principal, found: Sequence[RunRecord]
) -> dict[str, list[str]]:
    """Whom each of the runs waits for, as operators are told."""
    people: dict[str, list[str]] = {}
    if OPERATOR in caller.roles and found:
        ids = [run.id for run in found]
        for approval in await services.store.runs.awaited(caller.tenant, ids):
            people.setdefault(approval.run, []).append(approval.person)
    return people


@router.get("/{run}", responses=problems(404))
async def show(services: Given, caller: Caller, record: ReadRun) -> FlowRun:
    """Show a run to its requester, its approvers, those who were told of it, and operators."""
    record = await runs.as_it_stands(services.temporal, record)
    awaited = await _awaited(services, caller, [record])
    return FlowRun.of(record, services, caller, awaited.get(record.id, ()))


PictureFormat = Literal["svg", "mermaid"]
PICTURES: dict[PictureFormat, tuple[str, Callable[[Graph, Journey], str]]] = {
    "svg": ("image/svg+xml", svg_of),
    "mermaid": ("text/vnd.mermaid", mermaid_of),
}
"""By format: its media type, and what draws it."""
_DRAWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The picture.",
        "content": {
            media_type: {"schema": {"type": "string"}} for media_type, _ in PICTURES.values()
        },
    }
}


@router.get("/{run}/graph", response_class=Response, responses=_DRAWN | problems(404, 422))
async def graph(
    services: Given,
    caller: Caller,
    record: ReadRun,
    format_: Annotated[PictureFormat, Query(alias="format")] = "svg",
) -> Response:
    """Draw the run's flow, as it was when the run began, with the way that the run took."""
    definition = await _definition(services, record)
    journey = journey_of(definition, record.history, ZoneInfo(caller.timezone))
    media_type, drawn = PICTURES[format_]
    return Response(
        drawn(graph_of(definition, caller.locale), journey),
        media_type=media_type,
        headers={"Content-Security-Policy": INERT},
    )


async def _definition(services: Services, record: RunRecord) -> FlowDefinition:
    """The run's own definition; that of today, of the same version, where the run can't tell."""
    own = await runs.definition_of(services.temporal, record)
    definition = own or todays_definition(record, services.offered)
    if definition is not None:
        return definition
    raise NotFound(
        f"Version {record.version} of {record.flow} isn't known any more: Temporal has forgotten "
        "the run, and the file has moved on."
    )
