"""What slots hold: given, or looked up from others and gone with a change of those.

Values stand at paths of item numbers and field names, such as `items.0.amount`. What has another
value after a correction is said back.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from pydantic import JsonValue

from router.domain.locale import LOCALES, Locale, Localised
from router.flow.definition import FlowDefinition, SlotValues
from router.flow.engine.context import StepContext
from router.flow.engine.run import Run
from router.flow.engine.run_parts.work import Task
from router.flow.language import expressions
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.slot_types.slot import (
    HALF_DAY,
    Slot,
    Unfit,
    both_halves,
    caption_of,
    fitted,
    label_of,
    shown,
)


def root(path: str) -> str:
    """The slot that the path is in.

    >>> root("items.0.amount"), root("reason")
    ('items', 'reason')
    """
    return path.split(".", maxsplit=1)[0]


def at(slots: SlotValues, path: str) -> JsonValue:
    """The value of `items.0.amount` or `reason`; None where there is none.

    >>> at({"items": [{"amount": 1}]}, "items.0.amount"), at({}, "items.0.amount")
    (1, None)
    """
    value: JsonValue = slots
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


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


def emptied(value: JsonValue, path: list[str]) -> JsonValue:
    """The value without what is at a path of item numbers and field names.

    >>> emptied([{"amount": 1, "date": "2026-11-19"}], ["0", "date"])
    [{'amount': 1}]
    """
    if not path:
        return None
    head, *rest = path
    if isinstance(value, list):
        return [emptied(v, rest) if str(n) == head else v for n, v in enumerate(value)]
    if isinstance(value, dict):
        inner = {**value, head: emptied(value.get(head), rest)}
        return {name: field for name, field in inner.items() if field is not None}
    return value


LONGEST = 80
"""Characters of a value that is said back."""


def unshown(definition: FlowDefinition) -> set[str]:
    """What only serves to look up another slot, which is shown: how long, beside the last day.

    Such a slot has neither label nor question, and no state reads it.
    """
    slots = definition.slots
    silent = {name for name, slot in slots.items() if slot.label is None and slot.ask is None}
    if not silent:
        return silent
    read = {name for slot in slots.values() for name in _sources(slot)}
    return {name for name in silent & read if slots[name].lookup is None} - {
        name for state in definition.states.values() for name in state.slots_read
    }


def captions(definition: FlowDefinition) -> dict[str, Localised]:
    """What stands before each value where people read them all; no two slots have the same.

    Every slot has one but the `unshown`, so that nothing is decided that nobody was shown.
    """
    slots, silent = definition.slots, unshown(definition)
    found = {name: caption_of(name, slot) for name, slot in slots.items() if name not in silent}
    times = Counter((loc, words.within(loc)) for words in found.values() for loc in LOCALES)
    for name, words in found.items():
        if any(times[loc, words.within(loc)] > 1 for loc in LOCALES):
            found[name] = Localised(zh=f"{words.zh}（{name}）", en=f"{words.en} ({name})")
    return found


def said_back(
    definition: FlowDefinition, run: Run, before: SlotValues, paths: Iterable[str]
) -> Localised | None:
    """Names each of these paths that had a value and has another; None where there is none.

    >>> said_back(definition, run, {"end": "2026-12-08"}, ["end"]).en  # doctest: +SKIP
    'Until is Wed 9 Dec 2026 now.'
    """
    changed = []
    for path in paths:
        slot, had, has = definition.slots.get(path), at(before, path), at(run.form.slots, path)
        # What only tells other slots, as `duration` an end, has no name: those are said.
        named = slot is None or slot.label is not None or slot.ask is not None
        if named and had not in (None, [], {}) and has is not None and had != has:
            changed.append(path)
    if not changed:
        return None
    half, other = both_halves(definition.slots, run.form.slots) or ("", "")
    changed = [path for path in changed if path != other or half not in changed]

    def called(path: str, locale: Locale) -> str:
        is_half = path in (half, other)
        return HALF_DAY.within(locale) if is_half else _called(definition, path, locale)

    zh = [f"{called(p, 'zh')}改为{said(definition, run, p, 'zh')}" for p in changed]
    en = [f"{called(p, 'en')} is {said(definition, run, p, 'en')}" for p in changed]
    return Localised(zh=f"{'，'.join(zh)}。", en=f"{' now, '.join(en)} now.")


def attached(
    definition: FlowDefinition, run: Run, before: SlotValues, paths: Iterable[str]
) -> Localised | None:
    """Names the files that are new at these paths, where something else, or nothing, was asked.

    Those that are read are told of with what is in them.
    """
    zh, en = [], []
    for path in paths:
        slot, asked = (
            definition.slot_at(path),
            run.question.path and root(run.question.path) == root(path),
        )
        is_new = at(before, path) is None and at(run.form.slots, path) is not None
        if slot is None or slot.documents:
            continue
        if slot.kind.is_file and is_new and not asked:
            zh.append(f"{_called(definition, path, 'zh')}：{said(definition, run, path, 'zh')}")
            en.append(f"{_called(definition, path, 'en')}: {said(definition, run, path, 'en')}")
    if not zh:
        return None
    return Localised(zh=f"已附上 {'；'.join(zh)}。", en=f"Attached as {'; '.join(en)}.")


def unchanged(
    definition: FlowDefinition, run: Run, path: str, examples: Iterable[Localised]
) -> Localised:
    """What keeps its value although another was given, and what could be said instead."""
    zh = f"{_called(definition, path, 'zh')}还是{said(definition, run, path, 'zh')}。"
    en = f"{_called(definition, path, 'en')} is still {said(definition, run, path, 'en')}."
    if shown_ := list(examples):
        zh += f"可以改成比如：{'、'.join(e.zh for e in shown_)}。"
        en += f" It could be, for example: {', '.join(e.en for e in shown_)}."
    return Localised(zh=zh, en=en)


def said(definition: FlowDefinition, run: Run, path: str, locale: Locale) -> str:
    """The value at a path as people read it, in a line."""
    slot = definition.slot_at(path) or Slot(type="text")
    value = " ".join(shown(slot, at(run.form.slots, path), locale, run.form.file_names).split())
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def _called(definition: FlowDefinition, path: str, locale: Locale) -> str:
    """The slot's name; a field's with the number of its item."""
    name = path.rsplit(".", maxsplit=1)[-1]
    slot = definition.slot_at(path) or Slot(type="text")
    number = next((int(part) + 1 for part in path.split(".") if part.isdigit()), None)
    label = label_of(name, slot).within(locale)
    if number is None:
        return label
    if name.isdigit():
        return f"第 {number} 项" if locale == "zh" else f"Item {number}"
    return f"第 {number} 项的{label}" if locale == "zh" else f"{label} of item {number}"


def put(context: StepContext, slots: SlotValues, given: Collection[str] = ()) -> None:
    """Have these slots, less what was looked up from others that are now different."""
    run = context.run
    changed = differing(context, slots) | {name for name in run.form.slots if name not in slots}
    run.form.slots = without_stale(context, slots, changed, given)
    run.form.derived_slots = [
        name for name in run.form.derived_slots if name in run.form.slots and name not in given
    ]
    run.form.closed_lists = [name for name in run.form.closed_lists if name in run.form.slots]


def forget(context: StepContext, names: Iterable[str]) -> None:
    """Empty these slots, and what was looked up from them."""
    gone = set(names)
    put(context, {name: v for name, v in context.run.form.slots.items() if name not in gone})


def differing(context: StepContext, slots: SlotValues) -> set[str]:
    """The names of those that aren't what the run has."""
    return {name for name, value in slots.items() if context.run.form.slots.get(name) != value}


