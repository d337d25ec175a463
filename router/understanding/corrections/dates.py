"""Days that are known moved, restated, made more or fewer: `往后推一天`, `start Tuesday instead`.

New days for a range that is known are those of both ends, of one of them, or a half of its only
day.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal

from pydantic import JsonValue

from router.entities.choices import only_choice
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.grammar import Found, compiled, only
from router.entities.numbers import EN_NUMBER, ZH_COUNT, parse_number
from router.entities.ranges import from_weekday
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import RangePart, Slot, filled_by
from router.flow.view import FlowView
from router.lexicon import EN, ZH
from router.understanding.slots.mappings import fill_days, half_value, last_day, range_slots

_ONLY = compiled(r"只|就请|\b(?:only|just)\b")

Values = dict[str, JsonValue]


def retimed(view: FlowView, utterance: Utterance) -> Values:
    """The slots of a range as the utterance says them, relative to what is known of them.

    One day moves what was given last, or both ends of a single day, and is all of the range where
    it is the only one; an end alone is read from the start on.
    """
    parts = range_slots(view.fillable)
    start, end = parts.get("start", ""), parts.get("end", "")
    values = fill_days(view.fillable, utterance.meant, utterance.text).values
    if start not in values:
        return _ending(view, utterance) if end in values else values or _lasting(view, utterance)
    if end in values or view.slots.get(end) is None:
        return values
    if end in view.latest and start not in view.latest:
        return {end: values[start]}
    if view.slots.get(end) == view.slots.get(start) or _ONLY.search(utterance.text):
        return {**values, end: values[start]}
    return {**values, **kept_length(view, start, end, values[start])}


def _lasting(view: FlowView, utterance: Utterance) -> Values:
    """`三天`, of a range whose start is known and that has no slot for how long it takes."""
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    lengths = only(Duration, utterance.meant)
    if not isinstance(start, str) or "end" not in parts or len(lengths) != 1:
        return {}
    last = last_day(start, lengths[0].value)
    return {} if last is None else {parts["end"]: last}


def _ending(view: FlowView, utterance: Utterance) -> Values:
    """`到周二`, of a range whose start is known: the first Tuesday after that."""
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    if not isinstance(start, str):
        return fill_days(view.fillable, utterance.meant, utterance.text).values
    after = date.fromisoformat(start)
    found = only(Days, utterance.read(after=after))
    if len(found) != 1:
        return {}
    days = from_weekday(found[0].value, after, utterance.text[found[0].start : found[0].end])
    values: Values = {parts["end"]: days.last.isoformat()}
    half = parts.get("end_half")
    if half and days.last_half:
        values[half] = half_value(view.fillable[half], days.last_half)
    return values


def kept_length(view: FlowView, start: str, end: str, new: JsonValue) -> Values:
    """The end moved with a start that would pass it, unless how long it takes tells the end."""
    old = view.slots.get(start), view.slots.get(end)
    by_length = any(view.slots.get(name) for name in filled_by(Duration, view.fillable))
    if by_length or not all(isinstance(day, str) for day in (*old, new)):
        return {}
    first, last, moved = (date.fromisoformat(str(day)) for day in (*old, new))
    later = moved + max(last - first, timedelta())
    return {end: later.isoformat()} if moved > last else {}


def halved(view: FlowView, utterance: Utterance) -> Values | None:
    """`上午`, of a single day: both its halves; None where it is several days or no half."""
    parts = range_slots(view.fillable)
    names = [parts[part] for part in ("start_half", "end_half") if part in parts]
    ends = [view.slots.get(parts.get(part, "")) for part in ("start", "end")]
    if not names or ends[0] is None or ends[0] != ends[1]:
        return None
    named = only_choice(view.fillable[names[0]].choices, utterance.text)
    return None if named is None else dict.fromkeys(names, named.value)


_LATER = compiled(rf"{ZH.later}|\b{EN.later}\b")
_EARLIER = compiled(rf"{ZH.earlier}|\b{EN.earlier}\b")
_LONGER = compiled(rf"{ZH.longer}|\b{EN.longer}\b")
_SHORTER = compiled(rf"{ZH.shorter}|\b{EN.shorter}\b")
_AROUND_SHIFT = compiled(
    rf"^(?:{ZH.filler}|{ZH.around_shift}|\b(?:{EN.filler}|{EN.around_shift})\b|[ ,.!])*$"
)
_HOW_FAR = compiled(
    f"(?P<zh>{ZH_COUNT}|半|[俩仨]) ?个?(?:天|日|周|星期|礼拜)"
    rf"|\b(?P<en>an?|another|half an?|{EN_NUMBER}) (?:more |extra |additional "
    rf"|working )?(?:days?|weeks?)\b"
)
_ONE = {
    "a": "1",
    "an": "1",
    "another": "1",
    "俩": "两",
    "仨": "三",
    "half a": "0.5",
    "half an": "0.5",
}
_WEEKEND = 5


def shifted(
    slots: Mapping[str, Slot], known: Mapping[str, JsonValue], text: str
) -> dict[str, JsonValue] | None:
    """The range moved or made longer or shorter, by slot name; None where nothing says so.

    Without an end that is known, or a length that tells it, only the start moves.
    """
    length = _length(text)
    if length is None or _day(known.get(_ends(slots).get("start", ""))) is None:
        return None
    if _EARLIER.search(text) or _LATER.search(text):
        return _moved(slots, known, length if _LATER.search(text) else -length)
    if _LONGER.search(text) or _SHORTER.search(text):
        return _resized(slots, known, length if _LONGER.search(text) else -length)
    return None


def _length(text: str) -> Decimal | None:
    """How many days the message names, which names nothing besides; a week is seven."""
    match = _HOW_FAR.search(text)
    if match is None:
        return None
    start, end = match.span()
    if _AROUND_SHIFT.search(f"{text[:start]} {text[end:]}") is None:
        return None
    said = match.group("zh") or match.group("en")
    number = Decimal("0.5") if said == "半" else parse_number(_ONE.get(said, said))
    weeks = text[start:end].endswith(("周", "星期", "礼拜")) or "week" in text[start:end]
    return None if not number else number * (7 if weeks else 1)


def _moved(
    slots: Mapping[str, Slot], known: Mapping[str, JsonValue], days: Decimal
) -> dict[str, JsonValue] | None:
    parts = _ends(slots)
    if days != int(days):
        return None
    moved: dict[str, JsonValue] = {}
    for part in ("start", "end"):
        name = parts.get(part, "")
        day = _day(known.get(name))
        # An end that was worked out from how long it takes is worked out anew.
        if day is not None and (part == "start" or _duration(slots, known) is None):
            moved[name] = (day + timedelta(days=int(days))).isoformat()
    return moved


def _ends(slots: Mapping[str, Slot]) -> Mapping[RangePart, str]:
    """The slots of the range, or the only date as its start."""
    dates = filled_by(Days, slots)
    return range_slots(slots) or ({"start": dates[0]} if len(dates) == 1 else {})


def _resized(
    slots: Mapping[str, Slot], known: Mapping[str, JsonValue], days: Decimal
) -> dict[str, JsonValue] | None:
    duration = _duration(slots, known)
    if duration is not None:
        name, count = duration
        longer = Duration(count + days, "days")
        return {name: dict(longer.value())} if longer.count > 0 else None
    parts = range_slots(slots)
    start, end = (_day(known.get(parts.get(part, ""))) for part in ("start", "end"))
    if start is None or end is None or days != int(days):
        return None
    last = _weekdays_on(end, int(days))
    return {parts["end"]: last.isoformat()} if last >= start else None


def _duration(
    slots: Mapping[str, Slot], known: Mapping[str, JsonValue]
) -> tuple[str, Decimal] | None:
    name = next(iter(filled_by(Duration, slots)), "")
    value = known.get(name)
    days = value.get("days") if isinstance(value, dict) else None
    return (name, Decimal(str(days))) if isinstance(days, int | float) else None


def _weekdays_on(day: date, count: int) -> date:
    step = timedelta(days=1 if count > 0 else -1)
    while count:
        day += step
        count -= (1 if count > 0 else -1) * (day.weekday() < _WEEKEND)
    return day


def _day(value: JsonValue) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


_STARTS = compiled(rf"{ZH.first_day}|^[^到至]*从|\b{EN.first_day}\b")
_ENDS = compiled(rf"{ZH.last_day}|\b{EN.last_day}\b")
_AROUND_END = compiled(
    rf"^(?:{ZH.first_day}|{ZH.last_day}|{ZH.filler}|{ZH.around_value}|{ZH.around_end}"
    rf"|\b(?:{EN.first_day}|{EN.last_day}|{EN.filler}|{EN.around_value}|{EN.around_end})\b"
    r"|[ ,.!~:])*$"
)
_BARE_WEEKDAY = compiled(
    "^(?:周|星期|礼拜)[一二三四五六日天](?:上午|下午|早上|中午)?$"
    r"|^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
    "(?: (?:morning|afternoon))?$"
)


def repointed(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The first or the last day of a known range, by slot name, with a half that is named.

    None where the message says anything besides. A bare weekday is one of the week that the range
    begins in; a start that passes the end takes it along.
    """
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    starts = _STARTS.search(utterance.text) is not None
    if not isinstance(start, str) or starts == (_ENDS.search(utterance.text) is not None):
        return None
    known = date.fromisoformat(start)
    found = only(Days, utterance.meant if starts else utterance.read(after=known))
    if (
        len(found) != 1
        or found[0].value.first != found[0].value.last
        or _says_more(utterance, found[0])
    ):
        return None
    if not starts:
        return _new_ending(view, utterance, found[0], known)
    day = _in_its_week(utterance, found[0], known)
    values: dict[str, JsonValue] = {parts["start"]: day.isoformat()}
    _put_half(view, values, "start_half", found[0].value.first_half)
    return {**values, **kept_length(view, parts["start"], parts.get("end", ""), day.isoformat())}


