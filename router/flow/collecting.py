"""Filling slots: taking what was offered, looking up what can be, asking for the rest.

Rules, as users know them: what is known isn't asked again; a value that doesn't fit or
fails a check is refused with the reason and what it was asked for stays as it was (`offering`);
a value that changes takes with it what was looked up from it (`deriving`).
"""

from collections.abc import Collection

from pydantic import JsonValue

from router.flow import expressions
from router.flow.changing import CHANGE
from router.flow.deriving import differing, look_up_one
from router.flow.model import Slot
from router.flow.offering import fit_offered, take_offered
from router.flow.paths import root
from router.flow.values import missing
from router.flow.walk import Walk


def collect(walk: Walk) -> bool:
    """One move in a `collect` state; False where the run now waits for an answer."""
    run = walk.run
    if run.offered:
        take_offered(walk)
        return True
    if look_up_one(walk):
        return True
    asked = next_question(walk)
    if asked is None:
        run.changing, run.choosing = False, ""
        walk.leave("next")
        return True
    if asked != run.asked:
        run.asked, run.misses = asked, 0
    if asked != CHANGE:
        run.choosing = ""
    run.status = "collecting"
    return False


def next_question(walk: Walk) -> str | None:
    """The path to ask for next, `items` for "any more?", or None where all is known."""
    run = walk.run
    for name in walk.state.collect or ():
        slot = walk.definition.slots[name]
        value = run.slots.get(name)
        if value is None and not _is_asked(walk, name, slot):
            continue
        gap = missing(slot, value, name)
        if gap:
            return gap
        if slot.type == "list" and name not in run.closed and not _full(slot, value):
            return name
    return CHANGE if run.changing else None


def _is_asked(walk: Walk, name: str, slot: Slot) -> bool:
    """True where the empty slot is to be asked for: needed, or offered, and not for nothing."""
    if not slot.required and not (slot.skippable and name not in walk.run.skipped):
        return False
    if slot.when is None or name in walk.run.wanted:
        return True
    needed = expressions.slots_needed(slot.when)
    known = all(walk.run.slots.get(each) is not None for each in needed)
    return known and walk.evaluate(slot.when) is True


def _full(slot: Slot, value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) >= slot.max


def lacking(walk: Walk, names: Collection[str]) -> set[str]:
    """Those of the slots that are empty now, and that somebody is asked for."""
    definitions = walk.definition.slots
    return {n for n in names if walk.run.slots.get(n) is None and definitions[n].is_fillable}


def corrected(walk: Walk) -> set[str]:
    """The slots that what is offered would change, of those that have a value."""
    run = walk.run
    changed = differing(walk, fit_offered(walk)[0])
    more = {root(path) for path, v in run.offered.items() if path.endswith(".more") and v}
    again = {root(p) for p in [run.offered.get(CHANGE)] if isinstance(p, str)}
    return {name for name in changed | more | again if run.slots.get(name) is not None}
