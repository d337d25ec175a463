"""A skill that works by a plan: it plans, has the steps worked on, and reflects on the results.

A small sub-agent has charge of each step, side by side with others. All that the run knows is in
its memory between any two of these, so that it can be stopped there, or go on in a new one, and
no finished step is done again.
"""

from collections.abc import Sequence
from datetime import datetime

from temporalio import workflow

from router.contracts import activities
from router.contracts.skill_run import SkillStart
from router.routing.planner import NOT_ACCEPTED, Planned, Reflected, complained
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import FOUND_BEFORE
from router.skill import loop
from router.skill import plan as plans
from workflows.agent import AgentEnded, Question, SkillAgent
from workflows.parts import AgentPart, PartExecution, PartExecutor
from workflows.sub_agent import SubAgent

AT_ONCE = 3
"""Steps that are under way at the same time."""
SPOKE = "The employee has answered, or said something new."


class PlanAgent(SkillAgent):
    """The work of one run by a plan; where none could be made, `unplanned` says why."""

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        super().__init__(start, ends)
        self.unplanned = ""
        self._corrected: AgentMemory | None = None
        self._runs = PartExecutor(self, start, ends, SubAgent)
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
        self.memory = self.memory.replace(plan=plan)

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
            self.memory = self.memory.hearing("\n".join([FOUND_BEFORE, *found]), author="router")
        self.progress = self.progress.replace(errors=0)

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
            number = plan.steps.index(step) + 1
            self._runs.begin(AgentPart(plan.part(step), number, len(plan.steps)), mine)
        return len(self._runs) > 0

    def _taken_in(self, plan: plans.Plan, runs: Sequence[PartExecution]) -> plans.Plan:
        """The plan with what these steps came to; one that was stopped only cost something."""
        self._runs.take_in(runs)
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

    def _heeded(self, verdict: plans.PlanVerdict, reflected: Reflected) -> AgentEnded | None:
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
        return question.replace(memory=self._corrected or self.memory)

    def _stopped(self, why: loop.Stop, said: str = "") -> AgentEnded:
        plan, locale, draft = self.memory.plan, self._start.locale, self.progress.draft
        said = said or loop.STOPPED[why].within(locale)
        if plan is not None and not draft:
            return AgentEnded(plans.reached(said, plan, locale), why)
        return AgentEnded(loop.stopped(said, self.found, locale, draft), why)
