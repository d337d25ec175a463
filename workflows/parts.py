"""Parts of an agent's work that are worked on side by side, each by a sub-agent of its own.

They are the steps of a plan, or what a sub-agent has others find out. Each has its share of what
the whole run has left; what it doesn't use comes back, and what it has read counts for the whole.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

from router.contracts import activities
from router.contracts.skill_run import Ending, SkillStart
from router.domain.messages import SpokenLine
from router.routing.skill_memory import AgentMemory
from router.skill import loop
from router.skill import plan as plans
from router.skill.plan import StepBrief
from workflows.activity import perform
from workflows.agent import Others, SkillAgent
from workflows.background import start_awaited_task
from workflows.tool_calls import bounded

INTERRUPTED = "not finished, since the employee said something meanwhile"
_FATES: dict[Ending, plans.Fate] = {"answered": "done", "asked": "missing"}
"""Of the ways to end; any other has stopped it."""

AgentFactory = Callable[[SkillStart, datetime, Callable[[], Others]], SkillAgent]


@dataclass(frozen=True)
class AgentPart:
    """What is to be found out, the `number`th of so many, with what was `said` besides."""

    brief: StepBrief
    number: int
    of: int
    said: Sequence[SpokenLine] = ()


@dataclass(frozen=True)
class PartExecution:
    """One part that is under way, or was."""

    part: StepBrief
    agent: SkillAgent
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


class PartExecutor:
    """Has parts of a `whole` worked on, to their next boundary once that is told something.

    What the whole has paid for before them is no longer there for them to spend.
    """

    def __init__(
        self, whole: SkillAgent, start: SkillStart, ends: datetime, agent_of: AgentFactory
    ) -> None:
        self._whole = whole
        self._start = start
        self._ends = ends
        self._agent_of = agent_of
        self._runs: dict[str, PartExecution] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def steps(self) -> frozenset[str]:
        """The ids of the parts that are under way, or not taken in yet."""
        return frozenset(self._runs)

    @property
    def promised(self) -> loop.Share:
        """What they may spend all together."""
        return sum((run.share for run in self._runs.values()), loop.Share())

    def begin(self, part: AgentPart, share: loop.Share) -> PartExecution:
        """Have the part worked on, with its share of what the whole run has left."""
        brief, progress = part.brief, self._whole.progress
        start = self._start_of(part, share)
        ends = self._ends - timedelta(seconds=progress.kept_seconds)
        agent = self._agent_of(start, ends, lambda: self._beside(brief.id))
        task = start_awaited_task(f"part {brief.id}", self._told, agent, part)
        run = PartExecution(brief, agent, share, progress.steps, task)
        self._runs[brief.id] = run
        return run

    async def next(self) -> list[PartExecution]:
        """Wait until some have ended: those, in the order in which they began."""
        tasks = [run.task for run in self._runs.values()]
        await workflow.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [self._runs.pop(run.part.id) for run in [*self._runs.values()] if run.task.done()]

    async def stop(self) -> list[PartExecution]:
        """Stop those that are under way: they have what they have by then."""
        stopped, self._runs = [*self._runs.values()], {}
        for run in stopped:
            run.task.cancel()
        await asyncio.gather(*(run.task for run in stopped), return_exceptions=True)
        return stopped

    def take_in(self, runs: Iterable[PartExecution]) -> None:
        """Have the whole know what these have called, spent and read."""
        whole = self._whole
        for run in runs:
            done = run.agent.progress
            whole.calls = bounded([*whole.calls, *run.agent.calls])
            whole.keep_results(run.agent.results)
            spent = whole.progress.beside(done.steps - run.began, done.usage)
            whole.progress = spent.timed(done.pace)
            whole.memory = whole.memory.being_exposed(run.agent.memory.exposed)

    def _beside(self, part: str) -> Others:
        """What is under way beside this one, and what that and those before have spent."""
        under_way = [run.part.id for run in self._runs.values() if not run.task.done()]
        others = (run.agent for run in self._runs.values() if run.part.id != part)
        spent = sum((agent.progress.usage for agent in others), self._whole.progress.usage)
        return Others(len(under_way) - 1, under_way.index(part), spent)

    def _start_of(self, part: AgentPart, share: loop.Share) -> SkillStart:
        """What the part's sub-agent begins with; steps count on: no two tries have the same."""
        task, progress = self._start.task, self._whole.progress
        turns = progress.steps + share.turns
        # What a part comes to is looked at by the whole.
        skill = task.skill.replace(max_turns=turns, token_budget=share.tokens, reflect=False)
        return self._start.replace(
            task=task.replace(skill=skill, part=part.brief, history=[*part.said]),
            progress=loop.LoopProgress(steps=progress.steps, pace=progress.pace),
            memory=AgentMemory(exposed=self._whole.memory.exposed),
            calls=[],
            results=[],
            heard=[],
        )

    async def _told(self, agent: SkillAgent, part: AgentPart) -> plans.StepResult:
        """What the part comes to, told to whoever watches when it begins and when it has ended."""
        brief = part.brief
        begins = activities.NoteStep(
            account=self._start.account,
            attempt=f"{workflow.info().workflow_id[-4:]}.{brief.id}.{agent.progress.steps}",
            skill=self._start.task.skill.name,
            id=brief.id,
            title=loop.one_line(brief.task),
            number=part.number,
            steps=part.of,
        )
        await perform(activities.NOTE_STEP, begins, summary=f"{brief.id} begins")
        result = await self._worked(agent)
        ended = begins.replace(fate=result.fate)
        await perform(activities.NOTE_STEP, ended, summary=f"{brief.id}: {result.fate}")
        return result

    async def _worked(self, agent: SkillAgent) -> plans.StepResult:
        while (ended := await agent.step()) is None:
            if self._whole.is_steered:
                return plans.StepResult(fate="stopped", text="\n".join([INTERRUPTED, *agent.found]))
        return plans.StepResult(fate=_FATES.get(ended.ending, "stopped"), text=ended.text)
