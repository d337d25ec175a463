"""The flow machine: a pure function from a run and an event to the run after it.

A step takes the event in, then moves from state to state until the run waits for something named:
an answer, a task, an approval, a timer; or has ended. Where an expression needs a lookup the move
stops half-way, having changed nothing, and is made anew when the answer is there.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from router.domain.errors import NotDeployed, RouterError
from router.domain.locale import Localised
from router.flow.definition import FlowDefinition, SlotValues
from router.flow.engine import (
    amendment,
    approval,
    compensation,
    decisions,
    documents,
    elicitation,
    events,
    form,
    incidents,
    parallel,
    room,
    slots,
    waiting,
)
from router.flow.engine.compensation import BROKEN, go_back, leave, refused
from router.flow.engine.context import StepContext
from router.flow.engine.events import AnyEvent, Effect
from router.flow.engine.run import Run
from router.flow.engine.run_parts.form import MAX_INQUIRIES
from router.flow.engine.run_parts.recovery import Done, Visit
from router.flow.engine.run_parts.work import (
    MAX_LOOKUP_ANSWERS,
    Ending,
    GoingBack,
    Leaving,
    Rescheduling,
    Reviewing,
    Task,
)
from router.flow.language.budgets import turn_budget
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.language.templates import TextError
from router.flow.prompts import guidance, question


def _looked_up(context: StepContext, event: events.LookedUp) -> None:
    work = context.run.work
    task = work.tasks.pop(event.task, None)
    if task is None:
        return
    if len(work.lookup_answers) >= MAX_LOOKUP_ANSWERS:
        reason = f"more than {MAX_LOOKUP_ANSWERS} lookups without waiting"
        context.give_up(BROKEN, reason)
    else:
        work.lookup_answers[task.key] = event.value


def _called(context: StepContext, event: events.Called) -> None:
    run = context.run
    task = run.work.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        compensation.taken_back(context, task)
        return
    state = context.state
    if state.saves and task.part is None:
        run.work.results[state.saves] = event.value
    if task.kind == "check":
        context.leave("next")
        return
    if event.lasts and not state.undoes:
        run.recovery.lasting.append(Visit(state=run.state, visit=run.visit))
    if state.undoes:
        run.recovery.done.append(
            Done(
                visit=run.visit,
                state=run.state,
                tool=task.name,
                arguments=task.arguments,
                key=task.key,
                undo=state.undoes,
                part=task.part,
            )
        )
    if run.work.ending is not None:
        compensation.called_off(context, task, lasts=event.lasts and not state.undoes)
    elif task.part is not None:
        parallel.succeeded(context, task, event.value)
    else:
        context.leave("next")


def _failed(context: StepContext, event: events.Failed) -> None:
    run = context.run
    task = run.work.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        compensation.taken_back(context, task, event)
    elif task.kind == "lookup":
        _lookup_failed(context, task, event)
    elif run.work.ending is not None:
        # A try before the one that found no tool may have done it.
        tried = event.kind == "missing" and event.attempts > 1
        unknown = event.kind in incidents.WORTH_ANOTHER_TRY or tried
        compensation.called_off(context, task, unknown=unknown)
    else:
        context.note(f"{task.kind} failed", comment=f"{task.name}: {event.error}")
        if task.part is not None and event.kind == "missing":
            parallel.put_back(context, task)
            if run.recovery.held is None:
                incidents.hold_over_call(context, task, event)
        elif task.part is not None:
            parallel.failed(context, task, event.error, event.kind)
        else:
            _call_failed(context, task, event)


def _call_failed(context: StepContext, task: Task, event: events.Failed) -> None:
    if event.kind == "missing":
        incidents.hold_over_call(context, task, event)
        return
    context.run.work.results["error"] = {"message": event.error, "kind": event.kind}
    if task.kind == "check" and event.offered is not None:
        elicitation.offer_choice(context, event.offered)
    if task.kind == "call" and incidents.put_off(context, task, event):
        return
    if "on_error" in context.state.exits():
        context.leave("on_error")
    else:
        context.give_up(refused(context) if task.kind == "check" else BROKEN, event.error)


def _lookup_failed(context: StepContext, task: Task, event: events.Failed) -> None:
    """Have it asked for where someone is there to ask; an approval waits for an operator.

    So does everything else where the lookup isn't deployed: no other answer would help.
    """
    if amendment.lookup_failed(context, task.id, event.error):
        return
    if event.kind == "missing":
        incidents.hold_over_lookup(context, task, event)
    elif task.slot:
        known = set(context.run.form.slots)
        slots.blame(context, task, event.error)
        go_back(context, form.lacking(context, known))
    elif context.run.form.offered_values and context.state.kind == "collect":
        context.run.form.offered_values = {}
        context.say(Localised(zh=event.error, en=event.error))
    elif context.state.kind == "approve":
        incidents.hold_over_lookup(context, task, event)
    else:
        context.give_up(BROKEN, f"{task.name}: {event.error}")


def _asked_back(context: StepContext, event: events.AskedBack) -> None:
    run = context.run
    task = run.work.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        asked = event.inquiry.say.within(run.locale)
        failed = events.Failed(task=task.id, error=asked, kind="arguments")
        compensation.taken_back(context, task, failed)
    elif run.work.ending is not None:
        compensation.called_off(context, task)
    elif task.part is not None:
        parallel.failed(context, task, event.inquiry.say.within(run.locale), "arguments")
    elif not elicitation.ask_back(context, event.inquiry):
        reason = f"{task.name} asked back more than {MAX_INQUIRIES} times"
        context.give_up(elicitation.TOO_MANY, reason)


def _finished(context: StepContext, event: events.Finished) -> None:
    run = context.run
    task = run.work.tasks.pop(event.task, None)
    if task is None:
        return
    run.recovery.done += [done.replace(visit=run.visit) for done in event.done]
    if event.lasting:
        run.recovery.lasting.append(Visit(state=run.state, visit=run.visit))
    if isinstance(run.work.pending, GoingBack):
        return  # it is begun anew, once what it did is taken back
    if run.work.ending is None:
        parallel.finished(context, task, event)
    else:
        compensation.called_off(context, task)


STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)


def _began(context: StepContext, event: events.Began) -> None:
    if context.run.recovery.withdraws is not None and context.run.visit:
        return  # asked for once more, by whoever was a moment too late
    context.enter(context.definition.start, "began", context.run.requester.id)
    context.run.form.skip(*event.skipped)
    _offer(context, event.slots)


def _is_stale(context: StepContext, event: AnyEvent) -> bool:
    """True, and said, where it answers a question that is no longer the one asked."""
    if not isinstance(event, events.ToQuestion):
        return False
    if _listens(context.run):
        if event.question in (None, context.run.question_id):
            return False
        context.say(STALE)
    elif amendment.is_about(event.question):
        context.say(amendment.TOO_LATE)
    return True


def _listens(run: Run) -> bool:
    """True while the run waits for an answer of its requester's."""
    if run.approvals.asks_to_amend:
        return True
    return run.status in ("collecting", "confirming") and not run.work.tasks


