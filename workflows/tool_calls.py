"""Calling a tool from a workflow: an activity under the tool's own name."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, RetryState, TimeoutType, is_cancelled_exception
from temporalio.exceptions import TimeoutError as TimedOut

from router.contracts.activities import LookupAnswer, ToolCall
from router.contracts.failures import attempts_in, from_failure
from router.contracts.flow import CallLimits
from router.contracts.outages import progress_of
from router.contracts.tool_rounds import ToolFinding
from router.domain.errors import (
    AnswersNeeded,
    ArgumentsToolError,
    BrokenTool,
    OutOfReach,
    SetAside,
    TransientToolError,
    Unavailable,
    UnknownOutcome,
    UnusableResult,
)
from router.domain.file_types import SkillFile
from router.domain.hooks import LONGEST_TEXT, ErrorEvent, ToolEvent, ToolResultEvent
from router.domain.locale import Locale, Localised
from router.domain.messages import PREVIEW, ToolCallView, Usage
from router.domain.principals import Principal
from router.domain.sizes import measure_bytes
from router.domain.summaries import cut_summary
from router.flow.prompts.values import readable
from router.routing.excerpt import excerpt
from router.skill.skill import OF_FOLDER
from workflows.activity import ends_turn
from workflows.hook_runs import at, hooks_here

Arguments = dict[str, JsonValue]
Limits = Mapping[str, CallLimits]

FOUND_SHOWN = 3
"""Of what was found, where a run is cut short: the last few."""
RESULTS_KEPT, RESULTS_LENGTH = 16, 48_000
"""Findings that a sub-agent keeps for the turn, and characters of all of them."""
CALLS_SHOWN = 100
"""Of a run: those of a longer one that came first are only in the Temporal UI."""
CALLS_BYTES = 60_000
"""Of those that are shown: the older ones are without arguments and results beyond that."""

SOONEST = 1.0
"""Seconds that a call has at least, however little is left."""

OUT_OF_TIME = Localised(
    zh="剩下的时间不够，没有等到结果", en="there was no time left to wait for what it finds"
)
UNHEARD_OF = Localised(zh="意外中断，没有了下文", en="it broke off, and was never heard of again")


@dataclass(frozen=True)
class Caller:
    """Who tools are called for, in which turn, which has `spent` so much, and how each may be."""

    person: Principal
    conversation: str
    message_id: str
    limits: Limits
    spent: Usage = field(default_factory=Usage)
    locale: Locale = "en"
    skill_files: tuple[SkillFile, ...] = ()
    seconds: float | None = None
    """For a call with all its tries; None is for as long as these take."""


async def made(
    call: ToolCall,
    limits: CallLimits,
    retry: RetryPolicy,
    say: str,
    within: timedelta | None = None,
) -> LookupAnswer:
    """What the call came to; raises `ActivityError` where it fails for good.

    The hooks around it are asked before, and told what came of it.
    """
    call = await _passed(call, limits)
    ends = None if within is None else workflow.now() + within
    while True:
        try:
            answer: LookupAnswer = await workflow.execute_activity(
                call.tool,
                call,
                result_type=LookupAnswer,
                start_to_close_timeout=limits.timeout,
                schedule_to_close_timeout=_time_left(call, ends),
                heartbeat_timeout=limits.heartbeat,
                retry_policy=retry,
                summary=cut_summary(say),
            )
            break
        except ActivityError as failure:
            continued = _after_outage(call, failure, ends)
            if continued is not None:
                call = continued
                continue
            if limits.hooks and not is_cancelled_exception(failure):
                _tell_failure(call, limits, failure)
            raise
    if limits.hooks and not call.checking:
        about = {"result": answer.value, "attempts": answer.attempts}
        _tell_result(call, limits, about)
    return answer


def _time_left(call: ToolCall, ends: datetime | None) -> timedelta | None:
    """For all tries of the call; None where it has ended, and is recorded however long it takes."""
    if ends is None or (call.progress and call.progress.ended):
        return None
    return max(timedelta(seconds=SOONEST), ends - workflow.now())


def _after_outage(call: ToolCall, failure: ActivityError, ends: datetime | None) -> ToolCall | None:
    """The call to go on with where an outage of the database ended it, which is no failure of it.

    None where it failed for another reason, or there is no time left to begin it.
    """
    progress = progress_of(failure)
    if progress is None:
        return None
    is_over = ends is not None and workflow.now() >= ends
    return None if is_over and not progress.ended else call.replace(progress=progress)


async def _passed(call: ToolCall, limits: CallLimits) -> ToolCall:
    """The call as hooks leave it: let pass, or refused, which is left to its activity to say."""
    asked = at(limits.hooks, "before_tool")
    if not asked:
        return call
    event = ToolEvent(**_about(call, limits), checking=call.checking)
    answer = await hooks_here().asked(asked, event)
    if answer.not_deployed:
        return call.replace(lacks_hook=answer.refused_by)
    if answer.refused is not None:
        return call.replace(refused=answer.refused)
    return call.replace(passed=tuple(hook.name for hook in asked))


def _about(call: ToolCall, limits: CallLimits) -> dict[str, Any]:
    return {
        "caller": call.caller,
        "locale": call.spoken,
        "now": call.now.astimezone(ZoneInfo(call.caller.timezone)),
        "conversation": call.conversation,
        "tool": call.tool,
        "arguments": call.arguments,
        "writes": limits.writes,
        "flow_run": call.flow_run,
        "message_id": call.message_id,
    }


def _tell_result(call: ToolCall, limits: CallLimits, came_to: dict[str, Any]) -> None:
    if hooks := at(limits.hooks, "after_tool"):
        hooks_here().tell(hooks, ToolResultEvent(**_about(call, limits), **came_to))


BREAKS = (
    *(OutOfReach, BrokenTool, UnusableResult, UnknownOutcome, SetAside),
    *(Unavailable, TransientToolError),
)
"""How a call fails that something is wrong with; for what it asks, it is refused in other ways."""


def _tell_failure(call: ToolCall, limits: CallLimits, failure: ActivityError) -> None:
    error, locale = from_failure(failure), call.spoken
    said = why(failure, locale)[:LONGEST_TEXT]
    if not call.checking and not isinstance(error, AnswersNeeded):
        _tell_result(call, limits, {"error": said, "attempts": tries(failure, limits)})
    if error is None or isinstance(error, BREAKS):
        about = _about(call, limits)
        shown = {n: about[n] for n in ErrorEvent.model_fields if n in about}
        event = ErrorEvent(**shown, of="tool", name=call.tool, error=said)
        hooks_here().tell(at(limits.hooks, "on_error"), event)


async def call_tool(caller: Caller, id_: str, tool: str, arguments: Arguments) -> ToolFinding:
    """What the tool found; why it failed is a finding too."""
    limits = caller.limits.get(tool, CallLimits())
    call = ToolCall(
        tool=tool,
        arguments=completed(caller.limits, tool, arguments),
        caller=caller.person,
        locale=caller.locale,
        conversation=caller.conversation,
        message_id=caller.message_id,
        call_id=id_,
        spent=caller.spent,
        skill_files=caller.skill_files if tool in OF_FOLDER else (),
        now=workflow.now(),
    )
    retry = RetryPolicy(maximum_attempts=limits.attempts)
    within = None if caller.seconds is None else timedelta(seconds=max(SOONEST, caller.seconds))
    try:
        answer = await made(call, limits, retry, tool, within)
    except ActivityError as failure:
        if ends_turn(failure):
            raise
        error = from_failure(failure)
        return ToolFinding(
            tool=tool,
            error=why(failure, caller.locale),
            attempts=tries(failure, limits),
            asks_back=isinstance(error, AnswersNeeded),
            mendable=isinstance(error, ArgumentsToolError),
        )
    attempts = answer.attempts
    return ToolFinding(tool=tool, result=answer.value, usage=answer.usage, attempts=attempts)


def completed(limits: Limits, tool: str, arguments: Arguments) -> Arguments:
    """The arguments with the defaults of those that aren't given."""
    known = limits.get(tool)
    return known.defaults | arguments if known else arguments