def _new_ending(
    view: FlowView, utterance: Utterance, found: Found[Days], start: date
) -> dict[str, JsonValue] | None:
    end = range_slots(view.fillable).get("end")
    # Where the end is what is asked, this is the answer.
    if end is None or view.awaiting == [end]:
        return None
    named = utterance.text[found.start : found.end]
    values: dict[str, JsonValue] = {end: from_weekday(found.value, start, named).last.isoformat()}
    _put_half(view, values, "end_half", found.value.last_half)
    return values


def _put_half(view: FlowView, values: dict[str, JsonValue], part: str, half: str | None) -> None:
    names = {str(p): name for p, name in range_slots(view.fillable).items()}
    if half and part in names:
        values[names[part]] = half_value(view.fillable[names[part]], half)


def _says_more(utterance: Utterance, found: Found[Days]) -> bool:
    rest = f"{utterance.text[: found.start]} {utterance.text[found.end :]}"
    return _AROUND_END.search(rest) is None


def _in_its_week(utterance: Utterance, found: Found[Days], start: date) -> date:
    """The day as it was read, or of the range's own week where only a weekday was said."""
    day = found.value.first
    if _BARE_WEEKDAY.search(utterance.text[found.start : found.end].strip()) is None:
        return day
    near = start + timedelta(days=day.weekday() - start.weekday())
    return near if near >= utterance.now.date() else day
