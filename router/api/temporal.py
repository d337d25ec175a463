"""What the API needs to know of the Temporal client: its errors, patience, and its UI's links."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar
from urllib.parse import quote

from temporalio.client import (
    Client,
    RPCTimeoutOrCancelledError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RetryConfig, RPCError, RPCStatusCode

from router.contracts.failures import ended_meanwhile, from_failure
from router.domain.errors import NotFound, TooManyRequests, Unavailable
from router.settings import Settings

RPC_TIMEOUT = timedelta(seconds=5)
"""For one call that no person is waited for in."""

ATTEMPTS = 5
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0

_CLIENT_RETRIES = RetryConfig(max_elapsed_time_millis=2000)
"""The client itself retries for so long; `persistently` comes on top."""

_OUT_OF_REACH = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.FAILED_PRECONDITION,
    }
)
"""FAILED_PRECONDITION is what a query gets where no worker has polled lately."""

TRANSIENT = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.ABORTED})

Out = TypeVar("Out")


class WorkflowOver(NotFound):
    """The workflow has ended, or there never was one."""


async def connect(settings: Settings) -> Client:
    """A client for the Temporal server that the settings name.

    Raises:
        Unavailable: it doesn't answer.
    """
    try:
        return await Client.connect(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            data_converter=pydantic_data_converter,
            retry_config=_CLIENT_RETRIES,
        )
    except RuntimeError as error:
        raise Unavailable(
            f"No Temporal server answers at ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}: "
            "start it, or correct the address"
        ) from error


def history_url(settings: Settings, workflow_id: str, run_id: str) -> str:
    """Where the Temporal UI shows this run.

    >>> history_url(Settings(), "leave_request/default/7h2k", "r1").rpartition("/workflows/")[2]
    'leave_request%2Fdefault%2F7h2k/r1/history'
    """
    namespace, workflow, run = (
        quote(part, safe="") for part in (settings.temporal_namespace, workflow_id, run_id)
    )
    return f"{settings.temporal_ui}/namespaces/{namespace}/workflows/{workflow}/{run}/history"


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