def without_stale(
    context: StepContext, slots: SlotValues, changed: set[str], given: Collection[str]
) -> SlotValues:
    """The slots less those that were looked up from what changed, unless given with it.

    A slot that was given although a lookup could have told it overrules that lookup, so
    what only the lookup needed (how long, where the last day was then named) goes too.
    """
    kept, definitions = dict(slots), context.definition.slots
    for name in changed.intersection(given):
        for source in only_means(context, name) - set(given):
            kept.pop(source, None)
    those = definitions.keys() & kept.keys() - set(given)
    told = (name for name in those if _sources(definitions[name]) & changed)
    derived = context.run.form.derived_slots
    stale = {name for name in told if name in derived or _ready(kept, definitions[name])}
    left = {name: value for name, value in kept.items() if name not in stale}
    return without_stale(context, left, stale, given) if stale else kept


def only_means(context: StepContext, name: str) -> set[str]:
    """What serves to look the slot up and is never asked for: how long, where an end is named."""
    slots = context.definition.slots
    sources = _sources(slots[name])
    return {s for s in sources if slots[s].ask is None and slots[s].lookup is None}


def note_replaced(context: StepContext, before: SlotValues, offered: SlotValues) -> None:
    """Note what is now told by something that nobody asks for: an end, by how long it takes."""
    run = context.run
    told = {name for name in context.definition.slots if only_means(context, name) & offered.keys()}
    gone = {n: v for n, v in before.items() if n in told and run.form.slots.get(n) is None}
    kept = {n: v for n, v in run.form.replaced_values.items() if run.form.slots.get(n) is None}
    run.form.replaced_values = {**gone, **kept}