def _offer(context: StepContext, given: SlotValues) -> None:
    if room.is_too_much(context.run.form, given):
        context.say(room.TOO_MUCH)
    else:
        context.run.form.offered_values = dict(given)


def _answered(context: StepContext, event: events.Answered) -> None:
    _offer(context, event.slots)


def _confirmed(context: StepContext, event: events.Confirmed) -> None:
    run = context.run
    if run.status == "confirming" and event.slots and not event.value:
        _offer(context, event.slots)
    elif run.status == "confirming":
        context.leave("confirmed" if event.value else "declined", event.by)


def _unclear(context: StepContext, event: events.Unclear) -> None:
    if event.count and context.run.status in ("collecting", "confirming"):
        context.run.question.count_no_match()


def _puzzled(context: StepContext, _: events.Puzzled) -> None:
    if context.run.approvals.asks_to_amend:
        context.say(amendment.EXPLAINED)
    elif _listens(context.run):
        context.say(guidance.explanation(context))


def _cancelled(context: StepContext, event: events.Cancelled) -> None:
    """End, once a call under way has come back: what it did can only be taken back then."""
    run, locked = context.run, why_locked(context.definition, context.run, event)
    if locked is not None:
        context.say(locked)
        return
    context.note("withdrawn", event.by, event.comment)
    if event.final:
        incidents.leave(context)
    if run.work.ending is not None:
        if run.recovery.done and not event.by_parent:
            context.say(compensation.UNDER_WAY)
        return
    tasks = (task for task in run.work.tasks.values() if task.may_change_something)
    run.work.tasks = {task.id: task for task in tasks if task.id not in event.leaving}
    run.recovery.told_elsewhere = event.by_parent
    compensation.say_cancelled(context)
    parallel.stop(context)
    run.recovery.held = None
    run.work.pending = Ending(status="cancelled")
    if event.changed:
        run.approvals.close_as_changed(context.now)
    else:
        run.approvals.close()
    run.work.timers, run.form.offered_values = {}, {}
    run.status = "running"


