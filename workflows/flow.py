"""A running flow as a Temporal workflow: does what the machine owes, tells what it says.

All decisions are `router.flow.engine.machine`'s. This workflow keeps three promises for it: tasks
are carried out (activities), timers come due (durable ones), and whoever is concerned hears of it.
"""

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities
    from router.contracts import flow as contract
    from router.contracts.failures import to_failure
    from router.contracts.limits import MAX_CARRIED_BYTES
    from router.contracts.start_options import ASSIGNEE, FLOW_STATE, FLOW_STATUS
    from router.domain.errors import Conflict, Forbidden, RouterError
    from router.domain.messages import ENDED, ToolCallView
    from router.domain.sizes import measure_bytes
    from router.domain.summaries import cut_summary
    from router.flow.definition import FlowDefinition
    from router.flow.engine import amendment, documents, elicitation, events, machine, room, waiting
    from router.flow.engine.run import Run
    from router.flow.engine.run_parts.work import Task, Timer
    from router.flow.prompts import question
    from router.flow.view import FlowView
    from workflows import publication, tasks
    from workflows.activity import Visibility, drained, is_history_long, perform, until
    from workflows.background import start_task, survives_failures
    from workflows.hook_runs import Hooked, HookRuns

PATIENCE = timedelta(seconds=3)
"""How long a `tell` waits for tasks before it answers that the run is still at work."""
READING = timedelta(seconds=1)
"""So much less where files are read, which may take any time."""
MOST_DECIDED = 8
"""Updates of those who decide whose answers are known, should one come again."""
MOST_TOLD = 3
"""Words of the requester's whose answers are: one is told after another, but a copy may be late."""
Answer = TypeVar("Answer")


class Arrival(NamedTuple):
    """An event that waits for its step, when it came, and the task or timer that has `ended`."""

    event: events.AnyEvent
    at: datetime
    ended: str


