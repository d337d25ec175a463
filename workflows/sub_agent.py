"""A model in a loop with tools: it thinks, calls, and thinks again, until it has an answer.

Every model call and every tool call is an activity of its own, so that a crash goes on from the
last that finished, and none is paid for twice.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts import activities
from router.contracts.activities import ToolFinding
from router.contracts.flow import CallLimits
from router.contracts.skill_run import Ending, SkillStart, Steer
from router.domain.commands import StartFlow
from router.domain.messages import ToolCallView, Usage
from router.flow.prompts.values import readable
from router.llm.types import FunctionCall
from router.routing import skill_context, skill_memory
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import Thought
from router.skill.loop import MOST_REPEATS, STOPPED, Stop, stopped, why_last, why_stop
from workflows.activity import ends_turn, perform
from workflows.tool_calls import Caller, bounded, call_tool, shown, told, worded


async def fit(
    start: SkillStart, memory: AgentMemory, account: activities.Account, step: int
) -> tuple[AgentMemory, Usage]:
    """The memory as this and later steps are sent it, and what making it fit has cost."""
    ephemeral = {name: limits.ephemeral for name, limits in start.tools.items()}
    fitted = skill_context.fitted(memory, ephemeral, start.context)
    if not fitted.gone:
        return fitted.memory, Usage()
    given = activities.Condense(
        skill=start.task.skill.name,
        step=step,
        earlier=memory.earlier,
        gone=list(fitted.gone),
        locale=start.locale,
        account=account,
    )
    try:
        told = await perform(activities.CONDENSE, given, summary=f"{len(given.gone)} messages")
    except ActivityError as failure:
        if is_cancelled_exception(failure):
            raise
        workflow.logger.warning("nothing was condensed: %s", failure.cause)
        told = activities.Condensed(text=skill_memory.plain(given.earlier, given.gone))
    return fitted.memory.recalling(told.text), told.usage


AT_ONCE = 4
"""Calls of one answer that are under way at the same time."""
SKIPPED = "skipped: the employee said something meanwhile"
CUT_OFF = "stopped by the employee before it ended"


@dataclass(frozen=True)
class AgentEnded:
    """How the loop came to its end, and what to tell the employee."""

    text: str
    ending: Ending
    flow: StartFlow | None = None


class SkillAgent(ABC):
    """The work of one run of a skill, a step at a time; `heard` are ids of what steered it."""

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        self.memory = start.memory
        self.progress = start.progress
        self.calls: list[ToolCallView] = list(start.calls)
        self.heard: list[str] = list(start.heard)
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
        return worded(self.calls, self._start.tools, self._start.locale)

    @property
    def _seconds_left(self) -> float:
        return (self._ends - workflow.now()).total_seconds()

    def _hear(self) -> bool:
        said, self._steered = self._steered, []
        for one in said:
            self.memory = self.memory.hearing(f"The employee says meanwhile: {one.text}")
            self.heard.append(one.message_id)
        return bool(said)


class SubAgent(SkillAgent):
    """A model in a loop with tools."""

    def __init__(self, start: SkillStart, ends: datetime) -> None:
        super().__init__(start, ends)
        self._place = f"{start.task.part.id}." if start.task.part else ""

    async def step(self) -> AgentEnded | None:
        """One thought, and the calls that it asks for; None where others are to follow."""
        self._hear()
        skill = self._start.task.skill
        stop = why_stop(skill, self.progress, self._seconds_left)
        if stop is None:
            stop = why_last(skill, self.progress, self._seconds_left)
            thought = await self._think(last=stop is not None)
            ended = await self._heeded(thought) if thought is not None else None
            if thought is not None and thought.last:
                stop = stop or "budget"
            if ended is not None or stop is None:
                return ended
        return self._stopped(stop)

    def _stopped(self, why: Stop, said: str = "") -> AgentEnded:
        locale = self._start.locale
        return AgentEnded(stopped(said or STOPPED[why].within(locale), self.found, locale), why)

    async def _think(self, *, last: bool) -> Thought | None:
        start, step = self._start, self.progress.steps + 1
        self.memory, paid = await fit(start, self.memory, self._account, step)
        self.progress = self.progress.with_cost(paid)
        think = activities.Think(
            task=start.task,
            memory=self.memory,
            locale=start.locale,
            account=self._account,
            last=last,
            step=step,
        )
        try:
            thought = await perform(activities.THINK, think, summary=f"{self._place}step {step}")
        except ActivityError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.warning("step %s failed: %s", step, failure.cause)
            if getattr(failure.cause, "type", None) == activities.TOO_LONG:
                self.memory = skill_context.refused(self.memory)
            self.progress = self.progress.after(Usage(), fruitless=True)
            return None
        fruitless = None if thought.said.calls else thought.complaint is not None
        self.progress = self.progress.after(thought.usage, fruitless=fruitless)
        if thought.measure is not None:
            self.memory = self.memory.measured(thought.measure)
        return thought

    @property
    def _account(self) -> activities.Account:
        return self._start.account_after(self.progress, self._seconds_left)

    async def _heeded(self, thought: Thought) -> AgentEnded | None:
        self.memory = self.memory.noting(thought.notes)
        if thought.spent:
            return self._stopped("budget", thought.spent)
        if thought.complaint is not None:
            self.memory = self.memory.hearing(thought.complaint)
            return None
        if thought.text is None and thought.flow is None and not thought.hands_back:
            return await self._act(thought)
        self.memory = self.memory.saying(thought.said, *thought.refused)
        if self._steered:
            return None  # it answered what has changed meanwhile
        return self._ended(thought)

    def _ended(self, thought: Thought) -> AgentEnded:
        if thought.hands_back:
            return AgentEnded("", "handed_back")
        if thought.flow is not None:
            return AgentEnded("", "left", thought.flow)
        text = thought.text or ""
        if not thought.asks:
            return AgentEnded(text, "answered")
        self.memory = self.memory.asking(text)
        if self.memory.times_asked >= MOST_REPEATS:
            return self._stopped("repetition")
        return AgentEnded(text, "asked")

    async def _act(self, thought: Thought) -> AgentEnded | None:
        """Make the calls, and put what they came to into the dialogue in their order.

        A run that is stopped meanwhile still has a result for every call.
        """
        slots = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(self._called(call, slots)) for call in thought.calls]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            longest = skill_context.longest_result(self.memory, len(tasks), self._start.context)
            results = [
                skill_context.result(call, self._taken_in(call, task), longest)
                for call, task in zip(thought.calls, tasks, strict=True)
            ]
            exposed = any(self._is_outward(call) for call in thought.calls)
            self.memory = self.memory.saying(thought.said, *thought.refused, *results)
            self.memory = self.memory.being_exposed(exposed)
            if thought.aside:
                self.memory = self.memory.hearing(thought.aside)
            self._note_refused(thought)
            self.calls = bounded(self.calls)
        came_to_something = bool(thought.notes) or any(f and f.error is None for f in found)
        self.progress = self.progress.judged(fruitless=not came_to_something)
        asked = [json.dumps([c.name, c.arguments], sort_keys=True) for c in thought.said.calls]
        came = [result.text for result in (*thought.refused, *results)]
        digest = sha256("\n".join([*asked, *came]).encode()).hexdigest()[:12]
        self.progress = self.progress.having_done(digest)
        return next(filter(None, map(self._direct, found)), None)

    async def _called(self, call: FunctionCall, slots: asyncio.Semaphore) -> ToolFinding | None:
        async with slots:
            if self._steered:
                return None
            start, by = self._start, self._start.account
            spent, files = by.spent + self.progress.usage, start.task.skill.files
            whose = (by.caller, by.conversation, by.message_id)
            caller = Caller(*whose, start.tools, spent, start.locale, files)
            return await call_tool(caller, self._id_of(call), call.name, call.arguments)

    def _is_outward(self, call: FunctionCall) -> bool:
        return self._start.tools.get(call.name, CallLimits()).outward

    def _note_refused(self, thought: Thought) -> None:
        refused = {r.call_id: r.text for r in thought.refused if r.text.startswith("error: ")}
        for call in thought.said.calls:
            if call.id in refused:
                about = (self._id_of(call), call.name, call.arguments)
                self.calls.append(ToolCallView.failed(*about, refused[call.id], unknown=False))

    def _taken_in(self, call: FunctionCall, task: "asyncio.Task[ToolFinding | None]") -> str:
        """What a call came to, as the model is told; it is noted for the turn to show."""
        id_, arguments = self._id_of(call), call.arguments
        ended = task.done() and not task.cancelled() and task.exception() is None
        found = task.result() if ended else None
        if found is None:
            self.calls.append(ToolCallView.skipped(id_, call.name, arguments))
            return SKIPPED if ended else CUT_OFF
        self.calls.append(shown(id_, call.name, arguments, found))
        self.progress = self.progress.with_cost(found.usage)
        return told(found)

    def _id_of(self, call: FunctionCall) -> str:
        """A turn may see several runs, and a model's ids are unique within one answer alone."""
        run = workflow.info().workflow_id[-4:]
        return f"{run}.{self._place}{self.progress.steps}.{call.id}"

    def _direct(self, found: ToolFinding | None) -> AgentEnded | None:
        """The end, where the tool's result is the answer as it is."""
        limits = self._start.tools.get(found.tool) if found and found.error is None else None
        if found is None or limits is None or not limits.return_direct:
            return None
        return AgentEnded(readable(found.result, self._start.locale), "answered")
