"""A skill that works by a plan: it plans, has the steps worked on, and reflects on the results.

A small sub-agent has charge of each step, side by side with others. All that the run knows is in
its memory between any two of these, so that it can be stopped there, or go on in a new one, and
no finished step is done again.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

from router.contracts import activities
from router.contracts.skill_run import Ending, SkillStart
from router.domain.messages import Usage
from router.routing.planner import NOT_ACCEPTED, Planned, Reflected, complained
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import FOUND_BEFORE
from router.skill import loop
from router.skill import plan as plans
from router.skill.plan import StepBrief
from workflows.activity import perform
from workflows.sub_agent import AgentEnded, Others, Question, SkillAgent, SubAgent
from workflows.tool_calls import bounded

INTERRUPTED = "not finished, since the employee said something meanwhile"
_FATES: dict[Ending, plans.Fate] = {"answered": "done", "asked": "missing"}
"""Of the ways to end; any other has stopped it."""


@dataclass(frozen=True)
class StepExecution:
    """One step that is under way, or was."""

    part: StepBrief
    agent: SubAgent
    share: loop.Share
    began: int
    task: "asyncio.Task[plans.StepResult]"

    @property
    def result(self) -> plans.StepResult | None:
        """What it came to; None where it was stopped before. Raises what made it fail."""
        if self.task.cancelled():
            return None
        error = self.task.exception()
        return None if error and is_cancelled_exception(error) else self.task.result()


@dataclass(frozen=True)
class AgentBefore:
    """What a run had done before a step of its plan, and whether it has read others' words."""

    progress: loop.LoopProgress
    exposed: bool


class StepExecutor:
    """Has the steps of a run worked on, side by side, to their next boundary when `interrupted`.

    What the run has `paid` for before them is no longer there for them to spend.
    """

    def __init__(
        self,
        start: SkillStart,
        ends: datetime,
        interrupted: Callable[[], bool],
        paid: Callable[[], Usage],
    ) -> None:
        self._start = start
        self._paid = paid
        self._ends = ends
        self._interrupted = interrupted
        self._runs: dict[str, StepExecution] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def steps(self) -> frozenset[str]:
        """The ids of their steps."""
        return frozenset(self._runs)

    @property
    def promised(self) -> loop.Share:
        """What they may spend all together."""
        return sum((run.share for run in self._runs.values()), loop.Share())

    def begin(
        self, plan: plans.Plan, step: plans.PlanStep, share: loop.Share, before: AgentBefore
    ) -> None:
        """Have the step worked on, with its share of what the whole run has left."""
        part, progress = plan.part(step), before.progress
        start = self._start_of(part, share, progress)
        ends = self._ends - timedelta(seconds=progress.kept_seconds)
        memory = AgentMemory(exposed=before.exposed)
        agent = SubAgent(start.changed(memory=memory), ends, lambda: self._beside(part.id))
        task = asyncio.create_task(self._told(agent, plan, step))
        self._runs[part.id] = StepExecution(part, agent, share, progress.steps, task)

    async def next(self) -> list[StepExecution]:
        """Wait until some have ended: those, in the order in which they began."""
        tasks = [run.task for run in self._runs.values()]
        await workflow.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [self._runs.pop(run.part.id) for run in [*self._runs.values()] if run.task.done()]

    async def stop(self) -> list[StepExecution]:
        """Stop those that are under way: they have what they have by then."""
        stopped, self._runs = [*self._runs.values()], {}
        for run in stopped:
            run.task.cancel()
        await asyncio.gather(*(run.task for run in stopped), return_exceptions=True)
        return stopped

    def _beside(self, part: str) -> Others:
        """What is under way beside this step, and what that and those before have spent."""
        under_way = [run.part.id for run in self._runs.values()]
        others = (run.agent for run in self._runs.values() if run.part.id != part)
        spent = sum((agent.progress.usage for agent in others), self._paid())
        return Others(len(under_way) - 1, under_way.index(part), spent)

    def _start_of(
        self, part: StepBrief, share: loop.Share, progress: loop.LoopProgress
    ) -> SkillStart:
        """What the step's sub-agent begins with; steps count on: no two tries have the same."""
        task = self._start.task
        turns = progress.steps + share.turns
        # What a step comes to is looked at by the plan's own reflection.
        bounds = {"max_turns": turns, "token_budget": share.tokens, "reflect": False}
        skill = task.skill.model_copy(update=bounds)
        return self._start.changed(
            task=task.model_copy(update={"skill": skill, "part": part, "history": []}),
            progress=loop.LoopProgress(steps=progress.steps, pace=progress.pace),
            calls=[],
            heard=[],
        )

    async def _told(
        self, agent: SubAgent, plan: plans.Plan, step: plans.PlanStep
    ) -> plans.StepResult:
        """What the step comes to, told to whoever watches when it begins and when it has ended."""
        begins = activities.NoteStep(
            account=self._start.account,
            attempt=f"{workflow.info().workflow_id[-4:]}.{step.id}.{agent.progress.steps}",
            skill=self._start.task.skill.name,
            id=step.id,
            title=loop.one_line(step.task),
            number=plan.steps.index(step) + 1,
            steps=len(plan.steps),
        )
        await perform(activities.NOTE_STEP, begins, summary=f"{step.id} begins")
        result = await self._worked(agent)
        ended = begins.changed(fate=result.fate)
        await perform(activities.NOTE_STEP, ended, summary=f"{step.id}: {result.fate}")
        return result

    async def _worked(self, agent: SubAgent) -> plans.StepResult:
        while (ended := await agent.step()) is None:
            if self._interrupted():
                return plans.StepResult(fate="stopped", text="\n".join([INTERRUPTED, *agent.found]))
        return plans.StepResult(fate=_FATES.get(ended.ending, "stopped"), text=ended.text)


