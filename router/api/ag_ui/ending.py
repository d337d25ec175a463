"""How a run ends: with what it came to, with what it waits for, or with what went wrong."""

import json
from collections.abc import Sequence

from ag_ui.core import (
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    TokenUsage,
)
from fastapi import Request

from router.api import problems
from router.domain.messages import Turn, Usage

Outcome = RunFinishedCancelledOutcome | RunFinishedInterruptOutcome | RunFinishedSuccessOutcome


def ended(
    thread: str, run: str, turns: Sequence[Turn], interrupts: Sequence[Interrupt]
) -> RunFinishedEvent | RunErrorEvent:
    """The end of a run that told all it had to; its result is its last turn, in plain JSON.

    A turn that failed has said so in words already, which are the error's.
    """
    last = turns[-1] if turns else None
    if last is not None and last.status == "failed":
        words = "\n\n".join(reply.text for reply in last.replies)
        return RunErrorEvent(message=words, code="turn-failed", usage=_usage(turns))
    outcome = _outcome(last, interrupts)
    cancelled = isinstance(outcome, RunFinishedCancelledOutcome)
    return RunFinishedEvent(
        thread_id=thread,
        run_id=run,
        result=last.shown() if last and not cancelled else None,
        outcome=outcome,
        usage=_usage(turns),
    )


def _outcome(last: Turn | None, interrupts: Sequence[Interrupt]) -> Outcome:
    if last is not None and last.status == "cancelled":
        return RunFinishedCancelledOutcome()
    if interrupts:
        return RunFinishedInterruptOutcome(interrupts=list(interrupts))
    waiting = [c.id for c in last.tool_calls if c.status == "waiting"] if last else []
    return RunFinishedSuccessOutcome(pending_tool_call_ids=waiting or None)


def _usage(turns: Sequence[Turn]) -> list[TokenUsage] | None:
    """What models were asked in the run; nothing where none was."""
    spent = sum((turn.usage for turn in turns), Usage())
    if not spent.llm_calls:
        return None
    count = TokenUsage(
        input_tokens=spent.prompt_tokens,
        output_tokens=spent.completion_tokens,
        total_tokens=spent.tokens,
    )
    return [count]


async def broken_off(request: Request, error: Exception) -> RunErrorEvent:
    """The end of a run that could not go on, with the problem that a plain answer would have had.

    `code` is the last word of the problem's type, as `conflict`.
    """
    answer = await problems.answer_to(request, error)
    problem = json.loads(bytes(answer.body))
    return RunErrorEvent(
        message=problem["detail"],
        code=problem["type"].rpartition(":")[2],
        metadata={"intent-router": problem},
    )
