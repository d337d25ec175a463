"""Filling slots: taking what was offered, looking up what can be, asking for the rest.

Rules, as users know them: what is known isn't asked again; a value that doesn't fit or
fails a check is refused with the reason and what it was asked for stays as it was; a value
that changes takes with it what was looked up from it.
"""

from collections.abc import Collection, Iterable, Iterator

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import changing, expressions
from router.flow.amending import amended, at
from router.flow.expressions import ExpressionError, LookupNeeded
from router.flow.model import Check, Slot, SlotValues
from router.flow.run import Errand, Run
from router.flow.values import Unfit, files_in, fitted, missing
from router.flow.walk import Walk, rendered

CHANGE = "change"
"""What is asked when someone declines although nothing is missing: which slot to change."""

TAKEN = frozenset({CHANGE, "more"})
"""Words by which questions about slots are asked, and that no slot can be called."""


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
    needed = expressions.slots_read(slot.when) - expressions.slots_guarded(slot.when)
    known = all(walk.run.slots.get(each) is not None for each in needed)
    return known and walk.evaluate(slot.when) is True


def _full(slot: Slot, value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) >= slot.max


def take_offered(walk: Walk) -> None:
    """Take into the slots what was offered and holds; say of the rest why it doesn't.

    Nothing is changed before every check has been evaluated: a check may need a lookup,
    and then this is done again from the start when its answer is there.
    """
    run = walk.run
    offered, refused = fit_offered(walk)
    refused |= without_failing_fields(walk, offered)
    after = without_stale(walk, {**run.slots, **offered}, _differing(walk, offered), offered)
    _leave_out_failing(walk, after, offered, refused)
    close_lists(walk, after)
    change = run.offered.pop(CHANGE, None)
    before, paths, run.offered = run.slots, list(run.offered), {}
    put(walk, after, offered)
    _note_replaced(walk, before, offered)
    taken = [name for name, value in offered.items() if run.slots.get(name) == value]
    run.latest = taken or run.latest
    choosing = isinstance(change, str) and _choose(walk, change)
    run.changing = choosing or (run.changing and not offered and change is None)
    for say in [amended(walk.definition, run, before, paths), *refused.values()]:
        if say is not None:
            walk.say(say)
    stays = [path for path in paths if at(before, path) == at(run.slots, path) is not None]
    walk.refused += [path for path in stays if path.split(".")[0] in refused]
    _count_miss(run, refused)


def _choose(walk: Walk, path: str) -> bool:
    """Take what was named to be changed; True where a part of it has to be named yet."""
    run = walk.run
    run.choosing = ""
    offer = changing.offer(walk.definition, run, path)
    if offer is not None:
        run.offered = offer
        return False
    if changing.step_into(walk.definition, run, path):
        run.choosing = path
        return True
    name, *rest = path.removesuffix(changing.ANEW).split(".")
    if name in walk.definition.slots and rest:
        put(walk, {**run.slots, name: changing.emptied(run.slots.get(name), rest)})
    elif name in walk.definition.slots:
        forget(walk, [name, *_only_means(walk, name)])
        run.skipped = [skipped for skipped in run.skipped if skipped != name]
        run.wanted = sorted({*run.wanted, name})
    return False


def _note_replaced(walk: Walk, before: SlotValues, offered: SlotValues) -> None:
    """Note what is now told by something that nobody asks for: an end, by how long it takes."""
    run = walk.run
    told = {name for name in walk.definition.slots if _only_means(walk, name) & offered.keys()}
    gone = {n: v for n, v in before.items() if n in told and run.slots.get(n) is None}
    kept = {n: v for n, v in run.replaced.items() if run.slots.get(n) is None}
    run.replaced = {**gone, **kept}


def _say_replaced(walk: Walk, name: str) -> None:
    """Say what a slot is now that was emptied to be looked up anew, where that is another value."""
    had = walk.run.replaced.pop(name, None)
    say = amended(walk.definition, walk.run, {name: had}, [name])
    if say is not None and walk.definition.slots[name].label is not None:
        walk.say(say)


def _count_miss(run: Run, refused: Collection[str]) -> None:
    """What is asked was missed where it was refused itself; answered where nothing was."""
    if (run.asked or "").split(".")[0] in refused:
        run.miss()
    elif not refused:
        run.misses = 0


def _leave_out_failing(
    walk: Walk, after: SlotValues, offered: SlotValues, refused: dict[str, Localised]
) -> None:
    """Have the slots whose checks fail keep what they had; nothing, where that fails now too."""
    had = walk.run.slots
    for name, say in failing(walk, after, _differing(walk, offered)):
        refused.setdefault(name, say)
        after.pop(name, None)
        if name in offered and name in had:
            after[name] = had[name]
    restored = {name for name in refused if name in after and name in offered}
    for name, say in failing(walk, after, restored):
        refused.setdefault(name, say)
        after.pop(name, None)


def _differing(walk: Walk, slots: SlotValues) -> set[str]:
    """The names of those that aren't what the run has."""
    return {name for name, value in slots.items() if walk.run.slots.get(name) != value}


