"""A skill as a Temporal workflow, and the runs of skills that a conversation has.

Where it asks the employee something, or sends them to a form, it ends with what it has in its
head; the answer starts it anew from there. So does a run that has become long.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception
from temporalio.workflow import ChildWorkflowHandle

from router.contracts.flow import CallLimits
from router.contracts.skill_run import STEER, WORKFLOW, SkillOutcome, SkillStart, Steer
from router.domain.locale import Locale, Localised
from router.domain.messages import FlowSummary, ToolCallView
from workflows.agent import AgentEnded, SkillAgent
from workflows.delegation import begun
from workflows.hook_runs import Hooked, HookRuns
from workflows.plan import PlanAgent
from workflows.sub_agent import SubAgent

LONGEST_FORM = 4000
"""Characters that a sub-agent is told of what a form was filled in with."""
NOWHERE = "-"
"""The run of a form that couldn't be started."""


@dataclass
class SkillRuns:
    """Those of one conversation.

    `heard` says which skill heeded a message; `stopped` has what those left behind that were
    stopped with their turn, `calls` what the turn called itself, `titles` what people call those,
    `at_work` those under way, by id.
    """

    heard: dict[str, str] = field(default_factory=dict)
    stopped: list[tuple[SkillStart, SkillOutcome]] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    titles: dict[str, Localised] = field(default_factory=dict)
    at_work: dict[str, ChildWorkflowHandle[Any, Any]] = field(default_factory=dict)

    async def run(self, start: SkillStart, locale: Locale) -> SkillOutcome:
        """What the sub-agent comes to; raises `ChildWorkflowError` where it fails."""
        skill = start.task.skill
        handle = await begun(start, locale)
        id_ = handle.id
        self.at_work[id_] = handle
        try:
            outcome: SkillOutcome = await handle
        finally:
            del self.at_work[id_]
        self.heard |= dict.fromkeys(outcome.heard, skill.name)
        if outcome.ending == "cancelled":
            self.stopped.append((start, outcome))
            self.leave(outcome.calls, start.tools)
        return outcome

    def leave(self, calls: Iterable[ToolCallView], limits: Mapping[str, CallLimits]) -> None:
        """Note these calls for the turn that is stopped, or breaks, before it can show them."""
        self.calls += calls
        self.titles |= {name: each.title for name, each in limits.items() if each.title}

    def forget(self) -> None:
        """Begin anew with the next turn."""
        self.stopped.clear()
        self.calls.clear()
        self.titles.clear()

    async def gone(self) -> None:
        """Return once nobody is at work any more, of those that were told to stop."""
        if self.at_work:
            await workflow.wait_condition(lambda: not self.at_work)

    async def steer(self, said: Steer) -> None:
        """Tell it to everyone who is at work; who has ended meanwhile doesn't hear it."""
        for handle in list(self.at_work.values()):
            with suppress(FailureError):
                await handle.signal(STEER, said)


def became(run: str, flow: FlowSummary | None) -> str:
    """What a sub-agent is told of the form that it sent the employee to."""
    if run == NOWHERE:
        return "That form can't be started right now."
    if flow is None or flow.id != run:
        return "The employee isn't at that form any more."
    filled = json.dumps(flow.slots, ensure_ascii=False)[:LONGEST_FORM]
    return f"The employee is done with the form: it is {flow.status}, with {filled}"


@workflow.defn(name=WORKFLOW)
class SkillWorkflow(Hooked):
    """One run of a skill, as a child of the conversation that it works for."""

    @workflow.init
    def __init__(self, start: SkillStart) -> None:
        self._start = start
        self.hooks = HookRuns()
        seconds = timedelta(seconds=start.account.seconds)
        self._ends: datetime = start.ends or workflow.now() + seconds
        agent = PlanAgent if start.task.skill.mode == "plan" else SubAgent
        self._agent: SkillAgent = agent(start, self._ends)

    @workflow.run
    async def run(self, _start: SkillStart) -> SkillOutcome:
        """Work until there is an answer, a question, or a limit; or until it is stopped."""
        try:
            while (ended := await self._agent.step()) is None:
                if isinstance(self._agent, PlanAgent) and self._agent.unplanned:
                    # From here on step by step: a model that can't plan may still find an answer.
                    task, why = self._start.task, self._agent.unplanned
                    workflow.logger.warning("%s goes on without a plan: %s", task.skill.name, why)
                    skill = task.skill.replace(mode="react")
                    task = task.replace(skill=skill)
                    self._start = self._carried.replace(task=task)
                    self._agent = SubAgent(self._start, self._ends)
                if self._full:
                    await self.hooks.done()
                    workflow.continue_as_new(self._carried)
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            ended = AgentEnded("", "cancelled")
        await self.hooks.done()
        agent = self._agent
        memory = agent.memory.telling(ended.text)
        return SkillOutcome(
            text=ended.text,
            ending=ended.ending,
            calls=agent.calls,
            results=agent.results,
            usage=agent.progress.usage - self._start.accounted,
            memory=memory,
            flow=ended.flow,
            card=ended.card,
            inner=agent.inner,
            progress=agent.progress,
            heard=agent.heard,
        )

    @workflow.signal(name=STEER)
    def steer(self, said: Steer) -> None:
        """Heed what the employee says while it is at work, from the next tool boundary on."""
        self._agent.steer(said)

    @property
    def _full(self) -> bool:
        """True where the run is to go on in a new one; what it was told last isn't left behind."""
        steps = self._agent.progress.steps - self._start.progress.steps
        most = self._start.continue_after
        long = workflow.info().is_continue_as_new_suggested() or (most and steps >= most)
        return bool(long) and not self._agent.is_steered

    @property
    def _carried(self) -> SkillStart:
        agent = self._agent
        return self._start.replace(
            memory=agent.memory,
            progress=agent.progress,
            calls=agent.calls,
            results=agent.results,
            heard=agent.heard,
            ends=self._ends,
            inner=agent.inner,
        )
