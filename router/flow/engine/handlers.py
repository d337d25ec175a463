"""How the machine takes in what happens: a handler for every kind of event.

What errands came to: how the flow machine takes in answers of the world, and their failures.

Each is `take(walk, event)`, as below; an errand that is no more changes nothing.

How the flow machine takes in what happens: a function for every kind of event.

Each is `take(walk, event)`: it writes down what the event says, and leaves it to the moves that
follow (`router.flow.engine.states`) to go on from there. What comes too late, to a question that is
no more, changes nothing. What errands came to is in `router.flow.engine.handlers`.
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
from router.flow.engine.run import Done, Task
from router.flow.engine.states import BROKEN, go_back, refused
from router.flow.prompts import guidance


def looked_up(walk: StepContext, event: LookedUp) -> None:
    """A lookup has an answer, for whatever in this visit needs it."""
    errand = walk.run.errands.pop(event.errand, None)
    if errand is not None:
        walk.run.known[errand.key] = event.value


def called(walk: StepContext, event: Called) -> None:
    """A tool has answered: go on from the state that called it, or with taking things back."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        compensation.taken_back(walk, errand)
        return
    state = walk.state
    if state.save and errand.part is None:
        run.results[state.save] = event.value
    if errand.kind == "check":
        walk.leave("next")
        return
    if state.undo:
        run.done.append(_done(walk, errand, state.undo))
    if run.ending is not None:
        compensation.called_off(walk, errand, lasts=event.lasts and not state.undo)
    elif errand.part is not None:
        parallel.succeeded(walk, errand, event.value)
    else:
        walk.leave("next")


def _done(walk: StepContext, errand: Task, undo: str) -> Done:
    return Done(
        visit=walk.run.visit,
        state=walk.run.state,
        tool=errand.name,
        arguments=errand.arguments,
        key=errand.key,
        undo=undo,
        part=errand.part,
    )


def failed(walk: StepContext, event: Failed) -> None:
    """An errand failed for good: take the state's way out of that, ask anew, or end."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        compensation.taken_back(walk, errand, event.error, event.kind)
    elif errand.kind == "lookup":
        _lookup_failed(walk, errand, event)
    elif run.ending is not None:
        compensation.called_off(walk, errand, unknown=event.kind == "unknown")
    else:
        walk.note(f"{errand.kind} failed", comment=f"{errand.name}: {event.error}")
        if errand.part is not None:
            parallel.failed(walk, errand, event.error, event.kind)
        else:
            _call_failed(walk, errand, event)


def _call_failed(walk: StepContext, errand: Task, event: Failed) -> None:
    """Leave a state by what its call or check failed for, unless an operator is to see to it."""
    walk.run.results["error"] = {"message": event.error, "kind": event.kind}
    if errand.kind == "check" and event.offered is not None:
        elicitation.offer_choice(walk, event.offered)
    if errand.kind == "call" and incidents.put_off(walk, event.kind):
        return
    if walk.state.on_error:
        walk.leave("on_error")
    else:
        walk.give_up(refused(walk) if errand.kind == "check" else BROKEN, event.error)


def _lookup_failed(walk: StepContext, errand: Task, event: Failed) -> None:
    """What can't be looked up is asked for anew where someone is there to ask.

    Elsewhere it ends the run; an approval waits for an operator, who has it looked up again.
    """
    if errand.slot:
        known = set(walk.run.slots)
        slots.blame(walk, errand, event.error)
        go_back(walk, form.lacking(walk, known))
    elif walk.run.offered and walk.state.kind == "collect":
        walk.run.offered = {}
        walk.say(Localised(zh=event.error, en=event.error))
    elif walk.state.kind == "approve":
        incidents.hold_lookup(walk, errand, event)
    else:
        walk.give_up(BROKEN, f"{errand.name}: {event.error}")


def asked_back(walk: StepContext, event: AskedBack) -> None:
    """A tool wants to know more before it does anything: ask, where somebody can be asked."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        compensation.taken_back(walk, errand, event.inquiry.say.within(run.locale), "arguments")
    elif run.ending is not None:
        compensation.called_off(walk, errand)
    elif errand.part is not None:
        parallel.failed(walk, errand, event.inquiry.say.within(run.locale), "arguments")
    elif not elicitation.ask_back(walk, event.inquiry):
        walk.give_up(
            elicitation.TOO_MANY, f"{errand.name} asked back more than {elicitation.MOST} times"
        )


