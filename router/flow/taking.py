"""How the flow machine takes in what happens: a function for every kind of event.

Each is `take(walk, event)`: it writes down what the event says, and leaves it to the moves that
follow (`router.flow.moving`) to go on from there. What comes too late, to a question that is
no more, changes nothing. What errands came to is in `router.flow.coming_back`.
"""

from collections.abc import Callable
from typing import Any

from router.domain.texts import Localised
from router.flow import (
    agreements,
    approving,
    batching,
    coming_back,
    events,
    explaining,
    idling,
    operating,
    skipping,
    stuck,
    undoing,
    verdicts,
    waiting,
)
from router.flow.rules import LEAVES_NOTHING_DONE
from router.flow.walk import Walk

STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)


def _began(walk: Walk, event: events.Began) -> None:
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


def _answered(walk: Walk, event: events.Answered) -> None:
    if not _is_stale(walk, event.question):
        walk.run.offered = dict(event.slots)


def _confirmed(walk: Walk, event: events.Confirmed) -> None:
    run = walk.run
    if _is_stale(walk, event.question) or run.status != "confirming":
        return
    if event.slots and not event.value:
        run.offered = dict(event.slots)
    else:
        walk.leave("confirmed" if event.value else "declined", event.by)


def _unclear(walk: Walk, event: events.Unclear) -> None:
    if event.count and walk.run.status in ("collecting", "confirming"):
        walk.run.miss()


def _skipped(walk: Walk, event: events.Skipped) -> None:
    if not _is_stale(walk, event.question):
        skipping.skip(walk)


def _puzzled(walk: Walk, _: events.Puzzled) -> None:
    if walk.run.status in ("collecting", "confirming") and not walk.run.errands:
        walk.say(explaining.explanation(walk))


def _started_over(walk: Walk, event: events.StartedOver) -> None:
    if not _is_stale(walk, event.question):
        undoing.start_over(walk, event.by)


def _cancelled(walk: Walk, event: events.Cancelled) -> None:
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


def _decided(walk: Walk, event: events.Decided) -> None:
    if verdicts.refusal(walk, event) is None:
        walk.run.held = None
        verdicts.decide(walk, event)


def _nudged(walk: Walk, event: events.Nudged) -> None:
    if walk.run.approval is not None:
        approving.remind(walk, "nudged", event.by)


def _fired(walk: Walk, event: events.Fired) -> None:
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


def _retried(walk: Walk, event: events.Retried) -> None:
    if stuck.retry_refusal(walk.run) is None:
        stuck.retry(walk, event)
    else:
        operating.retry(walk, event)


TAKERS: dict[type, Callable[[Walk, Any], None]] = {
    events.Began: _began,
    events.Answered: _answered,
    events.Confirmed: _confirmed,
    events.Unclear: _unclear,
    events.Skipped: _skipped,
    events.Puzzled: _puzzled,
    events.StartedOver: _started_over,
    events.Cancelled: _cancelled,
    events.LookedUp: coming_back.looked_up,
    events.Called: coming_back.called,
    events.Failed: coming_back.failed,
    events.AskedBack: coming_back.asked_back,
    events.Decided: _decided,
    events.Nudged: _nudged,
    events.Fired: _fired,
    events.Arrived: waiting.arrive,
    events.Finished: coming_back.finished,
    events.Agreed: agreements.hear,
    events.Retried: _retried,
    events.Reassigned: operating.reassign,
}
"""How each kind of event is taken in."""