@workflow.defn(name=contract.WORKFLOW)
class FlowWorkflow(Hooked):
    """One run of one flow. Its id is `<flow>/<tenant>/<run>`."""

    @workflow.init
    def __init__(self, start: contract.FlowStart) -> None:
        self._definition = start.definition
        self._tools = start.tools
        self._is_form = start.form
        self._created_at = start.created_at or workflow.now()
        self._run = start.run or Run(
            id=workflow.info().workflow_id.rsplit("/", 1)[-1],
            requester=start.requester,
            conversation=start.conversation,
            locale=start.locale,
        )
        self._children = tasks.Children(start)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._listeners = 0
        self._judged: dict[str, events.AmendmentJudged] = {}
        self.hooks = HookRuns()
        about = (self._definition, self._tools, self._created_at, self._run)
        self._publisher = publication.RunPublisher(*about, self.hooks, self._outnumber)
        self._notifier = publication.ConversationNotifier(self._run)
        self._visibility = Visibility()
        self._told = dict(start.told)
        self._decided = dict(start.decided)
        self._too_large_at = -1
        self._opening = None if self._run.events else start.opening
        self._arrivals: list[Arrival] = []

    @workflow.run
    @survives_failures
    async def run(self, start: contract.FlowStart) -> contract.DecisionTaken:
        """Live until the flow ends; its last status and state are the result."""
        self._begin()
        self._reconcile()
        if start.run is not None:
            self._show()
        while True:
            await workflow.wait_condition(lambda: self._has_news or self._over or self._full)
            await self._publisher.publish(lambda: self._run)
            if not self._listeners:
                await self._notifier.tell(self._definition, self._run)
            if self._over and not self._publisher.is_behind(self._run):
                await self.hooks.done()
                await drained()
                return tasks.handed_over(self._run)
            if self._full:
                await self.hooks.done()
                await drained()
                if self._full and not self._has_news and not self._publisher.is_behind(self._run):
                    next_start = fit_start(
                        start.replace(
                            run=self._run,
                            created_at=self._created_at,
                            told=self._told,
                            decided=self._decided,
                        )
                    )
                    if next_start is not None:
                        workflow.continue_as_new(next_start)
                    self._hold_over_limit()

    @workflow.update(name=contract.TELL)
    async def tell(self, told: contract.Tell) -> contract.FlowAnswer:
        """Take an event from the requester; answers within `PATIENCE` where the run stands.

        While a task is under way only a cancellation is taken, and, while others decide, a change
        of what they decide on. Told once more, which Temporal notices within one run alone, it
        answers what it did.
        """
        update = _update_id()
        if update in self._told:
            return self._told[update]
        answer = await self._answer(told)
        self._told = with_answer(self._told, update, answer, MOST_TOLD)
        return answer

    async def _answer(self, told: contract.Tell) -> contract.FlowAnswer:
        if told.aside and isinstance(told.event, events.Cancelled):
            locked = machine.why_locked(self._definition, self._run, told.event)
            if locked is not None:
                return contract.FlowAnswer(view=self.view(), locked=locked)
        deadline = workflow.now() + self._patience(told.event)
        self._listeners += 1
        try:
            if not isinstance(told.event, events.Cancelled):
                await self._settled(deadline)
            if self._hears(told.event):
                locale = self._run.locale if told.aside else told.locale
                self._run = self._run.replace(locale=locale)
                self._take(self._leaving_reads(told.event))
                await self._settled(deadline)
            await self._publisher.publish(lambda: self._run)
            if told.aside:
                # What was said stays to be told to the conversation.
                return contract.FlowAnswer(view=self.view())
            return self._notifier.answer(self._definition, self._run, told.known_slot_sets)
        finally:
            self._listeners -= 1

    @workflow.update(name=contract.DECIDE)
    async def decide(self, decision: contract.ApprovalDecision) -> contract.DecisionTaken:
        """Take an approver's decision, bound to the digest of what they were shown.

        Where a hook refuses it, it is as if it had never been made. A decision that counted
        already, sent again by the same person, is answered with where the run stands.
        """
        asked = self.hooks.at("before_verdict")
        if asked and not self._has_counted(decision):
            event = publication.verdict_event(self._definition, self._run, decision.event)
            answer = await self.hooks.asked(asked, event)
            if answer.refused is not None:
                raise to_failure(Forbidden(answer.refused))
            # Others may have decided meanwhile.
            self._may_decide(decision)
        if _update_id() not in self._decided and machine.is_repeat(self._run, decision.event):
            await self._publisher.publish(lambda: self._run)
            return contract.DecisionTaken(status=self._run.status, state=self._run.state)
        return await self._taken(decision.event)

    def _has_counted(self, decision: contract.ApprovalDecision) -> bool:
        return _update_id() in self._decided or machine.is_repeat(self._run, decision.event)

    @decide.validator
    def _may_decide(self, decision: contract.ApprovalDecision) -> None:
        if not self._has_counted(decision):
            _raise(machine.refusal_of(self._definition, self._run, decision.event, workflow.now()))

    @workflow.update(name=contract.OPERATE)
    async def operate(self, operation: contract.OperatorAction) -> contract.DecisionTaken:
        """Take an operator's word: a call made again, someone else asked."""
        return await self._taken(operation.event)

    @operate.validator
    def _may_operate(self, operation: contract.OperatorAction) -> None:
        if _update_id() not in self._decided:
            _raise(machine.refusal_of(self._definition, self._run, operation.event, workflow.now()))

    @workflow.update(name=contract.HAPPEN)
    async def happen(self, told: contract.ExternalEvent) -> contract.DecisionTaken:
        """Take an outside event, now or as soon as a state waits for it."""
        return await self._taken(told.event)

    @happen.validator
    def _may_happen(self, told: contract.ExternalEvent) -> None:
        if _update_id() not in self._decided:
            _raise(waiting.refusal(self._definition, self._run, told.event, told.roles))

    @workflow.query(name=contract.HEARS)
    def hears(self) -> contract.ExpectedEvents:
        """The outside events that the flow knows, and how the run stands to them."""
        return contract.ExpectedEvents(
            events=waiting.events_of(self._definition),
            awaited=waiting.awaited(self._definition, self._run),
            ahead=sorted(waiting.ahead(self._definition, self._run)),
            heard=self._run.work.event_keys,
        )

    @workflow.signal(name=contract.STOP)
    def stop(self, why: contract.StopReason) -> None:
        """Be cancelled by the run that started this one, which speaks for both, or by its turn."""
        by_parent = self._run.parent is not None
        cancelled = events.Cancelled(comment=why.comment, by_parent=by_parent)
        anew = cancelled.replace(changed=why.begins_anew)
        self._take(self._leaving_reads(anew))

    @workflow.update(name=contract.AMEND)
    async def amend(self, wanted: contract.AmendmentRequest) -> contract.AmendmentTaken:
        """Change what was handed in, as somebody is sure of it; answers once that is made or not.

        What it reads may be looked up for as long as that takes.
        """
        if (before := self._decided.get(_update_id())) is not None:
            return before
        word = wanted.event.word
        self._run = self._run.replace(locale=wanted.locale)
        self._take(wanted.event)
        await workflow.wait_condition(lambda: word in self._judged or self._forgot(word))
        await self._settled(workflow.now() + PATIENCE)
        await self._publisher.publish(lambda: self._run)
        judged = self._judged.pop(word, None)
        if judged is None:
            raise to_failure(Conflict(amendment.TOO_LATE))
        return self._noted(why=judged.why, problems=judged.problems)

    def _forgot(self, word: str) -> bool:
        """True if the run ended before it weighed the change, or is held over it."""
        wanted = self._run.approvals.amendment
        return not self._arrivals and (wanted is None or wanted.word != word)

    @amend.validator
    def _may_amend(self, wanted: contract.AmendmentRequest) -> None:  # noqa: ARG002 - as sent
        why = amendment.refusal(self._definition, self._run)
        again = _update_id() in self._decided
        _raise(None if why is None or again else Conflict(why))

    @workflow.signal(name=contract.AGREED)
    def agreed(self, event: events.Agreed) -> None:
        """Hear from the run whose branch this is what people agreed to in another one."""
        self._take(event)

    @workflow.query(name=contract.VIEW)
    def view(self) -> FlowView:
        """The run as its requester sees it."""
        return question.view(self._definition, self._run)

    @workflow.query(name=activities.PROJECTION)
    def projection(self) -> activities.Projection:
        """The run as it is published, for a database that has lost it or never had it."""
        told = publication.of(self._whole, self._run, self._created_at, [], self._tools)
        return activities.Projection(published=told, done=self._run.recovery.done)

    @workflow.query(name=contract.DEFINITION)
    def definition(self) -> FlowDefinition:
        """The flow as it was when the run began, which its file may no longer be."""
        return self._definition

    @property
    def _whole(self) -> FlowDefinition:
        return elicitation.extended(self._definition, self._run)

    @property
    def _over(self) -> bool:
        return self._run.status in ENDED and not self._listeners and not self._arrivals

    @property
    def _has_news(self) -> bool:
        return self._notifier.has_news(self._run) and not self._listeners and not self._busy

    @property
    def _busy(self) -> bool:
        """True while something is under way that comes back by itself, and soon."""
        works = any(task.kind != "flow" for task in self._run.work.tasks.values())
        return works or bool(self._arrivals)

    @property
    def _comes_back_soon(self) -> bool:
        """True while a `tell` waits: besides what is busy for runs that were told to stop."""
        return self._busy or any(task.stopping for task in self._run.work.tasks.values())

    @property
    def _full(self) -> bool:
        owing = self._run.work.tasks or self._arrivals or self._notifier.owes(self._run)
        return not owing and is_history_long() and self._run.events != self._too_large_at

    def _hold_over_limit(self) -> None:
        """Have an operator see to a run that can't be carried, and continue in this history."""
        held = machine.hold_over_limit(
            self._definition, self._run, MAX_CARRIED_BYTES, workflow.now()
        )
        self._run = held
        # It is tried again once something else has happened to the run.
        self._too_large_at = held.events
        workflow.logger.error("run %s can't continue as new: it is too large", held.id)
        self._show()

    async def _taken(self, event: events.AnyEvent) -> contract.DecisionTaken:
        taken = self._decided.get(_update_id())
        if taken is None:
            self._take(event)
            await self._settled(workflow.now() + PATIENCE)
            await self._publisher.publish(lambda: self._run)
            taken = self._noted()
        return contract.DecisionTaken(status=taken.status, state=taken.state)

    def _noted(self, **about: Any) -> contract.AmendmentTaken:
        """What this update is answered, and is again where it comes again: also to the next run."""
        taken = contract.AmendmentTaken(status=self._run.status, state=self._run.state, **about)
        self._decided = with_answer(self._decided, _update_id(), taken, MOST_DECIDED)
        return taken

    def _outnumber(self, events_on_record: int) -> None:
        number = max(self._run.events, events_on_record + 1)
        self._run = self._run.replace(events=number)

    def _begin(self) -> None:
        """Take the event that the run starts with, unless it has begun already."""
        opening, self._opening = self._opening, None
        if opening is not None:
            self._step(Arrival(opening, workflow.now(), ""))

    def _take(self, event: events.AnyEvent, ended: str = "") -> None:
        """Take an event in, with which the task or timer of this id has `ended`."""
        # Temporal calls the handlers of what comes with the start before it calls `run`.
        self._begin()
        self._step(Arrival(event, workflow.now(), ended))

    def _step(self, arrival: Arrival) -> None:
        if self._definition.is_extended:
            self._arrivals.append(arrival)
            if len(self._arrivals) == 1:
                start_task("steps", self._take_steps)
        else:
            event, at, ended = arrival
            self._under_way.pop(ended, None)
            self._continue_as(*machine.step(self._definition, self._run, event, at))

    async def _take_steps(self) -> None:
        """Make the steps that wait, one after the other, in an activity.

        Its results are in the history, so that a replay doesn't run the code of extensions: they
        may be gone by then, and what they do would be another thing.
        """
        while self._arrivals:
            (event, at, ended), before = self._arrivals[0], self._run
            given = activities.StepFlow(
                definition=self._definition, run=before, event=event, now=at
            )
            fitting = fit_step(given)
            stepped = await perform(activities.STEP_FLOW, fitting, summary=event.type)
            # Meanwhile its language may have changed, or its number of events (`_outnumber`).
            number = self._run.events + stepped.run.events - before.events
            run = stepped.run.replace(locale=self._run.locale, events=number)
            self._under_way.pop(ended, None)
            del self._arrivals[0]
            self._continue_as(run, stepped.effects)

    def _continue_as(self, run: Run, effects: Sequence[events.Effect]) -> None:
        self._run = run
        for effect in effects:
            match effect:
                case events.Remind():
                    self._publisher.remind(effect)
                case events.AmendmentJudged(word=word):
                    self._judged[word] = effect
                case events.Say(text=text):
                    self._notifier.said.append(text)
        self._reconcile()
        self._show()

    def _hears(self, event: contract.Told) -> bool:
        anyhow = isinstance(event, events.Cancelled | events.Amended)
        rests = not self._run.work.tasks and not self._arrivals
        return anyhow or rests or self._run.approvals.asks_to_amend

    def _patience(self, event: contract.Told) -> timedelta:
        given = getattr(event, "slots", {})
        return PATIENCE - READING if documents.offered(self._definition.slots, given) else PATIENCE

    def _leaving_reads(self, event: contract.Told) -> contract.Told:
        """A cancellation, with the calls it stops: reads alone, since a stopped write is unsure."""
        calls = [task for task in self._run.work.tasks.values() if task.kind == "call"]
        reads = [task for task in calls if not self._limits(task).writes]
        if not reads or not isinstance(event, events.Cancelled):
            return event
        for task in reads:
            self._publisher.note_end(self._run, task, "skipped")
            self._notifier.calls.append(ToolCallView.skipped(task.id, task.name, task.arguments))
        return event.replace(leaving=tuple(task.id for task in reads))

    def _limits(self, task: Task) -> contract.CallLimits:
        return self._tools.get(task.name, contract.CallLimits())

    def _reconcile(self) -> None:
        wanted: dict[str, Callable[[], Awaitable[None]]] = {}
        for id_, task in self._run.work.tasks.items():
            carry_out = self._have_run if task.kind == "flow" else self._carry_out
            wanted[id_] = partial(carry_out, task)
            if task.kind == "flow" and id_ not in self._under_way:
                self._notifier.begun.append(task.key)
            if task.stopping or task.agreed:
                what = "stop" if task.stopping else f"agreed:{len(task.agreed)}"
                wanted[f"{id_}:{what}"] = partial(self._children.tell, task)
        for timer in self._run.work.timers.values():
            wanted[timer.id] = partial(self._wait_for, timer)
        for id_ in [id_ for id_ in self._under_way if id_ not in wanted]:
            self._under_way.pop(id_).cancel()
        for id_, start in wanted.items():
            if id_ not in self._under_way:
                self._under_way[id_] = start_task(f"{id_} in {self._run.state}", start)

    async def _carry_out(self, task: Task) -> None:
        event: events.LookedUp | events.Called | events.Failed | events.AskedBack
        limits = self._limits(task)
        try:
            if task.kind == "lookup":
                event = await tasks.looked_up(task, self._run)
            else:
                event = await tasks.called(task, self._run, limits, form=self._is_form)
        except ActivityError as failure:
            if is_cancelled_exception(failure):
                self._publisher.note_end(self._run, task, "unknown" if limits.writes else "skipped")
                raise
            event = tasks.came_to_nothing(task, failure, self._whole, self._run, limits)
            self._publisher.note_end(self._run, task, tasks.status(event))
        if task.may_change_something:
            self._notifier.calls.append(tasks.shown(task, event, limits))
        self._take(event, task.id)

    async def _have_run(self, task: Task) -> None:
        event = await self._children.outcome(task, self._whole, self._run)
        self._take(event, task.id)

    async def _wait_for(self, timer: Timer) -> None:
        """Sleep until the timer is due; the UI shows it under its name."""
        summary = f"{timer.name} in {self._run.state}"
        await workflow.sleep(until(timer.due), summary=cut_summary(summary))
        self._take(events.Fired(timer=timer.id), timer.id)

    async def _settled(self, deadline: datetime) -> None:
        try:
            await workflow.wait_condition(
                lambda: not self._comes_back_soon,
                timeout=until(deadline),
                timeout_summary="answer by then",
            )
        except builtins.TimeoutError:
            workflow.logger.info("still at work: %s", ", ".join(self._run.work.tasks))

    def _show(self) -> None:
        run = self._run
        waiting = (
            [a.person for a in run.approvals.current.waiting_for()] if run.approvals.current else []
        )
        status, state = FLOW_STATUS.value_set(run.status), FLOW_STATE.value_set(run.state)
        details = publication.details(self._whole, run)
        self._visibility.show([state, status, ASSIGNEE.value_set(waiting)], details)


