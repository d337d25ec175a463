"""What every agent of a skill has: a memory, how far it is, and somebody to ask a question.

Every model call and every tool call is an activity of its own, so that a crash goes on from the
last that finished, and none is paid for twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

from router.contracts import activities
from router.contracts.flow import CallLimits
from router.contracts.payload import ActivityStub
from router.contracts.skill_run import Ending, SkillStart, Steer
from router.contracts.tool_rounds import ToolFinding
from router.domain.commands import StartFlow
from router.domain.locale import Localised
from router.domain.messages import ConfirmReply, ToolCallView, Usage
from router.routing.planner import Planned, Reflected
from router.routing.skill_step import CREATE_SUBAGENT
from router.skill.loop import LoopProgress
from workflows.activity import ends_turn, perform
from workflows.tool_calls import bounded_results, worded


@dataclass(frozen=True)
class Others:
    """What is worked on `beside` an agent, what that has `spent`, and how many began `before`."""

    beside: int = 0
    before: int = 0
    spent: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class AgentEnded:
    """How the loop came to its end, and what to tell the employee."""

    text: str
    ending: Ending
    flow: StartFlow | None = None
    card: ConfirmReply | None = None


_SUBAGENT = CallLimits(title=Localised(zh="分头查找", en="Looked into"))
"""How people are told of what a sub-agent found."""

Question = TypeVar("Question", activities.Draw, activities.Reflect)
Answer = TypeVar("Answer", Planned, Reflected)


class SkillAgent(ABC):
    """The work of one run of a skill, a step at a time; `heard` are ids of what steered it."""

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        self.memory = start.memory
        self.progress = start.progress
        self.calls: list[ToolCallView] = list(start.calls)
        self.results: list[ToolFinding] = list(start.results)
        self.heard: list[str] = list(start.heard)
        self.inner = start.inner
        self._start = start
        self._ends = ends
        self._steered: list[Steer] = []

    @abstractmethod
    async def step(self) -> AgentEnded | None:
        """Do the next thing; None where others are to follow."""

    def steer(self, said: Steer) -> None:
        """Have it heed this from the next boundary on: what isn't begun by then is skipped."""
        self._steered.append(said)

    @property
    def is_steered(self) -> bool:
        """True where something was said that it hasn't heard yet."""
        return bool(self._steered)

    @property
    def found(self) -> list[str]:
        """What its calls came to so far, a line each, for people."""
        tools = {CREATE_SUBAGENT: _SUBAGENT, **self._start.tools}
        return worded(self.results, tools, self._start.locale)

    def keep_results(self, found: Iterable[ToolFinding]) -> None:
        """Keep what calls found: whole if the turn needs it, else as people are shown it."""
        whole = self._start.keeps_results
        self.results = bounded_results([*self.results, *found], whole=whole)

    @property
    def _seconds_left(self) -> float:
        return (self._ends - workflow.now()).total_seconds()

    @property
    def _tokens_left(self) -> int:
        return self._start.task.skill.token_budget - self.progress.usage.tokens

    def _account(self, *, last: bool) -> activities.Account:
        """On whose account a model is asked: only the `last` time with all that is left of it."""
        kept = 0.0 if last else self.progress.kept_seconds
        return self._start.account_after(self.progress, self._seconds_left - kept)

    def _question(self, kind: type[Question], *, last: bool) -> Question:
        return kind(
            task=self._start.task,
            memory=self.memory,
            step=self.progress.steps + 1,
            locale=self._start.locale,
            account=self._account(last=last),
            tokens=self._tokens_left,
            last=last,
        )

    async def _asked(
        self, stub: ActivityStub[Question, Answer], question: Question
    ) -> Answer | None:
        number, began = self.progress.steps + 1, workflow.now()
        try:
            answer = await perform(stub, question, summary=f"step {number}: {stub.name}")
        except ActivityError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.warning("%s at step %s failed: %s", stub.name, number, failure.cause)
            self.progress = after_failure(self.progress, failure)
            return None
        finally:
            took = (workflow.now() - began).total_seconds()
            self.progress = self.progress.timed(took)
        fruitless = answer.complaint is not None
        self.progress = self.progress.after(answer.usage, fruitless=fruitless)
        return answer

    def _hear(self) -> bool:
        said, self._steered = self._steered, []
        self.progress = self.progress.hearing() if said else self.progress
        for one in said:
            self.memory = self.memory.hearing(f"The employee says meanwhile: {one.text}")
            self.heard.append(one.message_id)
        return bool(said)


def after_failure(progress: LoopProgress, failure: ActivityError) -> LoopProgress:
    """The progress after one more step, which failed for good."""
    if getattr(failure.cause, "type", None) == activities.NO_MODEL:
        return progress.unanswered()
    return progress.after(Usage(), fruitless=True)
