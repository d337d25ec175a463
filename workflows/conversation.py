"""A conversation as a Temporal workflow: one turn at a time, each answered exactly once.

A turn is an Update. It understands the message (a local activity, no model), decides where
rules can't (an activity), tells flows (an activity each) and writes what was said to the
event log (a local activity); then the update's result is the turn.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from temporalio import workflow
from temporalio.common import VersioningBehavior
from temporalio.exceptions import (
    ActivityError,
    ChildWorkflowError,
    FailureError,
    is_cancelled_exception,
)

from router.contracts import activities
from router.contracts import conversation as contract
from router.contracts.conversation_state import ConversationState, HeldTurn, News
from router.contracts.failures import from_failure, to_failure
from router.contracts.limits import MAX_CARRIED_BYTES
from router.contracts.skill_run import Steer
from router.domain.commands import Clarify, Resume, RunSkill, StartFlow
from router.domain.errors import (
    Conflict,
    NotFound,
    RouterError,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import Route, TextReply, Turn
from router.domain.records import LogEntry, RecordedTurn
from router.domain.sizes import measure_bytes
from router.entities.language import language_of
from workflows import carrying, flow_client, log_rows, open_flows, open_skills, standing, turns
from workflows import transcript as transcripts
from workflows.activity import TurnQueue, Visibility, drained, is_history_long, perform, until
from workflows.answered_questions import repeat_answer
from workflows.answering import Answerer
from workflows.background import start_awaited_task, survives_failures
from workflows.hand_offs import RUNG_AGAIN, HandOffs, Step
from workflows.hook_runs import Hooked, HookRuns, at
from workflows.open_skills import keep_open
from workflows.skill import SkillRuns
from workflows.tool_calls import came_to
from workflows.turns import TurnContext

GONE = Localised(zh="没有这个对话，可能已经删除了。", en="There is no such conversation.")
DELETED = Localised(
    zh="这个对话已经删除。这条消息当时还没有开始处理，什么都没有办。",
    en="The conversation was deleted before this message was begun: nothing was done for it.",
)

UNTIL_READ = timedelta(seconds=5)
"""How long a message waits for files to be read that came before it."""
IDLE = timedelta(days=1)
"""After this long without a word the conversation is put away until the next message."""


@workflow.defn(name=contract.WORKFLOW)
class ConversationWorkflow(Hooked):
    """One conversation of one person. Its id is `conversation/<tenant>/<id>`."""

    @workflow.init
    def __init__(self, start: contract.ConversationStart) -> None:
        self._start = start
        self._state = start.state or ConversationState()
        self._recalled = start.state is not None
        self._gone = False
        self._knows_all_messages = False
        self._asked_of_old = ""
        self._accepted = {one.message_id: one for one in start.accepted}
        self._open = {id_: one.digest for id_, one in self._accepted.items()}
        self._resuming = bool(start.accepted)
        self._queue = TurnQueue()
        self._running: asyncio.Task[Turn] | None = None
        self._unheard = list(self._state.flows.unheard_news)
        self._skills = SkillRuns()
        self.hooks = HookRuns(self._state.transcript.hooks)
        self._last_word = workflow.now()
        self._whose = {"tenant": start.tenant, "conversation": start.conversation}
        self._visibility = Visibility()
        self._hand_offs = HandOffs(start)

    @workflow.run
    @survives_failures
    async def run(self, start: contract.ConversationStart) -> None:
        """Live until nobody has said a word for `IDLE`; continue as new when the run is long.

        Of a conversation that its owner deletes the running turn ends as usual and is answered.
        What has not begun by then is refused, and keeps nothing.
        """
        last = transcripts.last_turn(self._state.transcript) if start.state is not None else None
        if last is not None:
            self._show(last.route)
        await self._hear()
        await self._resume()
        while True:
            await self._quiet_or_full()
            if self._gone:
                await self.hooks.done()
                await drained()
                return
            if self._full:
                await workflow.wait_condition(lambda: carrying.is_ready(self._unheard))
                # Before nobody is let in any more: then only the last turn's are left.
                await self.hooks.done()
                await self._queue.close()
                await self.hooks.done()
                if self._gone:
                    return
                state = await self._fitted()
                accepted = list(self._accepted.values())
                workflow.continue_as_new(start.replace(state=state, accepted=accepted))
            await self.hooks.done()
            await drained()
            if self._full:
                continue
            quiet_since = self._last_word
            state = _put_away(await self._fitted())
            await perform(activities.KEEP, activities.Keep(**self._whose, state=state))
            if workflow.all_handlers_finished() and self._last_word == quiet_since:
                return

    @workflow.update(
        name=contract.SUBMIT, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON
    )
    async def submit(self, submission: contract.Submission) -> Turn:
        """Take a message and answer its turn; a message known already gets its first answer."""
        self._open[submission.message_id] = submission.digest
        self._accepted.setdefault(submission.message_id, submission)
        seen = self._state.flows.asked if self._recalled else None
        try:
            if self._resuming:
                await workflow.wait_condition(lambda: not self._resuming)
            if submission.on_busy == "steer":
                await self._steer(submission)
            await self._read_out()
            async with self._queue.turn(lambda: submission.message_id in self._skills.heard):
                self._accepted.pop(submission.message_id, None)
                first = await self._first_answer(submission)
                seen = self._asked_of_old if seen is None else seen
                return first or await self._answer(submission, seen)
        except RouterError as error:
            raise to_failure(error) from error
        finally:
            self._accepted.pop(submission.message_id, None)
            self._open.pop(submission.message_id, None)
            self._last_word = workflow.now()

    async def _resume(self) -> None:
        """Take what the run before has taken in and not begun, in its order, before what is new.

        Whoever sent it was told that it is kept: it mustn't hang on their coming again.
        """
        seen = self._state.flows.asked
        for id_, submission in [*self._accepted.items()]:
            try:
                async with self._queue.turn():
                    if await self._looked_up(submission, seen) is None:
                        await self._answer(submission, seen)
            except (RouterError, FailureError):
                # Who comes again for the answer is told what is wrong.
                workflow.logger.exception("message %s isn't answered", id_)
            finally:
                self._accepted.pop(id_, None)
                self._open.pop(id_, None)
                self._last_word = workflow.now()
        self._resuming = False

    async def _looked_up(self, submission: contract.Submission, seen: str) -> Turn | None:
        """Its first answer; where that can't be looked up, the turn that says so."""
        try:
            return await self._first_answer(submission)
        except ActivityError as error:
            message = self._context(submission, seen)
            turn = await self._ended_early(message, error)
            return await self._kept(submission, message, self._state, turn)

    async def _read_out(self) -> None:
        """Wait a little while files are being read: what is said now is about what is in them."""
        if not self._state.flows.reads_files:
            return
        try:
            await workflow.wait_condition(
                lambda: not self._state.flows.reads_files,
                timeout=UNTIL_READ,
                timeout_summary="files are read",
            )
        except TimeoutError:
            return

    async def _steer(self, submission: contract.Submission) -> None:
        """Tell it to whoever is at work, unless a rule takes it: a request for a flow waits."""
        text = submission.message.text
        if not text or not self._skills.at_work:
            return
        context = self._context(submission, "")
        situation = turns.situation(context, self._state)
        heard = activities.Understand(
            message=submission.message, situation=situation, caller=context.caller
        )
        reading = await perform(activities.UNDERSTAND, heard)
        if asked := at(reading.hooks, "before_decision"):
            advice = await self.hooks.asked(asked, turns.decision_event(context, situation))
            if advice.refused is not None or advice.hide:
                return  # it waits for its turn, in which they are heeded
        for_router = StartFlow | Clarify | Resume | RunSkill
        if not any(isinstance(command, for_router) for command in reading.commands):
            said = Steer(message_id=submission.message_id, text=text)
            await self._skills.steer(said)

    @submit.validator
    def _may_submit(self, submission: contract.Submission) -> None:
        id_, digest = submission.message_id, submission.digest
        taken = transcripts.find_digest(self._state.transcript, id_)
        known = taken or self._open.get(id_)
        if known is not None and known != digest:
            raise to_failure(transcripts.other_message(id_))
        if known is not None:
            return
        if self._gone:
            raise to_failure(self._refusal_when_gone(submission))
        if len(self._open) >= contract.MAX_OPEN_TURNS:
            waiting = f"{contract.MAX_OPEN_TURNS} messages of this conversation wait already."
            raise to_failure(TooManyRequests(waiting))
        if submission.on_busy == "reject" and self._open:
            raise to_failure(Conflict("A turn is running, and `on_busy` says to refuse then."))

    @workflow.update(
        name=contract.ATTEND, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON
    )
    async def attend(self, deed: contract.HandOffDeed) -> contract.HandOffStanding:
        """Have somebody take the conversation handed over, speak in it, or give it back."""
        try:
            async with self._queue.turn():
                await self._recall()
                if self._gone:
                    raise NotFound("There is no such hand-off.")
                hand_offs = self._state.hand_offs
                step = await self._hand_offs.attended(hand_offs, deed, self._locale)
                await self._stepped(step)
                return contract.HandOffStanding(record=step.record)
        except RouterError as error:
            raise to_failure(error) from error
        finally:
            self._last_word = workflow.now()

    async def _stepped(self, step: Step) -> None:
        """Have it said in the conversation, and known, what came of a hand-off."""
        if step.event is None:
            return
        replies, active = [*step.replies], self._state.flows.active
        if step.event == "closed" and active is not None and active.asking:
            # The assistant is back, and so is what it had asked.
            replies += active.replies
        if replies:
            key = f"{step.record.id}:{step.word or step.record.version}"
            said = (replies, step.author, step.record.agent)
            await self._write([log_rows.row_of_person(self._start, key, *said)])
        await self._hand_offs.publish(step.record, step.event, step.people)
        self._state = self._state.replace(hand_offs=step.state)

    async def _ring(self, due: datetime) -> None:
        """Do what is due about a hand-off."""
        async with self._queue.turn():
            if self._hand_offs.due == due:
                settled = await self._hand_offs.settle(self._state.hand_offs)
                self._state = self._state.replace(hand_offs=settled)
            hand_offs = self._state.hand_offs
            hand_off = hand_offs.ongoing
            if hand_off is None or hand_off.alarm != due:
                return
            try:
                await self._stepped(await self._hand_offs.rung(hand_offs, hand_off, self._locale))
            except ActivityError:
                # A calendar that can't answer must not end the conversation: it is looked at later.
                workflow.logger.exception("hand-off %s isn't reminded yet", hand_off.id)
                later = hand_off.replace(alarm=workflow.now() + RUNG_AGAIN)
                self._state = self._state.replace(hand_offs=hand_offs.replace(ongoing=later))

    @property
    def _alarm(self) -> datetime | None:
        ongoing = self._state.hand_offs.ongoing
        rings = ongoing.alarm if ongoing else None
        return min(filter(None, (rings, self._hand_offs.due)), default=None)

    @workflow.signal(name=contract.CANCEL)
    def cancel_turn(self, message_id: str) -> None:
        """Stop the turn of this message; a signal, so that it gets through when turns are full."""
        if self._running is not None and self._running.get_name() == message_id:
            self._running.cancel()

    @workflow.signal(name=contract.FORGET)
    def forget(self) -> None:
        """End after the running turn, since the owner has deleted the conversation.

        A signal, so that it gets through when turns are full.
        """
        self._knows_all_messages = self._recalled and not self._state.transcript.has_older
        self._gone = True

    @workflow.signal(name=contract.NEWS, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    @survives_failures
    async def news(self, news: News) -> None:
        """Pass on what happened to a run; what isn't passed on yet is carried into the next run."""
        self._unheard.append(news)
        await self._hear()
        self._last_word = workflow.now()

    async def _hear(self) -> None:
        while self._unheard:
            async with self._queue.turn():
                if not self._unheard:
                    return
                await self._recall()
                if self._gone:
                    self._unheard.clear()
                    return
                first = self._unheard[0]
                told, flows = open_flows.hear_news(self._state.flows, first, self._locale)
                place = (self._start.conversation, self._start.owner)
                if rows := log_rows.rows_of_news(*place, told):
                    await self._write(rows)
                transcript, asked = self._state.transcript, self._state.flows.asked
                if flows.active is first.view and flows.asked != asked:
                    transcript = transcript.replace(last_word_at=workflow.now())
                self._state = self._state.replace(flows=flows, transcript=transcript)
                self._unheard.remove(first)
                await self._make_room()
                self._drop_unused_slots()

    async def _make_room(self) -> None:
        """Put away the oldest requests as long as too many ask something, and say so."""
        spared: set[str] = set()
        while (oldest := open_flows.find_surplus(self._state.flows, spared)) is not None:
            try:
                after = await flow_client.put_away(self._start, oldest, self._locale)
            except ActivityError:
                # The next news or message makes room; until then the state is cut to fit.
                workflow.logger.exception("run %s isn't put away yet", oldest.id)
                return
            if after is not None and after.asking:
                spared.add(oldest.id)
                continue
            flows = self._state.flows
            closed = open_flows.show_form(flows, oldest)
            flows = open_flows.drop_surplus(flows, oldest, after)
            self._state = self._state.replace(flows=flows)
            if notice := open_flows.say_closed(closed, after):
                said = TextReply(text=notice.within(self._locale), notice=True)
                key = f"put_away:{oldest.id}:{oldest.events}"
                await self._write([log_rows.row_of_person(self._start, key, [said], None, None)])

    async def _write(self, entries: list[LogEntry]) -> list[RecordedTurn]:
        if self._gone:
            # A conversation of the same id may have begun since: these are no rows of that one.
            return []
        written = activities.Write(tenant=self._start.tenant, entries=entries)
        return (await perform(activities.WRITE, written)).unknown

    def _drop_unused_slots(self) -> None:
        flows = open_flows.drop_unused_slots(self._state.flows, self._unheard)
        self._state = self._state.replace(flows=flows)

    @workflow.query(name=contract.STATUS)
    def status(self) -> contract.ConversationStatus:
        """Where the conversation stands right now."""
        return standing.describe_status(self._state, list(self._open))

    @workflow.query(name=contract.STATE)
    def state(self) -> ConversationState:
        """What would be kept if the conversation were put away right now."""
        return _put_away(self._carried().state)

    @property
    def _full(self) -> bool:
        return is_history_long(self._start.continue_after)

    async def _quiet_or_full(self) -> None:
        while not (self._full or self._gone):
            # With a person it isn't put away: its timers are in this run.
            alarm, last_word = self._alarm, self._last_word
            try:
                await workflow.wait_condition(
                    partial(self._is_moved, alarm),
                    timeout=until(alarm or last_word + IDLE),
                    timeout_summary="put away when idle",
                )
            except TimeoutError:
                # By what is so, not by the time: as `until` says.
                if alarm is not None:
                    await self._ring(alarm)
                elif not self._open and self._last_word == last_word:
                    return
                elif self._last_word == last_word:
                    self._last_word = workflow.now()

    def _is_moved(self, alarm: datetime | None) -> bool:
        return self._full or self._gone or self._alarm != alarm

    def _carried(self) -> carrying.Carried:
        """What is carried next to the messages that were taken in and not begun."""
        left = MAX_CARRIED_BYTES - measure_bytes([*self._accepted.values()])
        return carrying.fit_state(self._state, self._unheard, left)

    async def _fitted(self) -> ConversationState:
        """The state as it can be carried; the person is told what gives way for that."""
        carried = self._carried()
        if carried.said:
            key = f"carried:{workflow.info().run_id}:{self._state.transcript.turn_count}"
            replies = [TextReply(text=said.within(self._locale)) for said in carried.said]
            await self._write([log_rows.row_of_person(self._start, key, [*replies], None, None)])
        return carried.state

    async def _recall(self) -> None:
        if self._recalled:
            return
        asked = activities.Recall(**self._whose)
        found = await perform(activities.RECALL, asked, summary="snapshot")
        self._gone = self._gone or found.gone
        if found.state is not None:
            self._state = found.state
            self.hooks.known = found.state.transcript.hooks
            self._asked_of_old = self._state.flows.asked
        self._recalled = True

    async def _first_answer(self, submission: contract.Submission) -> Turn | None:
        await self._recall()
        id_, digest = submission.message_id, submission.digest
        known = transcripts.find_digest(self._state.transcript, id_)
        if known is not None and known != digest:
            raise transcripts.other_message(id_)
        held = transcripts.find_turn(self._state.transcript, id_)
        if held is not None and held.turn is not None:
            return held.turn
        if self._gone:
            if id_ in self._skills.heard:
                return None  # The running turn has taken it in: it has begun.
            raise self._refusal_when_gone(submission)
        if known is None and (submission.fresh or not self._state.transcript.has_older):
            return None
        asked = activities.Recall(**self._whose, message_id=id_)
        recorded = (await perform(activities.RECALL, asked, summary=f"message {id_}")).turn
        if recorded is None:
            return None
        if recorded.digest != digest:
            raise transcripts.other_message(id_)
        return recorded.turn

    def _refusal_when_gone(self, submission: contract.Submission) -> NotFound:
        """Say that nothing was done for the message, unless it may be a repeat of an old one."""
        known = transcripts.find_digest(self._state.transcript, submission.message_id)
        is_new = submission.fresh or (self._knows_all_messages and known is None)
        return NotFound(DELETED if is_new else GONE)

    async def _answer(self, submission: contract.Submission, seen: str) -> Turn:
        """The turn of a new message, kept before it is told."""
        if submission.tools is not None:
            front_end = self._state.front_end.replace(tools=submission.tools)
            self._state = self._state.replace(front_end=front_end)
        before, message = self._state, self._context(submission, seen)
        turn = turns.with_refusal(message, await self._turn_of(message))
        try:
            return await self._kept(submission, message, before, turn)
        except ActivityError as error:
            if transcripts.find_turn(self._state.transcript, message.id) is not None:
                raise
            self._skills.leave(turn.tool_calls, {})
            broken = await self._ended_early(message, error)
            return await self._kept(submission, message, before, broken)

    async def _kept(
        self,
        submission: contract.Submission,
        message: TurnContext,
        before: ConversationState,
        turn: Turn,
    ) -> Turn:
        """The turn, once it is on record and in the state, and known to whom it concerns."""
        turn = turns.with_left_out(message, turn)
        said = log_rows.as_text(submission.message, before.flows, message.named(message.files))
        model, model_before = turn.usage.model, self._state.transcript.model
        turn = await self._recorded(submission, message, said, turn)
        # A button or a form goes without files: what is left waits for the next words.
        kept = before.front_end.left_files if submission.message.action is not None else {}
        left = kept | {file: message.named([file])[0] for file in turn.files_left or []}
        state = self._state.replace(
            transcript=self._state.transcript.replace(
                last_word_at=workflow.now(),
                locale=message.locale,
                model=model or model_before,
                hooks=self.hooks.known,
            ),
            front_end=self._state.front_end.replace(left_files=left),
        )
        # What was said to a person no model is told, later either.
        is_for_model = before.hand_offs.ongoing is None
        if is_for_model:
            state = turns.remember_turn(message, before, turn, said, state)
        self._state = state
        hand_offs = await self._hand_offs.publish_turn(
            before.hand_offs, state.hand_offs, message.id
        )
        self._state = self._state.replace(hand_offs=hand_offs)
        self._drop_unused_slots()
        self._show(turn.route)
        # What was said to a person is theirs: no hook hears it.
        if is_for_model and (looking_on := self.hooks.at("after_turn")):
            self.hooks.tell(looking_on, turns.turn_event(message, turn))
        return turn

    async def _recorded(
        self, submission: contract.Submission, message: TurnContext, said: str, turn: Turn
    ) -> Turn:
        """The turn as it is on record, from now on or already, and in the state.

        Rows are written before Temporal has what was done for them: a server that dies then forgets
        it, and the message, which is sent again or isn't. The next turn finds their turn here.
        """
        where, before = message.conversation, self._state.transcript.model
        changed = log_rows.rows_of_model(where, message.id, before, turn.usage.model)
        if changed:
            workflow.logger.info("answered by %s, and not by %s", turn.usage.model, before)
        while True:
            rows = log_rows.rows_of_turn(where, submission, said, turn, message.began)
            unknown = await self._write([*changed, *rows])
            if not unknown:
                held = HeldTurn(message_id=message.id, digest=submission.digest, turn=turn)
                transcript = transcripts.add_turn(self._state.transcript, held)
                self._state = self._state.replace(transcript=transcript)
                return turn
            transcript = transcripts.add_recorded(self._state.transcript, unknown)
            self._state = self._state.replace(transcript=transcript)
            known = transcripts.find_turn(transcript, message.id)
            if known is not None and known.digest != submission.digest:
                raise transcripts.other_message(message.id)
            if known is not None and known.turn is not None:
                return known.turn
            turn = turn.replace(turn=self._state.transcript.next_turn)

    async def _turn_of(self, message: TurnContext) -> Turn:
        """The turn, whatever comes of it: one that is stopped or breaks is a turn too."""
        self._running = start_awaited_task(message.id, self._take, message)
        try:
            return await self._running
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            return await self._ended_early(message, error)
        finally:
            self._running = None

    async def _ended_early(self, message: TurnContext, error: BaseException) -> Turn:
        """The turn of what was stopped, or broke: with what it and its sub-agents had done."""
        if not is_cancelled_exception(error):
            workflow.logger.error("turn %s failed", message.id, exc_info=error)
            why = from_failure(error) or Unavailable(type(error).__name__)
            broken = turns.error_event(message, why.said.within(message.locale))
            self.hooks.tell(self.hooks.at("on_error"), broken)
        active = self._state.flows.active
        turn = turns.ended_early(message, self._state.transcript.next_turn, error)
        await self._skills.gone()
        calls, usage = [*self._skills.calls], turn.usage
        for start, outcome in self._skills.stopped:
            usage += outcome.usage
            # The last can be gone on with.
            self._state = self._state.replace(skill=keep_open(start, outcome))
        turn = turns.with_calls(message, turn, calls, self._skills.titles)
        self._skills.forget()
        made = [transcripts.recall_call(call, came_to(call)) for call in calls]
        transcript = self._state.transcript.replace(turn_calls=made)
        self._state = self._state.replace(transcript=transcript)
        return turn.replace(flow=active.summary if active else None, usage=usage)

    async def _take(self, message: TurnContext) -> Turn:
        """Understand, decide, act. State changes only when all of it is done."""
        landed = self._skills.heard.pop(message.id, None)
        if landed is not None:
            return turns.heard_at_work(message, self._state.transcript.next_turn, landed)
        if (again := repeat_answer(message, self._state)) is not None:
            return again
        answerer = Answerer(message, self._skills, self._unheard)
        decided, outcome = await answerer.answer(self._state)
        # Let news that a turn took as its own not be told a second time.
        for news in outcome.heard:
            self._unheard.remove(news)
        if message.files:
            outcome.documents = await turns.documents_of(message)
        before = self._state.flows.active
        self._state = outcome.state
        turn = turns.of(message, self._state.transcript.next_turn, decided, outcome)
        return await turns.structured(message, turn, outcome, before)

    def _context(self, submission: contract.Submission, seen: str) -> TurnContext:
        text, active = submission.message.text or "", self._state.flows.active
        asked = active is not None and active.asking
        locale = language_of(text, answers=asked) or self._locale
        known = turns.with_left(submission, self._state.front_end.left_files)
        whose = (self._start.conversation, locale, known, workflow.now(), seen)
        return TurnContext(*whose, self.hooks)

    @property
    def _locale(self) -> Locale:
        """The language that its person wrote last; at first, that of their profile."""
        return self._state.transcript.locale or self._start.locale

    def _show(self, route: Route) -> None:
        details = standing.write_details(self._start, self._state, route)
        self._visibility.show(standing.list_attributes(self._start, route), details)


def _put_away(state: ConversationState) -> ConversationState:
    """Return the state of a conversation that is resumed another day: nothing is answered then."""
    return state.replace(skill=open_skills.put_away(state.skill))


@workflow.defn(name=contract.WORKFLOW, versioning_behavior=VersioningBehavior.AUTO_UPGRADE)
class AutoUpgradeConversation(ConversationWorkflow):
    """`ConversationWorkflow` on a versioned worker: its next word moves it to the current one.

    Pinned to its first version, who always talks would keep old workers up for ever. It is a class
    of its own, since a workflow that names a behaviour can't run on an unversioned worker.
    """

    @workflow.init
    def __init__(self, start: contract.ConversationStart) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: contract.ConversationStart) -> None:
        """Live as the conversation does."""
        await super().run(start)
