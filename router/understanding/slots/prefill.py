"""The slots that an opening sentence names: `去上海出差`, `trip to Rome`."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from router.entities.grammar import group_span
from router.entities.normalisation import Normalised
from router.entities.utterance import Utterance, is_far, is_unplanned
from router.flow.slot_types.slot import coerced, range_slots
from router.formats.regex import AUTHORED, compile_foreign
from router.understanding.items.items import find_items
from router.understanding.slots.free_text import left_over
from router.understanding.slots.mappings import (
    Filling,
    Slots,
    Values,
    fill_choices,
    fill_days,
    fill_halves,
    fill_mentions,
)
from router.understanding.triggers.patterns import Match


def find_texts(slots: Slots, said: Normalised) -> Filling:
    """The texts that `find` patterns of the slots name, as typed: the first pattern's first."""
    filling = Filling()
    for name, slot in slots.items():
        matches = (_pattern(source).search(said.text) for source in slot.find)
        match = next((m for m in matches if m and m.group(name)), None)
        if match is None:
            continue
        start, end = group_span(match, name)
        value = said.as_typed(start, end).strip()
        if 0 < len(value) <= slot.max_length:
            filling.values[name] = value
            # What leads up to it, 去 or "trip to", says nothing else; what follows may.
            filling.used.append((match.start(), end))
    return filling


@lru_cache(maxsize=512)
def _pattern(source: str) -> Any:
    return compile_foreign(source, AUTHORED, ignore_case=True)


CAUSES = frozenset({"reason", "purpose", "cause", "note", "notes", "description", "remark"})
"""Names of slots that take a reason: the words that nothing else was read from."""
WHOLE = frozenset({"question", "query", "text", "message", "content", "body"})
"""Names of slots that take everything that was said, whatever is in it."""


def prefill(slots: Slots, utterance: Utterance, matches: Iterable[Match] = ()) -> Values:
    """Values of every slot that the sentence names with certainty, by slot name.

    `matches` are the patterns that took it: their groups fill slots, their words are no reason.
    """
    fillable = {name: s for name, s in slots.items() if s.lookup is None or s.ask is not None}
    taken = list(matches)
    filling = _from_groups(fillable, utterance, taken)
    filling.add(find_texts(fillable, utterance.normalised))
    listed = next((name for name, slot in fillable.items() if slot.is_itemised), None)
    if listed is None:
        filling.add(from_things(fillable, utterance))
    else:
        items, used = find_items(fillable[listed], utterance)
        if items:
            filling.add(Filling({listed: list(items)}, used.used))
        # What is read for types that a field of the items has is for them.
        row = fillable[listed].of
        kinds = {field.kind for field in row.fields.values()} if row else set()
        others = {name: slot for name, slot in fillable.items() if slot.kind not in kinds}
        filling.add(from_things(others, utterance))
    _put_reason(fillable, utterance, taken, filling)
    return filling.values


def prefill_offered(slots: Slots, said: Utterance, matches: Iterable[Match] = ()) -> Values:
    """Values that the words name which a flow, or a tool's form, was offered for.

    Nothing is taken for a reason, since nobody knows which of the words were the request; but
    what is called a question or a query gets all of them.
    """
    words = said.normalised.typed
    if not words:
        return {}
    reason = reason_slot(slots)
    others = {name: slot for name, slot in slots.items() if name != reason}
    whole = {name: words for name, s in slots.items() if name in WHOLE and s.kind.is_text}
    return {**prefill(others, said, matches), **whole}


def from_things(slots: Slots, utterance: Utterance) -> Filling:
    """The choices, days and amounts that the sentence names."""
    filling = fill_choices(slots, utterance.text)
    filling.add(without_doubt(slots, utterance, fill_days(slots, utterance.meant, utterance.text)))
    filling.add(fill_mentions(slots, utterance))
    filling.add(fill_halves(slots, utterance))
    return filling


def without_doubt(slots: Slots, utterance: Utterance, dates: Filling) -> Filling:
    """The dates, unless illness would be filed for next year that was a few weeks ago."""
    start = dates.values.get(range_slots(slots).get("start", ""))
    if isinstance(start, str) and is_unplanned(utterance.text) and is_far(start, utterance.now):
        ranged = set(range_slots(slots).values())
        dates.values = {n: v for n, v in dates.values.items() if n not in ranged}
    return dates


def _from_groups(slots: Slots, utterance: Utterance, matches: Iterable[Match]) -> Filling:
    filling = Filling()
    for match in matches:
        for name, (start, end) in match.groups.items():
            if name not in slots:
                continue
            typed = utterance.normalised.as_typed(start, end)
            value = coerced(slots[name], typed, utterance.now)
            if value != typed or slots[name].kind.is_text:
                filling.values.setdefault(name, value)
                filling.used.append((start, end))
    return filling


def _put_reason(slots: Slots, utterance: Utterance, taken: list[Match], filling: Filling) -> None:
    name = reason_slot(slots)
    if name is None or name in filling.values:
        return
    requests = [(m.start, m.end) for m in taken]
    used = [*filling.used, *(f.span for f in utterance.things)]
    rest = left_over(utterance.normalised, used, requests, filling.hinted)
    if rest is not None and len(rest) <= slots[name].max_length:
        filling.values[name] = rest


def reason_slot(slots: Slots) -> str | None:
    """The free-text slot that takes what is left over: the only one, or the one for reasons."""
    texts = [n for n, slot in slots.items() if slot.kind.is_text and (slot.ask or slot.required)]
    named = [name for name in texts if name in CAUSES]
    if named:
        return named[0]
    return texts[0] if len(texts) == 1 and texts[0].endswith("reason") else None