def fit_start(start: contract.FlowStart) -> contract.FlowStart | None:
    """Return what the next run starts with, without what it can do without; None if it can't fit.

    The run gives way before the answers to updates that may come again.
    """
    if start.run is None:
        return start
    run = room.shrink_run(start.definition, start.run)
    for each in (start, start.replace(run=run), start.replace(run=run, told={}, decided={})):
        if measure_bytes(each) <= MAX_CARRIED_BYTES:
            return each
    return None


def fit_step(step: activities.StepFlow) -> activities.StepFlow:
    """Return what an activity steps, without what the run can do without if it is too large.

    Temporal would have the workflow task fail forever over a larger input.
    """
    if measure_bytes(step) <= MAX_CARRIED_BYTES:
        return step
    return step.replace(run=room.shrink_run(step.definition, step.run))


def with_answer(
    known: Mapping[str, Answer], update: str, answer: Answer, most: int
) -> dict[str, Answer]:
    """The answers that are known, with that to this update: the last `most` of them."""
    return dict([*known.items(), (update, answer)][-most:])


def _update_id() -> str:
    """Of the update that is being looked at or taken: the same, however often it is sent."""
    update = workflow.current_update_info()
    return update.id if update is not None else ""


def _raise(refused: RouterError | None) -> None:
    if refused is not None:
        raise to_failure(refused)
