"""What every workflow does with Temporal: run activities, show itself, drain before it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeUpdate
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    is_cancelled_exception,
)
from temporalio.exceptions import TimeoutError as TimedOut

from router.contracts.failures import from_failure
from router.contracts.limits import fit_attribute
from router.contracts.payload import ActivityStub
from router.contracts.start_options import CONTINUE_AFTER
from router.domain.errors import BackendUnavailable, SetAside
from router.domain.summaries import MAX_DETAILS_BYTES, cut_summary, cut_text


def fresh_id() -> str:
    """Twelve hex digits, the same again when the workflow is replayed."""
    return workflow.uuid4().hex[:12]


class Visibility:
    """What Temporal's UI shows of one workflow; written only where it is something else."""

    def __init__(self) -> None:
        self._attributes: list[SearchAttributeUpdate[Any]] = []

    def show(self, attributes: list[SearchAttributeUpdate[Any]], details: str) -> None:
        """Set search attributes and details, each cut to what Temporal accepts."""
        # Temporal terminates a workflow that sets a larger attribute.
        fitting = [fit_attribute(attribute) for attribute in attributes]
        if fitting != self._attributes:
            workflow.upsert_search_attributes(fitting)
            self._attributes = fitting
        workflow.set_current_details(cut_text(details, MAX_DETAILS_BYTES))


In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out")

LOCAL_RETRY_THRESHOLD = timedelta(seconds=2)
"""Local activities wait longer than this between tries outside the workflow task."""


async def perform(stub: ActivityStub[In, Out], given: In, summary: str | None = None) -> Out:
    """Run the activity and answer what it gives; raises `ActivityError` where it fails for good.

    While the router's own database or Temporal is away it isn't given up, whatever its attempts.
    """
    pause, began = OUTAGE_PAUSE, workflow.now()
    while True:
        try:
            return await _perform(stub, given, summary)
        except ActivityError as failure:
            if not _is_outage(stub, failure, workflow.now() - began):
                raise
            workflow.logger.warning("%s waits for what is away: %s", stub.name, failure.cause)
        await workflow.sleep(pause, summary="until the database or Temporal is back")
        pause = min(pause * 2, MAX_OUTAGE_PAUSE)


async def perform_once(stub: ActivityStub[In, Out], given: In) -> Out | None:
    """Run the activity once; None if it fails or its time is over: for what a turn can do without.

    Unlike `perform` this waits for no outage to end.
    """
    try:
        return await _perform(stub, given, None)
    except ActivityError as failure:
        if ends_turn(failure):
            raise
        workflow.logger.info("%s is done without: %s", stub.name, failure.cause)
        return None


OUTAGE_PAUSE, MAX_OUTAGE_PAUSE = timedelta(seconds=1), timedelta(seconds=30)
SILENT_OUTAGE = timedelta(minutes=5)
"""A database that hangs says nothing: what takes milliseconds runs out of time. For so long that is
held to be an outage, and after it a fault."""


def _is_outage(stub: ActivityStub[In, Out], failure: ActivityError, lasted: timedelta) -> bool:
    if isinstance(failure.__cause__, TimedOut):
        return stub.local and lasted < SILENT_OUTAGE
    return isinstance(from_failure(failure), BackendUnavailable)


async def _perform(stub: ActivityStub[In, Out], given: In, summary: str | None) -> Out:
    retry = RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=30),
        maximum_attempts=stub.attempts or 0,
    )
    limits: dict[str, Any] = {"retry_policy": retry}
    limits["start_to_close_timeout"] = _limit(stub.timeout, given)
    limits["schedule_to_close_timeout"] = _limit(stub.total, given)
    known: dict[str, Any] = {"result_type": stub.gives, "summary": cut_summary(summary), **limits}
    result: Out
    if stub.local:
        known["local_retry_threshold"] = LOCAL_RETRY_THRESHOLD
        try:
            result = await workflow.execute_local_activity(stub.name, given, **known)
        except (ApplicationError, TimedOut) as error:
            raise _for_good(stub, error) from error
    else:
        known["heartbeat_timeout"] = _limit(stub.heartbeat, given)
        result = await workflow.execute_activity(stub.name, given, **known)
    return result


def _limit(limit: timedelta | Callable[[In], timedelta] | None, given: In) -> timedelta | None:
    return limit(given) if callable(limit) else limit


def ends_turn(failure: FailureError) -> bool:
    """True where nothing else is to be tried in its place: it was cancelled, or set aside."""
    return is_cancelled_exception(failure) or isinstance(from_failure(failure), SetAside)


def _for_good(stub: ActivityStub[In, Out], error: FailureError) -> ActivityError:
    """What Temporal makes of an activity's failure, but not of a local one's."""
    return ActivityError(
        f"{stub.name} failed: {error.message}",
        scheduled_event_id=0,
        started_event_id=0,
        identity="",
        activity_type=stub.name,
        activity_id="",
        retry_state=None,
    )


def is_history_long(most: int = CONTINUE_AFTER) -> bool:
    """True where the run is to continue as new: it has so many events, or Temporal says so.

    Temporal does by bytes and by updates as well, and long after.
    """
    info = workflow.info()
    return info.get_current_history_length() >= most or info.is_continue_as_new_suggested()


def until(moment: datetime) -> timedelta:
    """How long to wait for it, a millisecond at least: whether a timer is set never hangs on now.

    A worker that is too slow for a workflow task may have what it made of it taken for the next
    one, whose time is later. Were nothing waited for by then, a replay would set no timer where
    history has one, and the run would be stuck for good.
    """
    return max(moment - workflow.now(), timedelta(milliseconds=1))


async def drained() -> None:
    """Wait until every handler has finished and its result is durable.

    A handler that finishes in the task in which the run ends may have its caller told that the
    workflow is gone: the millisecond puts the end into a later one. None is ever refused: a client
    would come again, and a busy conversation would never find its quiet moment.
    """
    while True:
        await workflow.wait_condition(workflow.all_handlers_finished)
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        if workflow.all_handlers_finished():
            return


QUIET_WITHIN = timedelta(milliseconds=300)
"""How long a run that is to continue as new waits for a moment at which nobody is served."""


class TurnQueue:
    """Lets one in after the other, in order of arrival, until it is closed."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._at_work = False
        self._closed = False

    @asynccontextmanager
    async def turn(self, begun: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
        """Wait for one's turn, and have it.

        Who waits when it is closed comes again to the next run, having changed nothing: whoever
        has `begun` by then is let in.
        """
        async with self._lock:
            if not self._closed or begun():
                self._at_work = True
                try:
                    yield
                finally:
                    self._at_work = False
                return
        # Not within the lock: one who has begun may stand behind.
        await workflow.wait_condition(lambda: False)

    async def close(self) -> None:
        """Return when nothing is half done: at a quiet moment, or one made where none comes."""
        try:
            quiet, within = workflow.all_handlers_finished, QUIET_WITHIN
            await workflow.wait_condition(quiet, timeout=within, timeout_summary="quiet by then")
        except TimeoutError:
            self._closed = True
            await workflow.wait_condition(lambda: not self._at_work)
        # The result of the last turn becomes durable in a task of its own.
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        self._closed = True
        await workflow.wait_condition(lambda: not self._at_work)
