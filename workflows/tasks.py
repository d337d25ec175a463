"""The tasks of a run: lookups and calls as activities, other flows and branches as children.

A child has an id, a conversation and approvals like any run. It isn't closed with its parent:
what it did would stay done with nobody knowing. It is told to stop by signal, undoes what it
did, and hands over to its parent what can still be undone when it has ended.
"""

import asyncio
from datetime import timedelta

from temporalio import exceptions, workflow
from temporalio.common import RetryPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError

from router.contracts import activities
from router.contracts import flow as contract
from router.contracts.failures import RETRYABLE, from_failure
from router.contracts.flow import CallLimits, DecisionTaken, FlowEnded, FlowStart
from router.contracts.start_options import TASK_TIMEOUT, of_run
from router.domain import errors
from router.domain.locale import Localised
from router.domain.messages import ToolCallView
from router.domain.progress import ToolStatus
from router.domain.sizes import measure_bytes
from router.domain.summaries import cut_summary
from router.flow.definition import FlowDefinition
from router.flow.engine import approval, documents
from router.flow.engine.events import Agreed, AskedBack, Began, Called, Failed, Finished, LookedUp
from router.flow.engine.parallel import begin_run, branch_of
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import FailureKind
from router.flow.engine.run_parts.work import Task
from router.routing.tool_form import inquiry_of
from workflows.activity import perform
from workflows.tool_calls import made, tries, why


def related_runs(run: Run) -> tuple[str, ...]:
    """Return the workflow ids of the runs whose branch the run is, and of its own branches."""
    tenant = run.requester.tenant
    under_way = (
        contract.workflow_id(task.name, tenant, task.key)
        for task in run.work.tasks.values()
        if task.branch
    )
    return tuple(dict.fromkeys([*run.work.related_runs, *under_way]))


async def looked_up(task: Task, run: Run) -> LookedUp:
    """What the lookup came to; raises `ActivityError` where it fails for good."""
    given = activities.LookUp(
        name=task.name,
        arguments=task.positional,
        requester=run.requester,
        now=workflow.now(),
        related_runs=related_runs(run),
    )
    stub = activities.WAIT_FOR_DOCUMENT if task.name == documents.LOOKUP else activities.LOOK_UP
    answer = await perform(stub, given, summary=task.name)
    return LookedUp(task=task.id, value=answer.value)


async def called(task: Task, run: Run, limits: CallLimits, *, form: bool) -> Called:
    """What the tool came to; raises `ActivityError` where it fails for good."""
    call = activities.ToolCall(
        tool=task.name,
        arguments=limits.defaults | task.arguments,
        caller=run.requester,
        locale=run.locale,
        key=task.key,
        undoes=task.undoes,
        answers=task.answers,
        checking=task.kind == "check",
        flow_run=workflow.info().workflow_id,
        related_runs=related_runs(run),
        approvals=tuple(run.approvals.granted),
        slots_digest=approval.digest_slots(run),
        form=form,
        conversation=run.conversation,
        call_id=task.id,
        now=workflow.now(),
    )
    retry = RetryPolicy(
        initial_interval=timedelta(milliseconds=500),
        maximum_interval=timedelta(minutes=1),
        maximum_attempts=limits.attempts,
    )
    answer = await made(call, limits, retry, f"{task.kind} in {run.state}")
    lasts, attempts = limits.writes, answer.attempts
    return Called(task=task.id, value=answer.value, lasts=lasts, attempts=attempts)


def came_to_nothing(
    task: Task, failure: ActivityError, definition: FlowDefinition, run: Run, limits: CallLimits
) -> AskedBack | Failed:
    """What the machine is told of a task that failed for good, in the reader's language."""
    error = from_failure(failure)
    if isinstance(error, errors.AnswersNeeded) and task.kind == "call":
        own = definition.flow == task.name
        title = definition.title if own else Localised(zh=task.name, en=task.name)
        inquiry = inquiry_of(error.asked, title, run.state, definition.slots)
        if inquiry:
            return AskedBack(task=task.id, inquiry=inquiry)
    kind = _kind(task, failure, limits)
    said = why(failure, run.locale)
    if kind == "unknown" and error is None:
        said = UNHEARD_OF.within(run.locale).format(tool=task.name)
    offered = error.offered if isinstance(error, errors.SeveralFit) else None
    final = isinstance(error, errors.SetAside)
    return Failed(
        task=task.id,
        error=said,
        attempts=tries(failure, limits),
        kind=kind,
        offered=offered,
        final=final,
    )


def _kind(task: Task, failure: ActivityError, limits: CallLimits) -> FailureKind:
    """How it failed; a write that timed out without an answer may have had its effect."""
    error = from_failure(failure)
    if isinstance(error, errors.ArgumentsToolError):
        return "arguments"
    if isinstance(error, errors.NotDeployed):
        return "missing"
    vanished = isinstance(failure.cause, exceptions.TimeoutError) or isinstance(
        error, errors.SetAside
    )
    lost = vanished and limits.writes and task.may_change_something
    if lost or isinstance(error, errors.UnknownOutcome):
        return "unknown"
    out_of_reach = error is None or isinstance(error, (errors.OutOfReach, *RETRYABLE))
    return "unavailable" if out_of_reach else "permanent"


