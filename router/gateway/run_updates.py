"""Words to a run from outside its conversation: started, cancelled, nudged, decided, operated on.

People know one request by one id; what is said to the whole reaches its branches and sub-flows.
Whatever is told to a run raises `Conflict` where that is over, or can't have it done now, and
`Unconfirmed` where it isn't known in time whether the run has it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from router.contracts import flow
from router.contracts.start_options import of_run, task_timeout
from router.domain.errors import (
    Conflict,
    FieldProblem,
    InvalidInput,
    NotFound,
    RouterError,
    TooManyRequests,
    Unavailable,
    Unconfirmed,
)
from router.domain.locale import Localised
from router.domain.messages import ASKING, ENDED, FlowStatus
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, RunRecord
from router.domain.summaries import cut_summary
from router.flow.definition import FlowDefinition, SlotValues, Wait
from router.flow.engine.events import (
    Amended,
    Arrived,
    Cancelled,
    Decided,
    Nudged,
    Reassigned,
    Retried,
)
from router.flow.view import FlowView
from router.gateway.retries import (
    RPC_TIMEOUT,
    UNCONFIRMED,
    WorkflowOver,
    is_in_flight_limit,
    own_errors,
    persistently,
)
from router.gateway.update_queue import UpdateLine, UpdateQueue
from router.store.flow_runs import Runs
from router.telemetry.loop_stalls import LATENESS

AGAIN_AFTER = timedelta(hours=1)
"""How long those who were reminded by the requester are left in peace."""

NotNow = Literal["reminded_lately", "nobody_awaited", "already_over"]
Reminded = tuple[list[RunRecord], NotNow | None]

WHY_NOT: dict[NotNow, Localised] = {
    "reminded_lately": Localised(
        zh="刚刚提醒过审批人，过一小时再试。",
        en="The approvers were reminded within the last hour; try again later.",
    ),
    "nobody_awaited": Localised(
        zh="现在不在等任何人审批。", en="It isn't waiting for anybody's decision."
    ),
    "already_over": Localised(
        zh="它已经结束了，没有任何改变。", en="It is over already; nothing was changed."
    ),
}


def why_not_now(run: RunRecord, now: datetime) -> NotNow | None:
    """Why nobody is reminded now; None where somebody can be."""
    if run.status in ENDED:
        return "already_over"
    if run.status != "waiting_approval":
        return "nobody_awaited"
    # A reminder before others were asked, by escalation say, is none of theirs.
    lately = (line for line in run.history if line.state == run.state and line.event == "nudged")
    return "reminded_lately" if any(now - line.at < AGAIN_AFTER for line in lately) else None


def operation(
    start: flow.FlowStart, workflow_id: str, task_queue: str, share: Priority
) -> WithStartWorkflowOperation[object, object]:
    """What starts the run, unless it goes on or is over already; each try needs one of its own."""
    definition, requester = start.definition, start.requester
    return WithStartWorkflowOperation(
        flow.WORKFLOW,
        start,
        id=workflow_id,
        task_queue=task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        search_attributes=of_run(definition.flow, requester, start.conversation),
        task_timeout=task_timeout(LATENESS.seconds),
        priority=share,
        static_summary=cut_summary(f"{definition.title.en} of {requester.id}"),
    )


UPDATE_WINDOW_S = 25.0
"""How long an update is sent again before its outcome is told as unknown: about as long as a
restart of Temporal takes. A run answers within three seconds, or says that it is still at work."""

OVER = Localised(
    zh="它已经结束了，或者中断了，现在改不了任何东西。",
    en="The run is over, or was cut off: nothing can be done to it any more.",
)
CUT_OFF = Localised(
    zh="它刚刚结束，或者中断了：后台已经没有在办它的流程，现在改不了任何东西。"
    "请管理员用 intent-router reconcile 处理。",
    en="The run ended a moment ago, or was cut off: it has no workflow any more that could do "
    "this. An operator puts that right with `intent-router reconcile`.",
)

DECISION_UNCONFIRMED = Localised(
    zh="还不知道您的决定有没有记下：没有及时收到确认。请原样再提交一次，只会算一次。",
    en="It isn't known yet whether your decision was counted: no confirmation came in time. Send "
    "the same decision again; it counts once.",
)
STILL_QUEUED = Localised(
    zh="同时在处理这份申请的人太多，这次操作还没有送达，请稍后再试。",
    en="Too many others are acting on the same request: this hasn't been sent to it yet. Send it "
    "again in a moment.",
)
QUEUE_RETRY_S = 2
"""Seconds after which an update that was still queued is worth sending again."""
UPDATES = UpdateQueue()

_TURNED_AWAY = frozenset(
    RPCStatusCode[name]
    for name in (
        *("RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "NOT_FOUND", "INVALID_ARGUMENT"),
        *("PERMISSION_DENIED", "UNAUTHENTICATED"),
    )
)
"""With these Temporal refuses an update before a workflow sees it."""

Out = TypeVar("Out", bound=BaseModel)


class RunStanding(BaseModel):
    """Where a run stands after a word to it."""

    id: str
    status: FlowStatus
    state: str


class RunOver(Conflict):
    """The run is over: nothing can be told to it any more."""


class RunLocked(Conflict):
    """The run can't be taken back by its requester where it stands."""


