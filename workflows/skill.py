"""A skill as a Temporal workflow: a sub-agent that works until it has an answer, or a question.

Where it asks the employee something, or sends them to a form, it ends with what it has in its
head; the answer starts it anew from there. So nobody's thinking hangs about for days, and a run
that has become long goes on in a new one in the same way.
"""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts.skill_run import STEER, WORKFLOW, SkillOutcome, SkillStart, Steer
from workflows.plan import PlanAgent
from workflows.sub_agent import AgentEnded, SkillAgent, SubAgent


@workflow.defn(name=WORKFLOW)
class SkillWorkflow:
    """One run of a skill, as a child of the conversation that it works for."""

    @workflow.init
    def __init__(self, start: SkillStart) -> None:
        self._start = start
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
                    self._go_without_plan(self._agent.unplanned)
                if self._full:
                    workflow.continue_as_new(self._carried)
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            ended = AgentEnded("", "cancelled")
        return self._outcome(ended)

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

    def _go_without_plan(self, why: str) -> None:
        """From here on step by step: a model that can't plan may still find an answer."""
        workflow.logger.warning("%s goes on without a plan: %s", self._start.task.skill.name, why)
        task = self._start.task
        skill = task.skill.model_copy(update={"mode": "react"})
        wiser = {"task": task.model_copy(update={"skill": skill})}
        self._start = self._carried.model_copy(update=wiser)
        self._agent = SubAgent(self._start, self._ends)

    @property
    def _carried(self) -> SkillStart:
        agent = self._agent
        return self._start.model_copy(
            update={
                "memory": agent.memory,
                "progress": agent.progress,
                "calls": agent.calls,
                "heard": agent.heard,
                "ends": self._ends,
            }
        )

    def _outcome(self, ended: AgentEnded) -> SkillOutcome:
        agent = self._agent
        return SkillOutcome(
            text=ended.text,
            ending=ended.ending,
            calls=agent.calls,
            usage=agent.progress.usage,
            memory=None if ended.ending == "answered" else agent.memory,
            flow=ended.flow,
            heard=agent.heard,
        )
