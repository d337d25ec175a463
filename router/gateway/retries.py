"""Reaching workflows from outside them: the Temporal client's errors in our terms, and patience.

For whoever holds a client: the API, and activities that have something to say to a run.
Workflows never import it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import Any, TypeVar

from temporalio.client import (
    RPCTimeoutOrCancelledError,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.failures import ended_meanwhile, from_failure
from router.domain.errors import (
    BackendUnavailable,
    NotFound,
    TooManyRequests,
    Unconfirmed,
)
from router.domain.locale import Localised

AT_HAND = 0.1
"""Seconds to take up an outcome, or an error, that is there already."""

RPC_TIMEOUT = timedelta(seconds=5)
"""For one call that no person is waited for in."""

ATTEMPTS = 5
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0

READY_WITHIN = 60.0
"""Seconds until a workflow whose task has failed is held to be stuck: as long as a turn may take.
Temporal gives the task's third try eight seconds, the fourth some more."""
READY_PAUSE = 0.5
"""Seconds between two tries at most: a refusal costs nothing, and somebody waits."""

TRANSIENT = frozenset(
    RPCStatusCode[name] for name in ("UNAVAILABLE", "ABORTED", "UNKNOWN", "INTERNAL")
)
"""UNKNOWN ("transport error") and INTERNAL are what the client makes of a connection that is reset
while a call is under way; it retries both itself, but for two seconds only."""

NOT_READY = RPCStatusCode.FAILED_PRECONDITION
"""What every update of a workflow gets once two tries of its task have come to nothing, because a
worker died with each or took too long, until another try succeeds. The update wasn't even looked
at. A query gets it as well where no worker has polled lately."""

CROWDED_TRIES = 5
"""The pause after that many attempts is the shortest where too many are in flight: each refusal
aborts updates that were about to get through."""
IN_FLIGHT_LIMIT = "concurrent in-flight updates"
"""Part of the message with which Temporal refuses an update while ten others of the workflow are in
flight. The namespace's rate limits have the same status, and their message has no such words."""

UNCONFIRMED = Localised(
    zh="没有及时收到后台的确认，还不知道这次操作有没有生效。"
    "请用同一个 Idempotency-Key 再发一次，或者先看看现在是什么状态。",
    en="It isn't known yet whether this was done: no confirmation came in time. Send it again with "
    "the same Idempotency-Key, or look first at how things stand now.",
)

_OUT_OF_REACH = TRANSIENT | {NOT_READY, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED}

Out = TypeVar("Out")


class WorkflowOver(NotFound):
    """The workflow has ended, or there never was one."""


@contextmanager
def own_errors() -> Iterator[None]:
    """Turn what the Temporal client raises into this project's errors."""
    try:
        yield
    except WorkflowUpdateFailedError as failed:
        raise (from_failure(failed.cause) or failed) from failed
    except RPCError as error:
        raise _fault(error) from error
    except RPCTimeoutOrCancelledError as error:
        raise Unconfirmed(UNCONFIRMED) from error


def _fault(error: RPCError) -> Exception:
    if error.status is RPCStatusCode.NOT_FOUND:
        return WorkflowOver("There is no such workflow, or it is over.")
    if error.status is RPCStatusCode.RESOURCE_EXHAUSTED:
        return TooManyRequests("Too much is under way at once; try again in a moment.")
    if error.status in _OUT_OF_REACH:
        return BackendUnavailable("Temporal or its worker can't be reached right now; try again.")
    return error


def is_in_flight_limit(error: RPCError) -> bool:
    """Return whether Temporal refused an update because too many of its workflow are in flight."""
    exhausted = error.status is RPCStatusCode.RESOURCE_EXHAUSTED
    return exhausted and IN_FLIGHT_LIMIT in error.message


def _first_few(tries: int) -> bool:
    return tries < ATTEMPTS


async def persistently(
    attempt: Callable[[], Awaitable[Out]],
    transient: frozenset[RPCStatusCode] = TRANSIENT,
    keep_trying: Callable[[int], bool] = _first_few,
) -> Out:
    """Make an idempotent call, and make it again after a transient error.

    `keep_trying` gets the number of attempts made so far and returns whether to make another one;
    by default five are made.

    Raises `RouterError`: the error of the last attempt. For `NOT_READY` see `once_ready`.
    """
    tries, crowded = 0, False
    while True:
        tries += 1
        try:
            return await once_ready(attempt)
        except (RPCError, WorkflowUpdateFailedError, RPCTimeoutOrCancelledError) as error:
            # The client has the habit of reporting this task's own cancellation as a timeout.
            task, timed_out = asyncio.current_task(), WorkflowUpdateRPCTimeoutOrCancelledError
            if isinstance(error, timed_out) and task and task.cancelling():
                raise asyncio.CancelledError from error
            if not _worth_another_try(error, transient) or not keep_trying(tries):
                with own_errors():
                    raise
            crowded = isinstance(error, RPCError) and is_in_flight_limit(error)
        await asyncio.sleep(_pause(max(tries, CROWDED_TRIES) if crowded else tries))


async def once_ready(attempt: Callable[[], Awaitable[Out]]) -> Out:
    """Make an update, for a minute again and again while its workflow's task is failing.

    Raises `RPCError`: what else the call came to, or that refusal where the workflow is stuck.
    """
    stuck = monotonic() + READY_WITHIN
    tries = 0
    while True:
        tries += 1
        try:
            return await attempt()
        except RPCError as error:
            if error.status is not NOT_READY or monotonic() > stuck:
                raise
        await asyncio.sleep(_pause(tries, READY_PAUSE))


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


def _pause(tries: int, longest: float = LONGEST_PAUSE) -> float:
    """Growing and jittered, so that those cut short together don't come back together."""
    jitter = random.uniform(0.5, 1.5)  # noqa: S311
    return min(longest, FIRST_PAUSE * 2.0 ** min(tries, 10)) * jitter


def _worth_another_try(error: Exception, transient: frozenset[RPCStatusCode]) -> bool:
    if isinstance(error, RPCError):
        return error.status in transient or is_in_flight_limit(error)
    if isinstance(error, WorkflowUpdateFailedError):
        return ended_meanwhile(error.cause)
    return True
