"""New days for a range that is known: both ends, one of them, or a half of its only day."""

from datetime import date, timedelta

from pydantic import JsonValue

from router.flow.view import FlowView
from router.understanding.choices import only_choice
from router.understanding.dates import Days
from router.understanding.durations import Duration
from router.understanding.filling import fill_days, half_value, last_day, range_slots
from router.understanding.grammar import compiled, only
from router.understanding.intervals import from_weekday
from router.understanding.utterance import Utterance

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
    by_length = any(s.type == "duration" and view.slots.get(n) for n, s in view.fillable.items())
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
    named = only_choice(view.fillable[names[0]], utterance.text)
    return None if named is None else dict.fromkeys(names, named.value)
