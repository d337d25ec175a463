"""How the machine takes in what happens: a handler for every kind of event.

Each is `take(context, event)`: it writes down what the event says, and leaves it to the states'
own moves to go on from there. What comes too late, or answers a task that is no more, changes
nothing.
"""

from collections.abc import Callable
from typing import Any

from router.domain.locale import Localised
from router.flow.engine import (
    approval,
    compensation,
    decisions,
    elicitation,
    events,
    form,
    incidents,
    parallel,
    slots,
    waiting,
)
from router.flow.engine.context import StepContext
from router.flow.engine.events import AskedBack, Called, Failed, Finished, LookedUp
from router.flow.engine.run import Done, Ending, Task
from router.flow.engine.transitions import BROKEN, go_back, refused
from router.flow.prompts import guidance


def looked_up(context: StepContext, event: LookedUp) -> None:
    """A lookup has an answer, for whatever in this visit needs it."""
    task = context.run.tasks.pop(event.task, None)
    if task is not None:
        context.run.known[task.key] = event.value


def called(context: StepContext, event: Called) -> None:
    """A tool has answered: go on from the state that called it, or with taking things back."""
    run = context.run
    task = run.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        compensation.taken_back(context, task)
        return
    state = context.state
    if state.saves and task.part is None:
        run.results[state.saves] = event.value
    if task.kind == "check":
        context.leave("next")
        return
    if state.undoes:
        run.done.append(_done(context, task, state.undoes))
    if run.ending is not None:
        compensation.called_off(context, task, lasts=event.lasts and not state.undoes)
    elif task.part is not None:
        parallel.succeeded(context, task, event.value)
    else:
        context.leave("next")


def _done(context: StepContext, task: Task, undo: str) -> Done:
    return Done(
        visit=context.run.visit,
        state=context.run.state,
        tool=task.name,
        arguments=task.arguments,
        key=task.key,
        undo=undo,
        part=task.part,
    )


def failed(context: StepContext, event: Failed) -> None:
    """A task failed for good: take the state's way out of that, ask anew, or end."""
    run = context.run
    task = run.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        compensation.taken_back(context, task, event.error, event.kind)
    elif task.kind == "lookup":
        _lookup_failed(context, task, event)
    elif run.ending is not None:
        compensation.called_off(context, task, unknown=event.kind == "unknown")
    else:
        context.note(f"{task.kind} failed", comment=f"{task.name}: {event.error}")
        if task.part is not None:
            parallel.failed(context, task, event.error, event.kind)
        else:
            _call_failed(context, task, event)


def _call_failed(context: StepContext, task: Task, event: Failed) -> None:
    """Leave a state by what its call or check failed for, unless an operator is to see to it."""
    context.run.results["error"] = {"message": event.error, "kind": event.kind}
    if task.kind == "check" and event.offered is not None:
        elicitation.offer_choice(context, event.offered)
    if task.kind == "call" and incidents.put_off(context, event.kind):
        return
    if "on_error" in context.state.exits():
        context.leave("on_error")
    else:
        context.give_up(refused(context) if task.kind == "check" else BROKEN, event.error)


def _lookup_failed(context: StepContext, task: Task, event: Failed) -> None:
    """What can't be looked up is asked for anew where someone is there to ask.

    Elsewhere it ends the run; an approval waits for an operator, who has it looked up again.
    """
    if task.slot:
        known = set(context.run.slots)
        slots.blame(context, task, event.error)
        go_back(context, form.lacking(context, known))
    elif context.run.offered and context.state.kind == "collect":
        context.run.offered = {}
        context.say(Localised(zh=event.error, en=event.error))
    elif context.state.kind == "approve":
        incidents.hold_lookup(context, task, event)
    else:
        context.give_up(BROKEN, f"{task.name}: {event.error}")


def asked_back(context: StepContext, event: AskedBack) -> None:
    """A tool wants to know more before it does anything: ask, where somebody can be asked."""
    run = context.run
    task = run.tasks.pop(event.task, None)
    if task is None:
        return
    if task.kind == "undo":
        compensation.taken_back(context, task, event.inquiry.say.within(run.locale), "arguments")
    elif run.ending is not None:
        compensation.called_off(context, task)
    elif task.part is not None:
        parallel.failed(context, task, event.inquiry.say.within(run.locale), "arguments")
    elif not elicitation.ask_back(context, event.inquiry):
        context.give_up(
            elicitation.TOO_MANY, f"{task.name} asked back more than {elicitation.MOST} times"
        )


