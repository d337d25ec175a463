"""The activity behind every tool: it runs under the tool's own name, so that it shows as that."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from pydantic import JsonValue, ValidationError
from temporalio import activity
from temporalio.common import RawValue

from activities.call_hook import HookActivity, is_of_hook
from activities.execution import carrying_heartbeats, heartbeating, temporal_failures
from activities.progress import ProgressPublisher
from activities.tool_caller import CallNotRecorded, NotClaimed, ToolCaller
from activities.writer import metered, spent_here
from router.contracts import failures
from router.contracts.activities import CallProgress, LookupAnswer, ToolCall
from router.contracts.failures import RETRYABLE
from router.contracts.hook_calls import HookAnswer
from router.contracts.outages import outage_failure, progress_in
from router.domain.errors import (
    AnswersNeeded,
    BackendUnavailable,
    InvalidInput,
    OutOfReach,
    RouterError,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.locale import Localised
from router.domain.messages import Usage
from router.domain.progress import ToolStatus
from router.store.database import AWAY
from router.telemetry import tracing
from router.telemetry.logs import about
from router.telemetry.metrics import TOOLS
from router.tool.registry import Registry
from router.tool.tool import Tool

LONGEST_WAIT = 5.0
"""Seconds that a turn waits at most where the system behind a tool asks to be left alone."""
UNKNOWN = "unknown"
"""A tool that isn't there any more: its name may be anybody's."""


@contextmanager
def executing(call: ToolCall, registry: Registry) -> Iterator[Callable[[JsonValue], None]]:
    """What is within is the try; give the result to what this gives."""
    name = call.tool if call.tool in registry else UNKNOWN
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.conversation.id": call.conversation or "",
    }
    began, fault = monotonic(), ""
    try:
        with tracing.span(f"execute_tool {name}", attributes=attributes) as span:
            tracing.show(span, "gen_ai.tool.call.arguments", call.arguments)
            yield lambda result: tracing.show(span, "gen_ai.tool.call.result", result)
    except BaseException as error:
        fault = type(error).__name__
        raise
    finally:
        TOOLS.labels(name, fault).observe(monotonic() - began)


Result = TypeVar("Result")


class ToolActivity:
    """The activity behind every tool's name: dynamic, it takes what no other is named like."""

    def __init__(
        self, caller: ToolCaller, telling: ProgressPublisher, hooks: HookActivity | None = None
    ) -> None:
        """With `hooks` it is the activity of theirs too: a worker has one that is dynamic."""
        self._caller = caller
        self._telling = telling
        self._hooks = hooks

    @activity.defn(dynamic=True)
    async def call_tool(self, arguments: Sequence[RawValue]) -> LookupAnswer | HookAnswer:
        """Call the tool that the activity is named after, with a `ToolCall` as its input."""
        if self._hooks is not None and is_of_hook(activity.info().activity_type):
            return await self._hooks.call_hook(arguments)
        with temporal_failures():
            call = _continued(_decoded(arguments))
            with about(call.conversation, call.message_id), carrying_heartbeats():
                if call.checking:
                    # Nobody watches: nothing is done yet.
                    found = await self._tried(call, self._caller.check)
                    return LookupAnswer(value=found.model_dump() if found else None)
                with metered(call.spent) as meter, executing(call, self._caller.registry) as told:
                    value = await self._watched(call)
                    told(value)
                attempts, earlier = activity.info().attempt, _spent_before(call)
                usage = meter.usage + earlier if earlier else meter.usage
                return LookupAnswer(value=value, usage=usage, attempts=attempts)

    async def _watched(self, call: ToolCall) -> JsonValue:
        await self._telling.tool_started(call, activity.info().attempt)
        began = monotonic()
        try:
            result = await self._tried(call, self._caller.call)
        except RETRYABLE:
            raise
        except asyncio.CancelledError:
            if _is_stopped():
                # It had begun: what it has done, or had found by then, nobody can tell.
                await self._telling.tool_finished(call, "unknown", monotonic() - began)
            raise
        except RouterError as error:
            why = error.said.within(call.spoken)
            await self._telling.tool_finished(call, _ended_by(error), monotonic() - began, why)
            raise
        found = json.dumps(result, ensure_ascii=False)
        await self._telling.tool_finished(call, "done", monotonic() - began, found)
        return result

    async def _tried(self, call: ToolCall, make: Callable[[ToolCall], Awaitable[Result]]) -> Result:
        try:
            async with heartbeating():
                return await make(call)
        except CallNotRecorded as left:
            ended = left.outcome.replace(usage=left.outcome.usage + spent_here())
            away = BackendUnavailable(str(left), AWAY)
            raise outage_failure(away, CallProgress(ended=ended)) from left
        except BackendUnavailable as error:
            before = call.progress.claims if call.progress else ()
            claims = error.claims if isinstance(error, NotClaimed) else before
            raise outage_failure(error, CallProgress(claims=claims)) from error
        except RETRYABLE as error:
            tool = self._caller.registry[call.tool]
            if (failure := failed_for_good(call, tool, error, activity.info().attempt)) is None:
                raise
            raise failure from error