def look_up_one(context: StepContext) -> bool:
    """Look up one slot that is empty and whose sources are known; False where there is none."""
    run = context.run
    for name, slot in context.definition.slots.items():
        known = run.form.slots.get(name) is not None or name in run.form.derived_slots
        if known or slot.lookup is None or not _ready(run.form.slots, slot):
            continue
        try:
            value = context.evaluate(slot.lookup)
            if value is None:
                continue
            run.form.slots[name] = fitted(slot, value)
        except LookupNeeded as need:
            context.ask_world(need, slot=name)
            return True
        except Unfit as unfit:
            gives = f"the lookup {slot.lookup!r} gives {value!r}"
            raise ExpressionError(f"{gives}, which {name} can't hold: {unfit.say.en}") from None
        run.form.derived_slots = sorted({*run.form.derived_slots, name})
        # Say what a slot is now that was emptied to be looked up anew, where it is another value.
        had = run.form.replaced_values.pop(name, None)
        say = said_back(context.definition, run, {name: had}, [name])
        if say is not None and slot.label is not None:
            context.say(say)
        return True
    return False


def _ready(slots: SlotValues, slot: Slot) -> bool:
    """True where everything that the slot's lookup can't do without is known."""
    if slot.lookup is None:
        return False
    needed = expressions.slots_needed(slot.lookup)
    return all(slots.get(source) is not None for source in needed)


def _sources(slot: Slot) -> frozenset[str]:
    """The slots that the slot's lookup reads."""
    return expressions.slots_read(slot.lookup) if slot.lookup else frozenset()


def blame(context: StepContext, task: Task, error: str) -> None:
    """A slot's lookup failed for good: say so, and ask anew for what it came from.

    Where it came of nothing that could be asked anew, it isn't looked up again in this visit:
    it is asked for, or stays empty.
    """
    name = task.slot
    zh, en = f"按这些信息查不下去：{error}", f"That can't be looked up: {error}"
    context.say(Localised(zh=zh, en=en))
    slots, derived = context.definition.slots, set(context.run.form.derived_slots)
    # What the slot's lookup reads, and what that was looked up from.
    found = set(_sources(slots[name]))
    while more := {s for read in found & derived for s in _sources(slots[read])} - found:
        found |= more
    forget(context, [name, *sorted(found)])
    if _ready(context.run.form.slots, slots[name]):
        try:
            context.evaluate(slots[name].lookup or "null")
        except LookupNeeded as need:
            if need.key == task.key:
                context.run.work.lookup_answers[task.key] = None
        except ExpressionError:
            return
