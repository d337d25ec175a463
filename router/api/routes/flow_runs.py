"""Flow runs: what was asked for and how it stands; what requesters and operators do to them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Body, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict

from router.api.approvals import check_person
from router.api.audit import in_words
from router.api.dependencies import OPERATOR, Audited, Caller, Given, Paged, Services, Work, known
from router.api.errors import problems
from router.api.event_sources import Teller
from router.api.figures import SVG, picture_response, svg_response
from router.api.idempotency import IdempotencyKey, claim, claimed
from router.api.params import (
    Comment,
    NameParameter,
    PersonId,
    PlainObject,
    SinceParameter,
    StrictRoute,
)
from router.api.runs import FlowRun, OwnRun, ReadRun, VisibleRun, todays_definition, word_of
from router.domain.errors import Conflict, Forbidden, NotFound
from router.domain.messages import ENDED, FlowStatus
from router.domain.principals import Principal
from router.domain.records import RunFilter, RunRecord
from router.drawing import graph_of, journey_of, mermaid_of
from router.flow.engine.events import Arrived, Cancelled, Nudged, Reassigned, Retried
from router.flow.engine.waiting import unfit
from router.flow.slot_types.slot import form_values
from router.gateway import run_updates
from router.gateway.run_updates import WHY_NOT, RunStanding, listening, to_remind
from router.gateway.withdrawals import Withdrawals

router = APIRouter(prefix="/v1/flow-runs", tags=["flow runs"], route_class=StrictRoute)


class FlowRunPage(BaseModel):
    """Runs, newest first."""

    items: list[FlowRun]
    next: str | None


async def _run_filter(
    requester: Annotated[NameParameter | None, Query(description="Whose; with `all`.")] = None,
    waiting_for: Annotated[
        NameParameter | None, Query(description="Whose decision it awaits.")
    ] = None,
    held: Annotated[bool | None, Query(description="Whether it waits for an operator.")] = None,
    since: Annotated[SinceParameter | None, Query(description="Begun then or later.")] = None,
    quiet_since: Annotated[
        SinceParameter | None, Query(description="Unchanged since then.")
    ] = None,
    expires_before: Annotated[
        SinceParameter | None, Query(description="Waits for an approval that expires before then.")
    ] = None,
) -> RunFilter:
    return RunFilter(
        person=requester,
        waiting_for=waiting_for,
        held=held,
        since=since,
        quiet_since=quiet_since,
        expires_before=expires_before,
    )


Narrowed = Annotated[RunFilter, Depends(_run_filter)]


@router.get("", responses=problems(403))
async def index(
    services: Given,
    audit: Audited,
    page: Paged,
    narrowed: Narrowed,
    status: FlowStatus | None = None,
    flow: Annotated[str | None, Query(pattern="^[a-z0-9_]{1,64}$")] = None,
    everyone: Annotated[bool, Query(alias="all", description="Operators only.")] = False,
) -> FlowRunPage:
    """List the caller's own runs, newest first; an operator may list everyone's.

    Of one's own those are left out that only looked something up, unless their flow is named.
    """
    caller = audit.person
    if everyone and OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may list everyone's flow runs.")
    if everyone:
        asked = {"status": status, "flow": flow} | narrowed.model_dump(mode="json")
        await audit.note("runs.list", detail=in_words(asked))
    requester, besides = (
        (None, ()) if everyone else (caller.id, services.offered.of(caller.tenant).look_ups())
    )
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
    people: dict[str, list[str]] = {}
    if OPERATOR in caller.roles and found:
        ids = [run.id for run in found]
        for approval in await services.store.runs.awaited(caller.tenant, ids):
            people.setdefault(approval.run, []).append(approval.person)
    return people


@router.get("/{run}", responses=problems(404))
async def show(services: Given, caller: Caller, record: ReadRun) -> FlowRun:
    """Show a run to its requester, its approvers, those who were told of it, and operators."""
    record = await run_updates.as_it_stands(services.temporal, record)
    awaited = await _awaited(services, caller, [record])
    return FlowRun.of(record, services, caller, awaited.get(record.id, ()))


DrawingFormat = Literal["svg", "mermaid"]
MERMAID = "text/vnd.mermaid"
_KINDS = {media_type: {"schema": {"type": "string"}} for media_type in (SVG, MERMAID)}
_DRAWN: dict[int | str, Any] = {200: {"description": "The picture.", "content": _KINDS}}


@router.get("/{run}/graph", response_class=Response, responses=_DRAWN | problems(404, 422))
async def graph(
    services: Given,
    caller: Caller,
    work: Work,
    record: ReadRun,
    format_: Annotated[DrawingFormat, Query(alias="format")] = "svg",
    details: Annotated[bool, Query(description="With the file's names and expressions.")] = False,
) -> Response:
    """Draw the run's flow, as it was when the run began, with the way that the run took.

    A flow of more states or ways than can be looked at is drawn as `mermaid` alone.
    """
    own = await run_updates.definition_of(services.temporal, record)
    definition = own or todays_definition(record, services.offered.of(record.tenant))
    if definition is None:
        raise NotFound(
            f"Version {record.version} of {record.flow} isn't known any more: Temporal has "
            "forgotten the run, and the file has moved on."
        )
    journey = journey_of(definition, record.history, ZoneInfo(caller.timezone))
    graph_ = graph_of(definition, caller.locale, plain=not details)
    if format_ == "mermaid":
        return picture_response(mermaid_of(graph_, journey), MERMAID)
    return await svg_response(work, graph_, journey)


class Remark(BaseModel):
    """Why, if one likes to say."""

    model_config = ConfigDict(extra="forbid")

    comment: Comment | None = None


@router.post("/{run}/withdraw", responses=problems(400, 403, 404, 409, 413, 415))
async def withdraw(
    services: Given, caller: Caller, record: OwnRun, key: IdempotencyKey, body: Remark | None = None
) -> RunStanding:
    """Take a run back; what it did already is undone.

    A completed one is taken back by a run of its own, which asks for approval first: the answer
    is how that stands.
    """
    comment, word = body.comment if body else None, word_of("withdraw", caller, key)
    repeated = await claimed(services, caller, key)
    await claim(services, caller, key, f"withdraw {record.id}", comment)
    if record.withdrawn_by is None and record.remedy is None:
        event = Cancelled(by=caller.id, comment=comment)
        return await cancelled(services, caller, record, event, word)
    share = services.fairness.share(caller.tenant, caller.id)
    queue, runs = services.settings.task_queue, services.store.runs
    withdrawing = Withdrawals(services.temporal, queue, runs, share)
    begun = await withdrawing.under_way(record) if repeated else None
    return begun or await withdrawing.begin(record, caller, caller.locale, comment, word)


async def cancelled(
    services: Services, caller: Principal, record: RunRecord, event: Cancelled, word: str
) -> RunStanding:
    """Cancel the run; `Conflict` where it ended by itself before that."""
    try:
        standing = await run_updates.tell(services.temporal, record, caller, event, word)
    except run_updates.RunOver:
        # The first answer to this may have been lost on its way.
        now = await services.store.runs.find(record.tenant, record.id)
        if now is None or not _has_cancelled(now, caller):
            raise
        return RunStanding(id=now.id, status=now.status, state=now.state)
    if standing.status in ENDED - {"cancelled"}:
        raise Conflict(f"The run had ended before it could be taken back: it is {standing.status}.")
    return standing


def _has_cancelled(run: RunRecord, caller: Principal) -> bool:
    """Return whether it was this person who had the run end as it did."""
    withdrawn = [line.by for line in run.history if line.event == "withdrawn"]
    return run.status == "cancelled" and withdrawn[-1:] == [caller.id]


class ChangedSlots(BaseModel):
    """What is to be other, by slot name or path (`items.0.amount`), as in a form."""

    model_config = ConfigDict(extra="forbid")

    slots: PlainObject


@router.post("/{run}/amendments", responses=problems(400, 403, 404, 409, 413, 415))
async def amend(
    services: Given, caller: Caller, record: OwnRun, key: IdempotencyKey, body: ChangedSlots
) -> RunStanding:
    """Change what was handed in and waits for approval; who asked for it is sure of that.

    The approval is withdrawn, what must be undone is undone, and the run is walked anew with all
    else kept: its approvers are asked with what is different.
    """
    kept = services.store.runs
    whole = record
    while whole.is_branch and (above := await kept.find(whole.tenant, _id_of(whole.parent))):
        whole = above
    await claim(services, caller, key, f"amend {record.id}", body.model_dump(mode="json"))
    known = await run_updates.definition_of(services.temporal, whole)
    now = datetime.now(ZoneInfo(caller.timezone))
    slots = form_values(known.slots, body.slots, now) if known else body.slots
    return await run_updates.amend(
        services.temporal, whole, caller, slots, word_of("amend", caller, key)
    )


def _id_of(workflow: str | None) -> str:
    return (workflow or "").rpartition("/")[2]


@router.post("/{run}/nudge", responses=problems(403, 404, 409))
async def nudge(
    services: Given, caller: Caller, record: OwnRun, key: IdempotencyKey
) -> RunStanding:
    """Remind those whose decision the run, or a part of it, waits for; once an hour at most."""
    asking, why_not = await to_remind(services.store.runs, record, datetime.now(UTC))
    if why_not is not None and not await claimed(services, caller, key):
        raise Conflict(WHY_NOT[why_not])
    await claim(services, caller, key, f"nudge {record.id}")
    word = word_of("nudge", caller, key)
    standing = RunStanding(id=record.id, status=record.status, state=record.state)
    for one in asking:
        told = await run_updates.tell(services.temporal, one, caller, Nudged(by=caller.id), word)
        standing = told if one.id == record.id else standing
    return standing


EventName = Annotated[str, Path(pattern="^[a-z][a-z0-9_]{0,63}$")]
EventBody = Annotated[PlainObject | None, Body()]


@router.post("/{run}/events/{name}", responses=problems(400, 404, 409, 413, 415))
async def happen(
    run: str,
    name: EventName,
    services: Given,
    teller: Teller,
    body: EventBody = None,
) -> RunStanding:
    """Tell a run what happened outside, as the role that its flow names.

    Another system may sign it as a standard webhook instead of bringing a token, under an id that
    begins with the run and the name. The body has the fields that the flow wants. An event that
    comes before the run waits for it is kept; until it is needed it counts once. Where a branch
    or sub-flow waits for it, that is told, and answered with.
    """
    caller, key = teller.principal, teller.key
    record = await services.store.runs.find(caller.tenant, known(run, "flow run"))
    if record is None or not teller.may_tell(record.flow):
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    value = body or {}
    word, kept = word_of("event", caller, key), services.store.runs
    who = (caller, teller.may_tell)
    concerned, wanted = await listening(services.temporal, kept, record, who, name, word)
    faulty = unfit(wanted, value)
    if faulty is not None:
        raise faulty
    await claim(services, caller, key, f"event {record.id} {name}", value)
    event = Arrived(by=caller.id, name=name, value=value, word=word)
    return await run_updates.happen(services.temporal, concerned, caller, event)


class NewApprover(BaseModel):
    """Who is to decide, and in whose place."""

    model_config = ConfigDict(extra="forbid")

    to: PersonId
    instead_of: PersonId
    comment: Comment | None = None


async def _operated_run(record: VisibleRun, caller: Caller) -> RunRecord:
    if OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may do this to a flow run.")
    return record


OperatedRun = Annotated[RunRecord, Depends(_operated_run)]


@router.post("/{run}/retry", responses=problems(400, 403, 404, 409, 413, 415))
async def retry(
    services: Given,
    audit: Audited,
    record: OperatedRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Operators: make the call again that failed and that the run is held for."""
    await claim(services, audit.person, key, f"retry {record.id}")
    comment = body.comment if body else None
    await audit.note("run.retry", record.id, whose=record.requester, reason=comment)
    word = word_of("retry", audit.person, key)
    return await run_updates.operate(services.temporal, record, Retried(by=audit.person.id), word)


