"""Waiting: for a moment, a while, an event from outside, or for an answer that never comes.

An event may come before the run waits for it: it is kept, once. While a run asks it has one of two
timers: `idle`, set anew by every word of the requester's, says that it is still open, and `lapse`
ends it a day later; `kept` is what another run of the flow can go on from.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.durations import is_far_off
from router.domain.errors import Conflict, FieldProblem, InvalidInput, NotFound, RouterError
from router.domain.locale import Localised
from router.domain.messages import ASKING, ENDED
from router.flow.definition import FlowDefinition, SlotValues, Wait
from router.flow.engine.context import StepContext, canonical
from router.flow.engine.events import AnyEvent, Arrived, Word
from router.flow.engine.run import Run
from router.flow.engine.run_parts.work import Ending, Timer, TimerName
from router.flow.language.expressions import ExpressionError
from router.flow.slot_types.slot import Unfit, fitted, missing

LARGEST = 16 * 1024
"""Bytes of JSON that an event may bring: it is carried with the run for as long as that lives."""


def wait(context: StepContext) -> bool:
    """One move in a `wait` state; False where the run now waits."""
    run, waited = context.run, context.state.awaits
    if waited is None:
        return False
    if waited.event in run.work.early_events:
        run.work.results[waited.event] = dict(run.work.early_events.pop(waited.event))
        run.work.timers = {}
        context.leave("next")
        return True
    if "wait" in run.work.timers:
        return False
    due = _due(context, waited)
    if due is not None and due <= context.now:
        over(context)
        return True
    if due is not None:
        context.set_timer("wait", due)
    run.status = "waiting"
    return False


def over(context: StepContext) -> None:
    """The time has passed: for whoever waited for an event, too late."""
    waited = context.state.awaits
    context.leave("late" if waited is not None and waited.event else "next")


def arrive(context: StepContext, event: Arrived) -> None:
    """Keep an event that `refusal` has nothing against, until a state waits for it."""
    run = context.run
    known = events_of(context.definition).get(event.name)
    if known is None or run.work.ending is not None or event.name in run.work.early_events:
        return
    taken, faults = _fit(known, event.value)
    if faults or (event.word and event.word in run.work.event_keys):
        return
    run.work.early_events[event.name] = taken
    if event.word:
        run.work.event_keys.append(event.word)
    context.note("arrived", event.by, event.name)


def events_of(definition: FlowDefinition) -> dict[str, Wait]:
    """Every event that a state of the flow waits for, by its name."""
    waits = (state.awaits for state in definition.states.values())
    return {wait.event: wait for wait in waits if wait is not None and wait.event}


def awaited(definition: FlowDefinition, run: Run) -> str | None:
    """The event that the run waits for now; None where it waits for none."""
    state = definition.states.get(run.state)
    return state.awaits.event if state and state.awaits and run.status == "waiting" else None


def ahead(definition: FlowDefinition, run: Run) -> set[str]:
    """The events for which it may come to wait yet, by itself: not those of its branches."""
    states, reached, waiting = definition.states, {run.state}, [run.state]
    while waiting:
        state = states.get(waiting.pop())
        exits = state.exits().values() if state is not None else ()
        new = {branch.to for branches in exits for branch in branches} - reached
        reached |= new
        waiting += new
    waits = (states[name].awaits for name in reached if name in states)
    return {wait.event for wait in waits if wait is not None and wait.event}


def refusal(
    definition: FlowDefinition, run: Run, event: Arrived, roles: Collection[str]
) -> RouterError | None:
    """Why someone with these roles can't tell this; None where they can. Changes nothing.

    `NotFound` where the flow knows no such event, or not from them; `InvalidInput` with every
    field at fault; `Conflict` where it is known already, or the run is over.
    """
    known = events_of(definition).get(event.name)
    if known is None or not set(known.roles) & set(roles):
        return NotFound(f"This flow run waits for no event {event.name!r} of yours.")
    if event.word and event.word in run.work.event_keys:
        return None
    if run.status in ENDED or run.work.ending is not None:
        return Conflict("The run is over; nothing can be done to it any more.")
    if event.name in run.work.early_events:
        told = f"{event.name!r} was told already and hasn't been needed yet; it counts once."
        return Conflict(told)
    return unfit(known, event.value)


def unfit(known: Wait, value: Mapping[str, JsonValue]) -> InvalidInput | None:
    """What is wrong with what an event brings, field by field; None where it will do."""
    _, faults = _fit(known, value)
    if not faults:
        return None
    said = "; ".join(f"{fault.field}: {fault.detail}" for fault in faults)
    return InvalidInput(f"The event can't be taken: {said}", faults)


def _fit(
    known: Wait, value: Mapping[str, JsonValue]
) -> tuple[dict[str, JsonValue], list[FieldProblem]]:
    """What the event brings, as it is kept, and what is wrong with it."""
    if len(canonical(value).encode()) > LARGEST:
        return {}, [FieldProblem("", f"it is larger than {LARGEST // 1024} KiB")]
    taken: dict[str, JsonValue] = {}
    unknown = f"there is no such field; there may be {', '.join(known.fields) or 'none'}"
    faults = [FieldProblem(name, unknown) for name in value if name not in known.fields]
    for name, slot in known.fields.items():
        given = value.get(name)
        if given is None:
            faults += [FieldProblem(name, "it is needed")] if slot.required else []
            continue
        try:
            taken[name] = fitted(slot, given)
        except Unfit as problem:
            faults.append(FieldProblem(name, problem.say.en))
        else:
            gap = missing(slot, taken[name], name)
            faults += [FieldProblem(gap, "it is needed")] if gap else []
    return taken, faults


def _due(context: StepContext, waited: Wait) -> datetime | None:
    """When the waiting ends; None where only the event ends it."""
    until = context.evaluate(waited.until) if waited.until else None
    due = _moment(until, context.run.requester.timezone) if until is not None else None
    if due is None and waited.duration is not None:
        due = context.now + waited.duration
    if due is None and (waited.until or not waited.event):
        raise ExpressionError(f"{waited.until!r} gives {until!r}, which is no date or time")
    if due is not None and is_far_off(due, context.now):
        why = "which is more than 100 years away: nothing waits for that long"
        raise ExpressionError(f"{waited.until!r} gives {until!r}, {why}")
    return due


def _moment(value: Any, timezone: str) -> datetime | None:
    """A date (its beginning, where the requester is) or a time, as an aware moment."""
    try:
        if len(str(value)) == len("2026-01-01"):
            return datetime.combine(date.fromisoformat(value), time(), ZoneInfo(timezone))
        moment = datetime.fromisoformat(str(value))
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone))


IDLE: TimerName = "idle"
LAPSE: TimerName = "lapse"
NAMES = (IDLE, LAPSE)
GRACE = timedelta(days=1)
"""Between saying that a run is still open, and putting it away."""


def keep_time(context: StepContext, event: AnyEvent) -> None:
    """Have a timer exactly while the run asks; a word of the requester's sets it anew."""
    run, idle = context.run, context.definition.idle
    asks = run.status in ASKING and not run.work.tasks
    if asks and any(name in run.work.timers for name in NAMES) and not isinstance(event, Word):
        return
    run.work.drop_timers(*NAMES)
    if asks:
        context.set_timer(IDLE, context.now + idle)