def put(walk: Walk, slots: SlotValues, given: Collection[str] = ()) -> None:
    """Have these slots, less what was looked up from others that are now different."""
    run = walk.run
    changed = _differing(walk, slots) | {name for name in run.slots if name not in slots}
    run.slots = without_stale(walk, slots, changed, given)
    run.derived = [name for name in run.derived if name in run.slots and name not in given]
    run.closed = [name for name in run.closed if name in run.slots]


def fit_offered(walk: Walk) -> tuple[SlotValues, dict[str, Localised]]:
    """The offered values by slot, in the shape that slots keep; and why the others don't fit."""
    taken: SlotValues = {}
    refused: dict[str, Localised] = {}
    for path, value in walk.run.offered.items():
        name = path.split(".")[0]
        slot = walk.definition.slots.get(name)
        if slot is None or path.endswith(".more"):
            continue
        if not is_fillable(slot):
            refused[name] = _worked_out(name, slot)
            continue
        try:
            whole = placed(taken.get(name, walk.run.slots.get(name)), path.split(".")[1:], value)
            value_of_slot = fitted(slot, whole)
            check_files(walk, slot, value_of_slot)
            taken[name] = value_of_slot
        except Unfit as unfit:
            refused[name] = unfit.say
    return taken, refused


def check_files(walk: Walk, slot: Slot, value: JsonValue) -> None:
    """Note what the value's files are called; `Unfit` where one isn't the requester's."""
    run = walk.run
    for file in files_in(slot, value):
        if file in run.files:
            continue
        name = walk.look_up("file_name", run.requester.id, file)
        if not isinstance(name, str):
            raise Unfit(
                Localised(
                    zh="找不到你上传的这个文件，请重新上传。",
                    en="There is no such file of yours; please attach it anew.",
                )
            )
        run.files[file] = name


def is_fillable(slot: Slot) -> bool:
    """False for what is looked up and never asked: nobody's word counts there.

    Days of leave and sums of claims decide who must approve them.
    """
    return slot.lookup is None or slot.ask is not None


def _worked_out(name: str, slot: Slot) -> Localised:
    label = slot.label or Localised(zh=name, en=name)
    return Localised(
        zh=f"“{label.zh}”是算出来的，不能自己填。",
        en=f'"{label.en}" is worked out and can\'t be filled in.',
    )


def placed(whole: JsonValue, path: list[str], value: JsonValue) -> JsonValue:
    """`whole` with `value` put at a path of item numbers and field names.

    >>> placed([{"amount": 1}], ["0", "date"], "2026-11-19")
    [{'amount': 1, 'date': '2026-11-19'}]
    """
    if not path:
        return value
    head, *rest = path
    if head.isdigit():
        items = list(whole) if isinstance(whole, list) else []
        place = min(int(head), len(items))
        items[place : place + 1] = [placed(items[place] if place < len(items) else {}, rest, value)]
        return items
    fields = dict(whole) if isinstance(whole, dict) else {}
    fields[head] = placed(fields.get(head), rest, value)
    return fields


def close_lists(walk: Walk, slots: SlotValues) -> None:
    """Note which lists are whole: "no more" was said, or the list was given in one piece."""
    run = walk.run
    for path, value in run.offered.items():
        name, _, rest = path.partition(".")
        slot = walk.definition.slots.get(name)
        items = slots.get(name)
        if slot is None or slot.type != "list" or not isinstance(items, list):
            continue
        done = rest == "more" and value is False
        if done or (rest == "" and _is_whole(walk, name, items)):
            run.closed = sorted({*run.closed, name})
            # One that was announced and then thought better of.
            slots[name] = [item for item in items if item is not None]
        elif rest == "more" and value is True and slot.of is not None:
            slots[name] = [*items, {} if slot.of.type == "object" else None]


def _is_whole(walk: Walk, name: str, items: list[JsonValue]) -> bool:
    """True for a list given in one piece; one that got shorter lost an item and may yet grow."""
    known = walk.run.slots.get(name)
    shorter = isinstance(known, list) and len(items) < len(known)
    return not shorter and missing(walk.definition.slots[name], items, name) is None


def without_failing_fields(walk: Walk, offered: SlotValues) -> dict[str, Localised]:
    """Take out of `offered` each field of an item whose check fails; by slot, why it does.

    The last field goes first, for of two items that can't both be the former was first. Where
    the item had another value, it keeps that; what an item loses is asked for anew.
    """
    refused: dict[str, list[Localised]] = {}
    for name in offered:
        slot = walk.definition.slots[name]
        while failed := list(_failing_fields(walk, slot, offered, name, offered[name])):
            path, say = failed[-1]
            # In a list given in one piece, places are no longer those of the run's items.
            known = None if name in walk.run.offered else at(walk.run.slots, path)
            offered[name] = fitted(slot, placed(offered[name], path.split(".")[1:], known))
            said = refused.setdefault(name, [])
            said += [] if say in said else [say]
    return {
        name: Localised(zh="".join(s.zh for s in said), en=" ".join(s.en for s in said))
        for name, said in refused.items()
    }