@router.post("/{run}/terminate", responses=problems(400, 403, 404, 409, 413, 415))
async def terminate(
    services: Given,
    audit: Audited,
    record: OperatedRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Operators: end a run, whoever's it is; what it did already is undone.

    What could not be undone before is left as it is.
    """
    caller, comment = audit.person, body.comment if body else None
    await claim(services, caller, key, f"terminate {record.id}", comment)
    await audit.note("run.terminate", record.id, whose=record.requester, reason=comment)
    event = Cancelled(by=caller.id, comment=comment, final=True)
    return await cancelled(services, caller, record, event, word_of("terminate", caller, key))


@router.post("/{run}/reassign", responses=problems(400, 403, 404, 409, 413, 415))
async def reassign(
    services: Given, audit: Audited, record: OperatedRun, key: IdempotencyKey, body: NewApprover
) -> RunStanding:
    """Operators: have someone else decide, in place of one whom the run waits for."""
    caller, whose = audit.person, record.requester
    await check_person(services, caller, body.to)
    await claim(services, caller, key, f"reassign {record.id}", body.model_dump(mode="json"))
    passed = f"{body.instead_of} ▸ {body.to}"
    await audit.note("run.reassign", record.id, whose=whose, reason=body.comment, detail=passed)
    event = Reassigned(by=caller.id, **body.model_dump())
    word = word_of("reassign", caller, key)
    return await run_updates.operate(services.temporal, record, event, word)
