"""Carrying out what a message turned out to ask for."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception

from router.contracts import activities
from router.contracts.conversation import ConversationState, News, Submission
from router.contracts.flow import STOP, FlowAnswer, Told, workflow_id
from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    Confirm,
    Explain,
    FillSlots,
    HandOff,
    LeaveAside,
    LeaveSkill,
    Misunderstood,
    Repeat,
    ReplyText,
    RunSkill,
    Skip,
    StartFlow,
    StartOver,
    TakeUp,
    Withdraw,
)
from router.domain.messages import (
    ChoicesReply,
    FlowSummary,
    Reply,
    Route,
    TextReply,
    ToolCallView,
    ToolResultAction,
    Usage,
    offer_question,
)
from router.domain.texts import Locale, Localised
from router.flow.events import (
    Answered,
    Began,
    Cancelled,
    Confirmed,
    Puzzled,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.view import FlowView
from router.understanding.wording import which_to_take_up
from workflows import memory, notices, taking_up
from workflows.activity import perform
from workflows.finding import Finder, Found
from workflows.identifiers import fresh_id
from workflows.skill_runs import NOWHERE, SkillRuns, became, is_open

ASKS_WHICH = "asks which flow to take up"
"""Conversations in whose history the last of several was taken up are replayed as they were."""

STOPS_UNHEARD = "stops a run that began unheard"
"""Conversations in whose history such a run was left standing are replayed as they were."""

PATIENCE = timedelta(seconds=3)
"""How long a turn waits for the first word of runs that were begun, since it told the first."""

MOST_FORMS = 3
"""Forms that a sub-agent may send the employee to in one turn, one after the other."""


@dataclass
class Outcome:
    """What came of a message's commands.

    `void`: the flow they were for has ended already. `stopped`: not all of them were carried out.
    """

    state: ConversationState
    replies: list[Reply] = field(default_factory=list)
    flow: FlowSummary | None = None
    tool_calls: list[ToolCallView] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    routes: list[Route] = field(default_factory=list)
    """What came of it besides what was decided."""
    heard: list[News] = field(default_factory=list)
    """The news that are part of this turn, and needn't be told again."""
    void: bool = False
    stopped: bool = False


