"""The steps of a plan that are under way: a small sub-agent each, side by side."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

from router.contracts.skill import Ending, SkillStart
from router.deciding.memory import Memory
from router.domain.messages import ToolCallView, Usage
from router.skill.loop import LAST_SECONDS, Progress
from router.skill.plan import Fate, Part, Result
from router.skill.sharing import Share
from workflows.sub_agent import SubAgent

INTERRUPTED = "not finished, since the employee said something meanwhile"
_FATES: dict[Ending, Fate] = {"answered": "done", "asked": "missing"}
"""Of the ways to end; any other has stopped it."""


@dataclass(frozen=True)
class StepRun:
    """One step that is under way, or was."""

    part: Part
    agent: SubAgent
    share: Share
    began: int
    task: "asyncio.Task[Result]"

    @property
    def calls(self) -> list[ToolCallView]:
        """The calls it has made so far."""
        return self.agent.calls

    @property
    def turns(self) -> int:
        """The model calls it has taken so far."""
        return self.agent.progress.steps - self.began

    @property
    def usage(self) -> Usage:
        """What they cost."""
        return self.agent.progress.usage

    @property
    def result(self) -> Result | None:
        """What it came to; None where it was stopped before. Raises what made it fail."""
        if self.task.cancelled():
            return None
        error = self.task.exception()
        return None if error and is_cancelled_exception(error) else self.task.result()


class StepRuns:
    """Those of one run of a skill; `interrupted` says that they are to end at their next boundary.

    They leave the reflection its few seconds.
    """

    def __init__(self, start: SkillStart, ends: datetime, interrupted: Callable[[], bool]) -> None:
        self._start = start
        self._ends = ends - timedelta(seconds=LAST_SECONDS)
        self._interrupted = interrupted
        self._runs: dict[str, StepRun] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def steps(self) -> frozenset[str]:
        """The ids of their steps."""
        return frozenset(self._runs)

    @property
    def promised(self) -> Share:
        """What they may spend all together."""
        return sum((run.share for run in self._runs.values()), Share())

    def begin(self, part: Part, share: Share, progress: Progress) -> None:
        """Have the step worked on, with its share of what the whole run has left."""
        spent = sum((run.usage for run in self._runs.values()), progress.usage)
        agent = SubAgent(self._start_of(part, share, progress.steps, spent), self._ends)
        task = asyncio.create_task(self._worked(agent))
        self._runs[part.id] = StepRun(part, agent, share, progress.steps, task)

    async def next(self) -> list[StepRun]:
        """Wait until some have ended: those, in the order in which they began."""
        tasks = [run.task for run in self._runs.values()]
        await workflow.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [self._runs.pop(run.part.id) for run in [*self._runs.values()] if run.task.done()]

    async def stop(self) -> list[StepRun]:
        """Stop those that are under way: they have what they have by then."""
        stopped, self._runs = [*self._runs.values()], {}
        for run in stopped:
            run.task.cancel()
        await asyncio.gather(*(run.task for run in stopped), return_exceptions=True)
        return stopped

    def _start_of(self, part: Part, share: Share, began: int, spent: Usage) -> SkillStart:
        """What the step's sub-agent begins with: nothing that the others know or have said.

        Its count of steps goes on from the run's, so that no two tries have the same.
        """
        task, account = self._start.task, self._start.account
        skill = task.skill.model_copy(
            update={"max_turns": began + share.turns, "token_budget": share.tokens}
        )
        return self._start.model_copy(
            update={
                "task": task.model_copy(update={"skill": skill, "part": part, "history": []}),
                "account": account.model_copy(update={"spent": account.spent + spent}),
                "memory": Memory(),
                "progress": Progress(steps=began),
                "calls": [],
                "heard": [],
            }
        )

    async def _worked(self, agent: SubAgent) -> Result:
        while (ended := await agent.step()) is None:
            if self._interrupted():
                return Result(fate="stopped", text="\n".join([INTERRUPTED, *agent.found]))
        return Result(fate=_FATES.get(ended.ending, "stopped"), text=ended.text)