def status(event: AskedBack | Failed) -> ToolStatus:
    """What is said of a call that came to no result; one that asks back is made anew."""
    if isinstance(event, AskedBack):
        return "skipped"
    return "unknown" if event.kind == "unknown" else "failed"


def shown(
    task: Task, event: LookedUp | Called | Failed | AskedBack, limits: CallLimits
) -> ToolCallView:
    """The call as the turn shows it during which it came back."""
    about = (task.id, task.name, limits.defaults | task.arguments)
    if isinstance(event, AskedBack):
        return ToolCallView.skipped(*about)
    if isinstance(event, Failed):
        view = ToolCallView.failed(*about, event.error, unknown=event.kind == "unknown")
    else:
        view = ToolCallView.of(*about, event.value)
    attempts = 1 if isinstance(event, LookedUp) else event.attempts
    return view.replace(attempts=attempts)


LARGEST = 128 * 1024
"""Bytes of JSON that a run hands over: beyond that only how it ended, and what can be undone."""
HANDED_OVER = {
    *("status", "slots", "results", "done", "lasting"),
    *("agreements", "granted", "declined"),
}

GONE = Localised(
    zh="{flow} 没能办下去，管理员可以查到原因",
    en="{flow} broke off; the administrators can see why",
)
UNHEARD_OF = Localised(zh="{tool} 没有了下文", en="{tool} was never heard of again")
UNKNOWN_FLOW = Localised(zh="没有 {flow} 这个流程", en="there is no flow {flow}")

Child = workflow.ChildWorkflowHandle[object, FlowEnded]


class Children:
    """The runs that one run has started and waits for."""

    def __init__(self, start: FlowStart) -> None:
        self._parent = start
        self._begun: dict[str, asyncio.Future[Child]] = {}

    async def outcome(self, task: Task, definition: FlowDefinition, run: Run) -> Finished | Failed:
        """Start the run that the task is, and wait for its end unless it is detached."""
        start = self._start_of(task, definition, run)
        if start is None:
            return _failed(task, UNKNOWN_FLOW, run)
        begun = self._begun[task.id] = asyncio.Future()
        try:
            flow, requester = start.definition.flow, start.requester
            about = f"{start.definition.title.en} of {requester.id}"
            id_ = contract.workflow_id(flow, requester.tenant, task.key)
            child: Child = await workflow.start_child_workflow(
                contract.WORKFLOW,
                start,
                id=id_,
                result_type=FlowEnded,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                search_attributes=of_run(flow, requester, start.conversation),
                task_timeout=TASK_TIMEOUT,
                static_summary=cut_summary(f"{about}: {task.branch}" if task.branch else about),
            )
            begun.set_result(child)
            if task.detached:
                return Finished(task=task.id, status="running")
            ended = await child
        except (exceptions.ChildWorkflowError, exceptions.WorkflowAlreadyStartedError):
            begun.cancel()
            return _failed(task, GONE, run)
        own = [*ended.related, id_] if task.branch else []
        return Finished(task=task.id, related=own, **ended.model_dump(include=HANDED_OVER))

    async def tell(self, task: Task) -> None:
        """Tell the run to cancel itself, or a branch what was agreed to; not where it has ended."""
        told = Agreed(agreements=list(task.agreed))
        stop = contract.StopReason(begins_anew=task.changed)
        signal = contract.STOP if task.stopping else contract.AGREED
        try:
            child = await asyncio.shield(self._begun[task.id])
            await child.signal(signal, stop if task.stopping else told)
        except exceptions.FailureError as error:
            if exceptions.is_cancelled_exception(error):
                raise
            workflow.logger.info("%s %s ended before %r", task.name, task.key, signal)

    def _start_of(self, task: Task, definition: FlowDefinition, run: Run) -> FlowStart | None:
        own = branch_of(definition, run.state, task.branch) if task.branch else None
        begun = own or self._parent.flows.get(task.name)
        if begun is None:
            return None
        return self._parent.replace(
            definition=begun,
            form=False,
            locale=run.locale,
            run=begin_run(task, run, workflow.info().workflow_id),
            created_at=None,
            opening=Began(by=run.requester.id, slots={} if own else task.arguments),
        )


def _failed(task: Task, say: Localised, run: Run) -> Failed:
    return Failed(task=task.id, error=say.within(run.locale).format(flow=task.name))


def handed_over(run: Run) -> DecisionTaken:
    """The result of a run that has ended; for the run that waits for it, with all that it needs."""
    if run.parent is None:
        return DecisionTaken(status=run.status, state=run.state)
    ended = FlowEnded(
        status=run.status,
        state=run.state,
        slots=run.form.slots,
        results=run.work.results,
        done=run.recovery.done,
        lasting=run.recovery.lasting,
        agreements=run.approvals.agreements,
        granted=run.approvals.granted,
        declined=run.approvals.declined,
        related=run.work.related_runs,
    )
    fits = measure_bytes(ended) <= LARGEST
    return ended if fits else ended.replace(slots={}, results={})
