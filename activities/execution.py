"""How an activity runs: how it fails, its heartbeats, and what operators see of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from secrets import token_hex
from time import monotonic
from typing import Any

from opentelemetry.util.types import AttributeValue
from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.heartbeats import Pulse, beating_when_late
from router.contracts.activities import CLERICAL, MAX_CODE_ERRORS
from router.contracts.failures import to_failure
from router.domain.errors import BrokenTool, RouterError, SetAside, ToolError, TransientToolError
from router.domain.locale import Localised
from router.telemetry import tracing
from router.telemetry.crashes import ActivityRegister, ActivityWork
from router.telemetry.logs import about
from router.telemetry.metrics import ACTIVITIES, RETRIES, SET_ASIDE


@contextmanager
def temporal_failures() -> Iterator[None]:
    """Raise what `router.contracts.failures` makes of an error of ours; let others pass."""
    try:
        yield
    except RouterError as error:
        attempt = activity.info().attempt if activity.in_activity() else 1
        raise to_failure(error, attempt) from error


_OF_CODE = (
    *(TypeError, ValueError, LookupError, AttributeError, NameError, ArithmeticError),
    *(AssertionError, ImportError, RuntimeError),
)


def is_of_code(error: BaseException) -> bool:
    """Whether code raises it that is wrong: the next try would too.

    What a library says of its own may be about the world, and so is what began with a socket or a
    file.
    """
    if not isinstance(error, _OF_CODE) and type(error) is not Exception:
        return False
    before = error.__cause__ or error.__context__
    return not isinstance(before, OSError) and (before is None or is_of_code(before))


def unforeseen(
    error: Exception,
    name: str,
    title: str,
    logger: "logging.Logger | logging.LoggerAdapter[Any]",
    *,
    may_pass: bool = True,
) -> ToolError:
    """What people are told of an error in a tool that no tool raises on purpose.

    Its own words may hold anything: they go to the log, under a reference that people are told in
    their place. `title` is the tool's in Chinese. Where it `may_pass` another try may help.
    """
    reference = token_hex(4)
    logger.error("%s failed unexpectedly, reference %s", name, reference, exc_info=error)
    if may_pass:
        zh = f"“{title}”意外出错，原因在日志里，编号 {reference}"
        en = f"{name} failed unexpectedly; the log says why, under the reference {reference}"
        return TransientToolError(Localised(zh=zh, en=en))
    zh = f"“{title}”有程序错误，再试也没有用，请告诉管理员；原因在日志里，编号 {reference}"
    en = f"{name} is broken, and trying again won't help: tell an administrator; the log says why, "
    return BrokenTool(Localised(zh=zh, en=f"{en}under the reference {reference}"))


EVERY = 0.5
"""Seconds. The worker passes a heartbeat on at most so often as it is told to
(`max_heartbeat_throttle_interval`), and hears of a cancellation in the answer."""


@asynccontextmanager
async def heartbeating() -> AsyncIterator[None]:
    """Heartbeat while something is waited for, where the activity's stub has a timeout for it.

    A thread goes on with it while the event loop is late (`activities.heartbeats`).
    """
    if not activity.in_activity():
        yield
        return
    with beating_when_late(_carried.get()) as pulse:
        beating = asyncio.create_task(_beat(pulse))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating


async def _beat(pulse: Pulse | None) -> None:
    while True:
        await asyncio.sleep(EVERY)
        activity.heartbeat(*(_carried.get() or ()))
        if pulse is not None:
            pulse.beat_by_loop()


_attempt_ends: ContextVar[float] = ContextVar("attempt_ends", default=float("inf"))


@contextmanager
def attempt_time() -> Iterator[None]:
    """Have `attempt_ends` know, within, when Temporal will give up this attempt of the activity.

    Only the server's own times are compared with each other: a worker's clock may be wrong.
    """
    info, ends = activity.info(), float("inf")
    if info.start_to_close_timeout is not None:
        ends = info.start_to_close_timeout.total_seconds()
    if info.schedule_to_close_timeout is not None:
        gone = info.started_time - info.scheduled_time
        ends = min(ends, (info.schedule_to_close_timeout - gone).total_seconds())
    token = _attempt_ends.set(monotonic() + ends)
    try:
        yield
    finally:
        _attempt_ends.reset(token)


def attempt_ends() -> float:
    """Return when Temporal will give up this attempt, by `time.monotonic`; infinity if never."""
    return _attempt_ends.get()


_carried: ContextVar[list[Any] | None] = ContextVar("carried_by_heartbeats", default=None)


@contextmanager
def carrying_heartbeats() -> Iterator[None]:
    """Let `carry` be called within."""
    token = _carried.set([])
    try:
        yield
    finally:
        _carried.reset(token)


def carry(value: JsonValue) -> None:
    """Have every heartbeat of this attempt carry the value to the activity's next attempt.

    What is in hand survives the worker so: `activity.info().heartbeat_details` has it then.
    """
    carried = _carried.get()
    if carried is not None and activity.in_activity():
        carried[:] = [value]
        activity.heartbeat(value)


_log = logging.getLogger(__name__)


class Observing(Interceptor):
    """A worker's interceptor. Workflows are left alone: what replays must emit nothing twice.

    With a `register` it notes there what is under way, and doesn't run what was set aside.
    """

    def __init__(self, register: ActivityRegister | None = None) -> None:
        self._register = register

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        """Watch every try of every activity."""
        return _Watched(next, self._register)


class _Watched(ActivityInboundInterceptor):
    def __init__(
        self, inner: ActivityInboundInterceptor, register: ActivityRegister | None
    ) -> None:
        super().__init__(inner)
        self._register = register

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        # The function's name: a tool's activity is named after the tool, as anybody wrote it.
        name, info = input.fn.__name__, activity.info()
        attributes: dict[str, AttributeValue] = {
            "temporal.activity.type": info.activity_type,
            "temporal.activity.attempt": info.attempt,
            "temporal.workflow.id": info.workflow_id or "",
        }
        if info.attempt > 1:
            RETRIES.labels(name).inc()
        began, outcome = monotonic(), "done"
        try:
            with (
                about(*_place(input.args)),
                tracing.span(f"activity {name}", attributes=attributes),
                _logged(info),
                attempt_time(),
            ):
                async with self._tried(info, name):
                    return await super().execute_activity(input)
        except Exception as error:
            outcome = type(error).__name__
            if (failure := _code_failure(info, error)) is not None:
                raise failure from error
            raise
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            ACTIVITIES.labels(name, outcome).observe(monotonic() - began)

    def _tried(self, info: activity.Info, name: str) -> AbstractAsyncContextManager[None]:
        if self._register is None or info.activity_type in CLERICAL:
            return nullcontext()
        run, workflow = info.workflow_run_id or "", info.workflow_id or ""
        try:
            return self._register.trying(
                ActivityWork(run, info.activity_id, info.activity_type, workflow)
            )
        except SetAside as refused:
            SET_ASIDE.labels(name).inc()
            raise to_failure(refused) from refused


def _code_failure(info: activity.Info, error: Exception) -> ApplicationError | None:
    """Return the final failure of an activity whose code fails each time; `None` for other errors.

    Concerns what is tried until its total time is over, where only an error of code can be known
    to come again.
    """
    max_attempts = info.retry_policy.maximum_attempts if info.retry_policy else 0
    is_tried_until_over = info.schedule_to_close_timeout is not None and max_attempts == 0
    if not is_tried_until_over or info.attempt < MAX_CODE_ERRORS or not is_of_code(error):
        return None
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


@contextmanager
def _logged(info: activity.Info) -> Iterator[None]:
    """Note a failed try where trace and turn are known; Temporal logs it where neither is."""
    try:
        yield
    except Exception as error:
        _log.info("try %d of %s: %s", info.attempt, info.activity_type, type(error).__name__)
        raise


def _place(arguments: Any) -> tuple[str | None, str | None]:
    given = arguments[0] if arguments else None
    account = getattr(given, "account", given)
    return getattr(account, "conversation", None), getattr(account, "message_id", None)