def _failing_fields(
    walk: Walk, slot: Slot, offered: SlotValues, path: str, value: JsonValue
) -> Iterator[tuple[str, Localised]]:
    """The paths of what fails and isn't what the run has at that place already."""
    if slot.type == "list" and slot.of is not None and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _failing_fields(walk, slot.of, offered, f"{path}.{number}", item)
    elif slot.type == "object" and isinstance(value, dict):
        slots = {**walk.run.slots, **offered}
        for name, field in slot.fields.items():
            if value.get(name) is None or at(walk.run.slots, f"{path}.{name}") == value[name]:
                continue
            says = (broken(walk, check, slots, value) for check in field.check)
            yield from ((f"{path}.{name}", say) for say in says if say is not None)


def failing(walk: Walk, slots: SlotValues, changed: Iterable[str]) -> list[tuple[str, Localised]]:
    """The slots whose checks fail now, with what to say; only those that `changed` touches."""
    touched = set(changed)
    found = []
    for name, slot in walk.definition.slots.items():
        if slots.get(name) is None:
            continue
        own = [c for c in slot.check if name in touched or reads(c) & touched]
        if not own and name not in touched:
            continue
        say = next((s for c in own if (s := broken(walk, c, slots))), None)
        if say is None and name in touched:
            say = next(_failing_items(walk, slot, slots, slots[name]), None)
        if say is not None:
            found.append((name, say))
    return found


def _failing_items(
    walk: Walk, slot: Slot, slots: SlotValues, value: JsonValue
) -> Iterator[Localised]:
    """What the checks of a list's or object's fields say, first things first."""
    if slot.type == "list" and slot.of is not None and isinstance(value, list):
        for item in value:
            yield from _failing_items(walk, slot.of, slots, item)
    elif slot.type == "object" and isinstance(value, dict):
        for name, field in slot.fields.items():
            if value.get(name) is not None:
                checks = (broken(walk, check, slots, value) for check in field.check)
                yield from (say for say in checks if say is not None)


def broken(walk: Walk, check: Check, slots: SlotValues, item: JsonValue = None) -> Localised | None:
    """What to say where the check doesn't hold; None where it does or can't be judged yet."""
    if any(slots.get(name) is None for name in needs(check)):
        return None
    scope = {"item": item} if item is not None else {}
    fine = walk.evaluate(check.that, slots=slots, **scope)
    if fine is True:
        return None
    return Localised(
        zh=rendered(walk.definition, walk.run, check.say, "zh"),
        en=rendered(walk.definition, walk.run, check.say, "en"),
    )


def reads(check: Check) -> frozenset[str]:
    """The slots that a check looks at."""
    return expressions.slots_read(check.that)


def needs(check: Check) -> frozenset[str]:
    """The slots without which a check can't be judged."""
    return reads(check) - expressions.slots_guarded(check.that)


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


def without_stale(
    walk: Walk, slots: SlotValues, changed: set[str], given: Collection[str]
) -> SlotValues:
    """The slots less those that were looked up from what changed, unless given with it.

    A slot that was given although a lookup could have told it overrules that lookup, so
    what only the lookup needed (how long, where the last day was then named) goes too.
    """
    kept, definitions = dict(slots), walk.definition.slots
    for name in changed.intersection(given):
        for source in _only_means(walk, name) - set(given):
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


def _sources(slot: Slot) -> frozenset[str]:
    """The slots that the slot's lookup reads."""
    return expressions.slots_read(slot.lookup) if slot.lookup else frozenset()


def _only_means(walk: Walk, name: str) -> set[str]:
    """What serves to look the slot up and is never asked for: how long, where an end is named."""
    definitions = walk.definition.slots
    return {
        source
        for source in _sources(definitions[name])
        if definitions[source].ask is None and definitions[source].lookup is None
    }


def _ready(slots: SlotValues, slot: Slot) -> bool:
    """True where everything that the slot's lookup can't do without is known."""
    if slot.lookup is None:
        return False
    needed = _sources(slot) - expressions.slots_guarded(slot.lookup)
    return all(slots.get(source) is not None for source in needed)


def forget(walk: Walk, names: Iterable[str]) -> None:
    """Empty these slots, and what was looked up from them."""
    gone = set(names)
    put(walk, {name: v for name, v in walk.run.slots.items() if name not in gone})


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


def lacking(walk: Walk, names: Collection[str]) -> set[str]:
    """Those of the slots that are empty now, and that somebody is asked for."""
    definitions = walk.definition.slots
    return {n for n in names if walk.run.slots.get(n) is None and is_fillable(definitions[n])}


def corrected(walk: Walk) -> set[str]:
    """The slots that what is offered would change, of those that have a value."""
    run = walk.run
    changed = _differing(walk, fit_offered(walk)[0])
    more = {path.split(".")[0] for path, v in run.offered.items() if path.endswith(".more") and v}
    again = {p.split(".")[0] for p in [run.offered.get(CHANGE)] if isinstance(p, str)}
    return {name for name in changed | more | again if run.slots.get(name) is not None}