def tries(failure: ActivityError, limits: CallLimits) -> int:
    """How often the call was tried that failed for good."""
    said = attempts_in(failure)
    if said is not None:
        return said
    # Nobody lived to say it: it ran out of time, and of tries where it was given all that it has.
    spent = failure.retry_state is RetryState.MAXIMUM_ATTEMPTS_REACHED
    return max(1, limits.attempts) if spent else 1


def why(failure: ActivityError, locale: Locale) -> str:
    """Why a call failed for good; what isn't an error of the house is for its engineers alone."""
    error, cause = from_failure(failure), failure.cause
    if isinstance(cause, TimedOut) and cause.type is TimeoutType.SCHEDULE_TO_CLOSE:
        return OUT_OF_TIME.within(locale)
    return (UNHEARD_OF if error is None else error.said).within(locale)


BECAME = {
    "waiting": "not there yet: the person's device makes this call",
    "unknown": "it had begun when the person stopped it: what came of it isn't known",
    "skipped": "never begun: the person stopped it, or said something else before",
}
"""What a model is told of a call that has no result, by its status."""


def came_to(call: ToolCallView) -> str:
    """What a call came to, as models are told in what they hear of the past."""
    return BECAME.get(call.status) or call.result_preview


def waiting(id_: str, tool: str, arguments: Arguments) -> ToolCallView:
    """A call that the front end makes, as a turn shows it."""
    return ToolCallView(id=id_, name=tool, arguments=arguments, status="waiting")


