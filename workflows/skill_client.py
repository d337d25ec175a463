"""The sub-agents that work for a turn: started, steered, and heard out when they are stopped."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError
from temporalio.workflow import ChildWorkflowHandle

from router.contracts.conversation import ConversationState
from router.contracts.skill_run import STEER, WORKFLOW, SkillOutcome, SkillStart, Steer, workflow_id
from router.contracts.start_options import TASK_TIMEOUT
from router.domain.locale import Locale
from router.domain.messages import FlowSummary, ToolCallView
from workflows.activity import fresh_id

LONGEST_FORM = 4000
"""Characters that a sub-agent is told of what a form was filled in with."""
NOWHERE = "-"
"""The run of a form that couldn't be started."""


@dataclass
class SkillRuns:
    """Those of one conversation.

    `heard` says which skill heeded a message that came while it was at work; `stopped` has what
    those left behind that were stopped with their turn, and `calls` the calls of tools that the
    turn made itself.
    """

    heard: dict[str, str] = field(default_factory=dict)
    stopped: list[tuple[SkillStart, SkillOutcome]] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    _at_work: dict[str, ChildWorkflowHandle[Any, Any]] = field(default_factory=dict)

    async def run(self, start: SkillStart, locale: Locale) -> SkillOutcome:
        """What the sub-agent comes to. One that is stopped is noted among the stopped.

        Raises `ChildWorkflowError` where it fails.
        """
        skill = start.task.skill
        id_ = workflow_id(skill.name, start.account.caller.tenant, fresh_id())
        handle: ChildWorkflowHandle[Any, Any] = await workflow.start_child_workflow(
            WORKFLOW,
            start,
            id=id_,
            result_type=SkillOutcome,
            task_timeout=TASK_TIMEOUT,
            static_summary=skill.title.within(locale),
        )
        self._at_work[id_] = handle
        try:
            outcome: SkillOutcome = await handle
        finally:
            del self._at_work[id_]
        self.heard |= dict.fromkeys(outcome.heard, skill.name)
        if outcome.ending == "cancelled":
            self.stopped.append((start, outcome))
        return outcome

    @property
    def are_at_work(self) -> bool:
        """True where anybody is."""
        return bool(self._at_work)

    async def gone(self) -> None:
        """Return once nobody is at work any more, of those that were told to stop."""
        if self._at_work:
            await workflow.wait_condition(lambda: not self._at_work)

    async def steer(self, said: Steer) -> None:
        """Tell it to everyone who is at work; who has ended meanwhile doesn't hear it."""
        for handle in list(self._at_work.values()):
            with suppress(FailureError):
                await handle.signal(STEER, said)


def is_open(run: str, state: ConversationState) -> bool:
    """Whether that run still asks the employee something, now or once another is done with."""
    return any(view.id == run for view in [state.active, *state.paused] if view is not None)


def became(run: str, flow: FlowSummary | None) -> str:
    """What a sub-agent is told of the form that it sent the employee to."""
    if run == NOWHERE:
        return "That form can't be started right now."
    if flow is None or flow.id != run:
        return "The employee isn't at that form any more."
    filled = json.dumps(flow.slots, ensure_ascii=False)[:LONGEST_FORM]
    return f"The employee is done with the form: it is {flow.status}, with {filled}"
