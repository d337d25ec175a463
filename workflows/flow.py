"""A running flow as a Temporal workflow: does what the machine owes, tells what it says.

All decisions are `router.flow.machine`'s. This workflow only keeps three promises for it:
errands are carried out (each an activity), timers come due (each a named durable timer),
and whoever is concerned hears of it (the caller of `tell` at once, the conversation and the
approvers by activities).
"""

import asyncio
import builtins
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, CancelledError, is_cancelled_exception
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities, conversation
    from router.contracts.failures import RETRYABLE, from_failure, to_failure
    from router.contracts.flow import (
        AGREED,
        DECIDE,
        DEFINITION,
        HAPPEN,
        HEARS,
        OPERATE,
        STOP,
        TELL,
        VIEW,
        WORKFLOW,
        CallLimits,
        Decision,
        DecisionTaken,
        FlowAnswer,
        FlowStart,
        Hears,
        Operation,
        Outside,
        Tell,
        Told,
    )
    from router.contracts.search_attributes import ASSIGNEE, FLOW_STATE, FLOW_STATUS
    from router.deciding.inquiry import inquiry_of
    from router.domain import errors
    from router.domain.happenings import Call, Place
    from router.domain.messages import ENDED, Reply, TextReply, ToolCallView
    from router.domain.progress import ToolStatus
    from router.domain.records import LogEntry
    from router.domain.texts import Locale, Localised
    from router.flow import inquiring, machine, showing, waiting
    from router.flow.events import (
        Agreed,
        AnyEvent,
        AskedBack,
        Called,
        Cancelled,
        Failed,
        Fired,
        LookedUp,
        Remind,
    )
    from router.flow.model import FlowDefinition
    from router.flow.run import Errand, FailureKind, Run, Timer
    from router.flow.view import FlowView
    from workflows import children, publication
    from workflows.activity import drained, perform
    from workflows.tool_calls import why

END_PUBLISHED = "an end that came while publishing is published"
"""Runs that had come to their end unpublished are replayed as they were."""

PUBLISHED_AGAIN = "what came while publishing is published"
"""Runs that had gone on unpublished until the next word are replayed as they were."""

LEFT_TO_PARENT = "a run that its parent stops leaves it to that one to say so"
WAITS_FOR_STOPPING = "cancelling is heard out where runs that were started have to stop"
"""Runs in whose history nobody kept these two are replayed as they were."""

READS_STOP = "cancelling stops reads"
"""Runs in whose history a cancelled call was waited for are replayed as they were."""

PATIENCE = timedelta(seconds=3)
"""How long a `tell` waits for errands before it answers that the run is still at work."""