def finished(context: StepContext, event: Finished) -> None:
    """A run that this one started is over: what it did is this one's to take back from now on."""
    run = context.run
    task = run.tasks.pop(event.task, None)
    if task is None:
        return
    run.done += [done.model_copy(update={"visit": run.visit}) for done in event.done]
    if run.ending is None:
        parallel.finished(context, task, event)
    else:
        compensation.called_off(context, task)


STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)


def _began(context: StepContext, event: events.Began) -> None:
    if context.run.withdraws is not None and context.run.visit:
        return  # asked for once more, by whoever was a moment too late
    context.enter(context.definition.start, "began", context.run.requester.id)
    context.run.skipped = sorted({*context.run.skipped, *event.skipped})
    context.run.offered = dict(event.slots)


def _is_stale(context: StepContext, question: str | None) -> bool:
    """True, and said, where the answer is to a question that is no longer the one asked."""
    if context.run.status in ("collecting", "confirming") and not context.run.tasks:
        if question is None or question == context.run.question:
            return False
        context.say(STALE)
    return True


def _answered(context: StepContext, event: events.Answered) -> None:
    if not _is_stale(context, event.question):
        context.run.offered = dict(event.slots)


def _confirmed(context: StepContext, event: events.Confirmed) -> None:
    run = context.run
    if _is_stale(context, event.question) or run.status != "confirming":
        return
    if event.slots and not event.value:
        run.offered = dict(event.slots)
    else:
        context.leave("confirmed" if event.value else "declined", event.by)


def _unclear(context: StepContext, event: events.Unclear) -> None:
    if event.count and context.run.status in ("collecting", "confirming"):
        context.run.miss()


def _skipped(context: StepContext, event: events.Skipped) -> None:
    if not _is_stale(context, event.question):
        form.skip(context)


def _puzzled(context: StepContext, _: events.Puzzled) -> None:
    if context.run.status in ("collecting", "confirming") and not context.run.tasks:
        context.say(guidance.explanation(context))


def _started_over(context: StepContext, event: events.StartedOver) -> None:
    if not _is_stale(context, event.question):
        compensation.start_over(context, event.by)


def _cancelled(context: StepContext, event: events.Cancelled) -> None:
    """End, once a call under way has come back: what it did can only be taken back then."""
    run = context.run
    context.note("withdrawn", event.by, event.comment)
    if event.final:
        incidents.leave(context)
    if run.ending is not None:
        if run.done and not event.by_parent:
            context.say(compensation.UNDER_WAY)
        return
    run.tasks = {
        id_: task
        for id_, task in run.tasks.items()
        if task.may_change_something and id_ not in event.leaving
    }
    run.told_elsewhere = event.by_parent
    compensation.say_cancelled(context)
    parallel.stop(context)
    run.held = None
    run.pending = Ending(status="cancelled")
    run.timers, run.approval, run.offered = {}, None, {}
    run.status = "running"


def _decided(context: StepContext, event: events.Decided) -> None:
    if decisions.refusal(context, event) is None:
        context.run.held = None
        decisions.decide(context, event)


def _nudged(context: StepContext, event: events.Nudged) -> None:
    if context.run.approval is not None:
        approval.remind(context, "nudged", event.by)


def _fired(context: StepContext, event: events.Fired) -> None:
    run = context.run
    timer = next((t for t in run.timers.values() if t.id == event.timer), None)
    if timer is None:
        return
    del run.timers[timer.name]
    if timer.name == "wait":
        waiting.over(context)
    elif timer.name == "retry":
        context.note("tried again")
        incidents.try_later_ones(run)
    elif timer.name == "remind":
        approval.remind(context, "reminded")
    elif timer.name == "escalate":
        decisions.pass_up(context)
    elif timer.name in waiting.NAMES:
        waiting.fired(context, timer)
    else:
        approval.expire(context)


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
    events.Skipped: _skipped,
    events.Puzzled: _puzzled,
    events.StartedOver: _started_over,
    events.Cancelled: _cancelled,
    events.LookedUp: looked_up,
    events.Called: called,
    events.Failed: failed,
    events.AskedBack: asked_back,
    events.Decided: _decided,
    events.Nudged: _nudged,
    events.Fired: _fired,
    events.Arrived: waiting.arrive,
    events.Finished: finished,
    events.Agreed: approval.hear,
    events.Retried: _retried,
    events.Reassigned: incidents.reassign,
}
"""How each kind of event is taken in."""
