"""What slots hold: given, or looked up from others and gone with a change of those."""

from collections.abc import Collection, Iterable

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import expressions
from router.flow.amending import amended
from router.flow.expressions import ExpressionError, LookupNeeded
from router.flow.model import Slot, SlotValues
from router.flow.run import Errand
from router.flow.values import Unfit, fitted
from router.flow.walk import Walk


def put(walk: Walk, slots: SlotValues, given: Collection[str] = ()) -> None:
    """Have these slots, less what was looked up from others that are now different."""
    run = walk.run
    changed = differing(walk, slots) | {name for name in run.slots if name not in slots}
    run.slots = without_stale(walk, slots, changed, given)
    run.derived = [name for name in run.derived if name in run.slots and name not in given]
    run.closed = [name for name in run.closed if name in run.slots]


def forget(walk: Walk, names: Iterable[str]) -> None:
    """Empty these slots, and what was looked up from them."""
    gone = set(names)
    put(walk, {name: v for name, v in walk.run.slots.items() if name not in gone})


def differing(walk: Walk, slots: SlotValues) -> set[str]:
    """The names of those that aren't what the run has."""
    return {name for name, value in slots.items() if walk.run.slots.get(name) != value}


def without_stale(
    walk: Walk, slots: SlotValues, changed: set[str], given: Collection[str]
) -> SlotValues:
    """The slots less those that were looked up from what changed, unless given with it.

    A slot that was given although a lookup could have told it overrules that lookup, so
    what only the lookup needed (how long, where the last day was then named) goes too.
    """
    kept, definitions = dict(slots), walk.definition.slots
    for name in changed.intersection(given):
        for source in only_means(walk, name) - set(given):
            kept.pop(source, None)
    stale = {
        name
        for name, slot in definitions.items()
        if name in kept and name not in given and _sources(slot) & changed
        if name in walk.run.derived or _ready(kept, slot)
    }
    if not stale:
        return kept
    return without_stale(walk, {n: v for n, v in kept.items() if n not in stale}, stale, given)


def only_means(walk: Walk, name: str) -> set[str]:
    """What serves to look the slot up and is never asked for: how long, where an end is named."""
    definitions = walk.definition.slots
    return {
        source
        for source in _sources(definitions[name])
        if definitions[source].ask is None and definitions[source].lookup is None
    }


def note_replaced(walk: Walk, before: SlotValues, offered: SlotValues) -> None:
    """Note what is now told by something that nobody asks for: an end, by how long it takes."""
    run = walk.run
    told = {name for name in walk.definition.slots if only_means(walk, name) & offered.keys()}
    gone = {n: v for n, v in before.items() if n in told and run.slots.get(n) is None}
    kept = {n: v for n, v in run.replaced.items() if run.slots.get(n) is None}
    run.replaced = {**gone, **kept}


def look_up_one(walk: Walk) -> bool:
    """Look up one slot that is empty and whose sources are known; False where there is none."""
    run = walk.run
    for name, slot in walk.definition.slots.items():
        if slot.lookup is None or run.slots.get(name) is not None or name in run.derived:
            continue
        if not _ready(run.slots, slot):
            continue
        try:
            value = walk.evaluate(slot.lookup)
        except LookupNeeded as need:
            walk.ask_world(need, slot=name)
            return True
        if value is None:
            continue
        run.slots[name] = _fitted_answer(name, slot, value)
        run.derived = sorted({*run.derived, name})
        _say_replaced(walk, name)
        return True
    return False


def _fitted_answer(name: str, slot: Slot, value: JsonValue) -> JsonValue:
    """What a lookup gave, as the slot keeps it; `ExpressionError` where no answer could fit."""
    try:
        return fitted(slot, value)
    except Unfit as unfit:
        raise ExpressionError(
            f"the lookup {slot.lookup!r} gives {value!r}, which {name} can't hold: {unfit.say.en}"
        ) from None


def _say_replaced(walk: Walk, name: str) -> None:
    """Say what a slot is now that was emptied to be looked up anew, where that is another value."""
    had = walk.run.replaced.pop(name, None)
    say = amended(walk.definition, walk.run, {name: had}, [name])
    if say is not None and walk.definition.slots[name].label is not None:
        walk.say(say)


def _ready(slots: SlotValues, slot: Slot) -> bool:
    """True where everything that the slot's lookup can't do without is known."""
    if slot.lookup is None:
        return False
    needed = expressions.slots_needed(slot.lookup)
    return all(slots.get(source) is not None for source in needed)


def _sources(slot: Slot) -> frozenset[str]:
    """The slots that the slot's lookup reads."""
    return expressions.slots_read(slot.lookup) if slot.lookup else frozenset()


def blame(walk: Walk, errand: Errand, error: str) -> None:
    """A slot's lookup failed for good: say so, and ask anew for what it came from.

    Where it came of nothing that could be asked anew, it isn't looked up again in this visit:
    it is asked for, or stays empty.
    """
    name = errand.slot
    walk.say(Localised(zh=f"按这些信息查不下去：{error}", en=f"That can't be looked up: {error}"))
    forget(walk, [name, *sorted(_given_for(walk, name))])
    slot = walk.definition.slots[name]
    if _ready(walk.run.slots, slot) and _next_lookup(walk, slot) == errand.key:
        walk.run.known[errand.key] = None


def _given_for(walk: Walk, name: str) -> set[str]:
    """The slots that the slot's lookup reads, and those that these were looked up from."""
    slots = walk.definition.slots
    found = set(_sources(slots[name]))
    while more := {s for d in found & set(walk.run.derived) for s in _sources(slots[d])} - found:
        found |= more
    return found


def _next_lookup(walk: Walk, slot: Slot) -> str | None:
    """The key of what has to be looked up next for the slot; None where nothing has."""
    try:
        walk.evaluate(slot.lookup or "null")
    except LookupNeeded as need:
        return need.key
    except ExpressionError:
        return None
    return None
