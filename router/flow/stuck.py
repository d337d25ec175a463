"""Undos that don't work out: tried again after growing pauses, then held for an operator.

A run doesn't stand as taken back while something of it isn't. What couldn't be taken back
stays in `run.done`, marked with why; the rest is taken back all the same, last things first.
Then the run waits:

    out of reach, or unknown ──▶ a timer, twice as long each time ──▶ tried again, ten times
    refused, or ten times    ──▶ an operator: tried again, or left as it is (`Cancelled.final`)
"""

from datetime import timedelta
from typing import Literal

from router.domain.errors import Conflict, RouterError
from router.domain.texts import Localised
from router.flow.events import Retried
from router.flow.operating import WITHOUT_EFFECT, WORTH_ANOTHER_TRY
from router.flow.run import Done, Errand, FailureKind, Run
from router.flow.walk import Walk

FIRST_PAUSE = timedelta(minutes=1)
MOST_TRIES = 10
"""With pauses that double, that is most of a day; an operator may have it tried at any time."""

LATER = Localised(
    zh="有一步暂时没能撤回，会自动再试，撤回了告诉你。",
    en="One step couldn't be taken back yet. It will be tried again; you'll hear.",
)
HELD = Localised(
    zh="有一步没能撤回，已经转给管理员处理，有结果会告诉你。",
    en="One step couldn't be taken back. An administrator has to look into it; you'll hear.",
)
SETTLED = Localised(
    zh="之前没能撤回的，现在也撤回了。", en="What couldn't be taken back before now has been."
)
LEFT = Localised(
    zh="管理员结束了这件事，没能撤回的那一步保持原样。",
    en="An administrator has closed this. What couldn't be taken back stays as it is.",
)


def put_off(walk: Walk, errand: Errand, kind: FailureKind) -> None:
    """Keep what an undo couldn't take back, and say so, though not with every try."""
    run = walk.run
    run.done = [_failed(done, kind) if done.key == errand.undoes else done for done in run.done]
    here = next(done for done in run.done if done.key == errand.undoes)
    owes: Literal["later", "operator"] = "later" if _passes(here) else "operator"
    if owes == "operator" and run.owes != owes:
        walk.note("held")
        walk.say(HELD)
    elif run.owes is None:
        walk.say(LATER)
    run.owes = "operator" if "operator" in (run.owes, owes) else owes


def rest(walk: Walk) -> None:
    """Wait: for the next try, where there is one, and for an operator in any case."""
    run = walk.run
    run.status = "waiting"
    tries = [done.tries for done in run.done if _passes(done)]
    if tries and "retry" not in run.timers:
        walk.set_timer("retry", walk.now + FIRST_PAUSE * 2 ** (min(tries) - 1))


def try_later_ones(run: Run) -> None:
    """The pause is over: what may have passed is tried again."""
    run.done = [_anew(done) if _passes(done) else done for done in run.done]


def retry(walk: Walk, event: Retried) -> None:
    """Try everything again now, as if for the first time.

    What was refused has another key then: under its own it would be answered as it was for ever.
    """
    run = walk.run
    walk.note("retried", event.by)
    run.done = [_by_operator(done) for done in run.done]
    run.timers, run.owes = {}, "later"


def retry_refusal(run: Run) -> RouterError | None:
    """Why no undo can be made again; None where one can."""
    if any(done.failed for done in run.done) and not run.errands:
        return None
    return Conflict("No undo of this run waits to be made again.")


def leave(walk: Walk) -> None:
    """Let what couldn't be taken back be, on an operator's word; the rest is still taken back."""
    run = walk.run
    left = [done for done in run.done if done.failed]
    run.done = [done for done in run.done if not done.failed]
    for done in left:
        walk.note("left undone", comment=f"{done.state} ({done.undo})")
    if left:
        walk.say(LEFT)
        run.owes, run.calling_off = None, False
        run.timers = {name: timer for name, timer in run.timers.items() if name != "retry"}
        # What is still done wasn't withdrawn.
        run.ending = "cancelled" if run.ending == "completed" else run.ending


def settle(walk: Walk) -> None:
    """Say that nothing is owed any more, to whoever was told that something is."""
    if walk.run.owes is not None:
        walk.run.owes = None
        walk.say(SETTLED)


def _passes(done: Done) -> bool:
    """True for what failed, and is tried again by itself."""
    return done.failed in WORTH_ANOTHER_TRY and done.tries < MOST_TRIES


def _failed(done: Done, kind: FailureKind) -> Done:
    return done.model_copy(update={"failed": kind, "tries": done.tries + 1})


def _anew(done: Done) -> Done:
    return done.model_copy(update={"failed": None})


def _by_operator(done: Done) -> Done:
    if done.failed is None:
        return done
    again = done.again + (done.failed in WITHOUT_EFFECT)
    return done.model_copy(update={"failed": None, "tries": 0, "again": again})
