"""Reaching workflows from outside them: the Temporal client's errors in our terms, and patience.

For whoever holds a client: the API, and activities that have something to say to a run.
Workflows never import it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import (
    RPCTimeoutOrCancelledError,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.failures import ended_meanwhile, from_failure
from router.domain.errors import NotFound, TooManyRequests, Unavailable

AT_HAND = 0.1
"""Seconds to take up an outcome, or an error, that is there already."""

RPC_TIMEOUT = timedelta(seconds=5)
"""For one call that no person is waited for in."""

ATTEMPTS = 5
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0

TRANSIENT = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.ABORTED,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.INTERNAL,
    }
)
"""FAILED_PRECONDITION is what an update gets while a workflow's task has failed and comes again.
UNKNOWN ("transport error") and INTERNAL are what the client makes of a connection that is reset
while a call is under way; it retries both itself, but for two seconds only."""

_OUT_OF_REACH = TRANSIENT | {RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED}
"""FAILED_PRECONDITION is what a query gets where no worker has polled lately."""

Out = TypeVar("Out")


class WorkflowOver(NotFound):
    """The workflow has ended, or there never was one."""


@contextmanager
def speaking_ours() -> Iterator[None]:
    """Turn what the Temporal client raises into this project's errors."""
    try:
        yield
    except WorkflowUpdateFailedError as failed:
        raise _refusal(failed) from failed
    except RPCError as error:
        raise _fault(error) from error
    except RPCTimeoutOrCancelledError as error:
        raise Unavailable("The workflow didn't answer in time; try again.") from error


def _refusal(failed: WorkflowUpdateFailedError) -> Exception:
    return from_failure(failed.cause) or failed


def _fault(error: RPCError) -> Exception:
    if error.status is RPCStatusCode.NOT_FOUND:
        return WorkflowOver("There is no such workflow, or it is over.")
    if error.status is RPCStatusCode.RESOURCE_EXHAUSTED:
        return TooManyRequests("Too much is under way at once; try again in a moment.")
    if error.status in _OUT_OF_REACH:
        return Unavailable("Temporal or its worker can't be reached right now; try again.")
    return error


async def persistently(
    attempt: Callable[[], Awaitable[Out]], transient: frozenset[RPCStatusCode] = TRANSIENT
) -> Out:
    """Make an idempotent call, again where a hiccup cut it short, for a handful of times.

    Raises:
        RouterError: what the last attempt came to, in this project's terms.
    """
    tries = 0
    while True:
        tries += 1
        try:
            return await attempt()
        except (RPCError, WorkflowUpdateFailedError, RPCTimeoutOrCancelledError) as error:
            _reraise_own_cancellation(error)
            if tries == ATTEMPTS or not _worth_another_try(error, transient):
                with speaking_ours():
                    raise
        await asyncio.sleep(_pause(tries))


async def watched(operation: WithStartWorkflowOperation[Any, Any], call: Awaitable[Out]) -> Out:
    """Await a call that starts `operation`; where it fails, pick up the error left there too.

    Otherwise the client's second copy of it, of a refusal as well as of a cancellation, is logged
    as an exception that was never retrieved.
    """
    try:
        return await call
    except Exception:
        with suppress(Exception, asyncio.CancelledError):
            async with asyncio.timeout(AT_HAND):
                await operation.workflow_handle()
        raise


def _pause(tries: int) -> float:
    """Growing and jittered, so that those cut short together don't come back together."""
    jitter = random.uniform(0.5, 1.5)  # noqa: S311
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**tries) * jitter


def _reraise_own_cancellation(error: Exception) -> None:
    """Undo the client's habit of reporting this task's own cancellation as a timeout."""
    task = asyncio.current_task()
    if isinstance(error, WorkflowUpdateRPCTimeoutOrCancelledError) and task and task.cancelling():
        raise asyncio.CancelledError from error


def _worth_another_try(error: Exception, transient: frozenset[RPCStatusCode]) -> bool:
    if isinstance(error, RPCError):
        return error.status in transient
    if isinstance(error, WorkflowUpdateFailedError):
        return ended_meanwhile(error.cause)
    return True
