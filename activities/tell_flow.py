"""Telling a flow something: an Update on its workflow, which is started where it is new.

Never a local activity: waiting for a workflow's task inside another deadlocks when slots run out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from temporalio import activity
from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import Priority
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.capabilities import Capabilities
from activities.execution import heartbeating
from router.contracts import activities, flow
from router.contracts.failures import ended_meanwhile, from_failure, to_failure
from router.contracts.flow import FlowAnswer, FlowStart, Tell
from router.domain.errors import BackendUnavailable
from router.flow.definition import FlowDefinition
from router.gateway import run_updates
from router.gateway.retries import once_ready, watched


def own_share() -> Priority:
    """That of the workflow whose activity this is; no particular one outside of any."""
    return activity.info().priority if activity.in_activity() else Priority.default


T = TypeVar("T")
_TEMPORAL_AWAY = "Temporal can't be reached right now; see that it runs"


class FlowTeller:
    """Tells runs what their requesters say."""

    def __init__(self, client: Client, task_queue: str, capabilities: Capabilities) -> None:
        self._client = client
        self._task_queue = task_queue
        self._capabilities = capabilities

    @activity.defn(name=activities.TELL_FLOW.name)
    async def tell_flow(self, given: activities.TellFlow) -> activities.TellAnswer:
        """The run's answer; None where it is over, or the flow is not (any longer) there."""
        definition = None
        if given.first:
            capabilities = self._capabilities.of(given.caller.tenant, given.caller.id)
            definition = capabilities.startable(given.flow, given.caller)
        if given.first and definition is None:
            return activities.TellAnswer(answer=None)
        tell = partial(self._begin, definition) if definition else self._tell
        try:
            answer = await _heartbeating(told(lambda: tell(given)))
        except (WorkflowAlreadyStartedError, RPCError, WorkflowUpdateFailedError) as error:
            if isinstance(error, RPCError) and error.status is RPCStatusCode.UNAVAILABLE:
                raise to_failure(BackendUnavailable(_TEMPORAL_AWAY)) from error
            if not _is_over(error):
                raise _try_failure(error) from error
            answer = None
        return activities.TellAnswer(answer=answer)

    async def _begin(
        self, definition: FlowDefinition, given: activities.TellFlow
    ) -> FlowAnswer | None:
        # The run isn't the conversation's child, and takes the same share of the workers.
        start = run_updates.operation(
            self._start(definition, given), given.workflow_id, self._task_queue, own_share()
        )
        telling: Awaitable[FlowAnswer] = self._client.execute_update_with_start_workflow(
            flow.TELL,
            _payload(given),
            start_workflow_operation=start,
            id=given.update_id,
            result_type=FlowAnswer,
        )
        return await watched(start, telling)

    async def _tell(self, given: activities.TellFlow) -> FlowAnswer | None:
        handle = self._client.get_workflow_handle(given.workflow_id)
        answer: FlowAnswer = await handle.execute_update(
            flow.TELL,
            _payload(given),
            id=given.update_id,
            result_type=FlowAnswer,
        )
        return answer

    def _start(self, definition: FlowDefinition, given: activities.TellFlow) -> FlowStart:
        capabilities = self._capabilities.of(given.caller.tenant, given.caller.id)
        flows = capabilities.started_by(definition, given.caller.entitlement)
        states = [state for each in (definition, *flows.values()) for state in each.states.values()]
        tools = sorted({name for state in states for name in state.tools.values()})
        return FlowStart(
            definition=definition,
            flows=flows,
            requester=given.caller,
            conversation=given.conversation,
            locale=given.locale,
            tools={name: capabilities.limits(name) for name in tools},
            form=capabilities.is_form(definition.flow),
        )


def _payload(given: activities.TellFlow) -> Tell:
    return Tell(event=given.event, locale=given.locale, known_slot_sets=given.known_slot_sets)


def _is_over(error: BaseException) -> bool:
    if isinstance(error, RPCError):
        return error.status == RPCStatusCode.NOT_FOUND
    if isinstance(error, WorkflowUpdateFailedError):
        return ended_meanwhile(error.cause)
    return isinstance(error, WorkflowAlreadyStartedError)


_REFUSALS = frozenset(
    RPCStatusCode[name]
    for name in ("INVALID_ARGUMENT", "PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED")
)
"""What Temporal answers to a request that it would not take later either. Everything else is about
the moment: a server that restarts or is too busy, or a run whose workflow task failed."""


def _try_failure(error: Exception) -> Exception:
    """Return what a try ends with: final if the run or Temporal refused, else the error itself.

    The update has the same id in every try, so that the run would only refuse again.
    """
    if isinstance(error, WorkflowUpdateFailedError):
        own = from_failure(error.cause)
        if own is not None:
            return to_failure(own)
        said = str(error.cause or error)
        return ApplicationError(said, type=type(error).__name__, non_retryable=True)
    if isinstance(error, RPCError) and error.status in _REFUSALS:
        return ApplicationError(str(error), type=error.status.name, non_retryable=True)
    return error


async def told(tell: Callable[[], Awaitable[T]]) -> T:
    """Tell it; once more where the run ended under it, for it may have continued as new."""
    try:
        return await once_ready(tell)
    except WorkflowUpdateFailedError as failed:
        if not ended_meanwhile(failed.cause):
            raise
    return await once_ready(tell)


async def _heartbeating(telling: Awaitable[T]) -> T:
    try:
        async with heartbeating():
            return await telling
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        # The client turns a cancellation of this task into its own error: give it back.
        if activity.is_cancelled():
            raise asyncio.CancelledError from None
        raise
