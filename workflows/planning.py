"""A skill that works by a plan: it plans, has the steps worked on, and reflects on the results.

All that it knows is in its memory between any two of these, so that a run can be stopped there,
or go on in a new one, and no finished step is done again.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts import activities
from router.contracts.activity import ActivityStub
from router.contracts.skill import SkillStart, Steer
from router.deciding.memory import Memory
from router.deciding.plan_reading import Planned, Reflected
from router.deciding.planning import complained
from router.domain.messages import ToolCallView, Usage
from router.skill.loop import LAST_SECONDS, STOPPED, Stop, stopped, why_last, why_stop
from router.skill.plan import Accept, Ask, Plan, Replan, Retry, Verdict
from router.skill.reached import reached
from router.skill.sharing import Share, left, share, why_no_room
from workflows.activity import perform
from workflows.plan_steps import StepRun, StepRuns
from workflows.sub_agent import Ended
from workflows.tool_calls import bounded, worded

AT_ONCE = 3
"""Steps that are under way at the same time."""
SPOKE = "The employee has answered, or said something new."

Question = TypeVar("Question", activities.Draw, activities.Reflect)
Answer = TypeVar("Answer", Planned, Reflected)


class PlanAgent:
    """The work of one run by a plan, with the same interface as `SubAgent`.

    Where no plan could be made, `unplanned` says why: then the run is to go on without one, with
    what is in `memory`.
    """

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        self.memory = start.memory
        self.progress = start.progress
        self.calls: list[ToolCallView] = list(start.calls)
        self.heard: list[str] = list(start.heard)
        self.unplanned = ""
        self._start = start
        self._ends = ends
        self._steered: list[Steer] = []
        self._corrected: Memory | None = None
        self._runs = StepRuns(start, ends, lambda: self.is_steered)
        if start.ends is None and start.memory.plan is not None:
            self._go_on_with(start.memory.plan.resuming(SPOKE))

    def steer(self, said: Steer) -> None:
        """Have it heed this once the steps that are under way reach a boundary."""
        self._steered.append(said)

    @property
    def is_steered(self) -> bool:
        """True where something was said that it hasn't heard yet."""
        return bool(self._steered)

    async def step(self) -> Ended | None:
        """A plan, the work on its steps, or a reflection; None where something is to follow."""
        self._hear()
        plan = self.memory.plan
        stop = why_stop(self._start.task.skill, self.progress, self._seconds_left)
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

    @property
    def _seconds_left(self) -> float:
        return (self._ends - workflow.now()).total_seconds()

    def _why_last(self, *, to_do: bool) -> Stop | None:
        """Why nothing but an answer can follow.

        A step needs time and turns of its own, and a question for a plan or a verdict takes a
        turn before any step can begin.
        """
        skill, progress, plan = self._start.task.skill, self.progress, self.memory.plan
        judging = plan is not None and not plan.revising and not to_do
        seconds = self._seconds_left - (0 if judging else LAST_SECONDS)
        question = Share(turns=0 if to_do else 1)
        return why_last(skill, progress, seconds) or why_no_room(left(skill, progress, question))

    def _hear(self) -> None:
        """Take up what was said meanwhile; steps that weren't begun are skipped."""
        if not self._steered:
            return
        for said in self._steered:
            self.memory = self.memory.hearing(f"The employee says meanwhile: {said.text}")
            self.heard.append(said.message_id)
        self._steered, self._corrected = [], None
        if self.memory.plan is not None:
            self._go_on_with(self.memory.plan.hearing())

    def _go_on_with(self, plan: Plan | None) -> None:
        self.memory = self.memory.model_copy(update={"plan": plan})

    async def _draw(self) -> Ended | None:
        """Have a plan made; one that won't do is returned once."""
        planned = await self._asked(activities.PLAN, self._question(activities.Draw))
        if planned is None or self._steered:
            return None
        if planned.spent:
            return self._stopped("budget", planned.spent)
        if planned.complaint is not None:
            if self._corrected is not None:
                self._go_without(planned.complaint)
            else:
                self._corrected = complained(self.memory, planned.said, planned.complaint)
            return None
        self._corrected = None
        if planned.hands_back:
            self.memory = self.memory.saying(planned.said)
            return Ended("", "handed_back")
        if planned.text is not None:
            return Ended(planned.text, "answered")
        self._go_on_with((self.memory.plan or Plan()).revised(planned.steps))
        return None

    def _go_without(self, why: str) -> None:
        """Leave the rest to a run without a plan, which is told what is known."""
        self.unplanned = why
        plan = self.memory.plan or Plan()
        self._go_on_with(None)
        if found := [f"- {s.task}: {plan.done[s.id]}" for s in plan.steps if s.id in plan.done]:
            self.memory = self.memory.hearing("\n".join(["Found out before:", *found]))
        self.progress = self.progress.model_copy(update={"errors": 0})

    async def _work(self, plan: Plan) -> None:
        """Have steps worked on until no further one can begin, and those have ended."""
        try:
            while self._begun(plan):
                plan = self._taken_in(plan, await self._runs.next())
        finally:
            self._taken_in(plan, await self._runs.stop())

    def _begun(self, plan: Plan) -> bool:
        """True where steps are under way, after those were begun that can be."""
        for step in plan.ready(self._runs.steps):
            if len(self._runs) == AT_ONCE or self._steered or self._is_long:
                break
            room = left(self._start.task.skill, self.progress, self._runs.promised)
            mine = share(room, plan.open - len(self._runs))
            if mine is None:
                break
            self._runs.begin(plan.part(step), mine, self.progress)
        return len(self._runs) > 0

    @property
    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()

    def _taken_in(self, plan: Plan, runs: Sequence[StepRun]) -> Plan:
        """The plan with what these steps came to; one that was stopped only cost something."""
        for run in runs:
            self.calls = bounded([*self.calls, *run.calls])
            self.progress = self.progress.beside(run.turns, run.usage)
        for run in runs:
            if (result := run.result) is not None:
                plan = plan.having(run.part.id, result)
        self._go_on_with(plan)
        return plan

    async def _reflect(self, *, last: bool) -> Ended | None:
        """Have the results judged; an answer of no use is returned with why."""
        question = self._question(activities.Reflect).model_copy(update={"last": last})
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
        if reflected.text is not None or reflected.verdict is None:
            return Ended(reflected.text or "", "answered")
        return self._heeded(reflected.verdict, reflected)

    def _heeded(self, verdict: Verdict, reflected: Reflected) -> Ended | None:
        plan = self.memory.plan or Plan()
        match verdict:
            case Accept():
                return Ended(verdict.result, "answered")
            case Ask():
                self.memory = self.memory.saying(reflected.said)
                return Ended(verdict.text, "asked")
            case Retry():
                self._go_on_with(plan.retrying(verdict))
            case Replan():
                self._go_on_with(plan.replanning(verdict))
        return None

    def _question(self, kind: type[Question]) -> Question:
        return kind(
            task=self._start.task,
            memory=self._corrected or self.memory,
            step=self.progress.steps + 1,
            locale=self._start.locale,
            account=self._start.account_after(self.progress, self._seconds_left),
        )

    async def _asked(
        self, stub: ActivityStub[Question, Answer], question: Question
    ) -> Answer | None:
        """The answer; None where no model could be had for it."""
        number = self.progress.steps + 1
        try:
            answer = await perform(stub, question, summary=f"step {number}: {stub.name}")
        except ActivityError as failure:
            if is_cancelled_exception(failure):
                raise
            workflow.logger.warning("%s at step %s failed: %s", stub.name, number, failure.cause)
            self.progress = self.progress.after(Usage(), fruitless=True)
            return None
        fruitless = answer.complaint is not None
        self.progress = self.progress.after(answer.usage, fruitless=fruitless)
        return answer

    def _stopped(self, why: Stop, said: str = "") -> Ended:
        plan, locale = self.memory.plan, self._start.locale
        said = said or STOPPED[why].within(locale)
        if plan is not None:
            return Ended(reached(said, plan, locale), why)
        return Ended(stopped(said, worded(self.calls, self._start.tools, locale), locale), why)