AT_ONCE = 3
"""Steps that are under way at the same time."""
SPOKE = "The employee has answered, or said something new."


class PlanAgent(SkillAgent):
    """The work of one run by a plan; where none could be made, `unplanned` says why."""

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        super().__init__(start, ends)
        self.unplanned = ""
        self._corrected: AgentMemory | None = None
        self._runs = StepExecutor(start, ends, lambda: self.is_steered, lambda: self.progress.usage)
        if start.ends is None and start.memory.plan is not None:
            self._go_on_with(start.memory.plan.resuming(SPOKE))

    async def step(self) -> AgentEnded | None:
        """A plan, the work on its steps, or a reflection; None where something is to follow."""
        self._hear()
        plan = self.memory.plan
        stop = loop.why_stop(self._start.task.skill, self.progress, self._seconds_left)
        if stop is not None:
            return self._stopped(stop)
        to_do = bool(plan and plan.ready())
        last = self._why_last(to_do=to_do)
        if last is None and (plan is None or plan.revising):
            return await self._draw()
        if plan is not None and (last is not None or not to_do):
            ended = await self._reflect(last=last is not None)
            return self._stopped(last) if ended is None and last is not None else ended
        if plan is None:
            self._go_without("there is no room for one")
        else:
            await self._work(plan)
        return None

    def _why_last(self, *, to_do: bool) -> loop.Stop | None:
        """Why nothing but an answer can follow: a step needs time and turns, a question a turn."""
        skill, progress, plan = self._start.task.skill, self.progress, self.memory.plan
        judging = plan is not None and not plan.revising and not to_do
        seconds = self._seconds_left - (0 if judging else progress.kept_seconds)
        question = loop.Share(turns=0 if to_do else 1)
        room = loop.left(skill, progress, question)
        return loop.why_last(skill, progress, seconds) or loop.why_no_room(room)

    def _hear(self) -> bool:
        if heard := super()._hear():
            self._corrected = None
            if self.memory.plan is not None:
                self._go_on_with(self.memory.plan.hearing())
        return heard

    def _go_on_with(self, plan: plans.Plan | None) -> None:
        self.memory = self.memory.model_copy(update={"plan": plan})

    async def _draw(self) -> AgentEnded | None:
        question = self._question(activities.Draw, last=False)
        planned = await self._asked(activities.PLAN, question)
        if planned is None or self._steered:
            return None
        if planned.spent:
            return self._stopped("budget", planned.spent)
        if planned.unaffordable or planned.complaint is not None:
            self._without_steps(planned)
            return None
        self._corrected = None
        if planned.hands_back:
            self.memory = self.memory.saying(planned.said)
            return AgentEnded("", "handed_back")
        if planned.text is not None:
            return AgentEnded(planned.text, "answered")
        plan = (self.memory.plan or plans.Plan()).revised(planned.steps)
        self._go_on_with(plan)
        shown = self._start.task.skill.confirm_plan and not plan.agreed
        return self._proposed(plan, planned) if shown else None

    def _proposed(self, plan: plans.Plan, planned: Planned) -> AgentEnded:
        """The end, with the plan to be agreed to: what the employee says is what it comes to."""
        card = plans.card(plan, self._start.locale)
        self.memory = self.memory.saying(planned.said)
        self._go_on_with(plan.proposing())
        return AgentEnded(card.text, "asked", card=card)

    def _without_steps(self, planned: Planned) -> None:
        """Have what is no plan mended once."""
        if planned.complaint is None:
            self._go_without("no budget pays for one")
        elif self._corrected is not None:
            self._go_without(planned.complaint)
        else:
            self._corrected = complained(self.memory, planned.said, planned.complaint)

    def _go_without(self, why: str) -> None:
        """Leave the rest to a run without a plan, which is told what is known."""
        self.unplanned = why
        plan = self.memory.plan or plans.Plan()
        self._go_on_with(None)
        if found := [f"- {s.task}: {plan.done[s.id]}" for s in plan.steps if s.id in plan.done]:
            self.memory = self.memory.hearing("\n".join([FOUND_BEFORE, *found]))
        self.progress = self.progress.model_copy(update={"errors": 0})

    async def _work(self, plan: plans.Plan) -> None:
        try:
            while self._begun(plan):
                plan = self._taken_in(plan, await self._runs.next())
        finally:
            self._taken_in(plan, await self._runs.stop())

    def _begun(self, plan: plans.Plan) -> bool:
        """True where steps are under way, after those were begun that can be."""
        for step in plan.ready(self._runs.steps):
            long = workflow.info().is_continue_as_new_suggested()
            if len(self._runs) == AT_ONCE or self._steered or long:
                break
            room = loop.left(self._start.task.skill, self.progress, self._runs.promised)
            mine = loop.share(room, plan.open - len(self._runs))
            if mine is None:
                break
            before = AgentBefore(self.progress, self.memory.exposed)
            self._runs.begin(plan, step, mine, before)
        return len(self._runs) > 0

    def _taken_in(self, plan: plans.Plan, runs: Sequence[StepExecution]) -> plans.Plan:
        """The plan with what these steps came to; one that was stopped only cost something."""
        for run in runs:
            done = run.agent.progress
            self.calls = bounded([*self.calls, *run.agent.calls])
            spent = self.progress.beside(done.steps - run.began, done.usage)
            self.progress = spent.timed(done.pace)
            self.memory = self.memory.being_exposed(run.agent.memory.exposed)
        for run in runs:
            if (result := run.result) is not None:
                plan = plan.having(run.part.id, result)
        self._go_on_with(plan)
        return plan

    async def _reflect(self, *, last: bool) -> AgentEnded | None:
        question = self._question(activities.Reflect, last=last)
        reflected = await self._asked(activities.REFLECT, question)
        if reflected is None or self._steered:
            return None  # it judged what has changed meanwhile
        if reflected.spent:
            return self._stopped("budget", reflected.spent)
        if reflected.complaint is not None:
            memory = self._corrected or self.memory
            self._corrected = complained(memory, reflected.said, reflected.complaint)
            return None
        self._corrected = None
        skill, said = self._start.task.skill, reflected.said
        last = last or reflected.last
        if reflected.plainly and not last and loop.is_sent_back(skill, self.progress):
            self.progress = self.progress.sending_back(said.text)
            self._corrected = complained(self.memory, said, NOT_ACCEPTED)
            return None
        if reflected.text is not None or reflected.verdict is None:
            return AgentEnded(reflected.text or "", "answered")
        return self._heeded(reflected.verdict, reflected)

    def _heeded(self, verdict: plans.Verdict, reflected: Reflected) -> AgentEnded | None:
        plan = self.memory.plan or plans.Plan()
        match verdict:
            case plans.Accept():
                self._go_on_with(plan.concluded())
                return AgentEnded(verdict.result, "answered")
            case plans.Ask():
                self.memory = self.memory.saying(reflected.said)
                return AgentEnded(verdict.text, "asked")
            case plans.RetryStep():
                self._go_on_with(plan.retrying(verdict))
            case plans.Replan():
                self._go_on_with(plan.replanning(verdict))
        return None

    def _question(self, kind: type[Question], *, last: bool) -> Question:
        question = super()._question(kind, last=last)
        return question.changed(memory=self._corrected or self.memory)

    def _stopped(self, why: loop.Stop, said: str = "") -> AgentEnded:
        plan, locale, draft = self.memory.plan, self._start.locale, self.progress.draft
        said = said or loop.STOPPED[why].within(locale)
        if plan is not None and not draft:
            return AgentEnded(plans.reached(said, plan, locale), why)
        return AgentEnded(loop.stopped(said, self.found, locale, draft), why)