def _put_away(context: StepContext, event: events.PutAway) -> None:
    if context.run.approvals.asks_to_amend:
        amendment.answer(context, events.ToQuestion(by=event.by))
    elif _listens(context.run):
        waiting.put_away(context)


def _decided(context: StepContext, event: events.Decided) -> None:
    if decisions.refusal(context, event) is None:
        decisions.decide(context, event)


def _nudged(context: StepContext, event: events.Nudged) -> None:
    if context.run.approvals.current is not None:
        approval.remind(context, "nudged", event.by)


def _fired(context: StepContext, event: events.Fired) -> None:
    run = context.run
    timer = next((t for t in run.work.timers.values() if t.id == event.timer), None)
    if timer is None:
        return
    del run.work.timers[timer.name]
    match timer.name:
        case "wait":
            waiting.over(context)
        case "retry":
            incidents.try_later_ones(context)
        case "remind":
            approval.remind(context, "reminded")
        case "escalate":
            decisions.look_again(context, "escalated")
        case "expire":
            approval.expire(context)
        case _:
            waiting.fired(context, timer)


def _retried(context: StepContext, event: events.Retried) -> None:
    if incidents.undo_retry_refusal(context.run) is None:
        incidents.retry_undo(context, event)
    else:
        incidents.retry(context, event)


HANDLERS: dict[type, Callable[[StepContext, Any], None]] = {
    events.Began: _began,
    events.Answered: _answered,
    events.Confirmed: _confirmed,
    events.Unclear: _unclear,
    events.Skipped: form.skip,
    events.Puzzled: _puzzled,
    events.StartedOver: compensation.start_over,
    events.Amended: amendment.propose,
    events.Cancelled: _cancelled,
    events.PutAway: _put_away,
    events.LookedUp: _looked_up,
    events.Called: _called,
    events.Failed: _failed,
    events.AskedBack: _asked_back,
    events.Decided: _decided,
    events.Nudged: _nudged,
    events.Fired: _fired,
    events.Arrived: waiting.arrive,
    events.Finished: _finished,
    events.Agreed: approval.hear,
    events.Retried: _retried,
    events.Reassigned: incidents.reassign,
}
"""How each kind of event is taken in."""


MOST_MOVES = 200
"""Moves in one step before a flow that never waits is ended; the loader refuses such files."""


UNFORESEEN = (ArithmeticError, ValueError, RecursionError)
"""What Python raises over odd values: numbers and dates out of range, texts that are none, lists
within lists. Any other exception is a defect of the engine."""


