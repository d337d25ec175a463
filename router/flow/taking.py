"""How the flow machine takes in what happens: a function for every kind of event.

Each is `take(walk, event)`: it writes down what the event says, and leaves it to the moves that
follow (`router.flow.moving`) to go on from there. What comes too late, to a question or an errand
that is no more, changes nothing.
"""

from collections.abc import Callable
from typing import Any

from router.domain.texts import Localised
from router.flow import (
    agreements,
    approving,
    batching,
    choosing,
    collecting,
    explaining,
    idling,
    inquiring,
    operating,
    skipping,
    stuck,
    undoing,
    verdicts,
    waiting,
)
from router.flow.events import (
    Agreed,
    Answered,
    Arrived,
    AskedBack,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Failed,
    Finished,
    Fired,
    LookedUp,
    Nudged,
    Puzzled,
    Reassigned,
    Retried,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.model import HOLDS_LOOKUPS, LEAVES_NOTHING_DONE
from router.flow.moving import BROKEN, go_back, refused
from router.flow.run import Done, Errand
from router.flow.walk import Walk

STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)


def _began(walk: Walk, event: Began) -> None:
    if walk.run.withdraws is not None and walk.run.visit:
        return  # asked for once more, by whoever was a moment too late
    walk.enter(walk.definition.start, "began", walk.run.requester.id)
    walk.run.skipped = sorted({*walk.run.skipped, *event.skipped})
    walk.run.offered = dict(event.slots)


def _is_stale(walk: Walk, question: str | None) -> bool:
    """True, and said, where the answer is to a question that is no longer the one asked."""
    if walk.run.status in ("collecting", "confirming") and not walk.run.errands:
        if question is None or question == walk.run.question:
            return False
        walk.say(STALE)
    return True


def _answered(walk: Walk, event: Answered) -> None:
    if not _is_stale(walk, event.question):
        walk.run.offered = dict(event.slots)


def _confirmed(walk: Walk, event: Confirmed) -> None:
    run = walk.run
    if _is_stale(walk, event.question) or run.status != "confirming":
        return
    if event.slots and not event.value:
        run.offered = dict(event.slots)
    else:
        walk.leave("confirmed" if event.value else "declined", event.by)


def _unclear(walk: Walk, event: Unclear) -> None:
    if event.count and walk.run.status in ("collecting", "confirming"):
        walk.run.miss()


def _skipped(walk: Walk, event: Skipped) -> None:
    if not _is_stale(walk, event.question):
        skipping.skip(walk)


def _puzzled(walk: Walk, _: Puzzled) -> None:
    if walk.run.status in ("collecting", "confirming") and not walk.run.errands:
        walk.say(explaining.explanation(walk))


def _started_over(walk: Walk, event: StartedOver) -> None:
    if not _is_stale(walk, event.question):
        undoing.start_over(walk, event.by)


def _cancelled(walk: Walk, event: Cancelled) -> None:
    """End, once a call under way has come back: what it did can only be taken back then."""
    run = walk.run
    walk.note("withdrawn", event.by, event.comment)
    if event.final:
        stuck.leave(walk)
    if run.ending is not None and walk.definition.rules >= LEAVES_NOTHING_DONE:
        if run.done and not event.by_parent:
            walk.say(undoing.UNDER_WAY)
        return
    run.errands = {
        id_: errand
        for id_, errand in run.errands.items()
        if errand.may_change_something and id_ not in event.leaving
    }
    run.told_elsewhere = event.by_parent
    undoing.say_cancelled(walk)
    batching.stop(walk)
    run.held = None
    run.ending, run.leaving, run.back_to, run.clearing = "cancelled", None, None, None
    run.timers, run.approval, run.offered, run.escalating = {}, None, {}, False
    run.rescheduling = None
    run.status = "running"


def _looked_up(walk: Walk, event: LookedUp) -> None:
    errand = walk.run.errands.pop(event.errand, None)
    if errand is not None:
        walk.run.known[errand.key] = event.value


def _called(walk: Walk, event: Called) -> None:
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        undoing.taken_back(walk, errand)
        return
    state = walk.state
    if errand.kind == "check":
        if state.save:
            run.results[state.save] = event.value
        walk.leave("next")
        return
    if state.save and errand.part is None:
        run.results[state.save] = event.value
    if state.undo:
        run.done.append(
            Done(
                visit=run.visit,
                state=run.state,
                tool=errand.name,
                arguments=errand.arguments,
                key=errand.key,
                undo=state.undo,
                part=errand.part,
            )
        )
    if run.ending is None and errand.part is not None:
        batching.succeeded(walk, errand, event.value)
    elif run.ending is None:
        walk.leave("next")
    else:
        undoing.called_off(walk, errand, lasts=event.lasts and not state.undo)