def fired(context: StepContext, timer: Timer) -> None:
    """Say that the run is still open, or, where that was said, end it."""
    run, title = context.run, context.definition.title
    context.note(timer.name)
    if timer.name == IDLE:
        context.set_timer(LAPSE, context.now + GRACE)
        open_ = Localised(
            zh=f"“{title.zh}”还没办完，还在等你回答。一天之内没有回音，就先收起来。",
            en=f"“{title.en}” is still open and waits for your answer. "
            "Without one it will be put away in a day.",
        )
        context.say(open_)
        return
    text = Localised(
        zh=f"“{title.zh}”一直没等到回答，先收起来了，什么都没有提交。"
        "想接着办，说“继续刚才的”加上它的名字就行，填过的都还在。",
        en=f"“{title.en}” heard nothing and was put away; nothing was submitted. "
        "To go on with it, say “continue” and its name: what you gave is kept.",
    )
    context.say(text)
    _lapse(run)


def put_away(context: StepContext) -> None:
    """End a run that asks something, for whose answer its conversation has no room."""
    context.note("put away")
    _lapse(context.run)


def _lapse(run: Run) -> None:
    run.question.lapsed, run.work.pending, run.status = True, Ending(status="expired"), "running"
    run.form.offered_values, run.work.timers = {}, {}


def kept(definition: FlowDefinition, run: Run) -> SlotValues | None:
    """What the requester had told a run that heard nothing more; None for any other run."""
    if not run.question.lapsed or run.status != "expired":
        return None
    fillable = {name for name, slot in definition.slots.items() if slot.is_fillable}
    return {
        n: v for n, v in run.form.slots.items() if n in fillable.difference(run.form.derived_slots)
    }
