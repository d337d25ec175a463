"""Carrying out what a message turned out to ask for."""

from router.contracts import activities
from router.contracts.conversation import ConversationState, News
from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    HandOff,
    LeaveAside,
    LeaveSkill,
    Repeat,
    ReplyText,
    RunSkill,
    StartFlow,
    TakeUp,
    Withdraw,
)
from router.domain.messages import (
    ChoicesReply,
    Route,
    TextReply,
    ToolCallView,
    ToolResultAction,
    Usage,
    offer_question,
)
from router.domain.texts import Localised
from router.flow.events import Began
from workflows import memory, notices
from workflows.at_hand import AtHand
from workflows.finding import Finder, Found
from workflows.outcome import Outcome
from workflows.skill_runs import NOWHERE, SkillRuns, became, is_open
from workflows.talking import Talk

MOST_FORMS = 3
"""Forms that a sub-agent may send the employee to in one turn, one after the other."""


class CommandRunner:
    """Runs the commands of one message, in order, on a copy of the conversation's state.

    Once: for other commands, or on another state, there is another.
    """

    def __init__(
        self, message: AtHand, before: ConversationState, skills: SkillRuns, unheard: list[News]
    ) -> None:
        self.before = before
        self._message = message
        self._outcome = Outcome(state=before)
        self._talk = Talk(message, self._outcome, unheard)
        self.finder = Finder(message, before.history, skills, before.skill)

    async def carry_out(self, decided: activities.Decided) -> Outcome:
        """Run the commands; the outcome's state is the conversation's state after them.

        Tools and skills are called first, all at once, for they only read; what they found is
        said before anything that a flow asks.
        """
        outcome = self._outcome
        outcome.change(offered=[], offered_for="")
        if decided.notice:
            outcome.replies.append(TextReply(text=decided.notice))
        rest = [c for c in decided.commands if not isinstance(c, CallTool | RunSkill)]
        looks_up = len(rest) < len(decided.commands)
        aside = looks_up or any(isinstance(command, ReplyText) for command in rest)
        ran = {command.skill for command in decided.commands if isinstance(command, RunSkill)}
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

    async def hear(self, action: ToolResultAction) -> tuple[Route, Outcome]:
        """Take in what the front end found; once nothing of its message is out, say it."""
        outcome = self._outcome
        outcome.state = memory.with_result(self.before, action)
        call = next((w for w in self.before.waiting if w.id == action.tool_call_id), None)
        if call is None:
            said = self._message.says(notices.NOT_ASKED_FOR)
            outcome.replies.append(said)
            return Route(kind="reply", by="action", reason=said.text), outcome
        outcome.tool_calls.append(
            ToolCallView.of(call.id, call.tool, call.arguments, action.result)
        )
        together = [w for w in outcome.state.waiting if w.message_id == call.message_id]
        if all(waiting.heard for waiting in together):
            found = [activities.Finding(tool=w.tool, result=w.result) for w in together]
            self._take_in(await self.finder.say(call.text, found, Usage()))
            outcome.state = memory.without_waiting(outcome.state, call.message_id)
            await self._talk.ask_again()
        reason = notices.FRONT_END_ANSWERED.within(self._message.locale)
        return Route(kind="tool", target=call.tool, by="action", reason=reason), outcome

    def _take_in(self, found: Found) -> None:
        outcome = self._outcome
        outcome.replies += [TextReply(text=said) for said in found.said]
        outcome.tool_calls += found.calls
        outcome.usage += found.usage
        outcome.state = memory.waiting_for(outcome.state, found.waiting)

    async def _heard_from_skill(self, found: Found, ran: set[str]) -> None:
        """Keep what a sub-agent goes on with, and start the form that it left for, if any.

        What it hands back is decided anew, without it; it is asked again afterwards. One that
        waits keeps waiting while others, of those that `ran`, come to their ends.
        """
        outcome, skill, before = self._outcome, found.skill, self.before.skill
        if skill is None and before is not None and before.name not in ran:
            return
        if skill is not None and found.handed_back and before is not None:
            skill = skill.model_copy(update={"question": before.question})
            outcome.void = True
        outcome.change(skill=skill)
        if skill is None or found.left_for is None:
            return
        await self._start(found.left_for)
        run = outcome.flow.id if outcome.flow else NOWHERE
        outcome.change(skill=skill.model_copy(update={"flow": run}))

    async def _back_in_skill(self, *, asked_again: bool) -> None:
        """Go on with a sub-agent once the form that it waits for is done with.

        One that waits for an answer asks for it again, where something else came in between.
        """
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
        outcome.change(skill=skill.model_copy(update={"asking": True}))

    async def _run(self, command: Command) -> None:
        outcome = self._outcome
        said = _only_words(command)
        if said is not None:
            outcome.replies.append(self._message.says(said))
            return
        match command:
            case StartFlow():
                await self._start(command)
            case LeaveSkill():
                outcome.replies.append(self._message.says(notices.LEFT_ALONE))
                outcome.change(skill=None)
            case Clarify(text=text, options=options):
                offer = ChoicesReply(text=text, options=options, question=offer_question(options))
                outcome.replies.append(offer)
                words = self._message.text or self.before.offered_for
                outcome.change(offered=options, offered_for=words)
            case CancelFlow() if outcome.state.active is None:
                await self._talk.call_off(outcome.state.at_work)
            case Withdraw():
                await self._talk.call_off(outcome.state.at_work or outcome.state.handed_in)
            case Repeat() if outcome.state.active is None:
                self._say_again()
            case TakeUp(run=run):
                await self._talk.take_up(run)
            case _:
                await self._talk.tell(command)

    async def _start(self, wanted: StartFlow) -> None:
        began = Began(by=self._message.caller.id, slots=wanted.slots)
        await self._talk.start(wanted.flow, began)

    def _say_again(self) -> None:
        """The last turn's replies again; options that were offered can still be chosen."""
        turns = (held.turn for held in reversed(self.before.taken) if held.turn is not None)
        last = next(turns, None)
        self._outcome.replies += (
            last.replies if last else [self._message.says(notices.NOTHING_SAID)]
        )
        self._outcome.change(offered=self.before.offered, offered_for=self.before.offered_for)


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
