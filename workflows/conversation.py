"""A conversation as a Temporal workflow: one turn at a time, each answered exactly once.

A turn is an Update. It understands the message (a local activity, no model), decides where
rules can't (an activity), tells flows (an activity each) and writes what was said to the
event log (a local activity); then the update's result is the turn.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities
    from router.contracts.conversation import (
        CANCEL,
        MAX_OPEN_TURNS,
        NEWS,
        STATUS,
        SUBMIT,
        WORKFLOW,
        ConversationStart,
        ConversationState,
        ConversationStatus,
        HeldTurn,
        News,
        Submission,
    )
    from router.contracts.failures import to_failure
    from router.contracts.search_attributes import (
        CONVERSATION_ID,
        REQUESTER,
        ROUTE_BY,
        ROUTE_KIND,
        ROUTE_TARGET,
        TENANT,
    )
    from router.contracts.skill import Steer
    from router.domain.commands import Clarify, StartFlow, TakeUp
    from router.domain.errors import Conflict, DuplicateKey, RouterError, TooManyRequests
    from router.domain.messages import Route, TextReply, ToolResultAction, Turn, Usage
    from router.domain.records import LogEntry
    from router.domain.texts import Localised
    from router.flow.situation import Situation
    from workflows import memory, notices, reminding, taking_up, transcript
    from workflows.activity import drained, perform
    from workflows.commands import ASKS_WHICH, CommandRunner, Outcome
    from workflows.skill_runs import SkillRuns
    from workflows.transcript import text_of

IDLE = timedelta(days=1)
"""After this long without a word the conversation is put away until the next message."""

QUIET_WITHIN = timedelta(milliseconds=300)
"""How long a run that is to continue as new waits for a moment at which nobody is served."""


@workflow.defn(name=WORKFLOW)
class ConversationWorkflow:
    """One conversation of one person. Its id is `conversation/<tenant>/<id>`."""

    @workflow.init
    def __init__(self, start: ConversationStart) -> None:
        self._start = start
        self._state = start.state or ConversationState()
        self._recalled = start.state is not None
        self._asked_of_old = ""
        self._open: dict[str, str] = {}
        self._one_at_a_time = asyncio.Lock()
        self._running: asyncio.Task[Turn] | None = None
        self._unheard = list(self._state.unheard)
        self._skills = SkillRuns()
        self._at_work = False
        self._handing_over = False
        self._updates = 0
        self._last_word = workflow.now()
        self._shown: tuple[str, ...] | None = None

    @workflow.run
    async def run(self, start: ConversationStart) -> None:
        """Live until nobody has said a word for `IDLE`; continue as new when the run is long."""
        await self._hear()
        while True:
            await self._quiet_or_full()
            if self._full:
                await self._handed_over()
                workflow.continue_as_new(start.model_copy(update={"state": self._carried()}))
            await drained()
            if not self._full and await self._put_away():
                return

    @workflow.update(name=SUBMIT, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def submit(self, submission: Submission) -> Turn:
        """Take a message and answer its turn; a message known already gets its first answer."""
        self._updates += 1
        self._open[submission.message_id] = submission.message.digest
        seen = self._asked if self._recalled else None
        try:
            if submission.on_busy == "steer":
                await self._steer(submission)
            async with self._my_turn():
                first = await self._first_answer(submission)
                return first or await self._answer(
                    submission, self._asked_of_old if seen is None else seen
                )
        except RouterError as error:
            raise to_failure(error) from error
        finally:
            self._open.pop(submission.message_id, None)
            self._last_word = workflow.now()

    async def _steer(self, submission: Submission) -> None:
        """Tell it to whoever is at work, unless a rule takes it: a request for a flow waits."""
        text = submission.message.text
        if not text or not self._skills.are_at_work:
            return
        runner = self._runner(submission, self._state, "")
        reading = await perform(
            activities.UNDERSTAND,
            activities.Understand(
                message=submission.message, situation=self._situation(submission, runner)
            ),
        )
        for_router = StartFlow | Clarify | TakeUp
        if not any(isinstance(command, for_router) for command in reading.commands):
            said = Steer(message_id=submission.message_id, text=text)
            await self._skills.steer(said)

    @submit.validator
    def _may_submit(self, submission: Submission) -> None:
        id_, digest = submission.message_id, submission.message.digest
        held = memory.held(self._state, id_)
        known = held.digest if held else self._open.get(id_)
        if known is not None and known != digest:
            raise to_failure(_other_body(id_))
        if held is not None:
            return
        if len(self._open) >= MAX_OPEN_TURNS:
            raise to_failure(
                TooManyRequests(f"{MAX_OPEN_TURNS} messages of this conversation wait already.")
            )
        if submission.on_busy == "reject" and self._open:
            raise to_failure(Conflict("A turn is running, and `on_busy` says to refuse then."))

    @workflow.signal(name=CANCEL)
    def cancel_turn(self, message_id: str) -> None:
        """Stop the turn of this message, if it runs still and not another by now.

        A signal, so that it gets through when turns are full.
        """
        if self._running is not None and self._running.get_name() == message_id:
            self._running.cancel()

    @workflow.signal(name=NEWS, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def news(self, news: News) -> None:
        """Pass on what happened to a run; what isn't passed on yet is carried into the next run."""
        self._unheard.append(news)
        await self._hear()
        self._last_word = workflow.now()

    async def _hear(self) -> None:
        while self._unheard:
            async with self._my_turn():
                if not self._unheard:
                    return
                await self._recall()
                first = self._unheard[0]
                told, after = self._with_news(first)
                start = self._start
                await self._write(transcript.of_news(start.conversation, start.owner, told))
                self._state = after
                self._unheard.remove(first)

    def _with_news(self, news: News) -> tuple[News, ConversationState]:
        """What to say of the news, and the state after it."""
        state, locale = self._state, self._start.locale
        told, view = taking_up.as_told(state, news, locale), news.view
        asks_which = memory.leaves_several(state, view) and workflow.patched(ASKS_WHICH)
        after = memory.with_news(state, view, take_up=not asks_which)
        after = taking_up.with_lapsed(after, view)
        if after.active is view and (
            state.active is None or state.active.question != view.question
        ):
            after = memory.heard(after, workflow.now())
        if asks_which:
            after, which = taking_up.asking_which(after, locale)
            told = told.model_copy(update={"replies": [*told.replies, which]})
        return told, after

    @asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        """One at a time, in order of arrival; nobody once the next run is to go on from here.

        Whoever then still waits has changed nothing. The end of this run tells their callers
        so, and they come again with the same message id, to the next run.
        """
        async with self._one_at_a_time:
            if self._handing_over:
                await workflow.wait_condition(lambda: False)
            self._at_work = True
            try:
                yield
            finally:
                self._at_work = False

    async def _handed_over(self) -> None:
        """Return when nothing is half done: at a quiet moment, or one made where none comes."""
        try:
            await workflow.wait_condition(
                workflow.all_handlers_finished,
                timeout=QUIET_WITHIN,
                timeout_summary="quiet by then",
            )
        except TimeoutError:
            self._handing_over = True
            await workflow.wait_condition(lambda: not self._at_work)
        # The result of the last turn becomes durable in a task of its own.
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        self._handing_over = True
        await workflow.wait_condition(lambda: not self._at_work)

    @workflow.query(name=STATUS)
    def status(self) -> ConversationStatus:
        """Where the conversation stands right now."""
        return memory.status(self._state, list(self._open))

    @property
    def _asked(self) -> str:
        """The question that is open."""
        return self._state.active.question if self._state.active else ""

    @property
    def _full(self) -> bool:
        suggested = workflow.info().is_continue_as_new_suggested()
        return suggested or self._updates >= self._start.continue_after

    async def _quiet_or_full(self) -> None:
        """Return when the run is long enough, or nobody has said a word for `IDLE`."""
        while not self._full:
            left = self._last_word + IDLE - workflow.now()
            if left <= timedelta() and not self._open:
                return
            try:
                await workflow.wait_condition(
                    lambda: self._full,
                    timeout=max(left, timedelta(seconds=1)),
                    timeout_summary="put away when idle",
                )
            except TimeoutError:
                continue

    async def _put_away(self) -> bool:
        """Keep a snapshot; False where a word came in meanwhile."""
        quiet_since = self._last_word
        await perform(
            activities.KEEP,
            activities.Keep(
                tenant=self._start.tenant,
                conversation=self._start.conversation,
                state=memory.put_away(self._carried()),
            ),
        )
        return workflow.all_handlers_finished() and self._last_word == quiet_since

    def _carried(self) -> ConversationState:
        return memory.bounded(self._state).model_copy(update={"unheard": self._unheard})

    async def _recall(self) -> None:
        """Once in a run: take up what a closed conversation left behind."""
        if self._recalled:
            return
        recalled = await perform(
            activities.RECALL,
            activities.Recall(tenant=self._start.tenant, conversation=self._start.conversation),
            summary="snapshot",
        )
        if recalled.state is not None:
            self._state = recalled.state
            self._asked_of_old = self._asked
        self._recalled = True

    async def _first_answer(self, submission: Submission) -> Turn | None:
        """What this message was answered with before; None where it is new."""
        await self._recall()
        id_, digest = submission.message_id, submission.message.digest
        held = memory.held(self._state, id_)
        if held is not None and held.digest != digest:
            raise _other_body(id_)
        if held is not None and held.turn is not None:
            return held.turn
        if held is None and (submission.fresh or not self._state.older):
            return None
        recalled = await perform(
            activities.RECALL,
            activities.Recall(
                tenant=self._start.tenant,
                conversation=self._start.conversation,
                message_id=id_,
            ),
            summary=f"message {id_}",
        )
        if recalled.turn is None:
            return None
        if recalled.turn.digest != digest:
            raise _other_body(id_)
        return recalled.turn.turn

    async def _answer(self, submission: Submission, seen: str) -> Turn:
        """The turn of a new message, kept before it is told."""
        asked_at = workflow.now()
        before = self._state
        self._running = asyncio.create_task(
            self._take(submission, seen), name=submission.message_id
        )
        try:
            turn = await self._running
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            stopped = is_cancelled_exception(error)
            if not stopped:
                workflow.logger.exception("turn %s failed", submission.message_id)
            turn = self._ended_early(submission, "cancelled" if stopped else "failed")
            await self._skills.gone()
            turn = self._with_stopped(turn)
        finally:
            self._running = None
        held = HeldTurn(
            message_id=submission.message_id, digest=submission.message.digest, turn=turn
        )
        said = transcript.of_turn(
            self._start.conversation,
            submission,
            before,
            turn,
            transcript.Times(asked=asked_at, answered=workflow.now()),
        )
        await self._write(said)
        self._state = memory.heard(memory.with_turn(self._state, held), workflow.now())
        self._state = memory.remembering(
            self._state,
            transcript.as_text(submission.message, before),
            text_of(turn.replies),
            turn.route,
        )
        self._show(turn.route)
        return turn

    async def _take(self, submission: Submission, seen: str) -> Turn:
        """Understand, decide, act. State changes only when all of it is done."""
        landed = self._skills.heard.pop(submission.message_id, None)
        if landed is not None:
            return self._landed(submission, landed)
        forgotten = reminding.forgotten(self._state, workflow.now())
        runner = self._runner(submission, self._state, seen)
        if isinstance(submission.message.action, ToolResultAction):
            route, outcome = await runner.hear(submission.message.action)
            self._state = outcome.state
            return self._turn(submission, activities.Decided(route=route, commands=[]), outcome)
        decided = await self._decide(submission, runner)
        if forgotten is not None:
            decided = reminding.without_miss(decided)
        outcome = await runner.carry_out(decided)
        if outcome.void and not outcome.stopped:
            # What this was meant for has ended, or won't have it: what does it mean without that?
            spent, calls = decided.usage + outcome.usage, outcome.tool_calls
            heard = outcome.heard
            runner = self._runner(submission, outcome.state, seen)
            decided = await self._decide(submission, runner)
            outcome = await runner.carry_out(decided)
            outcome.usage, outcome.tool_calls = spent + outcome.usage, calls + outcome.tool_calls
            outcome.heard = heard + outcome.heard
        elif forgotten is not None:
            active, locale = outcome.state.active, self._start.locale
            said = reminding.reminder(forgotten, decided, active, outcome.replies, locale)
            outcome.replies.insert(0, self._says(said))
        self._state = outcome.state
        self._heard_in_turn(outcome)
        return self._turn(submission, decided, outcome)

    def _heard_in_turn(self, outcome: Outcome) -> None:
        """Let news that a turn took as its own not be told a second time."""
        for news in outcome.heard:
            self._unheard.remove(news)

    def _runner(self, submission: Submission, state: ConversationState, seen: str) -> CommandRunner:
        return CommandRunner(
            self._start.conversation,
            self._start.locale,
            submission,
            state,
            workflow.now(),
            seen,
            self._skills,
            self._unheard,
        )

    def _turn(self, submission: Submission, decided: activities.Decided, outcome: Outcome) -> Turn:
        stopped = [self._says(notices.STOPPED)] if outcome.stopped else []
        routes = [decided.route, *decided.others, *outcome.routes]
        return Turn(
            message_id=submission.message_id,
            turn=self._state.turns + 1,
            status="cancelled" if outcome.stopped else "done",
            route=decided.route,
            routes=routes if len(routes) > 1 else None,
            replies=[*outcome.replies, *stopped] or [self._says(notices.DONE)],
            flow=outcome.flow,
            tool_calls=outcome.tool_calls,
            usage=decided.usage + outcome.usage,
        )

    def _landed(self, submission: Submission, skill: str) -> Turn:
        """The turn of a message that a sub-agent heeded while it was at work."""
        reason = notices.heard_at_work(skill).within(self._start.locale)
        return Turn(
            message_id=submission.message_id,
            turn=self._state.turns + 1,
            status="done",
            route=Route(kind="skill", target=skill, by="action", reason=reason),
            replies=[self._says(notices.ANSWERED_ABOVE)],
        )

    def _with_stopped(self, turn: Turn) -> Turn:
        """The turn with what it and its sub-agents had done; the last can be gone on with."""
        calls, usage = [*turn.tool_calls, *self._skills.calls], turn.usage
        for start, outcome in self._skills.stopped:
            calls, usage = [*calls, *outcome.calls], usage + outcome.usage
            skill = memory.open_skill(start, outcome)
            self._state = self._state.model_copy(update={"skill": skill})
        self._skills.stopped.clear()
        self._skills.calls.clear()
        return turn.model_copy(update={"tool_calls": calls, "usage": usage})

    def _situation(self, submission: Submission, runner: CommandRunner) -> Situation:
        state, caller = runner.state, submission.caller
        return Situation(
            now=_local(workflow.now(), caller.timezone),
            locale=self._start.locale,
            roles=caller.roles,
            active=state.active,
            paused=[view.flow for view in state.paused],
            put_aside=taking_up.to_take_up(state, self._start.locale),
            at_work=state.at_work,
            handed_in=state.handed_in,
            skill=state.skill.name if state.skill and state.skill.asking else "",
            offered=state.offered,
            offered_for=state.offered_for,
        )

    async def _decide(self, submission: Submission, runner: CommandRunner) -> activities.Decided:
        """By rules where they can tell, else by the decider."""
        situation = self._situation(submission, runner)
        reading = await perform(
            activities.UNDERSTAND,
            activities.Understand(
                message=submission.message, situation=situation, caller=submission.caller
            ),
        )
        if reading.route is not None:
            return activities.Decided(
                route=reading.route,
                commands=reading.commands,
                tools=reading.tools,
                plainly=reading.plainly,
            )
        return await perform(
            activities.DECIDE,
            activities.Decide(
                message=submission.message,
                situation=situation,
                account=runner.finder.account(Usage()),
                history=self._state.history,
                earlier=memory.earlier(self._state),
            ),
        )

    def _ended_early(self, submission: Submission, status: Literal["cancelled", "failed"]) -> Turn:
        stopped = status == "cancelled"
        why = notices.WAS_STOPPED if stopped else notices.HAS_FAILED
        return Turn(
            message_id=submission.message_id,
            turn=self._state.turns + 1,
            status=status,
            route=Route(kind="reply", by="fallback", reason=why.within(self._start.locale)),
            replies=[self._says(notices.STOPPED if stopped else notices.FAILED)],
            flow=self._state.active.summary if self._state.active else None,
        )

    def _says(self, text: Localised) -> TextReply:
        return TextReply(text=text.within(self._start.locale))

    async def _write(self, entries: list[LogEntry]) -> None:
        if entries:
            await perform(
                activities.WRITE,
                activities.Write(tenant=self._start.tenant, entries=entries),
            )

    def _show(self, route: Route) -> None:
        """Let the Temporal UI say where the last message went."""
        shown, start = (route.kind, route.target or "", route.by), self._start
        if shown != self._shown:
            workflow.upsert_search_attributes(
                [
                    REQUESTER.value_set(start.owner),
                    CONVERSATION_ID.value_set(start.conversation),
                    TENANT.value_set(start.tenant),
                    ROUTE_KIND.value_set(shown[0]),
                    ROUTE_TARGET.value_set(shown[1]),
                    ROUTE_BY.value_set(shown[2]),
                ]
            )
            self._shown = shown
        workflow.set_current_details(memory.details(self._start, self._state, route))


def _other_body(message_id: str) -> DuplicateKey:
    return DuplicateKey(
        f"Message id {message_id!r} was used for another message; use a new id, or send the "
        "same message again to get its answer."
    )


def _local(now: datetime, timezone: str) -> datetime:
    return now.astimezone(ZoneInfo(timezone))