def _failed(walk: Walk, event: Failed) -> None:
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        undoing.taken_back(walk, errand, event.error, event.kind)
    elif errand.kind == "lookup":
        _lookup_failed(walk, errand, event)
    elif run.ending is None:
        walk.note(f"{errand.kind} failed", comment=f"{errand.name}: {event.error}")
        if errand.part is not None:
            batching.failed(walk, errand, event.error, event.kind)
            return
        run.results["error"] = {"message": event.error, "kind": event.kind}
        if errand.kind == "check" and event.offered is not None:
            choosing.take(walk, event.offered)
        if errand.kind == "call" and operating.put_off(walk, event.kind):
            return
        if walk.state.on_error:
            walk.leave("on_error")
        elif errand.kind == "check":
            walk.give_up(refused(walk), event.error)
        else:
            walk.give_up(BROKEN, event.error)
    else:
        undoing.called_off(walk, errand, unknown=event.kind == "unknown")


def _asked_back(walk: Walk, event: AskedBack) -> None:
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        undoing.taken_back(walk, errand, event.inquiry.say.within(run.locale), "arguments")
    elif run.ending is not None:
        undoing.called_off(walk, errand)
    elif errand.part is not None:
        batching.failed(walk, errand, event.inquiry.say.within(run.locale), "arguments")
    elif not inquiring.take(walk, event.inquiry):
        walk.give_up(
            inquiring.TOO_MANY, f"{errand.name} asked back more than {inquiring.MOST} times"
        )


def _lookup_failed(walk: Walk, errand: Errand, event: Failed) -> None:
    """What can't be looked up is asked for anew where someone is there to ask.

    Elsewhere it ends the run; an approval waits for an operator, who has it looked up again.
    """
    if errand.slot:
        known = set(walk.run.slots)
        collecting.blame(walk, errand, event.error)
        if walk.run.goes_back:
            go_back(walk, collecting.lacking(walk, known))
    elif walk.run.offered and walk.state.kind == "collect":
        walk.run.offered = {}
        walk.say(Localised(zh=event.error, en=event.error))
    elif walk.state.kind == "approve" and walk.definition.rules >= HOLDS_LOOKUPS:
        operating.hold_lookup(walk, errand, event)
    else:
        walk.give_up(BROKEN, f"{errand.name}: {event.error}")


def _decided(walk: Walk, event: Decided) -> None:
    if verdicts.refusal(walk, event) is None:
        walk.run.held = None
        verdicts.decide(walk, event)


def _nudged(walk: Walk, event: Nudged) -> None:
    if walk.run.approval is not None:
        approving.remind(walk, "nudged", event.by)


def _fired(walk: Walk, event: Fired) -> None:
    run = walk.run
    timer = next((t for t in run.timers.values() if t.id == event.timer), None)
    if timer is None:
        return
    del run.timers[timer.name]
    if timer.name == "wait":
        waiting.over(walk)
    elif timer.name == "retry":
        walk.note("tried again")
        stuck.try_later_ones(run)
    elif timer.name == "remind":
        approving.remind(walk, "reminded")
    elif timer.name == "escalate":
        run.escalating, run.opening = True, walk.now
    elif timer.name in idling.NAMES:
        idling.fired(walk, timer)
    else:
        approving.expire(walk)


def _finished(walk: Walk, event: Finished) -> None:
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    run.done += [done.model_copy(update={"visit": run.visit}) for done in event.done]
    if run.ending is None:
        batching.finished(walk, errand, event)
    else:
        undoing.called_off(walk, errand)


def _retried(walk: Walk, event: Retried) -> None:
    if stuck.retry_refusal(walk.run) is None:
        stuck.retry(walk, event)
    else:
        operating.retry(walk, event)


TAKERS: dict[type, Callable[[Walk, Any], None]] = {
    Began: _began,
    Answered: _answered,
    Confirmed: _confirmed,
    Unclear: _unclear,
    Skipped: _skipped,
    Puzzled: _puzzled,
    StartedOver: _started_over,
    Cancelled: _cancelled,
    LookedUp: _looked_up,
    Called: _called,
    Failed: _failed,
    AskedBack: _asked_back,
    Decided: _decided,
    Nudged: _nudged,
    Fired: _fired,
    Arrived: waiting.arrive,
    Finished: _finished,
    Agreed: agreements.hear,
    Retried: _retried,
    Reassigned: operating.reassign,
}
"""How each kind of event is taken in."""
