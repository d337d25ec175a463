"""What a sentence says about slots when nobody asked for any: only what is certain.

The functions here each look at one kind of slot and answer with a `Filling`: values by slot
name, and which parts of the sentence they came from, so that nothing is used twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from router.flow.model import RangePart, Slot
from router.understanding.choices import find_choices, is_label, only_choice
from router.understanding.dates import Days
from router.understanding.durations import Duration
from router.understanding.entities import Thing
from router.understanding.grammar import Found, compiled, only
from router.understanding.money import Money

Slots = Mapping[str, Slot]

_ONE_DAY = Duration(Decimal(1), "days")
_LISTED = compiled("^ ?(?:和|跟|与|及|以及|、|,|and|&)? ?$")
_OPEN_END = compiled("^ ?(?:开始|起|之?后|以后|onwards?|on)")
_OPEN_START = compiled(
    r"(?:^|[^a-z])(?:从|自|打|from|starting(?: from| on)?|since|as of) ?(?:the )?$"
)
_RETURN = compiled("^ ?(?:回来|回去|回公司|返岗|返工|上班|复工|销假|到岗)")
_RETURNING = compiled(
    r"(?:\bback(?: to work| in the office| at work)?|\breturn(?:ing)?) (?:on |by )?$"
)
_NEAR = 24


@dataclass
class Filling:
    """Values by slot name, and the spans of the normalised text that they were read from.

    `hinted` are spans that only hint at a value (`看病` at sick leave): what stands there may
    be a reason as well.
    """

    values: dict[str, JsonValue] = field(default_factory=dict)
    used: list[tuple[int, int]] = field(default_factory=list)
    hinted: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: "Filling") -> None:
        """Take over what isn't known yet."""
        self.values = {**other.values, **self.values}
        self.used.extend(other.used)
        self.hinted.extend(other.hinted)

    def put(self, name: str, value: JsonValue, found: Found[Any]) -> None:
        """Note a value and where it stands."""
        self.values.setdefault(name, value)
        self.used.append((found.start, found.end))


def range_slots(slots: Slots) -> dict[RangePart, str]:
    """The names of the slots that share a date range, by the part that each takes."""
    return {slot.part_of_range: name for name, slot in slots.items() if slot.part_of_range}


def fill_choices(slots: Slots, text: str) -> Filling:
    """Choices that are named; none where a slot could take two.

    A choice's own name outweighs words that hint at another: `年假,去看病` is annual leave.
    """
    filling = Filling()
    for name, slot in slots.items():
        if slot.type != "choice" or slot.part_of_range:
            continue
        found = find_choices(slot, text)
        labels = [f for f in found if is_label(slot, text[f.start : f.end])]
        if len({f.value for f in labels or found}) == 1:
            filling.values[name] = (labels or found)[0].value
        filling.used.extend((f.start, f.end) for f in labels)
        filling.hinted.extend((f.start, f.end) for f in found if f not in labels)
    return filling


def fill_days(slots: Slots, things: Iterable[Found[Thing]], text: str) -> Filling:
    """Dates, ranges and durations, each in the slots that are made for it."""
    listed = list(things)
    days = _worth_filling(_joined(only(Days, listed), text), text)
    filling = Filling()
    if len(days) == 1:
        filling.add(_one_stretch(slots, days[0], text))
    filling.add(_fill_duration(slots, listed, filling))
    return filling


def _one_stretch(slots: Slots, found: Found[Days], text: str) -> Filling:
    filling = Filling()
    parts = range_slots(slots)
    for part, value in parts_of(found.value, open_end=_is_open(found, text)).items():
        name = parts.get(part)
        if name is not None:
            filling.put(name, half_value(slots[name], value), found)
    plain = [n for n, slot in slots.items() if slot.type == "date" and not slot.part_of_range]
    if not parts and len(plain) == 1 and found.value.first == found.value.last:
        filling.put(plain[0], found.value.first.isoformat(), found)
    return filling


def parts_of(days: Days, *, open_end: bool) -> dict[RangePart, str]:
    """What days give to the slots of a range; one day is only a start unless a half was named."""
    parts: dict[RangePart, str] = {"start": days.first.isoformat()}
    if days.first_half:
        parts["start_half"] = days.first_half
    # One day as a range without a half was given both ends: from the 28th to the 28th.
    alone = days.first == days.last and days.first_half == days.last_half is not None
    if days.single or (open_end and alone):
        return parts
    parts["end"] = days.last.isoformat()
    if days.last_half:
        parts["end_half"] = days.last_half
    return parts


def half_value(slot: Slot, value: str) -> str:
    """`am` or `pm` as the choice that the slot has for it; anything else as it is."""
    if slot.type != "choice" or value in slot.choices:
        return value
    words = {"am": "上午 morning", "pm": "下午 afternoon"}.get(value, "")
    found = only_choice(slot, words)
    return found.value if found else value


def _is_open(found: Found[Days], text: str) -> bool:
    after, before = text[found.end :][:_NEAR], text[: found.start][-_NEAR:]
    return bool(_OPEN_END.search(after) or _OPEN_START.search(before))


def _worth_filling(found: list[Found[Days]], text: str) -> list[Found[Days]]:
    """Those that aren't the day of coming back."""
    return [
        f
        for f in found
        if not _RETURN.search(text[f.end :][:_NEAR])
        and not _RETURNING.search(text[: f.start][-_NEAR:])
    ]


def _joined(found: list[Found[Days]], text: str) -> list[Found[Days]]:
    """Days in a row, `周四和周五`, as the one stretch that they are."""
    joined: list[Found[Days]] = []
    for day in found:
        last = joined[-1] if joined else None
        if last is not None and _continues(last, day, text):
            days = replace(
                last.value, last=day.value.last, last_half=day.value.last_half, single=False
            )
            joined[-1] = Found(last.start, day.end, days)
        else:
            joined.append(day)
    return joined


def _continues(last: Found[Days], day: Found[Days], text: str) -> bool:
    next_day = last.value.last + timedelta(days=1) == day.value.first
    return next_day and bool(_LISTED.search(text[last.end : day.start]))


def _fill_duration(slots: Slots, things: Iterable[Found[Thing]], dates: Filling) -> Filling:
    """How long, into a slot for it; without one, a single day ends on the day it starts."""
    filling = Filling()
    lengths = only(Duration, things)
    if len(lengths) != 1:
        return filling
    found = lengths[0]
    name = next((n for n, slot in slots.items() if slot.type == "duration"), None)
    parts = range_slots(slots)
    start = dates.values.get(parts.get("start", ""))
    if parts.get("end") in dates.values:
        filling.used.append((found.start, found.end))
    elif name is not None:
        filling.put(name, dict(found.value.value()), found)
    elif found.value == _ONE_DAY and start is not None and "end" in parts:
        filling.put(parts["end"], start, found)
    return filling


def fill_money(slots: Slots, things: Iterable[Found[Thing]]) -> Filling:
    """The one amount that is named, into the one slot for money."""
    filling = Filling()
    names = [name for name, slot in slots.items() if slot.type == "money"]
    amounts = only(Money, things)
    if len(names) == 1 and len(amounts) == 1:
        filling.put(names[0], dict(amounts[0].value.value()), amounts[0])
    return filling
