"""One end of a known range is another day: `start Tuesday instead`, `第一天改成周二`."""

from datetime import date, timedelta

from pydantic import JsonValue

from router.flow.view import FlowView
from router.understanding.dates import Days
from router.understanding.filling import half_value, range_slots
from router.understanding.grammar import Found, compiled, only
from router.understanding.intervals import from_weekday
from router.understanding.retiming import kept_length
from router.understanding.utterance import Utterance

_FIRST = "第一天|首日|开始|起始|出发|起"
_LAST = "最后一天|末日|结束"
_EN_FIRST = "start(?:s|ing)?|begin(?:s|ning)?|from|first day|depart(?:ing)?"
_EN_LAST = "end(?:s|ing)?|finish(?:es|ing)?|last day"
_STARTS = compiled(rf"{_FIRST}|^[^到至]*从|\b(?:{_EN_FIRST})\b")
_ENDS = compiled(rf"{_LAST}|\b(?:{_EN_LAST})\b")
_AROUND = compiled(
    f"^(?:{_FIRST}|{_LAST}|从|日期|时间|不对|不是|不|哦|啊|抱歉|等等|改成|改为|改到|换成|换到|改"
    "|应该是|应为|应该|还是|那就?|就|我|想|要|请|假|是|在|于|的|休|放|吧|了"
    rf"|\b(?:{_EN_FIRST}|{_EN_LAST}|actually|instead|rather|no|sorry|wait|well|oh|but|then|i|i'll"
    r"|i'd|we|we'll|it|that|will|would|like|want|need|to|let's|can|could|should|be|is|make|change"
    r"|set|move|the|my|day|date|on|at|please|better)\b|[ ,.!~:])*$"
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
        return _ending(view, utterance, found[0], known)
    day = _in_its_week(utterance, found[0], known)
    values: dict[str, JsonValue] = {parts["start"]: day.isoformat()}
    _put_half(view, values, "start_half", found[0].value.first_half)
    return {**values, **kept_length(view, parts["start"], parts.get("end", ""), day.isoformat())}


def _ending(
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
    return _AROUND.search(rest) is None


def _in_its_week(utterance: Utterance, found: Found[Days], start: date) -> date:
    """The day as it was read, or of the range's own week where only a weekday was said."""
    day = found.value.first
    if _BARE_WEEKDAY.search(utterance.text[found.start : found.end].strip()) is None:
        return day
    near = start + timedelta(days=day.weekday() - start.weekday())
    return near if near >= utterance.now.date() else day
