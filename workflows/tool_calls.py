"""Calling a tool from a workflow: an activity under the tool's own name."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from router.contracts.activities import LookupAnswer, ToolCall, ToolFinding
from router.contracts.failures import from_failure
from router.contracts.flow import CallLimits
from router.domain.errors import AnswersNeeded
from router.domain.file_types import SkillFile
from router.domain.locale import Locale, Localised
from router.domain.messages import ToolCallView, Usage
from router.domain.principals import Principal
from router.flow.prompts.values import readable
from router.skill.skill import OF_FOLDER
from workflows.activity import ends_turn

Arguments = dict[str, JsonValue]
Limits = Mapping[str, CallLimits]

FOUND_SHOWN = 3
"""Of what was found, where a run is cut short: the last few."""
CALLS_SHOWN = 100
"""Of a run: those of a longer one that came first are only in the Temporal UI."""
CALLS_BYTES = 60_000
"""Of those that are shown: the older ones are without arguments and results beyond that."""

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


async def made(call: ToolCall, limits: CallLimits, retry: RetryPolicy, say: str) -> LookupAnswer:
    """What the call came to; raises `ActivityError` where it fails for good."""
    answer: LookupAnswer = await workflow.execute_activity(
        call.tool,
        call,
        result_type=LookupAnswer,
        start_to_close_timeout=limits.timeout,
        heartbeat_timeout=limits.heartbeat,
        retry_policy=retry,
        summary=say,
    )
    return answer


async def call_tool(caller: Caller, id_: str, tool: str, arguments: Arguments) -> ToolFinding:
    """What the tool found; why it failed is a finding too."""
    limits = caller.limits.get(tool, CallLimits())
    call = ToolCall(
        tool=tool,
        arguments=arguments,
        caller=caller.person,
        locale=caller.locale,
        conversation=caller.conversation,
        message_id=caller.message_id,
        call_id=id_,
        spent=caller.spent,
        skill_files=caller.skill_files if tool in OF_FOLDER else (),
        now=workflow.now(),
    )
    try:
        answer = await made(call, limits, RetryPolicy(maximum_attempts=limits.attempts), tool)
    except ActivityError as failure:
        if ends_turn(failure):
            raise
        asks_back = isinstance(from_failure(failure), AnswersNeeded)
        return ToolFinding(tool=tool, error=why(failure, caller.locale), asks_back=asks_back)
    return ToolFinding(tool=tool, result=answer.value, usage=answer.usage)


def why(failure: ActivityError, locale: Locale) -> str:
    """Why a call failed for good; what isn't an error of the house is for its engineers alone."""
    error = from_failure(failure)
    return (UNHEARD_OF if error is None else error.said).within(locale)


def waiting(id_: str, tool: str, arguments: Arguments) -> ToolCallView:
    """A call that the front end makes, as a turn shows it."""
    return ToolCallView(id=id_, name=tool, arguments=arguments, status="waiting")


def shown(id_: str, tool: str, arguments: Arguments, found: ToolFinding) -> ToolCallView:
    """The call as a turn shows it."""
    if found.asks_back:
        return ToolCallView.skipped(id_, tool, arguments)
    if found.error is not None:
        return ToolCallView.failed(id_, tool, arguments, found.error, unknown=False)
    return ToolCallView.of(id_, tool, arguments, found.result)


def cost(found: Iterable[ToolFinding]) -> Usage:
    """What the calls cost together, in models that stand behind tools."""
    return sum((finding.usage for finding in found), start=Usage())


def told(found: ToolFinding) -> str:
    """What the tool found, as a model reads it."""
    if found.error is not None:
        return f"error: {found.error}"
    return json.dumps(found.result, ensure_ascii=False)


def bounded(calls: Sequence[ToolCallView]) -> list[ToolCallView]:
    """The last calls, small enough to be handed on with everything else."""
    left, kept = CALLS_BYTES, []
    for call in reversed(calls[-CALLS_SHOWN:]):
        left -= len(call.model_dump_json().encode())
        bare = {"arguments": {}, "result_preview": ""}
        kept.append(call if left >= 0 else call.model_copy(update=bare))
    return kept[::-1]


def worded(calls: Sequence[ToolCallView], tools: Limits, locale: Locale) -> list[str]:
    """What the last calls found that came to something, a line each, for people."""
    lines = []
    for call in [call for call in calls if call.status == "done"][-FOUND_SHOWN:]:
        limits = tools.get(call.name)
        title = limits.title.within(locale) if limits and limits.title else call.name
        try:
            found = readable(json.loads(call.result_preview), locale)
        except ValueError:  # a preview is cut where it is long
            found = call.result_preview
        lines.append(f"{title}{'：' if locale == 'zh' else ': '}{found}")
    return lines
