"""Having a skill worked on as a child workflow: by a conversation, or by a skill that hands over.

Each shows in Temporal's UI under its own skill's name.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError
from temporalio.workflow import ChildWorkflowHandle

from router.contracts.activities import Account
from router.contracts.conversation_state import OpenSkill
from router.contracts.skill_run import STEER, WORKFLOW, SkillOutcome, SkillStart, Steer, workflow_id
from router.contracts.start_options import TASK_TIMEOUT
from router.domain.locale import Locale
from router.domain.summaries import cut_summary
from router.routing.prompts import material
from router.skill.loop import Share
from workflows.activity import fresh_id

NO_ROOM = "there is too little left for another skill; go on with what you have"
BROKE_OFF = "it broke off; go on without it"
UNFINISHED = "It stopped at a limit ({ending}), with this: {text}"


async def begun(start: SkillStart, locale: Locale) -> ChildWorkflowHandle[Any, Any]:
    """A run of the skill, which has begun by now."""
    skill = start.task.skill
    handle: ChildWorkflowHandle[Any, Any] = await workflow.start_child_workflow(
        WORKFLOW,
        start,
        id=workflow_id(skill.name, start.account.caller.tenant, fresh_id()),
        result_type=SkillOutcome,
        task_timeout=TASK_TIMEOUT,
        static_summary=cut_summary(skill.title.within(locale)),
    )
    return handle


async def steered(start: SkillStart, take: Callable[[], Sequence[Steer]]) -> SkillOutcome:
    """What the skill comes to, which is told what there is to `take` while it works.

    Raises `ChildWorkflowError` where it fails. Stopped itself, it stops that too, and hears it out.
    """
    handle = await begun(start, start.locale)
    said: Sequence[Steer] = ()

    def is_news() -> bool:
        nonlocal said
        said = take()
        return bool(said) or handle.done()

    try:
        while not handle.done():
            await workflow.wait_condition(is_news)
            for one in said:
                with suppress(FailureError):  # who has ended meanwhile doesn't hear it
                    await handle.signal(STEER, one)
    except asyncio.CancelledError:
        handle.cancel()
    outcome: SkillOutcome = await handle
    return outcome


def part_of(first: SkillStart, inner: OpenSkill, room: Share, account: Account) -> SkillStart:
    """What a skill begins or goes on with that has a part of `first` to do: within its bounds."""
    skill = inner.task.skill
    turns, tokens = min(skill.max_turns, room.turns), min(skill.token_budget, room.tokens)
    bounded = skill.replace(max_turns=turns, token_budget=tokens)
    return SkillStart(
        task=inner.task.replace(skill=bounded),
        account=account,
        locale=first.locale,
        tools=inner.tools,
        context=first.context,
        continue_after=first.continue_after,
        memory=inner.memory,
        inner=inner.inner,
        keeps_results=first.keeps_results,
    )


def told(outcome: SkillOutcome) -> str:
    """What whoever handed it over is told of its end."""
    if outcome.ending == "answered":
        return material(outcome.text)
    return UNFINISHED.format(ending=outcome.ending, text=material(outcome.text))