@workflow.defn(name=WORKFLOW)
class FlowWorkflow:
    """One run of one flow. Its id is `<flow>/<tenant>/<run>`."""

    @workflow.init
    def __init__(self, start: FlowStart) -> None:
        self._definition = start.definition
        self._tools = start.tools
        self._is_form = start.form
        self._created_at = start.created_at or workflow.now()
        self._run = start.run or Run(
            id=workflow.info().workflow_id.rsplit("/", 1)[-1],
            requester=start.requester,
            conversation=start.conversation,
            locale=start.locale,
            goes_back=start.goes_back,
        )
        self._children = children.Children(start)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._said: list[str] = []
        self._begun: list[str] = []
        self._calls: list[ToolCallView] = []
        self._reminders: list[Remind] = []
        self._ends: list[LogEntry] = []
        self._shown: tuple[str, str, tuple[str, ...]] | None = None
        self._told_of = (self._run.status, self._run.state)
        self._listeners = 0
        self._published: tuple[object, ...] | None = None
        self._told = self._run.events
        self._publishing = asyncio.Lock()

    @workflow.run
    async def run(self, start: FlowStart) -> DecisionTaken:
        """Live until the flow ends; its last status and state are the result."""
        if start.opening is not None and not self._run.events:
            self._take(start.opening)
        self._reconcile()
        while True:
            await workflow.wait_condition(lambda: self._has_news or self._over or self._full)
            await self._publish()
            await self._notify()
            if self._over and self._all_published:
                await drained()
                return children.handed_over(self._whole, self._run)
            if self._full:
                await drained()
                if not self._under_way_now:
                    workflow.continue_as_new(
                        start.model_copy(update={"run": self._run, "created_at": self._created_at})
                    )

    @workflow.update(name=TELL)
    async def tell(self, told: Tell) -> FlowAnswer:
        """Take an event from the requester; answers within `PATIENCE` where the run stands.

        While an errand is under way only a cancellation is taken; anything else is answered
        with the run as it stands, still at work.
        """
        deadline = workflow.now() + PATIENCE
        self._listeners += 1
        try:
            if not isinstance(told.event, Cancelled):
                await self._settled(deadline)
            if not self._run.errands or isinstance(told.event, Cancelled):
                locale = self._run.locale if told.aside else told.locale
                self._run = self._run.model_copy(update={"locale": locale})
                self._take(self._leaving_reads(told.event))
                await self._settled(deadline)
            await self._publish()
            return self._aside() if told.aside else self._answer()
        finally:
            self._listeners -= 1

    @workflow.update(name=DECIDE)
    async def decide(self, decision: Decision) -> DecisionTaken:
        """Take an approver's decision, bound to the digest of what they were shown."""
        self._take(decision.event)
        await self._settled(workflow.now() + PATIENCE)
        await self._publish()
        return DecisionTaken(status=self._run.status, state=self._run.state)

    @decide.validator
    def _may_decide(self, decision: Decision) -> None:
        refused = machine.refusal_of(self._definition, self._run, decision.event, workflow.now())
        if refused is not None:
            raise to_failure(refused)

    @workflow.update(name=OPERATE)
    async def operate(self, operation: Operation) -> DecisionTaken:
        """Take an operator's word: a call made again, someone else asked."""
        self._take(operation.event)
        await self._settled(workflow.now() + PATIENCE)
        await self._publish()
        return DecisionTaken(status=self._run.status, state=self._run.state)

    @operate.validator
    def _may_operate(self, operation: Operation) -> None:
        refused = machine.refusal_of(self._definition, self._run, operation.event, workflow.now())
        if refused is not None:
            raise to_failure(refused)

    @workflow.update(name=HAPPEN)
    async def happen(self, told: Outside) -> DecisionTaken:
        """Take an outside event, now or as soon as a state waits for it."""
        self._take(told.event)
        await self._settled(workflow.now() + PATIENCE)
        await self._publish()
        return DecisionTaken(status=self._run.status, state=self._run.state)

    @happen.validator
    def _may_happen(self, told: Outside) -> None:
        refused = waiting.refusal(self._definition, self._run, told.event, told.roles)
        if refused is not None:
            raise to_failure(refused)

    @workflow.query(name=HEARS)
    def hears(self) -> Hears:
        """The outside events that the flow knows, and how the run stands to them."""
        return Hears(
            events=waiting.events_of(self._definition),
            awaited=waiting.awaited(self._definition, self._run),
            ahead=sorted(waiting.ahead(self._definition, self._run)),
            heard=self._run.heard,
        )

    @workflow.signal(name=STOP)
    def stop(self, comment: str | None = None) -> None:
        """Be cancelled by the run that started this one, which says so for both, or by its turn."""
        by_parent = self._run.parent is not None and workflow.patched(LEFT_TO_PARENT)
        self._take(self._leaving_reads(Cancelled(comment=comment, by_parent=by_parent)))

    @workflow.signal(name=AGREED)
    def agreed(self, event: Agreed) -> None:
        """Hear from the run whose branch this is what people agreed to in another one."""
        self._take(event)

    @workflow.query(name=VIEW)
    def view(self) -> FlowView:
        """The run as its requester sees it."""
        return showing.view(self._definition, self._run)

    @workflow.query(name=DEFINITION)
    def definition(self) -> FlowDefinition:
        """The flow as it was when the run began, which its file may no longer be."""
        return self._definition

    @property
    def _whole(self) -> FlowDefinition:
        """The definition, with what tools have asked back."""
        return inquiring.extended(self._definition, self._run)

    @property
    def _over(self) -> bool:
        return self._run.status in ENDED and not self._listeners

    @property
    def _all_published(self) -> bool:
        """False where the run ended while what came before its end was being published."""
        return self._published == self._listed or not workflow.patched(END_PUBLISHED)

    @property
    def _listed(self) -> tuple[object, ...]:
        """What lists show of the run, so far as it changes."""
        run = self._run
        return (run.status, run.state, run.visit, len(run.history), run.approval)

    @property
    def _has_news(self) -> bool:
        return self._told != self._run.events and not self._listeners and not self._busy

    @property
    def _busy(self) -> bool:
        """True while something is under way that comes back by itself, and soon."""
        return any(errand.kind != "flow" for errand in self._run.errands.values())

    @property
    def _comes_back_soon(self) -> bool:
        """True while a `tell` waits: besides what is busy for runs that were told to stop."""
        stopping = any(errand.stopping for errand in self._run.errands.values())
        return self._busy or (stopping and workflow.patched(WAITS_FOR_STOPPING))

    @property
    def _full(self) -> bool:
        return workflow.info().is_continue_as_new_suggested() and not self._run.errands

    @property
    def _under_way_now(self) -> bool:
        return bool(self._run.errands) or self._has_news

    def _take(self, event: AnyEvent) -> None:
        """Step the machine and put what it owes under way."""
        self._run, effects = machine.step(self._definition, self._run, event, workflow.now())
        for effect in effects:
            if isinstance(effect, Remind):
                self._reminders.append(effect)
            else:
                self._said.append(effect.text)
        self._reconcile()
        self._show()

    def _leaving_reads(self, event: Told) -> Told:
        """A cancellation, with the calls that it stops: those that only look something up.

        A write is heard out, since stopping it would leave nobody knowing whether it was done.
        """
        reads = [errand for errand in self._run.errands.values() if self._only_reads(errand)]
        if not reads or not isinstance(event, Cancelled) or not workflow.patched(READS_STOP):
            return event
        for errand in reads:
            self._note_end(errand, "skipped")
            self._calls.append(ToolCallView.skipped(errand.id, errand.name, errand.arguments))
        return event.model_copy(update={"leaving": tuple(errand.id for errand in reads)})

    def _only_reads(self, errand: Errand) -> bool:
        return errand.kind == "call" and not self._tools.get(errand.name, CallLimits()).writes

    def _reconcile(self) -> None:
        """Have exactly those errands and timers under way that the run has."""
        wanted: dict[str, Callable[[], Awaitable[None]]] = {}
        for id_, errand in self._run.errands.items():
            wanted[id_] = partial(self._carry_out, errand)
            if errand.kind == "flow" and id_ not in self._under_way:
                self._begun.append(errand.key)
            if errand.stopping:
                wanted[f"{id_}:stop"] = partial(self._children.stop, errand)
            elif errand.agreed:
                told = f"{id_}:agreed:{len(errand.agreed)}"
                wanted[told] = partial(self._children.tell_agreed, errand)
        for timer in self._run.timers.values():
            wanted[timer.id] = partial(self._wait_for, timer)
        for id_ in [id_ for id_ in self._under_way if id_ not in wanted]:
            self._under_way.pop(id_).cancel()
        for id_, start in wanted.items():
            if id_ not in self._under_way:
                self._under_way[id_] = asyncio.create_task(self._guarded(start))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Let work that is no longer wanted end without a word."""
        try:
            await work()
        except (ActivityError, CancelledError, asyncio.CancelledError) as error:
            if not is_cancelled_exception(error):
                raise

    async def _carry_out(self, errand: Errand) -> None:
        """Run an errand and tell the machine what it came to."""
        if errand.kind == "flow":
            await self._have_run(errand)
            return
        event: LookedUp | Called | Failed | AskedBack
        limits = self._tools.get(errand.name, CallLimits())
        try:
            if errand.kind == "lookup":
                event = LookedUp(errand=errand.id, value=await self._look_up(errand))
            else:
                value = await self._call(errand, limits)
                event = Called(errand=errand.id, value=value, lasts=limits.writes)
        except ActivityError as failure:
            if is_cancelled_exception(failure):
                self._note_end(errand, "unknown" if limits.writes else "skipped")
                raise
            locale = self._run.locale
            event = self._asked_back(errand, failure) or _failed(errand, failure, limits, locale)
            self._note_end(errand, _status(event))
        self._under_way.pop(errand.id, None)
        if errand.may_change_something:
            self._calls.append(_shown(errand, event))
        self._take(event)

    async def _have_run(self, errand: Errand) -> None:
        """Have another run made, and tell the machine how it ended."""
        event = await self._children.outcome(errand, self._whole, self._run)
        self._under_way.pop(errand.id, None)
        self._take(event)

    def _note_end(self, errand: Errand, status: ToolStatus) -> None:
        """Have it said with the next publication, lest the worker that was to say so has died."""
        if self._run.conversation is not None:
            place = Place(self._run.conversation, run=workflow.info().workflow_id)
            self._ends.append(Call(place, errand.id, errand.name).finished(workflow.now(), status))

    def _asked_back(self, errand: Errand, failure: ActivityError) -> AskedBack | None:
        """What the tool wants to know first, where it does and a person can be asked for it."""
        error = from_failure(failure)
        if not isinstance(error, errors.AnswersNeeded) or errand.kind != "call":
            return None
        definition = self._whole
        own = definition.flow == errand.name
        title = definition.title if own else Localised(zh=errand.name, en=errand.name)
        inquiry = inquiry_of(error.asked, title, self._run.state, definition.slots)
        return AskedBack(errand=errand.id, inquiry=inquiry) if inquiry else None

    async def _look_up(self, errand: Errand) -> JsonValue:
        given = activities.LookUp(
            name=errand.name,
            arguments=errand.positional,
            requester=self._run.requester,
            now=workflow.now(),
        )
        return (await perform(activities.LOOK_UP, given, summary=errand.name)).value

    async def _call(self, errand: Errand, limits: CallLimits) -> JsonValue:
        """Call a tool under its own name, as often as it may be called until it answers."""
        call = activities.ToolCall(
            tool=errand.name,
            arguments=errand.arguments,
            caller=self._run.requester,
            locale=self._run.locale,
            key=errand.key,
            undoes=errand.undoes,
            answers=errand.answers,
            checking=errand.kind == "check",
            flow_run=workflow.info().workflow_id,
            form=self._is_form,
            conversation=self._run.conversation,
            call_id=errand.id,
            now=workflow.now(),
        )
        answer: activities.Answer = await workflow.execute_activity(
            errand.name,
            call,
            result_type=activities.Answer,
            start_to_close_timeout=limits.timeout,
            heartbeat_timeout=limits.heartbeat,
            retry_policy=RetryPolicy(
                initial_interval=timedelta(milliseconds=500),
                maximum_interval=timedelta(minutes=1),
                maximum_attempts=limits.attempts,
            ),
            summary=f"{errand.kind} in {self._run.state}",
        )
        return answer.value

    async def _wait_for(self, timer: Timer) -> None:
        """Sleep until the timer is due; the UI shows it under its name."""
        left = timer.due - workflow.now()
        if left > timedelta():
            await workflow.sleep(left, summary=f"{timer.name} in {self._run.state}")
        self._under_way.pop(timer.id, None)
        self._take(Fired(timer=timer.id))

    async def _settled(self, deadline: datetime) -> None:
        """Wait until no errand is under way, or the deadline has passed."""
        left = deadline - workflow.now()
        if not self._comes_back_soon or left <= timedelta():
            return
        try:
            await workflow.wait_condition(
                lambda: not self._comes_back_soon, timeout=left, timeout_summary="answer by then"
            )
        except builtins.TimeoutError:
            workflow.logger.info("still at work: %s", ", ".join(self._run.errands))

    def _answer(self) -> FlowAnswer:
        """The run as it stands, with everything said and not yet told; it is told by this."""
        view = showing.view(self._definition, self._run)
        replies: list[Reply] = [TextReply(text=text) for text in self._said]
        calls, self._said, self._calls = self._calls, [], []
        begun, self._begun = self._begun, []
        self._told, self._told_of = self._run.events, (self._run.status, self._run.state)
        asked = [] if self._run.quiet else view.replies
        return FlowAnswer(view=view, replies=[*replies, *asked], calls=calls, begun=begun)

    def _aside(self) -> FlowAnswer:
        """The run as it stands; what was said stays to be told to the conversation."""
        return FlowAnswer(view=showing.view(self._definition, self._run))

    async def _publish(self) -> None:
        """Write the run, its approvals and notices to the database, where lists read them.

        Only where something changed that a list shows; slots as they are being filled are
        asked of the run itself.
        """
        async with self._publishing:
            await self._publish_once()
            # The run may have gone on meanwhile, and nothing else may happen to it for days.
            while self._published != self._listed and workflow.patched(PUBLISHED_AGAIN):
                await self._publish_once()

    async def _publish_once(self) -> None:
        listed, reminders = self._listed, self._reminders
        if self._published == listed and not reminders:
            return
        ends, self._reminders, self._ends = self._ends, [], []
        info = workflow.info()
        published = publication.of(
            self._whole,
            self._run,
            publication.Whereabouts(info.workflow_id, info.run_id, self._created_at),
            workflow.now(),
            reminders,
            self._tools,
        )
        await perform(
            activities.PUBLISH,
            published.model_copy(update={"entries": [*ends, *published.entries]}),
            summary=f"{self._run.status} in {self._run.state}",
        )
        self._published = listed

    async def _notify(self) -> None:
        """Tell the conversation what happened without its asking."""
        run = self._run
        if self._told == run.events or self._listeners:
            return
        silent = not self._said and self._told_of == (run.status, run.state)
        if silent or run.conversation is None:
            self._told = run.events
            return
        answer = self._answer()
        await perform(
            activities.NOTIFY,
            activities.Notify(
                tenant=run.requester.tenant,
                conversation=run.conversation,
                requester=run.requester,
                news=conversation.News(view=answer.view, replies=answer.replies, at=workflow.now()),
            ),
            summary=f"{run.status} in {run.state}",
        )

    def _show(self) -> None:
        """Let the Temporal UI say where the run stands."""
        run = self._run
        waiting = tuple(a.person for a in run.approval.waiting_for()) if run.approval else ()
        shown = (run.state, run.status, waiting)
        if shown != self._shown:
            workflow.upsert_search_attributes(
                [
                    FLOW_STATE.value_set(run.state),
                    FLOW_STATUS.value_set(run.status),
                    ASSIGNEE.value_set(list(waiting)),
                ]
            )
            self._shown = shown
        workflow.set_current_details(publication.details(self._whole, run))


def _status(event: AskedBack | Failed) -> ToolStatus:
    """What is said of a call that came to no result; one that asks back is made anew."""
    if isinstance(event, AskedBack):
        return "skipped"
    return "unknown" if event.kind == "unknown" else "failed"


def _shown(errand: Errand, event: LookedUp | Called | Failed | AskedBack) -> ToolCallView:
    """The call as the turn shows it during which it came back."""
    about = (errand.id, errand.name, errand.arguments)
    if isinstance(event, AskedBack):
        return ToolCallView.skipped(*about)
    if isinstance(event, Failed):
        return ToolCallView.failed(*about, event.error, unknown=event.kind == "unknown")
    return ToolCallView.of(*about, event.value)


def _failed(errand: Errand, failure: ActivityError, limits: CallLimits, locale: Locale) -> Failed:
    """What the machine is told of an errand that failed for good, in the reader's language.

    A write that timed out without an answer may have had its effect, so it is `unknown`.
    """
    error = from_failure(failure)
    if isinstance(error, errors.ArgumentsToolError):
        offered = error.offered if isinstance(error, errors.SeveralFit) else None
        why_not = why(failure, locale)
        return Failed(errand=errand.id, error=why_not, kind="arguments", offered=offered)
    lost = isinstance(failure.cause, ActivityTimeoutError) and limits.writes
    lost = lost and errand.may_change_something
    if lost and error is None:
        return Failed(errand=errand.id, error=_unheard_of(errand).within(locale), kind="unknown")
    if lost or isinstance(error, errors.UnknownOutcome):
        return Failed(errand=errand.id, error=why(failure, locale), kind="unknown")
    out_of_reach = error is None or isinstance(error, (errors.OutOfReach, *RETRYABLE))
    kind: FailureKind = "unavailable" if out_of_reach else "permanent"
    return Failed(errand=errand.id, error=why(failure, locale), kind=kind)


def _unheard_of(errand: Errand) -> Localised:
    return Localised(zh=f"{errand.name} 没有了下文", en=f"{errand.name} was never heard of again")
