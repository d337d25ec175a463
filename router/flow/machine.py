"""The flow machine: a pure function from a run and an event to the run after it.

    step(definition, run, event, now) -> (run, effects)

Only functions of their arguments run in it. What the run needs of the world stands in the
run as errands and timers (see `router.flow.run`); `effects` are what is said once.

A step takes the event in, then moves from state to state until the run waits for something
named: an answer (`collect`, `confirm`), an errand, an approval, a timer; or has ended.
Where an expression needs a lookup the move stops half-way, having changed nothing that it
wouldn't change again, and is made anew when the answer is there.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from router.domain.errors import RouterError
from router.domain.texts import Localised
from router.flow import (
    agreements,
    approving,
    batching,
    choosing,
    collecting,
    deadlines,
    explaining,
    idling,
    inquiring,
    misses,
    operating,
    showing,
    skipping,
    stuck,
    undoing,
    verdicts,
    waiting,
)
from router.flow.expressions import ExpressionError, LookupNeeded
from router.flow.model import HOLDS_LOOKUPS, LEAVES_NOTHING_DONE, FlowDefinition
from router.flow.run import (
    Agreed,
    Answered,
    AnyEvent,
    Arrived,
    AskedBack,
    Began,
    Called,
    Cancelled,
    Confirmed,
    Decided,
    Done,
    Effect,
    Errand,
    Failed,
    Finished,
    Fired,
    LookedUp,
    Nudged,
    Puzzled,
    Reassigned,
    Retried,
    Run,
    Say,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.texts import TextError
from router.flow.walk import Walk

MOST_MOVES = 200
"""Moves in one step before a flow that never waits is ended; the loader refuses such files."""

UNDONE_AT_END = ("failed", "cancelled")
"""Ends before which what was done is taken back under any rules; by the newest `completed` alone
leaves something done."""

STALE = Localised(
    zh="刚才的问题已经变了，请看现在的这个。",
    en="The question has changed meanwhile; here is the present one.",
)
BROKEN = Localised(
    zh="流程出错了，没法继续，已经通知管理员。",
    en="This flow ran into an error and can't go on; the administrators were told.",
)


def step(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime
) -> tuple[Run, list[Effect]]:
    """The run after the event, and what to say of it. A run that has ended stays as it is."""
    walk = Walk(inquiring.extended(definition, run), run.draft(), now)
    if walk.ended:
        return walk.run, []
    walk.run.events += 1
    walk.run.quiet = False
    _TAKERS[type(event)](walk, event)
    advance(walk)
    explaining.say_what_stays(walk)
    misses.help_with(run, walk, refused=not isinstance(event, Unclear))
    idling.keep_time(walk, event)
    return walk.run, walk.effects


def advance(walk: Walk) -> None:
    """Move until the run waits for something named, or has ended."""
    for _ in range(MOST_MOVES):
        try:
            if not _move(walk):
                _word_question(walk)
                return
        except LookupNeeded as need:
            walk.ask_world(need)
            if walk.run.status not in ("collecting", "confirming", "waiting_approval"):
                walk.run.status = "running"
            return
        except (ExpressionError, TextError) as error:
            walk.run.offered = {}
            walk.give_up(BROKEN, str(error))
    walk.run.done = []
    walk.note("failed", comment=f"more than {MOST_MOVES} moves without waiting")
    walk.end("failed")


def _word_question(walk: Walk) -> None:
    """Find now that the question can't be worded, not when somebody wants to read it."""
    if not walk.run.errands:
        showing.question(walk.definition, walk.run)


def _move(walk: Walk) -> bool:
    """One move; False where the run now waits."""
    run = walk.run
    if walk.ended or run.errands or operating.holds_approval(walk):
        return False
    if run.ending is not None or run.clearing is not None or run.back_to is not None:
        return undoing.unwind(walk)
    if run.leaving is not None:
        return _leave(walk)
    if run.escalating:
        return approving.escalate(walk)
    if run.rescheduling is not None:
        return deadlines.reschedule(walk)
    return _MOVES[walk.state.kind](walk)


def _leave(walk: Walk) -> bool:
    """Take the exit that was chosen, to the first branch whose condition holds."""
    run = walk.run
    exit_ = run.leaving or "next"
    for branch in walk.state.exits().get(exit_, ()):
        if branch.condition is None or walk.evaluate(branch.condition) is True:
            _go(walk, branch.to, exit_)
            return True
    walk.give_up(BROKEN, f"no branch of {run.state}.{exit_} holds")
    return True


def _go(walk: Walk, target: str, event: str) -> None:
    run = walk.run
    # Where it is asked which of several is meant, nothing was refused yet.
    missing = any(run.slots.get(name) is None for name in run.options)
    refused = event == "on_error" and walk.state.kind == "check" and not missing
    run.changing = walk.definition.states[target].kind == "collect" and (
        refused or event in ("declined", "returned")
    )
    if refused and run.changing:
        walk.say(_refused(walk))
    if any(done.visit > undoing.reached(walk, target) for done in run.done):
        run.back_to = target
        return
    walk.enter(target, event, run.leaving_by)


