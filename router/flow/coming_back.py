"""What errands came to: how the flow machine takes in answers of the world, and their failures.

Each is `take(walk, event)`, as in `router.flow.taking`; an errand that is no more changes nothing.
"""

from router.domain.texts import Localised
from router.flow import (
    batching,
    choosing,
    collecting,
    deriving,
    inquiring,
    operating,
    undoing,
)
from router.flow.events import AskedBack, Called, Failed, Finished, LookedUp
from router.flow.moving import BROKEN, go_back, refused
from router.flow.rules import HOLDS_LOOKUPS
from router.flow.run import Done, Errand
from router.flow.walk import Walk


def looked_up(walk: Walk, event: LookedUp) -> None:
    """A lookup has an answer, for whatever in this visit needs it."""
    errand = walk.run.errands.pop(event.errand, None)
    if errand is not None:
        walk.run.known[errand.key] = event.value


def called(walk: Walk, event: Called) -> None:
    """A tool has answered: go on from the state that called it, or with taking things back."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        undoing.taken_back(walk, errand)
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
        undoing.called_off(walk, errand, lasts=event.lasts and not state.undo)
    elif errand.part is not None:
        batching.succeeded(walk, errand, event.value)
    else:
        walk.leave("next")


def _done(walk: Walk, errand: Errand, undo: str) -> Done:
    return Done(
        visit=walk.run.visit,
        state=walk.run.state,
        tool=errand.name,
        arguments=errand.arguments,
        key=errand.key,
        undo=undo,
        part=errand.part,
    )


def failed(walk: Walk, event: Failed) -> None:
    """An errand failed for good: take the state's way out of that, ask anew, or end."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    if errand.kind == "undo":
        undoing.taken_back(walk, errand, event.error, event.kind)
    elif errand.kind == "lookup":
        _lookup_failed(walk, errand, event)
    elif run.ending is not None:
        undoing.called_off(walk, errand, unknown=event.kind == "unknown")
    else:
        walk.note(f"{errand.kind} failed", comment=f"{errand.name}: {event.error}")
        if errand.part is not None:
            batching.failed(walk, errand, event.error, event.kind)
        else:
            _call_failed(walk, errand, event)


def _call_failed(walk: Walk, errand: Errand, event: Failed) -> None:
    """Leave a state by what its call or check failed for, unless an operator is to see to it."""
    walk.run.results["error"] = {"message": event.error, "kind": event.kind}
    if errand.kind == "check" and event.offered is not None:
        choosing.take(walk, event.offered)
    if errand.kind == "call" and operating.put_off(walk, event.kind):
        return
    if walk.state.on_error:
        walk.leave("on_error")
    else:
        walk.give_up(refused(walk) if errand.kind == "check" else BROKEN, event.error)


def _lookup_failed(walk: Walk, errand: Errand, event: Failed) -> None:
    """What can't be looked up is asked for anew where someone is there to ask.

    Elsewhere it ends the run; an approval waits for an operator, who has it looked up again.
    """
    if errand.slot:
        known = set(walk.run.slots)
        deriving.blame(walk, errand, event.error)
        if walk.run.goes_back:
            go_back(walk, collecting.lacking(walk, known))
    elif walk.run.offered and walk.state.kind == "collect":
        walk.run.offered = {}
        walk.say(Localised(zh=event.error, en=event.error))
    elif walk.state.kind == "approve" and walk.definition.rules >= HOLDS_LOOKUPS:
        operating.hold_lookup(walk, errand, event)
    else:
        walk.give_up(BROKEN, f"{errand.name}: {event.error}")


def asked_back(walk: Walk, event: AskedBack) -> None:
    """A tool wants to know more before it does anything: ask, where somebody can be asked."""
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


def finished(walk: Walk, event: Finished) -> None:
    """A run that this one started is over: what it did is this one's to take back from now on."""
    run = walk.run
    errand = run.errands.pop(event.errand, None)
    if errand is None:
        return
    run.done += [done.model_copy(update={"visit": run.visit}) for done in event.done]
    if run.ending is None:
        batching.finished(walk, errand, event)
    else:
        undoing.called_off(walk, errand)