@dataclass
class CommandRunner:
    """Runs the commands of one message, in order, on a copy of the conversation's state."""

    conversation: str
    locale: Locale
    submission: Submission
    state: ConversationState
    began: datetime
    seen: str
    """The question that the person had before them when they sent the message."""
    skills: SkillRuns
    unheard: list[News] = field(default_factory=list)
    """The conversation's news as they come in; this turn may take some as its own."""
    told: int = 0
    told_at: datetime | None = None
    stopped: bool = False
    """True once the turn was stopped while a flow was told something."""

    async def carry_out(self, decided: activities.Decided) -> Outcome:
        """Run the commands; the outcome's state is the conversation's state after them.

        Tools and skills are called first, all at once, for they only read; what they found is
        said before anything that a flow asks.
        """
        outcome = Outcome(state=self.state.model_copy(update={"offered": [], "offered_for": ""}))
        if decided.notice:
            outcome.replies.append(TextReply(text=decided.notice))
        rest = [c for c in decided.commands if not isinstance(c, CallTool | RunSkill)]
        looks_up = len(rest) < len(decided.commands)
        aside = looks_up or any(isinstance(command, ReplyText) for command in rest)
        ran = {command.skill for command in decided.commands if isinstance(command, RunSkill)}
        if looks_up:
            found = await self.finder.find(decided)
            self._take_in(found, outcome)
            rest = [*found.forms, *rest]
            if ran:
                await self._heard_from_skill(found, outcome, ran)
        while rest and not outcome.void and not self.stopped:
            await self._run(rest.pop(0), outcome)
        outcome.stopped = self.stopped and (outcome.void or bool(rest))
        if aside and outcome.flow is None and outcome.state.active is not None:
            await self._ask_again(outcome)
        if not outcome.void and not self.stopped:
            waits_on = self.state.skill is not None and outcome.state.skill is self.state.skill
            await self._back_in_skill(outcome, asked_again=bool(ran) and not waits_on)
        return outcome

    async def hear(self, action: ToolResultAction) -> tuple[Route, Outcome]:
        """Take in what the front end found; once nothing of its message is out, say it."""
        outcome = Outcome(state=memory.with_result(self.state, action))
        call = next((w for w in self.state.waiting if w.id == action.tool_call_id), None)
        if call is None:
            said = self._says(notices.NOT_ASKED_FOR)
            outcome.replies.append(said)
            return Route(kind="reply", by="action", reason=said.text), outcome
        outcome.tool_calls.append(
            ToolCallView.of(call.id, call.tool, call.arguments, action.result)
        )
        together = [w for w in outcome.state.waiting if w.message_id == call.message_id]
        if all(waiting.heard for waiting in together):
            found = [activities.Finding(tool=w.tool, result=w.result) for w in together]
            self._take_in(await self.finder.say(call.text, found, Usage()), outcome)
            outcome.state = memory.without_waiting(outcome.state, call.message_id)
            await self._ask_again(outcome)
        reason = notices.FRONT_END_ANSWERED.within(self.locale)
        return Route(kind="tool", target=call.tool, by="action", reason=reason), outcome

    def _take_in(self, found: Found, outcome: Outcome) -> None:
        outcome.replies += [TextReply(text=said) for said in found.said]
        outcome.tool_calls += found.calls
        outcome.usage += found.usage
        outcome.state = memory.waiting_for(outcome.state, found.waiting)

    @property
    def finder(self) -> Finder:
        """What finds out for this message."""
        return Finder(
            self.conversation,
            self.locale,
            self.submission,
            self.state.history,
            self.began,
            self.skills,
            self.state.skill,
        )

    async def _heard_from_skill(self, found: Found, outcome: Outcome, ran: set[str]) -> None:
        """Keep what a sub-agent goes on with, and start the form that it left for, if any.

        What it hands back is decided anew, without it; it is asked again afterwards. One that
        waits keeps waiting while others, of those that `ran`, come to their ends.
        """
        skill, before = found.skill, self.state.skill
        if skill is None and before is not None and before.name not in ran:
            return
        if skill is not None and found.handed_back and before is not None:
            skill = skill.model_copy(update={"question": before.question})
            outcome.void = True
        outcome.state = outcome.state.model_copy(update={"skill": skill})
        if skill is None or found.left_for is None:
            return
        start = Began(by=self._caller, slots=found.left_for.slots)
        await self._start(found.left_for.flow, start, outcome)
        run = outcome.flow.id if outcome.flow else NOWHERE
        sent = skill.model_copy(update={"flow": run})
        outcome.state = outcome.state.model_copy(update={"skill": sent})

    async def _back_in_skill(self, outcome: Outcome, *, asked_again: bool) -> None:
        """Go on with a sub-agent once the form that it waits for is done with.

        One that waits for an answer asks for it again, where something else came in between.
        """
        for _ in range(MOST_FORMS):
            skill = outcome.state.skill
            if skill is None or not skill.flow or is_open(skill.flow, outcome.state):
                break
            told = became(skill.flow, outcome.flow)
            found = await self.finder.go_on(skill, told, outcome.usage)
            self._take_in(found, outcome)
            await self._heard_from_skill(found, outcome, {skill.name})
            asked_again = True
        skill, state = outcome.state.skill, outcome.state
        if asked_again or skill is None or not skill.question or state.active or state.offered:
            return
        back = notices.back_to(skill.task.skill.title, skill.question)
        outcome.replies.append(self._says(back))
        waiting = skill.model_copy(update={"asking": True})
        outcome.state = state.model_copy(update={"skill": waiting})

    async def _ask_again(self, outcome: Outcome) -> None:
        """A question in between was answered: back to the one that the flow asked."""
        active = outcome.state.active
        if active is None:
            return
        event = Unclear(by=self._caller, count=False)
        answer = await self._tell(self._id_of(active), active.flow, event, first=False)
        if answer is not None:
            await self._heard(answer, outcome)

    async def _run(self, command: Command, outcome: Outcome) -> None:
        said = _only_words(command)
        if said is not None:
            outcome.replies.append(self._says(said))
            return
        match command:
            case StartFlow(flow=flow, slots=slots):
                await self._start(flow, Began(by=self._caller, slots=slots), outcome)
            case LeaveSkill():
                outcome.replies.append(self._says(notices.LEFT_ALONE))
                outcome.state = outcome.state.model_copy(update={"skill": None})
            case Clarify(text=text, options=options):
                offer = ChoicesReply(text=text, options=options, question=offer_question(options))
                outcome.replies.append(offer)
                words = self.submission.message.text or self.state.offered_for
                outcome.state = outcome.state.model_copy(
                    update={"offered": options, "offered_for": words}
                )
            case CancelFlow() if outcome.state.active is None:
                await self._call_off(outcome.state.at_work, outcome)
            case Withdraw():
                await self._call_off(outcome.state.at_work or outcome.state.handed_in, outcome)
            case Repeat() if outcome.state.active is None:
                self._say_again(outcome)
            case TakeUp(run=run):
                await self._take_up(run, outcome)
            case _:
                await self._tell_active(command, outcome)

    @property
    def _caller(self) -> str:
        return self.submission.caller.id

    async def _start(self, flow: str, event: Began, outcome: Outcome) -> None:
        """Start a flow; one that was being talked about waits until this is done with.

        A second one of the same message waits itself: one thing is asked at a time.
        """
        active = outcome.state.active
        if active is not None and outcome.flow is not None and outcome.flow.id == active.id:
            await self._start_later(flow, event, outcome)
            return
        paused = [*outcome.state.paused, active] if active else outcome.state.paused
        outcome.state = outcome.state.model_copy(update={"paused": paused, "active": None})
        id_ = workflow_id(flow, self.submission.caller.tenant, fresh_id())
        answer = await self._tell(id_, flow, event, first=True)
        if answer is None:
            outcome.replies.append(self._says(notices.FLOW_GONE))
            await self._resume(outcome)
            return
        await self._heard(answer, outcome)

    async def _start_later(self, flow: str, event: Began, outcome: Outcome) -> None:
        """Start a flow that asks its first question once the one before it is done with."""
        id_ = workflow_id(flow, self.submission.caller.tenant, fresh_id())
        answer = await self._tell(id_, flow, event, first=True)
        if answer is None or not answer.view.asking:
            outcome.replies += answer.replies if answer else [self._says(notices.FLOW_GONE)]
            return
        paused = [answer.view, *outcome.state.paused]
        outcome.state = outcome.state.model_copy(update={"paused": paused})
        outcome.replies.append(self._says(notices.later(answer.view.title)))

    async def _tell_active(self, command: Command, outcome: Outcome) -> None:
        active = outcome.state.active
        if active is None:
            outcome.replies.append(self._says(notices.NOTHING_ACTIVE))
            return
        event = _event(command, active, self._caller, self.seen)
        answer = await self._tell(self._id_of(active), active.flow, event, first=False)
        if answer is None:
            outcome.state = outcome.state.model_copy(update={"active": None})
            outcome.void = True
            return
        await self._heard(answer, outcome)

    def _say_again(self, outcome: Outcome) -> None:
        """The last turn's replies again; options that were offered can still be chosen."""
        turns = (held.turn for held in reversed(self.state.taken) if held.turn is not None)
        last = next(turns, None)
        outcome.replies += last.replies if last else [self._says(notices.NOTHING_SAID)]
        kept = {"offered": self.state.offered, "offered_for": self.state.offered_for}
        outcome.state = outcome.state.model_copy(update=kept)

    async def _call_off(self, run: FlowView | None, outcome: Outcome) -> None:
        """Cancel a run that asks nothing; it may be done by now."""
        answer = None
        if run is not None:
            event = Cancelled(by=self._caller)
            answer = await self._tell(self._id_of(run), run.flow, event, first=False)
        if answer is None:
            gone = {"at_work": None} if run is outcome.state.at_work else {"handed_in": None}
            outcome.state = outcome.state.model_copy(update=gone)
            outcome.replies.append(self._says(notices.NOTHING_ACTIVE))
            return
        await self._heard(answer, outcome, cancelling=True)

    async def _heard(
        self, answer: FlowAnswer, outcome: Outcome, *, cancelling: bool = False
    ) -> None:
        """Pass on what the run said, and go back to what waits once it asks no more."""
        view = answer.view
        outcome.replies += answer.replies
        outcome.tool_calls += answer.calls
        outcome.flow = view.summary
        outcome.state = memory.handing_in(outcome.state, view)
        if view.status == "running":
            outcome.state = outcome.state.model_copy(update={"at_work": view})
            # What is being cancelled has said itself that it is at it still.
            if not cancelling or not answer.replies:
                outcome.replies.append(self._says(notices.at_work(view.title)))
        else:
            outcome.state = memory.no_longer_at_work(outcome.state, view.id)
        active = view if view.asking else None
        outcome.state = outcome.state.model_copy(update={"active": active})
        if answer.begun:
            await self._hear_from(answer.begun, outcome)
        if outcome.state.active is None:
            await self._resume(outcome)

    async def _hear_from(self, begun: list[str], outcome: Outcome) -> None:
        """Have the first word of runs that were begun said in this turn, so far as it is there.

        What comes later is passed on as news, as ever.
        """
        left = (self.told_at or self.began) + PATIENCE - workflow.now()
        try:
            await workflow.wait_condition(
                lambda: {news.view.id for news in self.unheard}.issuperset(begun),
                timeout=max(left, timedelta()),
                timeout_summary="first words by then",
            )
        except TimeoutError:
            workflow.logger.info("not heard of yet: %s", ", ".join(begun))
        except asyncio.CancelledError:
            self.stopped = True
        for news in [news for news in self.unheard if news.view.id in begun]:
            told = taking_up.as_told(outcome.state, news, self.locale)
            outcome.replies += [reply for reply in told.replies if reply not in outcome.replies]
            outcome.state = memory.with_news(outcome.state, news.view, take_up=False)
            outcome.heard.append(news)

    async def _take_up(self, run: str, outcome: Outcome) -> None:
        """Go on with a run that is put aside, or begin one with what a lapsed one was told."""
        state = outcome.state
        lapsed = next((one for one in state.lapsed if one.run == run), None)
        if lapsed is not None:
            outcome.state = taking_up.without_lapsed(state, run)
            outcome.replies.append(self._says(notices.back_to(lapsed.title)))
            began = Began(by=self._caller, slots=lapsed.slots, skipped=lapsed.skipped)
            await self._start(lapsed.flow, began, outcome)
            return
        view = next((one for one in state.paused if one.id == run), None)
        if view is None:
            outcome.replies.append(self._says(notices.OVER_ALREADY))
            return
        others = [one for one in state.paused if one.id != run]
        paused = [*others, state.active] if state.active else others
        outcome.state = state.model_copy(update={"paused": paused, "active": None})
        event = Unclear(by=self._caller, count=False)
        answer = await self._tell(self._id_of(view), view.flow, event, first=False)
        if answer is None:
            outcome.replies.append(self._says(notices.OVER_ALREADY))
            await self._resume(outcome)
            return
        outcome.replies.append(self._says(notices.back_to(view.title)))
        await self._heard(answer, outcome)

    async def _resume(self, outcome: Outcome) -> None:
        """Take up the flow that was put aside last, with the question it stood at.

        Where several wait, it is asked which.
        """
        while outcome.state.active is None and outcome.state.paused:
            if len(outcome.state.paused) > 1 and workflow.patched(ASKS_WHICH):
                outcome.state, which = taking_up.asking_which(outcome.state, self.locale)
                outcome.replies.append(which)
                outcome.routes.append(which_to_take_up(self.locale))
                return
            *rest, last = outcome.state.paused
            outcome.state = outcome.state.model_copy(update={"paused": rest})
            event = Unclear(by=self._caller, count=False)
            answer = await self._tell(self._id_of(last), last.flow, event, first=False)
            if answer is not None and answer.view.asking:
                outcome.replies += [self._says(notices.back_to(last.title)), *answer.replies]
                outcome.flow = outcome.flow or answer.view.summary
                outcome.state = outcome.state.model_copy(update={"active": answer.view})

    async def _tell(self, id_: str, flow: str, event: Told, *, first: bool) -> FlowAnswer | None:
        """Tell a run something; None where it is over, or there is no such flow (any more)."""
        self.told, self.told_at = self.told + 1, workflow.now()
        telling = perform(
            activities.TELL_FLOW,
            activities.TellFlow(
                workflow_id=id_,
                flow=flow,
                event=event,
                caller=self.submission.caller,
                locale=self.locale,
                conversation=self.conversation,
                first=first,
                update_id=f"{self.conversation}:{self.submission.message_id}:{self.told}",
            ),
            summary=f"{event.type} ▸ {flow}",
        )
        try:
            return (await self._heard_out(telling)).answer
        except ActivityError as error:
            if first and not is_cancelled_exception(error) and workflow.patched(STOPS_UNHEARD):
                await self._stop(id_)
            raise

    async def _stop(self, id_: str) -> None:
        """Stop a run that nobody heard begin: the turn will say that nothing was done."""
        with suppress(FailureError):  # it may never have begun
            await workflow.get_external_workflow_handle(id_).signal(STOP)

    async def _heard_out(self, telling: Awaitable[activities.TellAnswer]) -> activities.TellAnswer:
        """What a flow says. Nothing untells it what it was told, and it says each thing once.

        So who stops the turn meanwhile still hears it, within the seconds that a flow takes to
        answer; only who stops it a second time doesn't.
        """
        answering = asyncio.ensure_future(telling)
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            if answering.cancelled():
                raise
            self.stopped = True
            return await answering

    def _id_of(self, view: FlowView) -> str:
        return workflow_id(view.flow, self.submission.caller.tenant, view.id)

    def _says(self, text: Localised) -> TextReply:
        return TextReply(text=text.within(self.locale))


