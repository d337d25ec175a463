"""Days as the answer to what a flow asks: a first day, a last one, or how long it takes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta

from pydantic import JsonValue

from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.dates import Days
from router.understanding.durations import Duration
from router.understanding.entities import Thing
from router.understanding.filling import (
    fill_days,
    half_value,
    parts_of,
    range_slots,
)
from router.understanding.forms import read_as
from router.understanding.grammar import Found, only
from router.understanding.intervals import from_weekday
from router.understanding.prefill import without_doubt
from router.understanding.restating import is_only_times
from router.understanding.tense import is_far, is_unplanned
from router.understanding.utterance import Utterance

_MOST_OF_A_YEAR = timedelta(days=300)


def asked_days(view: FlowView, slot: Slot, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The answer to one of the questions of a date range; None where it isn't one."""
    if slot.type != "date" or slot.part_of_range not in {"start", "end"}:
        return None
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    if slot.part_of_range == "end" and isinstance(start, str):
        return _until(view.fillable, utterance, date.fromisoformat(start))
    filling = fill_days(view.fillable, _nearer(view, utterance), utterance.text)
    return {n: v for n, v in filling.values.items() if n in view.fillable} or None


def half_of_the_last_day(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """`上午` of the last day, asked of the first: that is whole, and the last ends at noon."""
    parts = range_slots(view.fillable)
    slot = view.fillable[parts["start_half"]]
    morning = half_value(slot, "am")
    if read_as(slot, utterance) != morning or "end_half" not in parts:
        return None
    return {parts["start_half"]: morning, parts["end_half"]: morning}


def only_days(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The days of a range of which nothing is known, where the message says nothing besides."""
    names = range_slots(view.fillable).values()
    if any(view.slots.get(name) is not None for name in names):
        return None
    if not is_only_times(utterance):
        return None
    days = fill_days(view.fillable, utterance.meant, utterance.text)
    return without_doubt(view.fillable, utterance, days).values or None


def _nearer(view: FlowView, utterance: Utterance) -> list[Found[Thing]]:
    """What is named; an illness of a few weeks ago isn't one of next year."""
    said = [utterance.text, *(str(v) for v in view.slots.values() if isinstance(v, str))]
    far = any(is_far(f.value.first.isoformat(), utterance.now) for f in only(Days, utterance.meant))
    ill = any(is_unplanned(text) for text in said)
    return utterance.spent if far and ill else utterance.meant


def _until(
    slots: Mapping[str, Slot], utterance: Utterance, start: date
) -> dict[str, JsonValue] | None:
    """An end, or how long it takes from the start that is known."""
    parts = range_slots(slots)
    days = _days_until(utterance, start)
    if len(days) == 1:
        given = parts_of(replace(days[0], single=False), open_end=False)
        if days[0].first == days[0].last or days[0].first == start:
            given = {part: value for part, value in given.items() if part in {"end", "end_half"}}
        return {parts[p]: half_value(slots[parts[p]], v) for p, v in given.items() if p in parts}
    return None if days else _how_long(slots, utterance, start)


def _days_until(utterance: Utterance, start: date) -> list[Days]:
    """Days as an end: after the start, unless that were most of a year later.

    `下周一` said of a start beyond it is the Monday after: the week was named out of habit.
    """
    found = only(Days, utterance.read(after=start))
    if len(found) != 1:
        return [f.value for f in found]
    days, named = found[0].value, utterance.text[found[0].start : found[0].end]
    if days.last - start > _MOST_OF_A_YEAR:
        before = [f.value for f in only(Days, [*utterance.things, *utterance.spent])]
        return [past for past in before if past.last < start][:1] or [days]
    return [from_weekday(days, start, named)]


def _how_long(
    slots: Mapping[str, Slot], utterance: Utterance, start: date
) -> dict[str, JsonValue] | None:
    known = Days(start, start, single=True)
    things = [f for f in utterance.things if isinstance(f.value, Duration)]
    values = fill_days(slots, [Found(0, 0, known), *things], "").values
    start_name = range_slots(slots).get("start", "")
    rest = {name: value for name, value in values.items() if name != start_name}
    return rest or None
