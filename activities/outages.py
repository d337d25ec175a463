"""Waiting for the router's own database: what an outage may delay, and must not fail.

The ledger, the audit, rates and budgets are kept around the work of an activity. While the database
is away that bookkeeping is tried again, for as long as the activity's attempt may last. No try of
the work itself is counted for it.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from pydantic import JsonValue
from temporalio import activity

from activities.execution import attempt_ends, carry, heartbeating
from router.contracts.activities import OUTAGE_WINDOW
from router.domain.errors import BackendUnavailable

TRY_TIMEOUT_S = 10.0
"""For one try of a statement or two: a server that hangs never says that it is away."""
HAND_OVER_S = 3.0
"""What is left of an attempt's time for telling Temporal what it came to."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.1, 2.0

_log = logging.getLogger(__name__)
_window: ContextVar[float] = ContextVar("outage_window")

T = TypeVar("T")


@contextmanager
def outage_window(seconds: float) -> Iterator[None]:
    """Have `outlast` wait for so long within, instead of `OUTAGE_WINDOW`."""
    token = _window.set(seconds)
    try:
        yield
    finally:
        _window.reset(token)


async def outlast(
    work: Callable[[], Awaitable[T]],
    *,
    reserve_s: float = HAND_OVER_S,
    try_timeout_s: float | None = TRY_TIMEOUT_S,
) -> T:
    """Do the work, again and again while the database is away, with heartbeats in between.

    Outside of an activity somebody waits at a terminal, and the first failure is raised.

    Args:
        work: Must be repeatable: a transaction that failed may have been committed.
        reserve_s: Seconds of the activity's attempt that are left for what comes after.
        try_timeout_s: For one try; None where the work has a time limit itself.

    Raises:
        BackendUnavailable: The database was away for `OUTAGE_WINDOW`, or until the attempt's time
            was over, or the worker shuts down: another one begins the next attempt.
    """
    window = _window.get(OUTAGE_WINDOW.total_seconds() if activity.in_activity() else 0.0)
    ends = min(monotonic() + window, attempt_ends() - reserve_s)
    return await _outlast(work, ends, try_timeout_s)


async def record(work: Callable[[], Awaitable[T]], in_hand: Callable[[], JsonValue]) -> T:
    """Write down a result that is in hand, as `outlast` does, and outside of an activity too.

    While that can't be done, heartbeats carry `in_hand` to the activity's next attempt.

    A cancellation waits until it is written: whoever stopped the call can't undo its effect. Once
    cancelled, it is tried for as long as this process lives, since nobody else will. A worker that
    shuts down raises `BackendUnavailable` at once, so that the workflow gets the result.
    """
    try:
        return await _tried(work, TRY_TIMEOUT_S)
    except BackendUnavailable as error:
        _log.warning("a result waits for the database: %s", error)
    except asyncio.CancelledError as cancelled:
        if not activity.in_activity():
            raise
        if _is_worker_ending():
            raise BackendUnavailable(_ENDING) from cancelled
    carry(in_hand())
    window = _window.get(OUTAGE_WINDOW.total_seconds())
    ends = min(monotonic() + window, attempt_ends() - HAND_OVER_S)
    writing = asyncio.ensure_future(_outlast(work, ends, TRY_TIMEOUT_S))
    while True:
        try:
            return await asyncio.shield(writing)
        except BackendUnavailable:
            if not _is_unwanted():
                raise
            writing = asyncio.ensure_future(_outlast(work, float("inf"), TRY_TIMEOUT_S))
        except asyncio.CancelledError as cancelled:
            if not activity.in_activity() or _is_worker_ending():
                writing.cancel()
                raise BackendUnavailable(_ENDING) from cancelled


_ENDING = "this process ends before the database is back"


def _is_worker_ending() -> bool:
    return activity.in_activity() and activity.is_worker_shutdown()


def _is_unwanted() -> bool:
    """True where no workflow waits for the result: its record is all that anybody will know."""
    if not activity.in_activity():
        return False
    details = activity.cancellation_details()
    return details is not None and (
        details.cancel_requested or details.not_found or details.timed_out
    )


async def _outlast(
    work: Callable[[], Awaitable[T]],
    ends: float,
    limit: float | None,
) -> T:
    pause, failed = FIRST_PAUSE_S, False
    async with AsyncExitStack() as stack:
        while True:
            try:
                return await _tried(work, limit)
            except BackendUnavailable as error:
                if monotonic() + pause >= ends or _is_worker_ending():
                    raise
                if not failed:
                    _log.warning("waiting for the database: %s", error)
                    await stack.enter_async_context(heartbeating())
                failed = True
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 - jitter
            pause = min(pause * 2, MAX_PAUSE_S)


async def _tried(work: Callable[[], Awaitable[T]], limit: float | None) -> T:
    try:
        async with asyncio.timeout(limit) as watch:
            return await work()
    except TimeoutError as error:
        if not watch.expired():
            raise
        said = f"the database hasn't answered for {limit:g} s; see that it runs"
        raise BackendUnavailable(said) from error
