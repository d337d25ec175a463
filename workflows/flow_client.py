"""Which flow a conversation talks about, and telling it, once, what a message means to it.

One thing is asked at a time: other flows wait for their turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception

from router.contracts import activities
from router.contracts.conversation import ConversationStart
from router.contracts.conversation_state import News, OpenFlows
from router.contracts.document import DocumentsOf
from router.contracts.flow import STOP, FlowAnswer, StopReason, Told, workflow_id
from router.domain import commands
from router.domain.locale import Locale
from router.domain.messages import Reply, TextReply
from router.domain.principals import Principal
from router.flow.engine import events
from router.flow.view import FlowView
from router.understanding.route_reasons import WHICH_TO_RESUME
from router.understanding.slots.attachments import filled_by_files, texts_in
from workflows import notices, open_flows
from workflows.activity import fresh_id, perform, perform_once, until
from workflows.background import start_awaited_task
from workflows.turns import TurnContext, TurnOutcome


def event_of(command: commands.Command, active: FlowView, message: TurnContext) -> Told:
    """What a command means to the run that is being talked about.

    An answer may come ahead of its question. A yes may not: it is to what was seen.
    """
    by, seen = message.caller.id, message.seen
    match command:
        case commands.FillSlots(slots=slots, question=answered):
            return events.Answered(by=by, slots=slots, question=answered or active.question)
        case commands.Confirm(value=value, slots=slots, question=answered):
            return events.Confirmed(by=by, value=value, slots=slots, question=answered or seen)
        case commands.StartOver():
            return events.StartedOver(by=by, question=active.question)
        case commands.Skip():
            return events.Skipped(by=by, question=seen)
    plain: dict[type, Told] = {
        commands.CancelFlow: events.Cancelled(by=by),
        commands.Explain: events.Puzzled(by=by),
        commands.Repeat: events.Unclear(by=by, count=False),
        commands.Misunderstood: events.Unclear(by=by),
    }
    if type(command) in plain:
        return plain[type(command)]
    raise TypeError(f"{command.type} isn't told to a flow")


def before_question(
    replies: list[Reply], active: FlowView | None, said: list[Reply]
) -> list[Reply]:
    """The replies with this said before the question that they end with, which stays the last."""
    asked, at = active.replies if active else [], len(replies)
    if asked and replies[-len(asked) :] == asked:
        at -= len(asked)
    while at and not isinstance(replies[at - 1], TextReply):
        at -= 1
    return [*replies[:at], *said, *replies[at:]]


async def put_away(start: ConversationStart, run: FlowView, locale: Locale) -> FlowView | None:
    """Put a request away outside of any turn; None if the run is over already."""
    id_ = workflow_id(run.flow, start.tenant, run.id)
    tell = activities.TellFlow(
        workflow_id=id_,
        flow=run.flow,
        event=events.PutAway(),
        caller=Principal(id=start.owner, name=start.owner, tenant=start.tenant),
        locale=locale,
        conversation=start.conversation,
        first=False,
        update_id=f"{start.conversation}:put_away:{run.id}:{run.events}",
    )
    told = await perform(activities.TELL_FLOW, tell, summary=f"put away ▸ {run.flow}")
    return told.answer.view if told.answer else None


PATIENCE = timedelta(seconds=3)
"""How long a turn waits for the first word of runs that were begun, since it told the first."""


class FlowClient:
    """Starts, tells and takes up flows for one message; what they say goes into its outcome.

    Of `unheard`, the conversation's news as they come in, this turn may take some as its own.
    """

    def __init__(self, message: TurnContext, outcome: TurnOutcome, unheard: list[News]) -> None:
        self._message = message
        self._outcome = outcome
        self._unheard = unheard
        self._begun: set[str] = set()
        self._sent = 0
        self._sent_at = message.began
        self.stopped = False
        """True once the turn was stopped while flows were told something, or listened to."""

    @property
    def _flows(self) -> OpenFlows:
        """The conversation's, after what this turn has done so far."""
        return self._outcome.state.flows

    @_flows.setter
    def _flows(self, flows: OpenFlows) -> None:
        self._outcome.state = self._outcome.state.replace(flows=flows)

    async def start(self, flow: str, event: events.Began) -> None:
        """Start a flow; what was talked about waits, or the new one where that was just begun."""
        outcome, active = self._outcome, self._flows.active
        if active is not None and outcome.flow is not None and outcome.flow.id == active.id:
            await self._start_later(flow, event)
            return
        self._flows = open_flows.pause_active(self._flows)
        answer = await self._begin(flow, event)
        if answer is None:
            outcome.replies.append(self._message.says(notices.FLOW_GONE))
            await self._resume()
            return
        await self._heard(answer)
        await self._make_room()

    async def _make_room(self) -> None:
        """Put away the oldest requests as long as too many are unfinished, and say so."""
        outcome, spared = self._outcome, set(self._begun)
        while (oldest := open_flows.find_surplus(self._flows, spared)) is not None:
            if self.stopped:
                return  # the next message makes room
            answer = await self._tell(oldest, events.PutAway())
            after = answer.view if answer else None
            if after is not None and after.asking:
                spared.add(oldest.id)
                continue
            closed = open_flows.show_form(self._flows, oldest)
            self._flows = open_flows.drop_surplus(self._flows, oldest, after)
            notice = open_flows.say_closed(closed, after)
            said: list[Reply] = [self._message.says(notice, notice=True)] if notice else []
            told = [reply for reply in answer.replies if reply not in said] if answer else []
            active = self._flows.active
            outcome.replies = before_question(outcome.replies, active, [*told, *said])

    async def _start_later(self, flow: str, event: events.Began) -> None:
        outcome, message = self._outcome, self._message
        answer = await self._begin(flow, event)
        outcome.tool_calls += answer.calls if answer else []
        if answer is None or not answer.view.asking:
            gone = message.says(notices.FLOW_GONE)
            said: list[Reply] = list(answer.replies) if answer else [gone]
            outcome.replies = before_question(outcome.replies, self._flows.active, said)
            return
        self._flows = self._flows.replace(paused=[answer.view, *self._flows.paused])
        outcome.replies.append(message.says(notices.later(answer.view.title)))
        await self._make_room()

    async def tell(self, command: commands.Command) -> None:
        """Tell the flow that is being talked about; the outcome is void where that is over."""
        outcome, active = self._outcome, self._flows.active
        if active is None:
            outcome.replies.append(self._message.says(notices.NOTHING_ACTIVE))
            return
        answer = await self._tell(active, event_of(command, active, self._message))
        if answer is None:
            self._flows = self._flows.replace(active=None)
            outcome.void = True
            return
        await self._heard(answer)

    async def attach(self, *, replacing: bool) -> None:
        """Have the flow that asks now take what it can of the files that are left."""
        outcome, active = self._outcome, self._flows.active
        if active is None:
            return
        form = open_flows.show_form(self._flows, active)
        slots = filled_by_files(form, outcome.files_left, replacing=replacing)
        if not slots:
            return
        event = events.Answered(by=self._message.caller.id, slots=slots, question=active.question)
        answer = await self._tell(active, event)
        if answer is None:
            self._flows = self._flows.replace(active=None)
            return
        # What it asked before isn't asked any more, or is asked again.
        asked = len(active.replies)
        if asked and outcome.replies[-asked:] == active.replies:
            del outcome.replies[-asked:]
        await self._heard(answer)

    async def ask_again(self) -> None:
        """A question in between was answered: back to the one that the flow asked."""
        active = self._flows.active
        answer = None if active is None else await self._repeated(active)
        if answer is not None:
            await self._heard(answer)

    async def call_off(self, run: FlowView | None) -> None:
        """Cancel a run that asks nothing; it may be done by now."""
        outcome, answer = self._outcome, None
        if run is not None:
            answer = await self._tell(run, events.Cancelled(by=self._message.caller.id))
        if answer is None:
            if run is not None:
                flows = open_flows.end_work(self._flows, run.id)
                self._flows = open_flows.end_approval(flows, run.id)
            outcome.replies.append(self._message.says(notices.NOTHING_ACTIVE))
            return
        await self._heard(answer, cancelling=True)

    async def amend(self, run: str, slots: dict[str, JsonValue]) -> None:
        """Have what was handed in be other, once that is confirmed; of a branch that is its whole.

        What asked something waits meanwhile.
        """
        outcome, message = self._outcome, self._message
        view = next((one for one in self._flows.handed_in if one.id == run), None)
        answer = None
        if view is not None:
            whole = view.replace(id=view.whole or view.id)
            answer = await self._tell(whole, events.Amended(by=message.caller.id, slots=slots))
        if answer is None:
            self._flows = open_flows.end_approval(self._flows, run)
            outcome.replies.append(message.says(notices.SETTLED_ALREADY))
            return
        self._flows = open_flows.pause_active(self._flows)
        await self._heard(answer)
        await self._make_room()

    async def resume(self, run: str) -> None:
        """Go on with a run that is put aside, or begin one with what a lapsed one was told."""
        outcome, says = self._outcome, self._message.says
        flows = self._flows
        lapsed = next((one for one in flows.lapsed if one.run == run), None)
        if lapsed is not None:
            self._flows = open_flows.drop_lapsed(flows, run)
            outcome.replies.append(says(notices.back_to(lapsed.title)))
            by = self._message.caller.id
            began = events.Began(by=by, slots=lapsed.slots, skipped=lapsed.skipped)
            await self.start(lapsed.flow, began)
            return
        view = next((one for one in flows.paused if one.id == run), None)
        if view is None:
            outcome.replies.append(says(notices.OVER_ALREADY))
            return
        others = [one for one in flows.paused if one.id != run]
        self._flows = open_flows.pause_active(flows.replace(paused=others))
        answer = await self._repeated(view)
        if answer is None:
            outcome.replies.append(says(notices.OVER_ALREADY))
            await self._resume()
            return
        outcome.replies.append(says(notices.back_to(view.title)))
        await self._heard(answer)

    async def _heard(self, answer: FlowAnswer, *, cancelling: bool = False) -> None:
        outcome, view = self._outcome, answer.view
        outcome.replies += answer.replies
        outcome.tool_calls += answer.calls
        outcome.flow = view.summary
        taken = {*texts_in(view.slots), *view.reading}
        outcome.files_left = [file for file in outcome.files_left if file not in taken]
        self._flows = open_flows.receive_answer(self._flows, view)
        # What is being cancelled has said itself that it is at it still.
        if view.status == "running" and not (cancelling and answer.replies):
            names = self._message.named(view.reading)
            seconds = await self._seconds_until_read(view.reading) if names else 0.0
            said = notices.reading(names, seconds) if names else notices.at_work(view.title)
            outcome.replies.append(self._message.says(said))
        if answer.begun:
            await self._hear_from(answer.begun)
        if self._flows.active is None:
            await self._resume()

    async def _seconds_until_read(self, files: list[str]) -> float:
        asked = DocumentsOf(tenant=self._message.caller.tenant, files=files, estimate=True)
        told = await perform_once(activities.ESTIMATE_READING, asked)
        return told.seconds_left if told else 0.0

    async def _hear_from(self, begun: list[str]) -> None:
        """Say the first word of runs that were begun, if it is there; what comes later is news."""
        try:
            await workflow.wait_condition(
                lambda: {news.view.id for news in self._unheard}.issuperset(begun),
                timeout=until(self._sent_at + PATIENCE),
                timeout_summary="first words by then",
            )
        except TimeoutError:
            workflow.logger.info("not heard of yet: %s", ", ".join(begun))
        except asyncio.CancelledError:
            self.stopped = True
        outcome = self._outcome
        for news in [news for news in self._unheard if news.view.id in begun]:
            self._flows = open_flows.learn_slots(self._flows, news)
            told = open_flows.pass_on(self._flows, news, self._message.locale)
            outcome.replies += [reply for reply in told.replies if reply not in outcome.replies]
            self._flows = open_flows.receive_news(self._flows, news.view, resume=False)
            outcome.heard.append(news)

    async def _resume(self) -> None:
        """Take up the flow that was put aside last; where several wait, it is asked which."""
        outcome, locale = self._outcome, self._message.locale
        while self._flows.active is None and self._flows.paused:
            if len(self._flows.paused) > 1:
                self._flows, which = open_flows.ask_which(self._flows, locale)
                outcome.replies.append(which)
                outcome.routes.append(WHICH_TO_RESUME.route(locale))
                return
            *rest, last = self._flows.paused
            self._flows = self._flows.replace(paused=rest)
            answer = await self._repeated(last)
            if answer is not None and answer.view.asking:
                back = self._message.says(notices.back_to(last.title))
                outcome.replies += [back, *answer.replies]
                outcome.flow = outcome.flow or answer.view.summary
                self._flows = self._flows.replace(active=answer.view)

    async def _begin(self, flow: str, event: events.Began) -> FlowAnswer | None:
        """Start a run; None where there is no such flow (any more)."""
        run = fresh_id()
        self._begun.add(run)
        id_ = workflow_id(flow, self._message.caller.tenant, run)
        return await self._send(id_, flow, event, first=True)

    async def _tell(self, run: FlowView, event: Told) -> FlowAnswer | None:
        """What the run says to it; None where it is over."""
        id_ = workflow_id(run.flow, self._message.caller.tenant, run.id)
        return await self._send(id_, run.flow, event, first=False)

    async def _repeated(self, run: FlowView) -> FlowAnswer | None:
        """What the run asks, once more, as after something else; None where it is over."""
        return await self._tell(run, events.Unclear(by=self._message.caller.id, count=False))

    async def _send(self, id_: str, flow: str, event: Told, *, first: bool) -> FlowAnswer | None:
        self._sent, self._sent_at = self._sent + 1, workflow.now()
        message = self._message
        tell = activities.TellFlow(
            workflow_id=id_,
            flow=flow,
            event=event,
            caller=message.caller,
            locale=message.locale,
            conversation=message.conversation,
            first=first,
            update_id=f"{message.conversation}:{message.id}:{self._sent}",
            known_slot_sets=[*self._flows.slot_sets],
        )
        telling = partial(perform, activities.TELL_FLOW, tell, f"{event.type} ▸ {flow}")
        try:
            answer = (await self._heard_out(telling)).answer
        except ActivityError as error:
            if first and not is_cancelled_exception(error):
                # Stop a run that nobody heard begin: the turn will say that nothing was done.
                with suppress(FailureError):  # it may never have begun
                    await workflow.get_external_workflow_handle(id_).signal(STOP, StopReason())
            raise
        if answer is not None:
            # News of before may be on their way yet, and mustn't be taken for what is.
            flows = open_flows.learn_slots(self._flows, answer)
            self._flows = open_flows.note_events(flows, answer.view)
        return answer

    async def _heard_out(
        self, telling: Callable[[], Awaitable[activities.TellAnswer]]
    ) -> activities.TellAnswer:
        """What a flow says, even to a turn that is stopped meanwhile, but not twice.

        Nothing untells a flow what it was told, and it says each thing once.
        """
        answering = start_awaited_task("tell the flow", telling)
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            if answering.cancelled():
                raise
            self.stopped = True
            return await answering