def _only_words(command: Command) -> Localised | None:
    """What is said to a command that does nothing else; None for any other."""
    match command:
        case ReplyText(text=text) | Clarify(text=text, options=[]):
            return Localised(zh=text, en=text)
        case HandOff(reason=reason):
            return notices.handed_off(reason)
        case LeaveAside():
            return notices.LEFT_ASIDE
    return None


def _event(command: Command, active: FlowView, by: str, seen: str) -> Told:
    """What a command means to the run that is being talked about.

    An answer may come ahead of its question. A yes may not: it is to what was `seen`, and what
    has changed since, by a message before it or in the same one, is asked anew.
    """
    match command:
        case FillSlots(slots=slots, question=answered):
            return Answered(by=by, slots=slots, question=answered or active.question)
        case Confirm(value=value, slots=slots, question=answered):
            return Confirmed(by=by, value=value, slots=slots, question=answered or seen)
        case StartOver():
            return StartedOver(by=by, question=active.question)
        case Skip():
            return Skipped(by=by, question=seen)
    plain: dict[type, Told] = {
        CancelFlow: Cancelled(by=by),
        Explain: Puzzled(by=by),
        Repeat: Unclear(by=by, count=False),
        Misunderstood: Unclear(by=by),
    }
    if type(command) in plain:
        return plain[type(command)]
    raise TypeError(f"{command.type} isn't told to a flow")
