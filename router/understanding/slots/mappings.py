"""What a sentence says about slots when nobody asked for any: only what is certain.

The functions here each look at one kind of slot and answer with a `Filling`: values by slot
name, and which parts of the sentence they came from, so that nothing is used twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from router.entities.choices import find_choices, is_label, only_choice
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.extraction import Thing
from router.entities.grammar import Found, compiled, only
from router.entities.ranges import Interval, from_weekday, interval, kept
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import SLOT_TYPES, RangePart, Slot, filled_by, range_slots
from router.lexicon import BOTH, EN, ZH
from router.understanding.slots.free_text import clauses_of, remainders

# What happens to a person, and only hints at a choice for the one to whom it happens.
_HAPPENS = compiled(str(BOTH.happening))
_OTHERS_EN = f"{EN.another}(?:'s|s')?"
_ANOTHER_BEFORE = compiled(rf"{ZH.another}[^,.;!?我]*$|\b{_OTHERS_EN}\b(?:[^,.;!?]*[^a-z,.;!?])?$")
_ANOTHER_AFTER = compiled(rf"^[^,.;!?我]{{0,4}}的?{ZH.another}|^ (?:of|for|with) my {_OTHERS_EN}\b")
_MYSELF = compiled(r"我(?:自己|也)|\bi(?:'m| am| have| was| feel| caught| got)\b[^,.;!?]*$")
_CLAUSE = 40


def happens(text: str) -> bool:
    """True where a normalised text names what happens to a person: illness, a birth."""
    return _HAPPENS.search(text) is not None


def is_anothers(text: str, start: int, end: int) -> bool:
    """True where what stands there happens to somebody else, not to the speaker: `妈妈住院了`."""
    if not happens(text[start:end]):
        return False
    before, after = text[:start][-_CLAUSE:], text[end:][:_CLAUSE]
    if _MYSELF.search(before):
        return False
    return _ANOTHER_BEFORE.search(before) is not None or _ANOTHER_AFTER.search(after) is not None


Slots = Mapping[str, Slot]
Values = dict[str, JsonValue]
"""Of slots, by their names or paths such as `items.0.amount`."""

_DAYS_IN = {"days": 1, "weeks": 7}
_HALVES: tuple[RangePart, ...] = ("start_half", "end_half")
_MOST_DAYS = 1000
# Where public holidays make the working days fewer, asking once more does no harm.
_WEEKEND = 5


@dataclass
class Filling:
    """Values by slot name, and the spans of the normalised text that they were read from.

    `hinted` are spans that only hint at a value (`看病` at sick leave): what stands there may
    be a reason as well.
    """

    values: Values = field(default_factory=dict)
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
        self.used.append(found.span)


def fill_choices(slots: Slots, text: str) -> Filling:
    """Choices that are named, by their own names before hints; none where a slot could take two."""
    filling = Filling()
    for name, slot in slots.items():
        if slot.kind.made_of != "choices" or slot.part_of_range:
            continue
        named = find_choices(slot.choices, text)
        labels = [f for f in named if is_label(slot.choices, text[f.start : f.end])]
        # What happens to others hints at nothing: 妈妈住院.
        found = [f for f in named if f in labels or not is_anothers(text, *f.span)]
        meant = kept(labels or found, text)
        if len({f.value for f in meant}) == 1:
            filling.values[name] = meant[0].value
        filling.used.extend(f.span for f in labels)
        filling.hinted.extend(f.span for f in found if f not in labels)
    return filling


def fill_days(slots: Slots, things: Iterable[Found[Thing]], text: str) -> Filling:
    """Dates, ranges and durations in their slots; no end where a length disagrees."""
    listed = list(things)
    journey = _there_and_back(slots, only(Days, listed), text)
    days = journey or interval(only(Days, listed), text)
    lengths = only(Duration, listed)
    filling = Filling()
    if journey is not None:
        filling.used += [f.span for f in only(Days, listed)]
    if days is not None:
        filling.add(_one_stretch(slots, days))
        differs = len(lengths) == 1 and not _agree(days.found.value, lengths[0].value)
        if differs and "end" in _said(days):
            ending = {n for part, n in range_slots(slots).items() if part in {"end", "end_half"}}
            filling.values = {n: v for n, v in filling.values.items() if n not in ending}
            filling.used.append(lengths[0].span)
            return filling
    filling.add(_fill_duration(slots, lengths, filling))
    return filling


_BACK_BEFORE = compiled(rf"\b{EN.goes_back}(?: (?:on|by))? $")
_BACK_AFTER = compiled(f"^ ?{ZH.goes_back}(?:[ ,.;:!?]|$)")
SAME_DAY = compiled(rf"{ZH.same_day}|\b{EN.same_day}\b")


def _there_and_back(slots: Slots, found: list[Found[Days]], text: str) -> Interval | None:
    """A journey from one day to another, `下周一去，周三回`, or `当天来回`; None for anything else.

    Only of what ends by coming back, as its last slot says: of leave, who is back works that day.
    """
    end = slots.get(range_slots(slots).get("end", ""))
    asked = (end.label, end.ask) if end else ()
    if not any(said and (_ENDS_ZH in said.zh or _ENDS_EN in said.en) for said in asked):
        return None
    one_day = [f for f in found if f.value.first == f.value.last]
    if len(found) == 1 and one_day and SAME_DAY.search(text):
        day = one_day[0].value
        return Interval(replace(one_day[0], value=replace(day, single=False)))
    if len(one_day) != _ENDS or len(found) != _ENDS:
        return None
    leaves, back = one_day
    before, after = text[: back.start][-_CLAUSE:], text[back.end :][:_CLAUSE]
    if not (_BACK_BEFORE.search(before) or _BACK_AFTER.search(after)):
        return None
    last = from_weekday(back.value, leaves.value.first, text[back.start : back.end])
    if last.last < leaves.value.first:
        return None
    return Interval(Found(*leaves.span, Days(leaves.value.first, last.last)))


_ENDS, _ENDS_ZH, _ENDS_EN = 2, "回", "back"


def _agree(days: Days, length: Duration) -> bool:
    """False where no calendar makes that range so long: three days from Wednesday to Thursday."""
    if days.single or length.unit != "days":
        return True
    span = (days.last - days.first).days + 1
    dates = (days.first + timedelta(days=n) for n in range(min(span, _MOST_DAYS)))
    working = Decimal(sum(day.weekday() < _WEEKEND for day in dates))
    halves = Decimal((days.first_half == "pm") + (days.last_half == "am")) / 2
    # Half a day that was said without saying which may be at either end.
    return working - halves - Decimal("0.5") <= length.count <= span - halves


def _one_stretch(slots: Slots, days: Interval) -> Filling:
    filling = Filling()
    parts, value = range_slots(slots), days.found.value
    for part, said in _said(days).items():
        name = parts.get(part)
        if name is not None:
            filling.put(name, half_value(slots[name], said), days.found)
    plain = [n for n, slot in slots.items() if slot.kind.takes is Days and not slot.part_of_range]
    if not parts and len(plain) == 1 and value.first == value.last:
        filling.put(plain[0], value.first.isoformat(), days.found)
    return filling


def _said(days: Interval) -> dict[RangePart, str]:
    value = days.found.value
    value = replace(value, single=value.single and days.starts)
    given = parts_of(value, open_end=not days.ends)
    return given if days.starts else {p: v for p, v in given.items() if p in {"end", "end_half"}}


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
    if not slot.choices or value in slot.choices:
        return value
    words = {"am": "上午 morning", "pm": "下午 afternoon"}.get(value, "")
    found = only_choice(slot.choices, words)
    return found.value if found else value


def _fill_duration(slots: Slots, lengths: list[Found[Duration]], dates: Filling) -> Filling:
    """How long, into a slot for it; without one, it tells the last day from the first."""
    filling = Filling()
    if len(lengths) != 1:
        return filling
    found = lengths[0]
    name = next(iter(filled_by(Duration, slots)), None)
    parts = range_slots(slots)
    start = dates.values.get(parts.get("start", ""))
    halved = any(parts.get(part) in dates.values for part in _HALVES)
    halves = found.value.unit == "days" and found.value.count % 1 and not halved
    if parts.get("end") in dates.values and not (halves and name):
        filling.used.append(found.span)
    elif name is not None:
        filling.put(name, dict(found.value.value()), found)
    elif isinstance(start, str) and "end" in parts:
        last = last_day(start, found.value)
        if last is not None:
            filling.put(parts["end"], last, found)
    return filling


def last_day(start: str, length: Duration) -> str | None:
    """The last of so many days of the calendar, the first included; None for parts of a day."""
    days = length.count * _DAYS_IN.get(length.unit, 0)
    if days != int(days) or not 0 < days <= _MOST_DAYS:
        return None
    return (date.fromisoformat(start) + timedelta(days=int(days) - 1)).isoformat()


_FIRST = compiled(rf"{ZH.first_day}|\b{EN.first_day}\b")
_LAST = compiled(rf"{ZH.last_day}|\b{EN.last_day}\b")


def fill_halves(slots: Slots, utterance: Utterance) -> Filling:
    """`第一天下午才开始`, `just the morning` of a single day: the halves at the ends of a range."""
    parts, filling = range_slots(slots), Filling()
    if "start_half" not in parts or "end_half" not in parts:
        return filling
    choices = slots[parts["start_half"]].choices
    days = only(Days, utterance.meant)
    one_day = len(days) == 1 and days[0].value.single and not days[0].value.first_half
    for clause in clauses_of(utterance.text):
        found = find_choices(choices, clause.value)
        if len({f.value for f in found}) != 1 or clause.touches(f.span for f in days):
            continue
        half = found[0].value
        spans = [(clause.start + f.start, clause.start + f.end) for f in found]
        if _LAST.search(clause.value):
            filling.put(parts["end_half"], half, clause)
        elif _FIRST.search(clause.value):
            filling.put(parts["start_half"], half, clause)
        elif one_day and not any(remainders(utterance.text, clause, spans)):
            filling.put(parts["start_half"], half, clause)
            filling.put(parts["end_half"], half, clause)
            if "end" in parts:
                filling.put(parts["end"], days[0].value.first.isoformat(), clause)
    return filling


def fill_mentions(slots: Slots, utterance: Utterance) -> Filling:
    """What is named once, into the one slot of its type: the amount of a claim."""
    filling = Filling()
    for kind in SLOT_TYPES.values():
        names = [name for name, slot in slots.items() if slot.kind is kind]
        found = kind.mentions(utterance) if len(names) == 1 else []
        if len(found) == 1:
            filling.put(names[0], found[0].value, found[0])
    return filling
