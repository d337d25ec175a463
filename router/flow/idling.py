"""Runs that ask and hear nothing: said once, put away a day later, and what is kept of them.

While a run asks it has one of two timers. `idle` is set anew by every word of the requester's;
when it comes due that is said, and `lapse` takes its place, at whose end the run expires. What
it was told isn't lost with it: `kept` is what another run of the flow can go on from.
"""

from datetime import timedelta

from router.domain.messages import ASKING
from router.domain.texts import Localised
from router.flow.events import (
    Answered,
    AnyEvent,
    Began,
    Confirmed,
    Puzzled,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.model import FlowDefinition, SlotValues
from router.flow.run import Run, Timer, TimerName
from router.flow.walk import Walk

IDLE: TimerName = "idle"
LAPSE: TimerName = "lapse"
NAMES = (IDLE, LAPSE)
GRACE = timedelta(days=1)
"""Between saying that a run is still open, and putting it away."""

WORDS = (Answered, Began, Confirmed, Puzzled, Skipped, StartedOver, Unclear)
"""What a requester says to a run that asks; anything else is the world's doing."""


def keep_time(walk: Walk, event: AnyEvent) -> None:
    """Have a timer exactly while the run asks; a word of the requester's sets it anew."""
    run, idle = walk.run, walk.definition.idle
    asks = run.status in ASKING and not run.errands
    if asks and any(name in run.timers for name in NAMES) and not isinstance(event, WORDS):
        return
    run.timers = {name: timer for name, timer in run.timers.items() if name not in NAMES}
    if asks and idle is not None:
        walk.set_timer(IDLE, walk.now + idle)


def fired(walk: Walk, timer: Timer) -> None:
    """Say that the run is still open, or, where that was said, end it."""
    walk.note(timer.name)
    if timer.name == IDLE:
        walk.set_timer(LAPSE, walk.now + GRACE)
        walk.say(_still_open(walk.definition))
        return
    run = walk.run
    walk.say(_put_away(walk.definition))
    run.lapsed, run.ending, run.status = True, "expired", "running"
    run.leaving, run.back_to, run.offered, run.timers = None, None, {}, {}


def kept(definition: FlowDefinition, run: Run) -> SlotValues | None:
    """What the requester had told a run that heard nothing more; None for any other run."""
    if not run.lapsed or run.status != "expired":
        return None
    return {
        name: value
        for name, value in run.slots.items()
        if name in definition.slots
        and name not in run.derived
        and definition.slots[name].is_fillable
    }


def _still_open(about: FlowDefinition) -> Localised:
    return Localised(
        zh=f"“{about.title.zh}”还没办完，还在等你回答。一天之内没有回音，就先收起来。",
        en=f"“{about.title.en}” is still open and waits for your answer. "
        "Without one it will be put away in a day.",
    )


def _put_away(about: FlowDefinition) -> Localised:
    return Localised(
        zh=f"“{about.title.zh}”一直没等到回答，先收起来了，什么都没有提交。"
        "想接着办，说“继续刚才的”加上它的名字就行，填过的都还在。",
        en=f"“{about.title.en}” heard nothing and was put away; nothing was submitted. "
        "To go on with it, say “continue” and its name: what you gave is kept.",
    )
