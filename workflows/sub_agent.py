"""A model in a loop with tools: it thinks, calls, and thinks again, until it has an answer."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from hashlib import sha256

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from router.contracts import activities
from router.contracts.conversation_state import OpenSkill
from router.contracts.flow import CallLimits
from router.contracts.skill_run import Ending, SkillStart, Steer
from router.contracts.tool_rounds import ToolFinding
from router.domain.messages import SpokenLine, ToolCallView, Usage
from router.flow.prompts.values import readable
from router.llm.types import FunctionCall, ToolMessage
from router.routing import skill_context, skill_memory
from router.routing.prompts import material
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import (
    CREATE_SUBAGENT,
    NOT_DONE,
    HandedPart,
    Thought,
    answers,
)
from router.skill.loop import (
    MOST_REPEATS,
    STOPPED,
    Share,
    Stop,
    handed,
    is_reflected_on,
    is_sent_back,
    shares,
    stopped,
    why_last,
    why_stop,
)
from router.skill.plan import Accept, GoOn, StepBrief
from workflows.activity import ends_turn, fresh_id, perform
from workflows.agent import AgentEnded, Others, SkillAgent, after_failure
from workflows.background import start_awaited_task
from workflows.delegation import BROKE_OFF, NO_ROOM, part_of, steered
from workflows.delegation import told as told_of
from workflows.parts import AgentPart, PartExecutor
from workflows.tool_calls import Caller, bounded, call_tool, completed, shown, told, waiting


async def fit(
    start: SkillStart, memory: AgentMemory, account: activities.Account, step: int, *, last: bool
) -> tuple[AgentMemory, Usage]:
    """The memory as this and later steps are sent it, and what making it fit has cost.

    A model tells in short what is gone from it, unless the `last` step needs what that costs.
    """
    ephemeral = {name: limits.ephemeral for name, limits in start.tools.items()}
    fitted = skill_context.fitted(memory, ephemeral, start.context)
    if not fitted.gone:
        return fitted.memory, Usage()
    if last:
        plain = skill_memory.plain(memory.earlier, fitted.gone)
        return fitted.memory.recalling(plain), Usage()
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


WAITING: frozenset[Ending] = frozenset({"asked", "awaits", "left", "handed_back", "cancelled"})
"""How one may end that isn't done with what it was handed."""
AT_ONCE = 4
"""Calls of one answer that are under way at the same time."""
SKIPPED = "skipped: the employee said something meanwhile"
MISSES = "Your answer isn't given yet. Looked at once more, it misses this: {missing}"
NOT_ASKED = "not asked: it is the same question for the third time"
CUT_OFF = "stopped by the employee after it had begun: what came of it isn't known"
NEVER_BEGUN = "never begun: stopped by the employee before"
NO_SUBAGENT = "there is too little left for another sub-agent, or there were enough: go on yourself"
LACKING = "It can't tell, for want of this: {text}"


