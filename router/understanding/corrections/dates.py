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
from router.flow.slot_types.slot import RangePart, filled_by, range_slots
from router.flow.view import FormView
from router.lexicon import EN, ZH
from router.understanding.names import FlowNames
from router.understanding.slots.mappings import Values, fill_days, half_value, last_day

_ONLY = compiled(r"只|就请|\b(?:only|just)\b")


class _Range:
    """What is known of a flow's range of days, and the slots that have it, by its parts."""

    def __init__(self, view: FormView, parts: Mapping[RangePart, str] | None = None) -> None:
        self.view = view
        self.parts = range_slots(view.fillable) if parts is None else parts

    def day(self, part: RangePart) -> date | None:
        return _day(self.view.slots.get(self.parts.get(part, "")))

    def half(self, part: RangePart, half: str | None) -> Values:
        """A half of one of its ends, where there is a slot for it."""
        name = self.parts.get(part)
        return {name: half_value(self.view.fillable[name], half)} if name and half else {}

    def length(self) -> tuple[str, Decimal] | None:
        """The slot that tells its length in days, and what that holds."""
        name = next(iter(filled_by(Duration, self.view.fillable)), "")
        value = self.view.slots.get(name)
        days = value.get("days") if isinstance(value, dict) else None
        return (name, Decimal(str(days))) if isinstance(days, int | float) else None

    def ending(self, utterance: Utterance, found: Found[Days], start: date) -> Values:
        """Its end, `到周二`, read from the start on: the first Tuesday after that."""
        named = utterance.text[found.start : found.end]
        last = from_weekday(found.value, start, named).last
        return {self.parts["end"]: last.isoformat(), **self.half("end_half", found.value.last_half)}

    def kept_length(self, moved: date) -> Values:
        """The end moved with a start that would pass it, unless how long it takes tells the end."""
        first, last = self.day("start"), self.day("end")
        told = any(self.view.slots.get(n) for n in filled_by(Duration, self.view.fillable))
        if told or first is None or last is None or moved <= last:
            return {}
        return {self.parts["end"]: (moved + max(last - first, timedelta())).isoformat()}


def _day(value: JsonValue) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def retimed(view: FormView, utterance: Utterance) -> Values:
    """The slots of a range as the utterance says them, relative to what is known of them.

    One day moves what was given last, or both ends of a single day, and is all of the range where
    it is the only one; an end alone is read from the start on.
    """
    known = _Range(view)
    start, end = known.parts.get("start", ""), known.parts.get("end", "")
    values = fill_days(view.fillable, utterance.meant, utterance.text).values
    if start not in values:
        first = known.day("start")
        if end not in values:
            return values or _lasting(known, first, utterance)
        found = only(Days, utterance.read(after=first)) if first else []
        return known.ending(utterance, found[0], first) if first and len(found) == 1 else values
    if end in values or view.slots.get(end) is None:
        return values
    if end in view.latest and start not in view.latest:
        return {end: values[start]}
    if view.slots.get(end) == view.slots.get(start) or _ONLY.search(utterance.text):
        return {**values, end: values[start]}
    moved = _day(values[start])
    return {**values, **known.kept_length(moved)} if moved else values


def _lasting(known: _Range, start: date | None, utterance: Utterance) -> Values:
    """`三天`, of a range whose start is known and that has no slot for how long it takes."""
    lengths = only(Duration, utterance.meant)
    if start is None or "end" not in known.parts or len(lengths) != 1:
        return {}
    last = last_day(start.isoformat(), lengths[0].value)
    return {} if last is None else {known.parts["end"]: last}


def halved(view: FormView, utterance: Utterance) -> Values | None:
    """`上午`, of a single day: both its halves; None where it is several days or no half."""
    known = _Range(view)
    halves: tuple[RangePart, ...] = ("start_half", "end_half")
    names = [known.parts[part] for part in halves if part in known.parts]
    if not names or known.day("start") is None or known.day("start") != known.day("end"):
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
_ONE = dict.fromkeys(("a", "an", "another"), "1") | dict.fromkeys(("half a", "half an"), "0.5")
_ONE |= {"俩": "两", "仨": "三"}
_WEEKEND = 5


def shifted(view: FormView, text: str) -> Values | None:
    """The range moved or made longer or shorter, by slot name; None where nothing says so.

    Without an end that is known, or a length that tells it, only the start moves. What the flow is
    called says nothing: `请假往后推一天`.
    """
    for name in FlowNames(view.flow, view.title).words:
        text = text.replace(name, " ")
    days = filled_by(Days, view.fillable)
    only_day: Mapping[RangePart, str] = {"start": days[0]} if len(days) == 1 else {}
    known, length = _Range(view, range_slots(view.fillable) or only_day), _length(text)
    if length is None or known.day("start") is None:
        return None
    if _EARLIER.search(text) or _LATER.search(text):
        return _moved(known, length if _LATER.search(text) else -length)
    if _LONGER.search(text) or _SHORTER.search(text):
        return _resized(known, length if _LONGER.search(text) else -length)
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


def _moved(known: _Range, days: Decimal) -> Values | None:
    if days != int(days):
        return None
    # An end that was worked out from how long it takes is worked out anew.
    ends: tuple[RangePart, ...] = ("start", "end") if known.length() is None else ("start",)
    return {
        known.parts[part]: (day + timedelta(days=int(days))).isoformat()
        for part in ends
        if (day := known.day(part)) is not None
    }


def _resized(known: _Range, days: Decimal) -> Values | None:
    if (length := known.length()) is not None:
        name, count = length
        longer = Duration(count + days, "days")
        return {name: dict(longer.value())} if longer.count > 0 else None
    start, last = known.day("start"), known.day("end")
    if start is None or last is None or days != int(days):
        return None
    step, left = (1 if days > 0 else -1), int(days)
    while left:
        last += timedelta(days=step)
        left -= step * (last.weekday() < _WEEKEND)
    return {known.parts["end"]: last.isoformat()} if last >= start else None


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


def repointed(view: FormView, utterance: Utterance) -> Values | None:
    """The first or the last day of a known range, by slot name, with a half that is named.

    None where the message says anything besides. A bare weekday is one of the week that the range
    begins in; a start that passes the end takes it along.
    """
    known = _Range(view)
    start, starts = known.day("start"), _STARTS.search(utterance.text) is not None
    if start is None or starts == (_ENDS.search(utterance.text) is not None):
        return None
    days = only(Days, utterance.meant if starts else utterance.read(after=start))
    if len(days) != 1 or days[0].value.first != days[0].value.last:
        return None
    found, text = days[0], utterance.text
    if _AROUND_END.search(f"{text[: found.start]} {text[found.end :]}") is None:
        return None
    if not starts:
        # Where the end is what is asked, this is the answer.
        end = known.parts.get("end")
        answers = end is None or view.awaiting == [end]
        return None if answers else known.ending(utterance, found, start)
    day = found.value.first
    if _BARE_WEEKDAY.search(text[found.start : found.end].strip()):
        near = start + timedelta(days=day.weekday() - start.weekday())
        day = near if near >= utterance.now.date() else day
    half = known.half("start_half", found.value.first_half)
    return {known.parts["start"]: day.isoformat(), **half, **known.kept_length(day)}
