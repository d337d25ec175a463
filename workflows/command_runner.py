"""Carrying out what a message turned out to ask for.

Tools and skills, which only read, are run first and all at once; then flows are told, in order.
"""

from collections.abc import Sequence
from dataclasses import replace

from temporalio import workflow

from router.contracts import activities
from router.contracts.activities import RoutingDecision
from router.contracts.conversation_state import ConversationState, News, WaitingCall
from router.contracts.tool_rounds import AwaitedRounds
from router.domain import commands
from router.domain.commands import CallTool
from router.domain.hand_offs import HandOffCause, OngoingHandOff
from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    Message,
    Option,
    RecalledCall,
    Route,
    RouteKind,
    TextReply,
    ToolResultAction,
    Usage,
    offer_question,
)
from router.flow.engine.events import Began
from router.flow.engine.run_parts.question import HANDED_OFF
from router.flow.prompts import guidance
from router.understanding.slots.attachments import with_files
from workflows import front_end_calls, hand_offs, notices, open_flows
from workflows import transcript as transcripts
from workflows.activity import perform
from workflows.answer_finder import AnswerFinder, FoundAnswer
from workflows.flow_client import FlowClient, before_question
from workflows.open_skills import is_form_open
from workflows.skill import NOWHERE, SkillRuns, became
from workflows.tool_calls import shown, told
from workflows.turns import TurnContext, TurnOutcome