def failed_for_good(
    call: ToolCall, tool: Tool, error: RouterError, attempt: int
) -> RouterError | None:
    """What the call has come to where this try was the last; None where another may help."""
    is_left = tool.retries is None or attempt <= tool.retries
    if is_left and not _is_too_long(call, tool, error):
        return None
    return _given_up(call, tool, error, attempt)


FIRST_WAIT, LONGEST_PAUSE = 1.0, 100.0
"""Seconds before the second try, twice as long before each after it; as Temporal has it."""


def wait_before(attempt: int, error: RouterError) -> float:
    """Seconds to wait before this try, after one that failed so, as a turn waits."""
    wait = error.retry_after if isinstance(error, TransientToolError) else None
    usual = min(FIRST_WAIT * 2 ** (attempt - 2), LONGEST_PAUSE)
    return usual if wait is None else min(wait, failures.LONGEST_WAIT)


def _is_too_long(call: ToolCall, tool: Tool, error: RouterError) -> bool:
    """Whether somebody would wait for the next try who can do without: they are told at once."""
    wait = error.retry_after if isinstance(error, TransientToolError) else None
    is_waited_for = not tool.writes and (call.flow_run is None or call.form)
    return is_waited_for and wait is not None and wait > LONGEST_WAIT


def _ended_by(error: RouterError) -> ToolStatus:
    if isinstance(error, UnknownOutcome):
        return "unknown"
    return "skipped" if isinstance(error, AnswersNeeded) else "failed"


def _is_stopped() -> bool:
    """True where nobody wants the call any more; a worker that ends leaves it to the next."""
    why = activity.cancellation_details()
    return why is not None and (why.cancel_requested or why.not_found)


def _decoded(arguments: Sequence[RawValue]) -> ToolCall:
    name = activity.info().activity_type
    try:
        (raw,) = arguments
        call: ToolCall = activity.payload_converter().from_payload(raw.payload, ToolCall)
    except (ValueError, ValidationError, RuntimeError) as error:
        raise InvalidInput(
            f"{name} is no activity of this worker, and was sent no call of a tool: {error}"
        ) from error
    if call.tool != name:
        raise InvalidInput(f"the activity {name} was sent a call of the tool {call.tool}")
    return call


def _continued(call: ToolCall) -> ToolCall:
    """The call with what an earlier attempt had in hand, whose worker died during an outage."""
    progress = progress_in(activity.info().heartbeat_details)
    return call if progress is None else call.replace(progress=progress)


def _spent_before(call: ToolCall) -> Usage | None:
    ended = call.progress.ended if call.progress else None
    return ended.usage if ended else None


def _given_up(call: ToolCall, tool: Tool, error: RouterError, attempt: int) -> RouterError:
    zh = f"试了 {attempt} 次都没成，最后一次是因为：{error.said.zh}"
    en = f"it failed {attempt} times, the last time because {error}"
    if tool.writes and not call.checking:
        zh, en = f"“{tool.title.zh}”不知道办成了没有：{zh}", f"may or may not have happened: {en}"
        return UnknownOutcome(Localised(zh=zh, en=f"{tool.name} {en}"))
    zh, en = f"“{tool.title.zh}”现在用不了：{zh}", f"{tool.name} isn't working: {en}"
    return OutOfReach(Localised(zh=zh, en=en))