def _call(walk: Walk) -> bool:
    run, state = walk.run, walk.state
    if state.each is not None:
        return batching.go_on(walk)
    if operating.rests(walk):
        return False
    id_ = f"{run.state}:{run.visit}"
    key = f"{walk.definition.flow}/{run.requester.tenant}/{run.id}:{id_}"
    key += f":again{run.again}" if run.again else ""
    run.errands[id_] = Errand(
        id=id_,
        kind="call",
        name=state.call or "",
        arguments=_arguments(walk),
        key=key,
        answers=inquiring.answers(walk, run.state),
    )
    run.status = "running"
    return False


def _check(walk: Walk) -> bool:
    run, state = walk.run, walk.state
    id_ = f"{run.state}:{run.visit}"
    run.errands[id_] = Errand(
        id=id_, kind="check", name=state.check or "", arguments=_arguments(walk)
    )
    run.status = "running"
    return False


def _arguments(walk: Walk) -> dict[str, JsonValue]:
    """What the state's tool is given: all that has a value."""
    given = {name: walk.evaluate(source) for name, source in walk.state.arguments.items()}
    return {name: value for name, value in given.items() if value is not None}


def _refused(walk: Walk) -> Localised:
    """Why a check refused, for whoever is then asked what to change."""
    error = walk.run.results.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return Localised(zh=f"这样办不了：{message}", en=f"That can't be done: {message}")


def _collect(walk: Walk) -> bool:
    """A move where slots are asked for, or back to where one was that is to be put right."""
    run = walk.run
    if run.goes_back and run.offered and _go_back(walk, collecting.corrected(walk)):
        return True
    known = set(run.slots)
    moved = collecting.collect(walk)
    return (run.goes_back and _go_back(walk, collecting.lacking(walk, known))) or moved


def _go_back(walk: Walk, names: set[str]) -> bool:
    """Ask anew where one of these slots was asked for before; False where none was."""
    earlier = _collecting_state(walk, names) if names else None
    if earlier is None or earlier == walk.run.state:
        return False
    walk.leave("changed", walk.run.requester.id)
    _go(walk, earlier, "changed")
    return True


def _confirm(walk: Walk) -> bool:
    run = walk.run
    if run.offered and _go_back(walk, _offered(walk)):
        return True
    run.status, run.offered = "confirming", {}
    return False


def _offered(walk: Walk) -> set[str]:
    """The slots that are being put right, and the one that is to be asked for anew."""
    names = {path.split(".")[0] for path in walk.run.offered}
    anew = walk.run.offered.get(collecting.CHANGE)
    return {*names, anew.split(".")[0]} if isinstance(anew, str) else names


def _collecting_state(walk: Walk, names: set[str]) -> str | None:
    """The earliest state on the way here that collects one of these slots.

    A slot that no state asks for (half days, say) goes to the last state that collected; None
    where none did, and nothing would take it.
    """
    passed = [v.state for v in walk.run.trail if walk.definition.states[v.state].collect]
    affected = (s for s in passed if names & set(walk.definition.states[s].collect or ()))
    return next(affected, passed[-1] if passed else None)


def _say(walk: Walk) -> bool:
    run, state = walk.run, walk.state
    if state.say is not None:
        walk.effects.append(Say(text=walk.render(state.say)))
    collecting.forget(walk, state.forget)
    if state.end is None:
        walk.leave("next")
    elif _is_undone(walk):
        run.ending = state.end
    elif run.withdraws is not None and state.end == "completed":
        run.done, run.ending = [*run.withdraws.done, *run.done], state.end
    else:
        walk.end(state.end)
    return True


def _is_undone(walk: Walk) -> bool:
    """True where the state ends a run such that nothing of it stays done."""
    state = walk.state
    if state.keep or state.end == "completed":
        return False
    return state.end in UNDONE_AT_END or walk.definition.rules >= LEAVES_NOTHING_DONE


_MOVES: dict[str, Callable[[Walk], bool]] = {
    "collect": _collect,
    "check": _check,
    "call": _call,
    "confirm": _confirm,
    "approve": approving.approve,
    "flow": batching.go_on,
    "parallel": batching.go_on,
    "wait": waiting.wait,
    "say": _say,
}


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
            walk.give_up(_refused(walk), event.error)
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
            _go_back(walk, collecting.lacking(walk, known))
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


_TAKERS: dict[type, Callable[[Walk, Any], None]] = {
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


def refusal_of(
    definition: FlowDefinition, run: Run, event: Decided | Retried | Reassigned, now: datetime
) -> RouterError | None:
    """Why this decision, or this word of an operator, can't be taken; None where it can."""
    walk = Walk(definition, run, now)
    if isinstance(event, Retried):
        return stuck.retry_refusal(run) and operating.retry_refusal(run)
    if isinstance(event, Reassigned):
        return operating.reassign_refusal(walk, event)
    return verdicts.refusal(walk, event)