def finished(walk: StepContext, event: Finished) -> None:
    """A run that this one started is over: what it did is this one's to take back from now on."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    run.done += [done.model_copy(update={"visit": run.visit}) for done in event.done]
    if run.ending is None:
        parallel.finished(walk, errand, event)
    else:
        compensation.called_off(walk, errand)


STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)


def _began(walk: StepContext, event: events.Began) -> None:
    if walk.run.withdraws is not None and walk.run.visit:
        return  # asked for once more, by whoever was a moment too late
    walk.enter(walk.definition.start, "began", walk.run.requester.id)
    walk.run.skipped = sorted({*walk.run.skipped, *event.skipped})
    walk.run.offered = dict(event.slots)


def _is_stale(walk: StepContext, question: str | None) -> bool:
    """True, and said, where the answer is to a question that is no longer the one asked."""
    if walk.run.status in ("collecting", "confirming") and not walk.run.errands:
        if question is None or question == walk.run.question:
            return False
        walk.say(STALE)
    return True


def _answered(walk: StepContext, event: events.Answered) -> None:
    if not _is_stale(walk, event.question):
        walk.run.offered = dict(event.slots)


def _confirmed(walk: StepContext, event: events.Confirmed) -> None:
    run = walk.run
    if _is_stale(walk, event.question) or run.status != "confirming":
        return
    if event.slots and not event.value:
        run.offered = dict(event.slots)
    else:
        walk.leave("confirmed" if event.value else "declined", event.by)


def _unclear(walk: StepContext, event: events.Unclear) -> None:
    if event.count and walk.run.status in ("collecting", "confirming"):
        walk.run.miss()


def _skipped(walk: StepContext, event: events.Skipped) -> None:
    if not _is_stale(walk, event.question):
        form.skip(walk)


def _puzzled(walk: StepContext, _: events.Puzzled) -> None:
    if walk.run.status in ("collecting", "confirming") and not walk.run.errands:
        walk.say(guidance.explanation(walk))


def _started_over(walk: StepContext, event: events.StartedOver) -> None:
    if not _is_stale(walk, event.question):
        compensation.start_over(walk, event.by)


def _cancelled(walk: StepContext, event: events.Cancelled) -> None:
    """End, once a call under way has come back: what it did can only be taken back then."""
    run = walk.run
    walk.note("withdrawn", event.by, event.comment)
    if event.final:
        incidents.leave(walk)
    if run.ending is not None:
        if run.done and not event.by_parent:
            walk.say(compensation.UNDER_WAY)
        return
    run.errands = {
        id_: errand
        for id_, errand in run.errands.items()
        if errand.may_change_something and id_ not in event.leaving
    }
    run.told_elsewhere = event.by_parent
    compensation.say_cancelled(walk)
    parallel.stop(walk)
    run.held = None
    run.ending, run.leaving, run.back_to, run.clearing = "cancelled", None, None, None
    run.timers, run.approval, run.offered, run.escalating = {}, None, {}, False
    run.rescheduling = None
    run.status = "running"


def _decided(walk: StepContext, event: events.Decided) -> None:
    if decisions.refusal(walk, event) is None:
        walk.run.held = None
        decisions.decide(walk, event)


def _nudged(walk: StepContext, event: events.Nudged) -> None:
    if walk.run.approval is not None:
        approval.remind(walk, "nudged", event.by)


def _fired(walk: StepContext, event: events.Fired) -> None:
    run = walk.run
    timer = next((t for t in run.timers.values() if t.id == event.timer), None)
    if timer is None:
        return
    del run.timers[timer.name]
    if timer.name == "wait":
        waiting.over(walk)
    elif timer.name == "retry":
        walk.note("tried again")
        incidents.try_later_ones(run)
    elif timer.name == "remind":
        approval.remind(walk, "reminded")
    elif timer.name == "escalate":
        run.escalating, run.opening = True, walk.now
    elif timer.name in waiting.NAMES:
        waiting.fired(walk, timer)
    else:
        approval.expire(walk)


def _retried(walk: StepContext, event: events.Retried) -> None:
    if incidents.undo_retry_refusal(walk.run) is None:
        incidents.retry_undo(walk, event)
    else:
        incidents.retry(walk, event)


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
