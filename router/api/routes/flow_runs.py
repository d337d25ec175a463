"""Flow runs: what was asked for, how it stands, and taking it back or hurrying it."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, JsonValue

from router.api.body import StrictRoute
from router.api.deps import OPERATOR, Caller, Given, Paged, Services, known
from router.api.idempotency import IdempotencyKey, claim, claimed
from router.api.plain import Comment
from router.api.problems import problems
from router.api.runs import word_of
from router.api.temporal import history_url
from router.contracts import runs
from router.contracts.runs import RunStanding
from router.domain.errors import Conflict, Forbidden, NotFound
from router.domain.messages import ENDED, FlowStatus
from router.domain.nudging import WHY_NOT, why_not_now
from router.domain.principals import Principal
from router.domain.records import HistoryLine, RunRecord
from router.drawing import graph_of, journey_of, svg_of
from router.flow.model import FlowDefinition
from router.flow.run import Cancelled, Nudged
from router.settings import Settings

router = APIRouter(prefix="/v1/flow-runs", tags=["flow runs"], route_class=StrictRoute)


_ENDED_OTHERWISE = ENDED - {"cancelled"}


class TemporalRun(BaseModel):
    """The workflow behind a run, and where Temporal's own UI shows it."""

    workflow_id: str
    run_id: str
    url: str


class FlowRun(BaseModel):
    """A run of a flow, with everything that happened to it."""

    id: str
    flow: str
    title: str
    version: int
    status: FlowStatus
    state: str
    slots: dict[str, JsonValue]
    requester: str
    history: list[HistoryLine]
    temporal: TemporalRun
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, record: RunRecord, settings: Settings, reader: Principal) -> "FlowRun":
        """The row as this reader sees it."""
        shown = record.model_dump(exclude={"title", "history"})
        url = history_url(settings, record.workflow_id, record.run_id)
        temporal = TemporalRun(workflow_id=record.workflow_id, run_id=record.run_id, url=url)
        title = record.title.within(reader.locale)
        return cls(title=title, history=record.history, temporal=temporal, **shown)


class FlowRunPage(BaseModel):
    """Runs, newest first."""

    items: list[FlowRun]
    next: str | None


class Remark(BaseModel):
    """Why, if one likes to say."""

    model_config = ConfigDict(extra="forbid")

    comment: Comment | None = None


async def _visible_run(run: str, services: Given, caller: Caller) -> RunRecord:
    record = await services.store.runs.find(caller.tenant, known(run, "flow run"))
    if record is None or not await _concerns(services, record, caller):
        raise NotFound("There is no such flow run.")
    return record


async def _concerns(services: Services, record: RunRecord, reader: Principal) -> bool:
    """True for the requester, an operator, and whoever was asked to decide."""
    if record.requester == reader.id or OPERATOR in reader.roles:
        return True
    return reader.id in await services.store.runs.approvers(record.tenant, record.id)


VisibleRun = Annotated[RunRecord, Depends(_visible_run)]


async def _own_run(record: VisibleRun, caller: Caller) -> RunRecord:
    if record.requester != caller.id:
        raise Forbidden("Only its requester may do this to a flow run.")
    return record


OwnRun = Annotated[RunRecord, Depends(_own_run)]


@router.get("", responses=problems(403))
async def index(
    services: Given,
    caller: Caller,
    page: Paged,
    status: FlowStatus | None = None,
    flow: Annotated[str | None, Query(pattern="^[a-z0-9_]{1,64}$")] = None,
    everyone: Annotated[bool, Query(alias="all", description="Operators only.")] = False,
) -> FlowRunPage:
    """List the caller's own runs, newest first; an operator may list everyone's.

    Of one's own those are left out that only looked something up, unless their flow is named.
    """
    if everyone and OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may list everyone's flow runs.")
    requester, besides = (None, ()) if everyone else (caller.id, services.offered.look_ups())
    found, following = await services.store.runs.listed(
        caller.tenant, requester, status, flow, page.after, page.limit, () if flow else besides
    )
    items = [FlowRun.of(record, services.settings, caller) for record in found]
    return FlowRunPage(items=items, next=following)


@router.get("/{run}", responses=problems(404))
async def show(services: Given, caller: Caller, record: VisibleRun) -> FlowRun:
    """Show a run to those whom it concerns: its requester, its approvers, operators."""
    record = await runs.as_it_stands(services.temporal, record)
    return FlowRun.of(record, services.settings, caller)


INERT = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""A picture may look as it says, and do nothing."""


class Picture(Response):
    """An SVG."""

    media_type = "image/svg+xml"


@router.get("/{run}/graph", response_class=Picture, responses=problems(404))
async def graph(services: Given, caller: Caller, record: VisibleRun) -> Picture:
    """Draw the run's flow, as it was when the run began, with the way that the run took."""
    definition = await _definition(services, record)
    journey = journey_of(definition, record.history, ZoneInfo(caller.timezone))
    picture = svg_of(graph_of(definition, caller.locale), journey)
    return Picture(picture, headers={"Content-Security-Policy": INERT})


async def _definition(services: Services, record: RunRecord) -> FlowDefinition:
    """The run's own definition; that of today, of the same version, where the run can't tell."""
    own = await runs.definition_of(services.temporal, record)
    if own is not None:
        return own
    for flow in services.offered.flows():
        if (flow.flow, flow.version) == (record.flow, record.version):
            return flow
    raise NotFound(
        f"Version {record.version} of {record.flow} isn't known any more: Temporal has forgotten "
        "the run, and the file has moved on."
    )


@router.post("/{run}/withdraw", responses=problems(400, 403, 404, 409, 413, 415))
async def withdraw(
    services: Given,
    caller: Caller,
    record: OwnRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Take a run back; what it did already is undone."""
    comment = body.comment if body else None
    await claim(services, caller, key, f"withdraw {record.id}", comment)
    event = Cancelled(by=caller.id, comment=comment)
    word = word_of("withdraw", caller, key)
    standing = await runs.tell(services.temporal, record, caller, event, word)
    if standing.status in _ENDED_OTHERWISE:
        raise Conflict(f"The run had ended before it could be taken back: it is {standing.status}.")
    return standing


@router.post("/{run}/nudge", responses=problems(403, 404, 409))
async def nudge(
    services: Given, caller: Caller, record: OwnRun, key: IdempotencyKey
) -> RunStanding:
    """Remind those whose decision the run waits for; once an hour at most."""
    why_not = why_not_now(record, datetime.now(UTC))
    if why_not is not None and not await claimed(services, caller, key):
        raise Conflict(WHY_NOT[why_not])
    await claim(services, caller, key, f"nudge {record.id}")
    word = word_of("nudge", caller, key)
    return await runs.tell(services.temporal, record, caller, Nudged(by=caller.id), word)
