"""Carrying out what a message turned out to ask for.

Tools and skills, which only read, are run first and all at once; then flows are told, in order.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError

from router.contracts import activities
from router.contracts.activities import RoutingDecision, ToolFinding
from router.contracts.conversation import ConversationState, News, OpenSkill, WaitingCall
from router.contracts.skill_run import SkillStart
from router.domain import commands
from router.domain.commands import CallTool
from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    Route,
    SpokenLine,
    TextReply,
    ToolCallView,
    ToolResultAction,
    Usage,
    offer_question,
)
from router.flow.engine.events import Began
from router.flow.prompts.values import readable
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from workflows import memory, notices
from workflows.activity import ends_turn, fresh_id, perform
from workflows.flow_client import FlowClient
from workflows.skill import NOWHERE, SkillRuns, became, is_open
from workflows.tool_calls import Caller, call_tool, cost, shown, waiting
from workflows.turns import TurnContext, TurnOutcome


@dataclass
class FoundAnswer:
    """What to say of it, the calls that were made for it, what it cost, and what is still out.

    `forms` are those tools that asked something back: their forms ask for it, and call anew.
    `skill` is a sub-agent that isn't done; it may have `left_for` a form, or `handed_back` the
    message, which wasn't for it.
    """

    said: list[str] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    waiting: list[WaitingCall] = field(default_factory=list)
    forms: list[commands.StartFlow] = field(default_factory=list)
    skill: OpenSkill | None = None
    left_for: commands.StartFlow | None = None
    handed_back: bool = False


@dataclass(frozen=True)
class AnswerFinder:
    """Finds out, for one message of a conversation."""

    message: TurnContext
    history: list[SpokenLine]
    skills: SkillRuns
    open_skill: OpenSkill | None = None
    called_before: frozenset[str] = frozenset()
    """The tools whose results `history` may repeat."""

    async def find(self, decided: RoutingDecision) -> FoundAnswer:
        """What the decided tools and skills come to, all at once; said in their order."""
        calls = [c for c in decided.commands if isinstance(c, CallTool)]
        runs = [c for c in decided.commands if isinstance(c, commands.RunSkill)]
        worked_on = (self._worked_on(run, decided) for run in runs)
        every = await asyncio.gather(self._called(calls, decided), *worked_on)
        whole = FoundAnswer()
        for one in every:
            whole.said += one.said
            whole.calls += one.calls
            whole.usage += one.usage
            whole.waiting += one.waiting
            whole.forms += one.forms
            whole.skill = one.skill or whole.skill
            whole.left_for = one.left_for or whole.left_for
            whole.handed_back = whole.handed_back or one.handed_back
        return whole

    async def say(
        self, text: str, found: Sequence[ToolFinding], spent: Usage, *, plainly: bool = False
    ) -> FoundAnswer:
        """What was found for these words, in words; the tools' own where no model is there."""
        phrase = activities.Phrase(
            text=text,
            findings=list(found),
            locale=self.message.locale,
            account=self.message.account(spent),
            history=self.history,
        )
        stub = activities.PHRASE_PLAINLY if plainly else activities.PHRASE
        said = await perform(stub, phrase, summary=", ".join(finding.tool for finding in found))
        return FoundAnswer(said=[said.text], usage=said.usage)

    async def _called(self, calls: list[CallTool], decided: RoutingDecision) -> FoundAnswer:
        at_front_end = {name for name, limits in decided.tools.items() if limits.client}
        ours = [c for c in calls if c.tool not in at_front_end]
        # A model's own ids are unique within one answer alone; these are waited for beyond it.
        theirs = [c.model_copy(update={"id": fresh_id()}) for c in calls if c.tool in at_front_end]
        m = self.message
        caller = Caller(m.caller, m.conversation, m.id, decided.tools, decided.usage, m.locale)
        found = await self._all(ours, caller)
        made = list(zip(ours, found, strict=True))
        heard = [finding for finding in found if not finding.asks_back]
        whole = await self._told(heard, decided) if heard else FoundAnswer()
        asking = [c for c, finding in made if finding.asks_back]
        whole.forms = [commands.StartFlow(flow=c.tool, slots=c.arguments) for c in asking]
        whole.calls = [shown(c.id, c.tool, c.arguments, finding) for c, finding in made]
        whole.calls += [waiting(c.id, c.tool, c.arguments) for c in theirs]
        if theirs:
            whole.said.append(notices.AT_FRONT_END.within(m.locale))
            whole.waiting = [
                WaitingCall(
                    id=c.id, tool=c.tool, arguments=c.arguments, message_id=m.id, text=m.text
                )
                for c in theirs
            ]
        return whole

    async def _all(self, calls: list[CallTool], caller: Caller) -> list[ToolFinding]:
        """What each found, all at once; a turn that is stopped meanwhile is left their names."""
        tasks = [asyncio.create_task(call_tool(caller, c.id, c.tool, c.arguments)) for c in calls]
        try:
            return await asyncio.gather(*tasks)
        except (asyncio.CancelledError, ActivityError):
            self.skills.calls += [_left(c, task) for c, task in zip(calls, tasks, strict=True)]
            raise

    async def _told(self, found: Sequence[ToolFinding], decided: RoutingDecision) -> FoundAnswer:
        """In the tools' own form, where all of them answer by themselves; else in words."""
        if all(f.error is None and decided.tools[f.tool].return_direct for f in found):
            said = [readable(finding.result, self.message.locale) for finding in found]
            return FoundAnswer(said=said, usage=cost(found))
        spent = decided.usage + cost(found)
        whole = await self.say(self.message.text, found, spent, plainly=decided.plainly)
        whole.usage += cost(found)
        return whole

    async def _worked_on(self, run: commands.RunSkill, decided: RoutingDecision) -> FoundAnswer:
        if self.open_skill is not None and self.open_skill.name == run.skill:
            return await self.go_on(self.open_skill, run.request)
        skill = decided.skills.get(run.skill)
        if skill is None:
            return FoundAnswer(said=[notices.SKILL_GONE.within(self.message.locale)])
        account = self.message.account(decided.usage)
        # A model makes a request in few words of this very message: what was pasted isn't in it.
        text = self.message.text
        said = [*self.history, SpokenLine(role="user", text=text)] if text else self.history
        task = SkillTask(skill=skill, request=run.request, history=said, now=account.now)
        tools = {name: limit for name, limit in decided.tools.items() if skill.may_use(name)}
        exposed = any(tools[name].outward for name in tools.keys() & self.called_before)
        begun = OpenSkill(task=task, memory=AgentMemory(exposed=exposed), tools=tools)
        return await self._run(begun, account)

    async def go_on(self, skill: OpenSkill, heard: str, spent: Usage | None = None) -> FoundAnswer:
        """What a sub-agent comes to that has now heard this."""
        if not self.message.caller.may(skill.task.skill.roles):
            return FoundAnswer(said=[notices.SKILL_GONE.within(self.message.locale)])
        wiser = skill.changed(memory=skill.memory.hearing(heard))
        return await self._run(wiser, self.message.account(spent or Usage()))

    async def _run(self, skill: OpenSkill, account: activities.Account) -> FoundAnswer:
        start = SkillStart(
            task=skill.task,
            account=account,
            locale=self.message.locale,
            tools=skill.tools,
            memory=skill.memory,
        )
        try:
            outcome = await self.skills.run(start, self.message.locale)
        except ChildWorkflowError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.exception("skill %s failed", skill.name)
            stuck = notices.stuck(skill.task.skill.title)
            return FoundAnswer(said=[stuck.within(self.message.locale)])
        return FoundAnswer(
            said=[outcome.text] if outcome.text else [],
            calls=outcome.calls,
            usage=outcome.usage,
            skill=memory.open_skill(start, outcome),
            left_for=outcome.flow,
            handed_back=outcome.ending == "handed_back",
        )


