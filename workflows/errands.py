"""The errands of a run that are activities: looking something up, and calling a tool."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

from router.contracts import activities
from router.contracts.failures import RETRYABLE, from_failure
from router.contracts.flow import CallLimits
from router.deciding.inquiry import inquiry_of
from router.domain import errors
from router.domain.messages import ToolCallView
from router.domain.progress import ToolStatus
from router.domain.texts import Localised
from router.flow.events import AskedBack, Called, Failed, LookedUp
from router.flow.model import FlowDefinition
from router.flow.run import Errand, FailureKind, Run
from workflows.activity import perform
from workflows.tool_calls import why


async def looked_up(errand: Errand, run: Run) -> LookedUp:
    """What the lookup came to; raises `ActivityError` where it fails for good."""
    given = activities.LookUp(
        name=errand.name,
        arguments=errand.positional,
        requester=run.requester,
        now=workflow.now(),
    )
    answer = await perform(activities.LOOK_UP, given, summary=errand.name)
    return LookedUp(errand=errand.id, value=answer.value)


async def called(errand: Errand, run: Run, limits: CallLimits, *, form: bool) -> Called:
    """What the tool came to, called under its own name as often as it may be until it answers.

    Raises `ActivityError` where it fails for good. `form` says that the run is a tool's form.
    """
    call = activities.ToolCall(
        tool=errand.name,
        arguments=errand.arguments,
        caller=run.requester,
        locale=run.locale,
        key=errand.key,
        undoes=errand.undoes,
        answers=errand.answers,
        checking=errand.kind == "check",
        flow_run=workflow.info().workflow_id,
        form=form,
        conversation=run.conversation,
        call_id=errand.id,
        now=workflow.now(),
    )
    answer: activities.Answer = await workflow.execute_activity(
        errand.name,
        call,
        result_type=activities.Answer,
        start_to_close_timeout=limits.timeout,
        heartbeat_timeout=limits.heartbeat,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=500),
            maximum_interval=timedelta(minutes=1),
            maximum_attempts=limits.attempts,
        ),
        summary=f"{errand.kind} in {run.state}",
    )
    return Called(errand=errand.id, value=answer.value, lasts=limits.writes)


def came_to_nothing(
    errand: Errand, failure: ActivityError, definition: FlowDefinition, run: Run, limits: CallLimits
) -> AskedBack | Failed:
    """What the machine is told of an errand that failed for good, in the reader's language."""
    error = from_failure(failure)
    if isinstance(error, errors.AnswersNeeded) and errand.kind == "call":
        own = definition.flow == errand.name
        title = definition.title if own else Localised(zh=errand.name, en=errand.name)
        inquiry = inquiry_of(error.asked, title, run.state, definition.slots)
        if inquiry:
            return AskedBack(errand=errand.id, inquiry=inquiry)
    kind = _kind(errand, failure, limits)
    said = why(failure, run.locale)
    if kind == "unknown" and error is None:
        said = _unheard_of(errand).within(run.locale)
    offered = error.offered if isinstance(error, errors.SeveralFit) else None
    return Failed(errand=errand.id, error=said, kind=kind, offered=offered)


def _kind(errand: Errand, failure: ActivityError, limits: CallLimits) -> FailureKind:
    """How it failed; a write that timed out without an answer may have had its effect."""
    error = from_failure(failure)
    if isinstance(error, errors.ArgumentsToolError):
        return "arguments"
    timed_out = isinstance(failure.cause, ActivityTimeoutError)
    lost = timed_out and limits.writes and errand.may_change_something
    if lost or isinstance(error, errors.UnknownOutcome):
        return "unknown"
    out_of_reach = error is None or isinstance(error, (errors.OutOfReach, *RETRYABLE))
    return "unavailable" if out_of_reach else "permanent"


def _unheard_of(errand: Errand) -> Localised:
    return Localised(zh=f"{errand.name} 没有了下文", en=f"{errand.name} was never heard of again")


def status(event: AskedBack | Failed) -> ToolStatus:
    """What is said of a call that came to no result; one that asks back is made anew."""
    if isinstance(event, AskedBack):
        return "skipped"
    return "unknown" if event.kind == "unknown" else "failed"


def shown(errand: Errand, event: LookedUp | Called | Failed | AskedBack) -> ToolCallView:
    """The call as the turn shows it during which it came back."""
    about = (errand.id, errand.name, errand.arguments)
    if isinstance(event, AskedBack):
        return ToolCallView.skipped(*about)
    if isinstance(event, Failed):
        return ToolCallView.failed(*about, event.error, unknown=event.kind == "unknown")
    return ToolCallView.of(*about, event.value)