async def tell(
    temporal: Client, run: RunRecord, caller: Principal, event: Cancelled | Nudged, word: str
) -> RunStanding:
    """Tell a run something; `word` makes the update one, however often it is sent.

    Raises `RunLocked` where it can't be taken back any more, with what its file says then.
    """
    told = flow.Tell(event=event, locale=caller.locale, aside=True)
    answer = await _update(temporal, run, flow.TELL, told, flow.FlowAnswer, word)
    if answer.locked is not None:
        raise RunLocked(answer.locked)
    return RunStanding(id=run.id, status=answer.view.status, state=answer.view.state)


async def as_it_stands(temporal: Client, run: RunRecord) -> RunRecord:
    """The run with what was told to it since it was last published, where it can be asked."""
    if run.status not in ASKING:
        return run
    try:
        view = await _queried(temporal, run, flow.VIEW, FlowView)
    except RouterError:
        return run
    return run.replace(slots=view.slots, state=view.state, status=view.status)


async def definition_of(temporal: Client, run: RunRecord) -> FlowDefinition | None:
    """The definition that the run began with; None where its workflow can't be asked for it."""
    try:
        return await _queried(temporal, run, flow.DEFINITION, FlowDefinition)
    except (RouterError, WorkflowQueryFailedError):
        return None


async def decide(
    temporal: Client, approval: ApprovalRecord, event: Decided, word: str
) -> RunStanding:
    """Tell a run an approver's decision; `Conflict` too where it is decided or has changed."""
    told = flow.ApprovalDecision(event=event)
    taken = await _update(
        temporal,
        approval,
        flow.DECIDE,
        told,
        flow.DecisionTaken,
        word,
        unconfirmed=DECISION_UNCONFIRMED,
    )
    return RunStanding(id=approval.run, status=taken.status, state=taken.state)


async def amend(
    temporal: Client, run: RunRecord, caller: Principal, slots: SlotValues, word: str
) -> RunStanding:
    """Change what was handed in and waits for approval; `word` makes it one.

    Raises `Conflict` too where it can't be changed, or would be what it is, and `InvalidInput`
    with what is wrong by slot.
    """
    wanted = flow.AmendmentRequest(
        event=Amended(by=caller.id, slots=slots, word=word), locale=caller.locale
    )
    taken = await _update(temporal, run, flow.AMEND, wanted, flow.AmendmentTaken, word)
    if taken.problems:
        said = {name: text.within(caller.locale) for name, text in taken.problems.items()}
        faults = [FieldProblem(f"slots.{name}", text) for name, text in said.items()]
        raise InvalidInput("; ".join(said.values()), faults)
    if taken.why is not None:
        raise Conflict(taken.why)
    return RunStanding(id=run.id, status=taken.status, state=taken.state)


async def operate(
    temporal: Client, run: RunRecord, event: Retried | Reassigned, word: str
) -> RunStanding:
    """Tell a run what an operator wants of it."""
    told = flow.OperatorAction(event=event)
    taken = await _update(temporal, run, flow.OPERATE, told, flow.DecisionTaken, word)
    return RunStanding(id=run.id, status=taken.status, state=taken.state)


async def heard_by(temporal: Client, run: RunRecord) -> flow.ExpectedEvents:
    """The outside events that the run's flow knows; none where its workflow is forgotten."""
    try:
        return await _queried(temporal, run, flow.HEARS, flow.ExpectedEvents)
    except WorkflowOver:
        return flow.ExpectedEvents()


async def _queried(temporal: Client, run: RunRecord, query: str, answers: type[Out]) -> Out:
    with own_errors():
        answer: Out = await temporal.get_workflow_handle(run.workflow_id).query(
            query, result_type=answers, rpc_timeout=RPC_TIMEOUT
        )
        return answer


async def event_known(temporal: Client, run: RunRecord, caller: Principal, name: str) -> Wait:
    """What the run's flow says of an outside event that the caller may tell; else `NotFound`."""
    known = (await heard_by(temporal, run)).events.get(name)
    if known is None or not caller.roles & set(known.roles):
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    return known


async def happen(
    temporal: Client, run: RunRecord, caller: Principal, event: Arrived
) -> RunStanding:
    """Tell a run what happened outside; `event.word` makes it one, however often it is sent.

    Raises `NotFound` where its flow knows no such event, or not from the caller, `InvalidInput`
    where what it brings isn't what the flow wants.
    """
    told, word = flow.ExternalEvent(event=event, roles=caller.roles), event.word
    taken = await _update(temporal, run, flow.HAPPEN, told, flow.DecisionTaken, word)
    return RunStanding(id=run.id, status=taken.status, state=taken.state)