class SubAgent(SkillAgent):
    """A model in a loop with tools."""

    def __init__(
        self, start: SkillStart, ends: datetime, others: Callable[[], Others] | None = None
    ) -> None:
        super().__init__(start, ends)
        self._place = f"{start.task.part.id}." if start.task.part else ""
        self._others = others or Others
        self._parts = PartExecutor(self, start, ends, SubAgent)

    async def step(self) -> AgentEnded | None:
        """One thought, and the calls that it asks for; None where others are to follow.

        Where a part is handed to another skill, that works on it first.
        """
        if self.inner is not None:
            return await self._handed_over(self.inner)
        self._hear()
        skill = self._start.task.skill
        stop = why_stop(skill, self.progress, self._seconds_left)
        if stop is None:
            stop = why_last(skill, self.progress, self._seconds_left)
            thought = await self._think(last=stop is not None)
            stop = stop or (thought.last if thought else None)
            heeded = self._heeded(thought, last=stop is not None) if thought else None
            ended = await heeded if heeded else None
            if ended is not None or stop is None:
                return ended
        return self._stopped(stop)

    def _stopped(self, why: Stop, said: str = "") -> AgentEnded:
        locale = self._start.locale
        said = said or STOPPED[why].within(locale)
        return AgentEnded(stopped(said, self.found, locale, self.progress.draft), why)

    async def _think(self, *, last: bool) -> activities.SkillThought | None:
        start, step = self._start, self.progress.steps + 1
        account = self._account(last=last)
        self.memory, paid = await fit(start, self.memory, account, step, last=last)
        self.progress = self.progress.with_cost(paid)
        others, began = self._others(), workflow.now()
        think = activities.Think(
            task=start.task,
            memory=self.memory,
            locale=start.locale,
            account=self._account(last=last),
            tokens=self._tokens_left,
            last=last,
            step=step,
            beside=others.beside,
            before=others.before,
        )
        try:
            thought = await perform(activities.THINK, think, summary=f"{self._place}step {step}")
        except ActivityError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.warning("step %s failed: %s", step, failure.cause)
            if getattr(failure.cause, "type", None) == activities.TOO_LONG:
                self.memory = skill_context.refused(self.memory)
            self.progress = after_failure(self.progress, failure)
            return None
        finally:
            took = (workflow.now() - began).total_seconds()
            self.progress = self.progress.timed(took)
        fruitless = None if thought.said.calls else thought.complaint is not None
        self.progress = self.progress.after(thought.usage, fruitless=fruitless)
        if thought.measure is not None:
            self.memory = self.memory.measured(thought.measure)
        return thought

    def _account(self, *, last: bool) -> activities.Account:
        account = super()._account(last=last)
        return account.replace(spent=account.spent + self._others().spent)

    async def _heeded(self, thought: activities.SkillThought, *, last: bool) -> AgentEnded | None:
        self.memory = self.memory.noting(thought.notes)
        if thought.spent:
            return self._stopped("budget", thought.spent)
        if thought.complaint is not None:
            self.memory = self.memory.hearing(thought.complaint, author="router")
            return None
        if thought.is_step:
            return await self._act(thought)
        self.memory = self.memory.saying(thought.said, *thought.refused)
        if self._steered:
            return None  # it answered what has changed meanwhile
        return (
            await self._answered(thought, last=last)
            if thought.text and not thought.asks
            else self._ended(thought)
        )

    def _hands_over(self, part: HandedPart, tools: dict[str, CallLimits]) -> None:
        task = self._start.task
        chain = (*task.chain, task.skill.name)
        # The request stays what the employee wants, in their words: what a model makes of it, which
        # may have read anything, speaks for nobody.
        handed = task.replace(
            skill=part.skill, chain=chain, summary=part.request, history=self._said_before
        )
        memory = AgentMemory(exposed=self.memory.exposed)
        self.inner = OpenSkill(task=handed, memory=memory, tools=tools)

    @property
    def _said_before(self) -> list[SpokenLine]:
        """What was said in the conversation, and by the employee since."""
        heard = (SpokenLine(role="user", text=text) for text in answers(self.memory))
        return [*self._start.task.history, *heard]

    async def _handed_over(self, inner: OpenSkill) -> AgentEnded | None:
        """The end, where the other skill asks or leaves; None where its part is over."""
        room = handed(self._start.task.skill, self.progress)
        if room is None:
            self._taken_back(f"error: {NO_ROOM}")
            return None
        start = part_of(self._start, inner, room, self._account(last=False))
        try:
            outcome = await steered(start, self._all_said)
        except ChildWorkflowError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.warning("%s, handed a part, failed: %s", inner.name, failure.cause)
            self._taken_back(f"error: {BROKE_OFF}")
            return None
        self.calls = bounded([*self.calls, *outcome.calls])
        self.keep_results(outcome.results)
        self.heard += outcome.heard
        self.progress = self.progress.beside(outcome.progress.steps, outcome.usage)
        self.memory = self.memory.being_exposed(outcome.memory.exposed)
        if outcome.ending not in WAITING:
            self._taken_back(told_of(outcome))
            return None
        self.inner = inner.replace(memory=outcome.memory, inner=outcome.inner)
        return AgentEnded(outcome.text, outcome.ending, outcome.flow, outcome.card)

    def _taken_back(self, result: str) -> None:
        self.inner = None
        self.memory = self.memory.hearing(result, author="router")

    def _all_said(self) -> list[Steer]:
        said, self._steered = self._steered, []
        return said

    async def _answered(self, thought: Thought, *, last: bool) -> AgentEnded | None:
        """The end, where this is given as the answer."""
        skill, text = self._start.task.skill, thought.text or ""
        if last:
            return AgentEnded(text, "answered")
        if thought.plainly and is_sent_back(skill, self.progress):
            self.progress = self.progress.sending_back(text)
            self.memory = self.memory.hearing(NOT_DONE, author="router")
            return None
        if is_reflected_on(skill, self.progress, self._seconds_left):
            return await self._reflected_on(text)
        return AgentEnded(text, "answered")

    async def _reflected_on(self, draft: str) -> AgentEnded | None:
        """The end with this answer or a better one; None where it misses something."""
        question = self._question(activities.Reflect, last=False).replace(draft=draft)
        reflected = await self._asked(activities.REFLECT, question)
        verdict = reflected.verdict if reflected else None
        if self._steered:
            return None  # it was judged without what has changed meanwhile
        if isinstance(verdict, GoOn):
            self.progress = self.progress.reworking(draft)
            self.memory = self.memory.hearing(
                MISSES.format(missing=material(verdict.missing)), author="router"
            )
            return None
        return AgentEnded(verdict.result if isinstance(verdict, Accept) else draft, "answered")

    def _ended(self, thought: activities.SkillThought) -> AgentEnded | None:
        if thought.hands_over is not None:
            self._hands_over(thought.hands_over, thought.tools)
            return None
        if thought.hands_back:
            return AgentEnded("", "handed_back")
        if thought.flow is not None:
            return AgentEnded("", "left", thought.flow)
        text = thought.text or ""
        self.memory = self.memory.asking(text)
        if self.memory.times_asked >= MOST_REPEATS:
            self.memory = self.memory.hearing(NOT_ASKED, author="router")
            return self._stopped("repetition")
        return AgentEnded(text, "asked")

    async def _act(self, thought: Thought) -> AgentEnded | None:
        """Make the calls, and put what they came to into the dialogue in their order.

        A run that is stopped meanwhile still has a result for every call. It ends where the front
        end has some of them to make: it hears of those once all of them have come to something.
        """
        slots, parts, begun = asyncio.Semaphore(AT_ONCE), self._to_create(thought.calls), set[str]()
        ours = [call for call in thought.calls if not self._limits(call).client]
        tasks = {
            call.id: start_awaited_task(call.name, self._called, call, slots, parts, begun)
            for call in ours
        }
        theirs: dict[str, FunctionCall] = {}
        try:
            found = await asyncio.gather(*tasks.values())
            if not self._steered:
                theirs = {fresh_id(): c for c in thought.calls if c not in ours}
        finally:
            created = await self._parts.stop()
            results = self._remembered(thought, tasks, begun, theirs)
            self._parts.take_in(created)
            self.calls = bounded([*self.calls, *self._waiting(theirs)])
        came_to_something = bool(thought.notes) or any(f and f.error is None for f in found)
        self.progress = self.progress.judged(fruitless=not (came_to_something or theirs))
        asked = [json.dumps([c.name, c.arguments], sort_keys=True) for c in thought.said.calls]
        came = [result.text for result in (*thought.refused, *results)]
        digest = sha256("\n".join([*asked, *came]).encode()).hexdigest()[:12]
        self.progress = self.progress.having_done(digest)
        direct = next(filter(None, map(self._direct, found)), None)
        return AgentEnded("", "awaits") if theirs else direct

    def _remembered(
        self,
        thought: Thought,
        tasks: "Mapping[str, asyncio.Task[ToolFinding | None]]",
        begun: Collection[str],
        theirs: dict[str, FunctionCall],
    ) -> list[ToolMessage]:
        """What the calls came to, which the agent remembers from now on: all but `theirs`."""
        made = [call for call in thought.calls if call not in theirs.values()]
        longest = skill_context.longest_result(self.memory, len(made), self._start.context)
        results = [
            skill_context.result(call, self._taken_in(call, tasks.get(call.id), begun), longest)
            for call in made
        ]
        exposed = any(self._limits(call).outward for call in thought.calls)
        kept = self.memory.awaiting(theirs, thought.aside if theirs else "")
        self.memory = kept.saying(thought.said, *thought.refused, *results).being_exposed(exposed)
        if thought.aside and not theirs:
            self.memory = self.memory.hearing(thought.aside, author="router")
        self._note_refused(thought)
        return results

    def _limits(self, call: FunctionCall) -> CallLimits:
        # What a sub-agent has read from outside it says itself: its own memory is exposed then.
        own = CallLimits(outward=False) if call.name == CREATE_SUBAGENT else CallLimits()
        return self._start.tools.get(call.name, own)

    def _waiting(self, calls: Mapping[str, FunctionCall]) -> list[ToolCallView]:
        tools = self._start.tools
        return [
            waiting(id_, call.name, completed(tools, call.name, call.arguments))
            for id_, call in calls.items()
        ]

    def _to_create(self, calls: Iterable[FunctionCall]) -> dict[str, tuple[AgentPart, Share]]:
        """The sub-agents that are to be created, by the calls that do so: those there is room for.

        What each may take is settled before the first begins, so that none takes another's.
        """
        asked = [call for call in calls if call.name == CREATE_SUBAGENT]
        given = shares(self._start.task.skill, self.progress, len(asked))
        before, said = self.progress.created, self._said_before
        self.progress = self.progress.creating(len(given))
        return {
            call.id: (AgentPart(_brief(call, before + number), number, len(given), said), share)
            for number, (call, share) in enumerate(zip(asked, given, strict=False), start=1)
        }

    async def _called(
        self,
        call: FunctionCall,
        slots: asyncio.Semaphore,
        parts: Mapping[str, tuple[AgentPart, Share]],
        begun: set[str],
    ) -> ToolFinding | None:
        async with slots:
            if self._steered:
                return None
            begun.add(call.id)
            if call.name == CREATE_SUBAGENT:
                return await self._created(parts.get(call.id))
            start, by = self._start, self._account(last=False)
            whose, files = (by.caller, by.conversation, by.message_id), start.task.skill.files
            caller = Caller(*whose, start.tools, by.spent, start.locale, files, by.seconds)
            return await call_tool(caller, self._id_of(call), call.name, call.arguments)

    async def _created(self, part: tuple[AgentPart, Share] | None) -> ToolFinding:
        """What the sub-agent came to; that it broke off, or found no end, is a finding too."""
        if part is None:
            return ToolFinding(tool=CREATE_SUBAGENT, error=NO_SUBAGENT)
        try:
            result = await self._parts.begin(*part).task
        except ActivityError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.warning("%s failed: %s", part[0].brief.id, failure.cause)
            return ToolFinding(tool=CREATE_SUBAGENT, error=BROKE_OFF)
        text = material(result.text)
        if result.fate == "stopped":
            return ToolFinding(tool=CREATE_SUBAGENT, error=text)
        said = LACKING.format(text=text) if result.fate == "missing" else text
        return ToolFinding(tool=CREATE_SUBAGENT, result=said)

    def _note_refused(self, thought: Thought) -> None:
        refused = {result.call_id: result.text for result in thought.refused if result.refused}
        for call in thought.said.calls:
            if call.id in refused:
                about = (self._id_of(call), call.name, call.arguments)
                self.calls.append(ToolCallView.failed(*about, refused[call.id], unknown=False))

    def _taken_in(
        self,
        call: FunctionCall,
        task: "asyncio.Task[ToolFinding | None] | None",
        begun: Collection[str],
    ) -> str:
        """What a call came to, as the model is told; it is noted for the turn to show."""
        id_, arguments = self._id_of(call), call.arguments
        done = task is not None and task.done() and not task.cancelled()
        ended = done and task is not None and task.exception() is None
        found = task.result() if task is not None and ended else None
        if found is None and call.id in begun:
            self.calls.append(ToolCallView.stopped(id_, call.name, arguments))
            return CUT_OFF
        if found is None:
            self.calls.append(ToolCallView.skipped(id_, call.name, arguments))
            return SKIPPED if self._steered else NEVER_BEGUN
        given = completed(self._start.tools, call.name, arguments)
        self.calls.append(shown(id_, call.name, given, found))
        if found.error is None and not (found.asks_back or found.awaited):
            self.keep_results([found])
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


def _brief(call: FunctionCall, number: int) -> StepBrief:
    return StepBrief(id=f"a{number}", task=str(call.arguments["task"]))
