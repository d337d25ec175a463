"""Moving the days that are known, and making them more or fewer: `往后推一天`, `one more day`."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal

from pydantic import JsonValue

from router.flow.model import RangePart, Slot
from router.understanding.durations import Duration
from router.understanding.filling import range_slots
from router.understanding.grammar import compiled
from router.understanding.numbers import EN_NUMBER, ZH_COUNT, parse_number

_LATER = compiled(
    "(?:往后|向后|后)(?:推|挪|移|延|顺延)|推迟|延后|延迟|顺延|推后|晚"
    r"|\b(?:push|move|put|shift|delay|postpone)(?:ed|ing)?\b.*\b(?:back|out|later|by)\b|\blater\b"
    r"|\b(?:delay|postpone)\b"
)
_EARLIER = compiled(
    "(?:往前|向前|前)(?:推|挪|移|提)|提前|提早|早"
    r"|\b(?:bring|move|push|pull)\b.*\b(?:forward|up|earlier)\b|\bearlier\b"
)
_LONGER = compiled(
    "多(?:请|休|加|要|放)|再(?:多)?(?:请|休|加|要)|延长|加(?:一|两|二|三|[0-9])"
    r"|\b(?:more|another)\b|\b(?:extend|lengthen|prolong|add)\b|\blonger\b|\bextra\b|\badditional\b"
)
_SHORTER = compiled(r"少(?:请|休|要)|缩短|减(?:少|掉)?|\bless\b|\bfewer\b|\bshorten\b|\bshorter\b")
_AROUND = compiled(
    "^(?:那就?|就|把|请|帮我|我|想|要|再|一下|日期|时间|假期|开始|请假|都|整体|吧|了|的|往后"
    "|往前|向后|向前"
    "|推迟|推后|推|挪|移|延后|延迟|延长|延|顺延|提前|提早|提|晚|早|后|前|多|少|加|休|放|缩短"
    "|减少|减掉|减|不对|等等"
    "|好的?|可以|但是?|不过"
    r"|\b(?:can|could|you|we|please|actually|no|ok|okay|yes|but|then|push|move|put|shift|delay"
    r"|postpone|bring|pull|make|it|that|the|them|this|dates?|leave|everything|all|back|out"
    r"|forward|up"
    r"|later|earlier|by|for|more|extend|lengthen|prolong|add|longer|extra|additional|less|fewer"
    r"|shorten|shorter|i|i'd|like|need|want|take|let's|an?|one)\b"
    r"|[ ,.!])*$"
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
    if _AROUND.search(f"{text[:start]} {text[end:]}") is None:
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
    dates = [name for name, slot in slots.items() if slot.type == "date"]
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
    """The slot that tells the length of the range in days, and what it holds."""
    name = next((n for n, slot in slots.items() if slot.type == "duration"), "")
    value = known.get(name)
    days = value.get("days") if isinstance(value, dict) else None
    return (name, Decimal(str(days))) if isinstance(days, int | float) else None


def _weekdays_on(day: date, count: int) -> date:
    """The weekday that is so many weekdays further, or back."""
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