async def _update(
    temporal: Client,
    to: RunRecord | ApprovalRecord,
    update: str,
    told: BaseModel,
    answers: type[Out],
    word: str,
    unconfirmed: Localised = UNCONFIRMED,
) -> Out:
    handle = temporal.get_workflow_handle(to.workflow_id)

    async def attempt() -> Out:
        answer: Out = await handle.execute_update(
            update, told, id=word, result_type=answers, rpc_timeout=RPC_TIMEOUT
        )
        return answer

    over = CUT_OFF if _goes_on(to) else OVER
    return await in_time(attempt, to.workflow_id, over, unconfirmed)


def _goes_on(kept: RunRecord | ApprovalRecord) -> bool:
    if isinstance(kept, RunRecord):
        return kept.status not in ENDED
    return kept.active and kept.verdict is None


async def in_time(
    attempt: Callable[[], Awaitable[Out]],
    workflow_id: str,
    over: str | Localised,
    unconfirmed: Localised = UNCONFIRMED,
) -> Out:
    """Send an idempotent update to a workflow, again and again for `UPDATE_WINDOW_S` seconds.

    Raises:
        RunOver: the run is `over`.
        TooManyRequests: the update wasn't sent: others were in front of it all the time, or the
            namespace's rate limit is reached.
        Unconfirmed: the update was sent, and it isn't known what became of it.
        RouterError: the run's refusal.
    """
    sending = _Sending(attempt)
    try:
        async with asyncio.timeout(UPDATE_WINDOW_S), UPDATES.turn(workflow_id) as line:
            sending.line = line
            return await persistently(sending.attempt, keep_trying=lambda _: True)
    except (WorkflowOver, WorkflowAlreadyStartedError) as error:
        if sending.may_have_arrived:
            raise Unconfirmed(unconfirmed) from error
        raise RunOver(over) from error
    except TimeoutError as error:
        if sending.may_have_arrived:
            raise Unconfirmed(unconfirmed) from error
        raise TooManyRequests(STILL_QUEUED, retry_after=QUEUE_RETRY_S) from error
    except (TooManyRequests, Unavailable) as error:
        if sending.may_have_arrived and not sending.is_refused:
            raise Unconfirmed(unconfirmed) from error
        raise


class _Sending(Generic[Out]):
    """Attempts at sending one update, and whether any of them may have reached the workflow."""

    def __init__(self, attempt: Callable[[], Awaitable[Out]]) -> None:
        self._attempt = attempt
        self.line: UpdateLine | None = None
        self.may_have_arrived = False
        self.is_refused = False

    async def attempt(self) -> Out:
        before, self.may_have_arrived, self.is_refused = self.may_have_arrived, True, False
        try:
            return await self._attempt()
        except WorkflowUpdateFailedError:
            self.is_refused = True
            raise
        except RPCError as error:
            if error.status in _TURNED_AWAY:
                self.may_have_arrived = before
            if is_in_flight_limit(error) and self.line is not None:
                self.line.narrow()
            raise


async def parts_of(kept: Runs, run: RunRecord) -> list[RunRecord]:
    """The runs that this one started and waits for, and those that these did; ended ones too."""
    found: list[RunRecord] = []
    whole = [run]
    while whole:
        started = await kept.started_by(whole.pop(0))
        found += started
        whole += started
    return found


async def to_remind(kept: Runs, run: RunRecord, now: datetime) -> Reminded:
    """The runs whose approvers are to be reminded, or why none may be now."""
    asking = [run]
    if run.status not in ENDED and run.status != "waiting_approval":
        parts = await parts_of(kept, run)
        asking = [part for part in parts if part.status == "waiting_approval"] or asking
    why = {part.id: why_not_now(part, now) for part in asking}
    free = [part for part in asking if why[part.id] is None]
    return (free, None) if free else (asking, why[asking[0].id])


async def listening(
    temporal: Client,
    kept: Runs,
    run: RunRecord,
    teller: tuple[Principal, Callable[[str], bool]],
    name: str,
    word: str,
) -> tuple[RunRecord, Wait]:
    """Which of the run and its parts an outside event is for, and what the flow says of it.

    `teller` is who tells it, and whether they may tell runs of a flow anything. It is for the one
    that was told it already as `word`, else one that waits for it now, else one that will: a part
    before the whole, for the parts come first.

    Raises `NotFound` where none of their flows knows the event, or not from the caller.
    """
    caller, may_tell = teller
    family = [one for one in [*await parts_of(kept, run), run] if may_tell(one.flow)]
    heard = [(one, await heard_by(temporal, one)) for one in family]
    knowing = [
        (one, hears)
        for one, hears in heard
        if (wait := hears.events.get(name)) is not None and caller.roles & set(wait.roles)
    ]
    if not knowing:
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    going_on = [each for each in knowing if each[0].status not in ENDED]
    told = [each for each in knowing if word and word in each[1].heard]
    waiting = [each for each in going_on if each[1].awaited == name]
    will = [each for each in going_on if name in each[1].ahead]
    chosen, hears = [*told, *waiting, *will, knowing[-1]][0]
    return chosen, hears.events[name]