def shown(id_: str, tool: str, arguments: Arguments, found: ToolFinding) -> ToolCallView:
    """The call as a turn shows it."""
    if found.awaited:
        return waiting(id_, tool, arguments)
    if found.asks_back:
        return ToolCallView.skipped(id_, tool, arguments)
    if found.error is not None:
        view = ToolCallView.failed(id_, tool, arguments, found.error, unknown=False)
    else:
        view = ToolCallView.of(id_, tool, arguments, found.result)
    return view.replace(attempts=found.attempts)


def cost(found: Iterable[ToolFinding]) -> Usage:
    """What the calls cost together, in models that stand behind tools."""
    return sum((finding.usage for finding in found), start=Usage())


def told(found: ToolFinding) -> str:
    """What the tool found, as a model reads it."""
    if found.awaited:
        return BECAME["waiting"]
    if found.error is not None:
        return f"error: {found.error}"
    return json.dumps(found.result, ensure_ascii=False)


def bounded(calls: Sequence[ToolCallView]) -> list[ToolCallView]:
    """The last calls, small enough to be handed on with everything else.

    Those that the front end is to make stay whole: it has nothing else to make them from.
    """
    left, kept = CALLS_BYTES, []
    for call in reversed(calls[-CALLS_SHOWN:]):
        left -= measure_bytes(call)
        whole = left >= 0 or call.status == "waiting"
        kept.append(call if whole else call.replace(arguments={}, result_preview=""))
    return kept[::-1]


def bounded_results(found: Sequence[ToolFinding], *, whole: bool) -> list[ToolFinding]:
    """Return the last findings: those that people are shown, or as much as a turn may need."""
    last = found[-RESULTS_KEPT if whole else -FOUND_SHOWN :]
    longest = RESULTS_LENGTH // max(len(last), 1) if whole else PREVIEW
    return [each.replace(result=excerpt(each.result, longest).value) for each in last]


def worded(found: Sequence[ToolFinding], tools: Limits, locale: Locale) -> list[str]:
    """What the last calls found, a line each, for people."""
    lines = []
    for finding in found[-FOUND_SHOWN:]:
        limits = tools.get(finding.tool)
        title = limits.title.within(locale) if limits and limits.title else finding.tool
        colon = "：" if locale == "zh" else ": "
        shown = readable(excerpt(finding.result, PREVIEW).value, locale)
        lines.append(f"{title}{colon}{shown}")
    return lines