class _StuckError(Exception):
    """A move can't be made, for an `UNFORESEEN` reason."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


def step(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime
) -> tuple[Run, list[Effect]]:
    """The run after the event, and what to say of it. A run that has ended stays as it is.

    Where it can't move on with what it knows, for a reason that nobody foresaw, it takes the event
    in and is held: an operator has the move made again.
    """
    context = StepContext(elicitation.extended(definition, run), run.draft(), now)
    if context.ended:
        return context.run, []
    try:
        _step(context, run, event)
    except Exception as error:
        # The code of an extension may raise anything.
        if not (isinstance(error, _StuckError) or definition.is_extended):
            raise
        why = error.error if isinstance(error, _StuckError) else error
        context = _hold(context.definition, run, event, now, why)
    waiting.keep_time(context, event)
    room.bound_lists(context.run)
    return context.run, context.effects


def _step(context: StepContext, run: Run, event: AnyEvent) -> None:
    try:
        _take(context, event)
        amendment.overtaken(context)
        advance(context)
        amendment.overtaken(context)
        guidance.say_what_stays(context)
        guidance.help_with(run, context, refused=not isinstance(event, events.Unclear))
    except (ExpressionError, TextError) as error:
        # Giving up, and taking back what was done, has a budget whatever was spent before.
        context.budget = turn_budget()
        _give_up(context, error)
        advance(context)


def _take(context: StepContext, event: AnyEvent) -> None:
    context.run.events += 1
    context.run.question.quiet = False
    if _is_stale(context, event):
        return
    if context.run.approvals.asks_to_amend and isinstance(event, events.ToQuestion):
        amendment.answer(context, event)
    else:
        HANDLERS[type(event)](context, event)


def _hold(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime, error: Exception
) -> StepContext:
    """Take the event in and hold the run. Raise the error if the run ends, or is taken back.

    From the event on: the moves that were made before are made again with those that weren't.
    """
    context = StepContext(definition, run.draft(), now)
    try:
        _take(context, event)
    except Exception:
        if not definition.is_extended:
            raise
        # The event itself needs what isn't there: it counts as heard, and nothing came of it.
        context = StepContext(definition, run.draft(), now)
        context.run.events += 1
    if isinstance(context.run.work.pending, Ending | GoingBack):
        raise error
    if isinstance(error, NotDeployed):
        incidents.hold_without_code(context, error)
    else:
        incidents.hold_over_data(context, error)
    return context


def hold_over_limit(definition: FlowDefinition, run: Run, max_bytes: int, now: datetime) -> Run:
    """Return the run held for an operator, since it can't be carried; no second time."""
    context = StepContext(elicitation.extended(definition, run), run.draft(), now)
    if context.ended or run.recovery.held is not None:
        return run
    context.run.events += 1
    incidents.hold_over_limit(context, room.explain(run, max_bytes))
    return context.run


def advance(context: StepContext) -> None:
    """Move until the run waits for something named, or has ended."""
    for _ in range(MOST_MOVES):
        try:
            if not (amendment.weigh(context) or _move(context)):
                # Find now that the question can't be worded, not when somebody wants to read it.
                if not context.run.work.tasks:
                    question.question(context.definition, context.run)
                return
        except LookupNeeded as need:
            context.ask_world(need)
            asks = context.run.status in ("collecting", "confirming", "waiting_approval")
            # Reading a picture takes long enough that nobody should be left with a question.
            if not asks or need.name == documents.LOOKUP:
                context.run.status = "running"
            return
        except (ExpressionError, TextError) as error:
            _give_up(context, error)
        except UNFORESEEN as error:
            raise _StuckError(error) from error
    context.run.recovery.done = []
    context.note("failed", comment=f"more than {MOST_MOVES} moves without waiting")
    context.end("failed")


def _give_up(context: StepContext, error: ExpressionError | TextError) -> None:
    context.run.form.offered_values = {}
    context.give_up(BROKEN, str(error))


def _move(context: StepContext) -> bool:
    """One move; False where the run now waits."""
    run = context.run
    if context.ended or run.work.tasks or incidents.waits_for_operator(context):
        return False
    match run.work.pending:
        case Ending() | GoingBack() | Leaving(clears=int()):
            return compensation.unwind(context)
        case Leaving() as leaving:
            return leave(context, leaving)
        case Reviewing() as reviewing:
            return approval.review(context, reviewing)
        case Rescheduling() as rescheduling:
            return decisions.reschedule(context, rescheduling)
    return not room.lacks_room(context) and context.state.execute(context)


def why_locked(definition: FlowDefinition, run: Run, event: events.Cancelled) -> Localised | None:
    """What a requester is told who can't take the run back where it stands; None where they can."""
    state = definition.states.get(run.state)
    is_requesters = event.by == run.requester.id and not (event.final or event.changed)
    return state.locked if state is not None and is_requesters else None


def is_repeat(run: Run, event: events.Operated) -> bool:
    """Return whether the event is a decision that counted already and is merely sent again."""
    return isinstance(event, events.Decided) and decisions.is_repeat(run, event)


def refusal_of(
    definition: FlowDefinition, run: Run, event: events.Operated, now: datetime
) -> RouterError | None:
    """Why this decision, or this word of an operator, can't be taken; None where it can."""
    context = StepContext(definition, run, now)
    match event:
        case events.Retried():
            return incidents.undo_retry_refusal(run) and incidents.retry_refusal(run)
        case events.Reassigned():
            return incidents.reassign_refusal(context, event)
        case _:
            return decisions.refusal(context, event)