def _left(call: CallTool, task: "asyncio.Task[ToolFinding]") -> ToolCallView:
    """The call as a stopped turn shows it: what it came to, where it had by then."""
    about = (call.id, call.tool, call.arguments)
    if task.done() and not task.cancelled() and task.exception() is None:
        return shown(*about, task.result())
    return ToolCallView.skipped(*about)


MOST_FORMS = 3
"""Forms that a sub-agent may send the employee to in one turn, one after the other."""


class CommandRunner:
    """Runs the commands of one message, once and in order, on a copy of the state."""

    def __init__(
        self,
        message: TurnContext,
        before: ConversationState,
        skills: SkillRuns,
        unheard: list[News],
    ) -> None:
        self.before = before
        self._message = message
        self._outcome = TurnOutcome(state=before)
        self._talk = FlowClient(message, self._outcome, unheard)
        called = memory.called_lately(before)
        self.finder = AnswerFinder(message, before.history, skills, before.skill, called)

    async def carry_out(self, decided: RoutingDecision) -> TurnOutcome:
        """Run the commands; the outcome's state is the conversation's after them.

        Tools and skills, which only read, come first: what they found is said before a flow asks.
        """
        outcome = self._outcome
        outcome.change(offered=[], offered_for="")
        if decided.notice:
            outcome.replies.append(TextReply(text=decided.notice))
        first = (CallTool, commands.RunSkill)
        rest = [c for c in decided.commands if not isinstance(c, first)]
        looks_up = len(rest) < len(decided.commands)
        aside = looks_up or any(isinstance(command, commands.ReplyText) for command in rest)
        ran = {c.skill for c in decided.commands if isinstance(c, commands.RunSkill)}
        if looks_up:
            found = await self.finder.find(decided)
            self._take_in(found)
            rest = [*found.forms, *rest]
            if ran:
                await self._heard_from_skill(found, ran)
        while rest and not outcome.void and not self._talk.stopped:
            await self._run(rest.pop(0))
        outcome.stopped = self._talk.stopped and (outcome.void or bool(rest))
        if aside and outcome.flow is None:
            await self._talk.ask_again()
        if not outcome.void and not self._talk.stopped:
            waits_on = self.before.skill is not None and outcome.state.skill is self.before.skill
            await self._back_in_skill(asked_again=bool(ran) and not waits_on)
        return outcome

    async def hear(self, action: ToolResultAction) -> tuple[Route, TurnOutcome]:
        """Take in what the front end found; once nothing of its message is out, say it."""
        outcome = self._outcome
        outcome.state = memory.with_result(self.before, action)
        call = next((w for w in self.before.waiting if w.id == action.tool_call_id), None)
        if call is None:
            said = self._message.says(notices.NOT_ASKED_FOR)
            outcome.replies.append(said)
            return Route(kind="reply", by="action", reason=said.text), outcome
        came = ToolCallView.of(call.id, call.tool, call.arguments, action.result)
        outcome.tool_calls.append(came)
        together = [w for w in outcome.state.waiting if w.message_id == call.message_id]
        if all(waiting.heard for waiting in together):
            found = [activities.ToolFinding(tool=w.tool, result=w.result) for w in together]
            self._take_in(await self.finder.say(call.text, found, Usage()))
            outcome.state = memory.without_waiting(outcome.state, call.message_id)
            await self._talk.ask_again()
        reason = notices.FRONT_END_ANSWERED.within(self._message.locale)
        return Route(kind="tool", target=call.tool, by="action", reason=reason), outcome

    def _take_in(self, found: FoundAnswer) -> None:
        outcome = self._outcome
        outcome.replies += [TextReply(text=said) for said in found.said]
        outcome.tool_calls += found.calls
        outcome.usage += found.usage
        outcome.state = memory.waiting_for(outcome.state, found.waiting)

    async def _heard_from_skill(self, found: FoundAnswer, ran: set[str]) -> None:
        """Keep what a sub-agent goes on with, and start the form that it left for, if any.

        What it hands back is decided anew, without it. One that waits keeps waiting while others,
        of those that `ran`, come to their ends.
        """
        outcome, skill, before = self._outcome, found.skill, self.before.skill
        if skill is None and before is not None and before.name not in ran:
            return
        if skill is not None and found.handed_back and before is not None:
            skill = skill.changed(question=before.question)
            outcome.void = True
        outcome.change(skill=skill)
        if skill is None or found.left_for is None:
            return
        await self._start(found.left_for)
        run = outcome.flow.id if outcome.flow else NOWHERE
        outcome.change(skill=skill.changed(flow=run))

    async def _back_in_skill(self, *, asked_again: bool) -> None:
        """Go on with a sub-agent once its form is done with, or ask again what it asked."""
        outcome = self._outcome
        for _ in range(MOST_FORMS):
            skill = outcome.state.skill
            if skill is None or not skill.flow or is_open(skill.flow, outcome.state):
                break
            told = became(skill.flow, outcome.flow)
            found = await self.finder.go_on(skill, told, outcome.usage)
            self._take_in(found)
            await self._heard_from_skill(found, {skill.name})
            asked_again = True
        skill, state = outcome.state.skill, outcome.state
        if asked_again or skill is None or not skill.question or state.active or state.offered:
            return
        back = notices.back_to(skill.task.skill.title, skill.question)
        outcome.replies.append(self._message.says(back))
        outcome.change(skill=skill.changed(asking=True))

    async def _run(self, command: commands.Command) -> None:
        outcome = self._outcome
        said = _only_words(command)
        if said is not None:
            outcome.replies.append(self._message.says(said))
            return
        match command:
            case commands.StartFlow():
                await self._start(command)
            case commands.LeaveSkill():
                outcome.replies.append(self._message.says(notices.LEFT_ALONE))
                outcome.change(skill=None)
            case commands.Clarify(text=text, options=options):
                offer = ChoicesReply(text=text, options=options, question=offer_question(options))
                outcome.replies.append(offer)
                words = self._message.text or self.before.offered_for
                outcome.change(offered=options, offered_for=words)
            case commands.CancelFlow() if outcome.state.active is None:
                await self._talk.call_off(outcome.state.at_work)
            case commands.Withdraw():
                await self._talk.call_off(outcome.state.at_work or outcome.state.handed_in)
            case commands.Repeat() if outcome.state.active is None:
                self._say_again()
            case commands.Resume(run=run):
                await self._talk.resume(run)
            case _:
                await self._talk.tell(command)

    async def _start(self, wanted: commands.StartFlow) -> None:
        began = Began(by=self._message.caller.id, slots=wanted.slots)
        await self._talk.start(wanted.flow, began)

    def _say_again(self) -> None:
        """The last turn's replies again; options that were offered can still be chosen."""
        last = memory.last_turn(self.before)
        again = last.replies if last else [self._message.says(notices.NOTHING_SAID)]
        self._outcome.replies += again
        self._outcome.change(offered=self.before.offered, offered_for=self.before.offered_for)


def _only_words(command: commands.Command) -> Localised | None:
    match command:
        case commands.ReplyText(text=text) | commands.Clarify(text=text, options=[]):
            return Localised(zh=text, en=text)
        case commands.HandOff(reason=reason):
            return notices.handed_off(reason)
        case commands.KeepPaused():
            return notices.RESUME_DECLINED
    return None