_OF_MEMORY = (commands.Remember, commands.Forget, commands.ListMemories)
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
        self._outcome = TurnOutcome(state=before, files_left=message.files)
        self._talk = FlowClient(message, self._outcome, unheard)
        self.finder = AnswerFinder(message, before, skills)

    async def carry_out(self, decided: RoutingDecision) -> TurnOutcome:
        """Run the commands; the outcome's state is the conversation's after them.

        Tools and skills, which only read, come first: what they found is said before a flow asks.
        """
        outcome, before = self._outcome, self.before
        if before.hand_offs.ongoing is not None:
            return await self._with_person(decided, before.hand_offs.ongoing)
        self._offer([], "")
        self._notice(decided)
        first = (CallTool, commands.RunSkill)
        rest: list[commands.Command] = [c for c in decided.commands if not isinstance(c, first)]
        looks_up = len(rest) < len(decided.commands)
        offered_to, rest = self._with_files(rest)
        said = (commands.ReplyText, *_OF_MEMORY)
        aside = looks_up or any(isinstance(command, said) for command in rest)
        ran = {c.skill for c in decided.commands if isinstance(c, commands.RunSkill)}
        if looks_up:
            found = await self.finder.find(decided)
            self._take_in(found)
            rest = [*found.forms, *found.then, *rest]
            if ran:
                await self._heard_from_skill(found, ran)
        while rest and not outcome.void and not self._talk.stopped:
            await self._run(rest.pop(0))
        outcome.stopped = self._talk.stopped and (outcome.void or bool(rest))
        if await self._handed_off(decided):
            self._tell_of_files()
            return outcome
        if aside and outcome.flow is None:
            await self._talk.ask_again()
        if not outcome.void and not self._talk.stopped:
            active = outcome.state.flows.active
            if active is not None and active.id != offered_to:
                # A file of which others were taken is no correction of those.
                untouched = outcome.files_left == self._message.files
                await self._talk.attach(replacing=self._replaces and untouched)
            waits_on = before.skill is not None and outcome.state.skill is before.skill
            await self._back_in_skill(asked_again=bool(ran) and not waits_on)
        if decided.shown_files:
            outcome.files_left = []
        self._tell_of_files()
        return outcome

    async def _handed_off(self, decided: RoutingDecision) -> bool:
        """True where the conversation is with a person now: asked for, or a flow has given up."""
        outcome, before = self._outcome, self.before.flows.active
        active = outcome.state.flows.active
        gave_up = active is not None and active.no_matches == HANDED_OFF
        known = before is not None and before.no_matches == HANDED_OFF
        if outcome.state.hand_offs.ongoing is None and active is not None and gave_up and not known:
            why = notices.flow_gave_up(active.title)
            reason = why.within(self._message.locale)
            if await self._hand_off("gave_up", reason, why):
                said = {guidance.A_PERSON.within(self._message.locale)}
                outcome.replies = [r for r in outcome.replies if r.text not in said]
                if decided.route.kind != "handoff":
                    about = {"target": active.flow, "by": "fallback", "reason": reason}
                    outcome.routes.append(Route(kind="handoff", **about))
        return outcome.state.hand_offs.ongoing is not None

    async def _hand_off(self, cause: HandOffCause, reason: str, why: Localised | None) -> bool:
        """Hand the conversation to a person; False where there is none to whom it could go."""
        message, outcome = self._message, self._outcome
        caller = message.caller
        begun, duty = await hand_offs.begun(caller.tenant, caller.id, cause, reason, why)
        if begun is not None:
            self._set_hand_off(begun)
            outcome.replies.append(hand_offs.announced(begun, duty, message.locale))
        return begun is not None

    async def _with_person(self, decided: RoutingDecision, hand_off: OngoingHandOff) -> TurnOutcome:
        """Pass on what was said, or come back to the desk; nothing else happens meanwhile."""
        message, outcome = self._message, self._outcome
        caller = message.caller
        outcome.files_left = []
        for command in decided.commands:
            match command:
                case commands.PassOn():
                    duty = await hand_offs.on_duty(caller.tenant, caller.id, hand_off.agent)
                    self._set_hand_off(hand_off.heard(duty, workflow.now()))
                    waits = hand_offs.still_waiting(hand_off)
                    outcome.replies += [message.says(waits, notice=True)] if waits else []
                case commands.LeavePerson():
                    whose = (caller.tenant, message.conversation, caller.id)
                    over = hand_off.ended(*whose, "taken_back", workflow.now())
                    ended = hand_offs.end(outcome.state.hand_offs, over)
                    outcome.state = outcome.state.replace(hand_offs=ended)
                    outcome.replies.append(message.says(notices.BACK_AT_DESK, notice=True))
                    await self._talk.ask_again()
                case commands.ReplyText(text=text):
                    outcome.replies.append(TextReply(text=text, notice=True))
        outcome.silent = not outcome.replies
        return outcome

    def _with_files(
        self, given: list[commands.Command]
    ) -> tuple[str | None, list[commands.Command]]:
        """The commands with the files that the flow takes, and the run that it takes them into."""
        flows, files = self.before.flows, self._outcome.files_left
        active = flows.active
        if active is None or not files:
            return None, given
        form = open_flows.show_form(flows, active)
        told = with_files(given, form, files, replacing=self._replaces)
        return (active.id if told != given else None), told

    @property
    def _left_before(self) -> set[str]:
        last = transcripts.last_turn(self.before.transcript)
        return set((last.files_left or []) if last and self._message.text else [])

    @property
    def _replaces(self) -> bool:
        """False for what only goes along since nothing took it before: that isn't a correction."""
        return self._left_before.isdisjoint(self._outcome.files_left)

    def _tell_of_files(self) -> None:
        """Name the files that nothing took; not anew with every message that they go with."""
        outcome, message = self._outcome, self._message
        if not set(outcome.files_left) - self._left_before:
            return
        active = outcome.state.flows.active
        left = notices.files_left(message.named(outcome.files_left), asked=active is not None)
        outcome.replies = before_question(outcome.replies, active, [message.says(left)])

    def _notice(self, decided: RoutingDecision) -> None:
        """What comes first; that no model answers is said once, until one has answered."""
        is_known = decided.model_answered is False and self.before.transcript.is_model_away
        if decided.notice and not is_known:
            self._outcome.replies.append(TextReply(text=decided.notice, notice=True))
        if decided.model_answered is not None:
            state, is_away = self._outcome.state, not decided.model_answered
            transcript = state.transcript.replace(is_model_away=is_away)
            self._outcome.state = state.replace(transcript=transcript)

    async def hear(self, action: ToolResultAction) -> tuple[Route, TurnOutcome]:
        """Take in what the front end found; once nothing that goes with it is out, go on."""
        outcome, before = self._outcome, self.before
        call = next((w for w in before.front_end.calls if w.id == action.tool_call_id), None)
        if call is None or call.heard:
            said = self._message.says(notices.NOT_ASKED_FOR, notice=True)
            outcome.replies.append(said)
            return Route(kind="reply", by="action", reason=said.text), outcome
        front_end = front_end_calls.receive_result(before.front_end, action)
        outcome.state = before.replace(front_end=front_end)
        together = [w for w in front_end.calls if w.group == call.group]
        self._show_result(next(w for w in together if w.id == call.id))
        if all(waiting.heard for waiting in together):
            await self._go_on_with(together)
        else:
            outcome.silent = True
        reason = notices.FRONT_END_ANSWERED.within(self._message.locale)
        target = call.skill or call.tool
        kind: RouteKind = "skill" if call.skill else "tool"
        return Route(kind=kind, target=target, by="action", reason=reason), outcome

    def _show_result(self, call: WaitingCall) -> None:
        outcome, about = self._outcome, (call.id, call.tool, call.arguments)
        finding = front_end_calls.finding_of(call)
        view = shown(*about, finding)
        outcome.tool_calls.append(view)
        self._note_calls([transcripts.recall_call(view, told(finding))])

    async def _go_on_with(self, calls: list[WaitingCall]) -> None:
        """Have whoever asked for these calls go on, which all have come to something."""
        outcome, group = self._outcome, calls[0].group
        rounds = self.before.front_end.rounds
        awaited = next((each for each in rounds if (each.message_id, "") == group), None)
        front_end = front_end_calls.drop_group(outcome.state.front_end, group)
        outcome.state = outcome.state.replace(front_end=front_end)
        findings = {call.id: front_end_calls.finding_of(call) for call in calls}
        finder, skill = self._finder_for(calls, awaited), outcome.state.skill
        if awaited is not None:
            found = await finder.go_on_from(front_end_calls.complete(awaited, findings))
        elif skill is not None and calls[0].skill:
            found = await finder.go_on_with(skill, findings)
        else:
            found = await finder.say(calls[0].text, [*findings.values()], Usage())
            found.findings = [*findings.values()]
        self._take_in(found)
        if calls[0].skill:
            await self._heard_from_skill(found, {calls[0].skill})
        rest: list[commands.Command] = [*found.forms, *found.then]
        while rest and not outcome.void and not self._talk.stopped:
            await self._run(rest.pop(0))
        outcome.stopped = self._talk.stopped and bool(rest)
        if outcome.flow is None:
            await self._talk.ask_again()
        if not self._talk.stopped:
            await self._back_in_skill(asked_again=bool(calls[0].skill))
        outcome.silent = bool(found.waiting)

    def _finder_for(self, calls: list[WaitingCall], awaited: AwaitedRounds | None) -> AnswerFinder:
        """One for the message that the calls are for: it is answered now, and not their result."""
        message, state = self._message, self._outcome.state
        asked = awaited.about if awaited else Message(text=calls[0].text)
        submission = message.submission.replace(message=asked)
        past, ids = state.transcript, {call.id for call in calls}
        history = transcripts.before_calls(past.history, ids)
        told = state.replace(transcript=past.replace(history=history, turn_calls=[]))
        return AnswerFinder(replace(message, submission=submission), told, self.finder.skills)

    def _take_in(self, found: FoundAnswer) -> None:
        outcome = self._outcome
        outcome.replies += [TextReply(text=said) for said in found.said]
        outcome.replies += found.cards
        outcome.tool_calls += found.calls
        outcome.findings += found.findings
        outcome.usage += found.usage
        if found.waiting:
            outcome.replies.append(self._message.says(notices.AT_FRONT_END, notice=True))
        self._note_calls(found.made)
        front_end = outcome.state.front_end
        front_end = front_end_calls.add_calls(front_end, found.waiting, found.awaited)
        outcome.state = outcome.state.replace(front_end=front_end)

    async def _heard_from_skill(self, found: FoundAnswer, ran: set[str]) -> None:
        """Keep what a sub-agent goes on with, and start the form that it left for, if any.

        What it hands back is decided anew, without it. One that waits keeps waiting while others,
        of those that `ran`, come to their ends.
        """
        outcome, skill, before = self._outcome, found.skill, self.before.skill
        done = skill is None or skill.answered
        if done and before is not None and not before.answered and before.name not in ran:
            return
        if skill is not None and found.handed_back and before is not None:
            # One that had answered has nothing more to ask: it isn't gone back to.
            waits = skill.replace(question=before.question, card=before.card)
            skill = None if before.answered else waits
            outcome.void = True
        outcome.state = outcome.state.replace(skill=skill)
        if skill is None or found.left_for is None:
            return
        await self._start(found.left_for)
        run = outcome.flow.id if outcome.flow else NOWHERE
        outcome.state = outcome.state.replace(skill=skill.replace(flow=run))

    async def _back_in_skill(self, *, asked_again: bool) -> None:
        """Go on with a sub-agent once its form is done with, or ask again what it asked."""
        outcome = self._outcome
        for _ in range(MOST_FORMS):
            skill = outcome.state.skill
            if skill is None or not skill.flow or is_form_open(outcome.state.flows, skill.flow):
                break
            told = became(skill.flow, outcome.flow)
            found = await self.finder.go_on(skill, told, outcome.usage)
            self._take_in(found)
            await self._heard_from_skill(found, {skill.name})
            asked_again = True
        skill, flows = outcome.state.skill, outcome.state.flows
        if asked_again or skill is None or not skill.question or flows.active or flows.offered:
            return
        back = notices.back_to(skill.task.skill.title, skill.question)
        said = self._message.says(back)
        card = skill.card.replace(text=said.text) if skill.card else None
        outcome.replies.append(card or said)
        outcome.state = outcome.state.replace(skill=skill.replace(asking=True))

    async def _run(self, command: commands.Command) -> None:
        outcome = self._outcome
        said = _only_words(command)
        if said is not None:
            outcome.replies.append(self._message.says(said))
            return
        match command:
            case commands.StartFlow():
                await self._start(command)
            case commands.HandOff(reason=reason, why=why, asked=asked):
                if not await self._hand_off("asked" if asked else "gave_up", reason, why):
                    outcome.replies.append(self._message.says(notices.handed_off(reason)))
            case commands.LeaveSkill():
                outcome.replies.append(self._message.says(notices.LEFT_ALONE))
                outcome.state = outcome.state.replace(skill=None)
            case commands.Clarify(text=text, options=options, about=about):
                offer = ChoicesReply(text=text, options=options, question=offer_question(options))
                outcome.replies.append(offer)
                words = about or self._message.text or self.before.flows.offered_for
                self._offer(options, words)
            case commands.Remember() | commands.Forget() | commands.ListMemories():
                await self._remember(command)
            case commands.Repeat() if outcome.state.flows.active is None:
                self._say_again()
            case _:
                await self._of_a_run(command)

    async def _of_a_run(self, command: commands.Command) -> None:
        flows = self._outcome.state.flows
        match command:
            case commands.CancelFlow() if flows.active is None:
                await self._talk.call_off(flows.at_work)
            case commands.Withdraw():
                last = next(reversed(flows.handed_in), None)
                await self._talk.call_off(flows.at_work or last)
            case commands.Amend(run=run, slots=slots):
                await self._talk.amend(run, slots)
            case commands.Resume(run=run):
                await self._talk.resume(run)
            case _:
                await self._talk.tell(command)

    async def _remember(self, command: commands.MemoryCommand) -> None:
        """Have it done for whoever speaks, and say what came of it, with what can be undone."""
        message, outcome = self._message, self._outcome
        asked = activities.MemoryRequest(
            command=command, caller=message.caller, locale=message.locale, now=message.now
        )
        answer = await perform(activities.REMEMBER, asked)
        options = answer.options
        if not options:
            outcome.replies.append(TextReply(text=answer.text))
            return
        question = offer_question(options)
        outcome.replies.append(ChoicesReply(text=answer.text, options=options, question=question))
        self._offer(options, message.text)

    async def _start(self, wanted: commands.StartFlow) -> None:
        began = Began(by=self._message.caller.id, slots=wanted.slots)
        await self._talk.start(wanted.flow, began)

    def _say_again(self) -> None:
        """The last turn's replies again; options that were offered can still be chosen."""
        last = transcripts.last_turn(self.before.transcript)
        again = last.replies if last else [self._message.says(notices.NOTHING_SAID)]
        self._outcome.replies += again
        self._offer(self.before.flows.offered, self.before.flows.offered_for)

    def _offer(self, options: list[Option], words: str) -> None:
        """Note the options of a question about a message of these `words`."""
        state = self._outcome.state
        flows = state.flows.replace(offered=options, offered_for=words)
        self._outcome.state = state.replace(flows=flows)

    def _note_calls(self, made: Sequence[RecalledCall]) -> None:
        """Note calls of this turn, for what a model is told of it later."""
        state = self._outcome.state
        calls = [*state.transcript.turn_calls, *made]
        transcript = state.transcript.replace(turn_calls=calls)
        self._outcome.state = state.replace(transcript=transcript)

    def _set_hand_off(self, ongoing: OngoingHandOff) -> None:
        state = self._outcome.state
        self._outcome.state = state.replace(hand_offs=state.hand_offs.replace(ongoing=ongoing))


def _only_words(command: commands.Command) -> Localised | None:
    match command:
        case commands.ReplyText(text=text) | commands.Clarify(text=text, options=[]):
            return Localised(zh=text, en=text)
        case commands.KeepPaused():
            return notices.RESUME_DECLINED
    return None
