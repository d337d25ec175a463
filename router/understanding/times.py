"""Times of day: `14:30`, `下午三点半`, `3pm`. A bare `at 5` is none."""

from datetime import time

from router.understanding.grammar import Found, Groups, Rule, longest
from router.understanding.numbers import parse_number

_NOON = 12
_HOURS = 24
_MINUTES = 60
_ZH_FIGURE = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[零一二两三四五六七八九])"
_LATER = frozenset({"下午", "午后", "傍晚", "晚上", "晚", "pm", "p.m."})
_ZH_MINUTES = {"半": 30, "一刻": 15, "三刻": 45}


def _clock(groups: Groups) -> time | None:
    hour, minute = parse_number(groups["hour"]), _minute(groups.get("minute"))
    if hour is None or minute is None:
        return None
    hour_of_day = _hour_of_day(int(hour), groups.get("part", ""))
    if hour_of_day >= _HOURS or minute >= _MINUTES:
        return None
    return time(hour_of_day, minute)


def _minute(text: str | None) -> int | None:
    if text is None:
        return 0
    if text in _ZH_MINUTES:
        return _ZH_MINUTES[text]
    number = parse_number(text)
    return None if number is None else int(number)


def _hour_of_day(hour: int, part: str) -> int:
    if part in _LATER and hour < _NOON:
        return hour + _NOON
    if part == "中午" and hour < _NOON - 1:
        return hour + _NOON
    return 0 if part in {"am", "a.m."} and hour == _NOON else hour


_RULES: tuple[Rule[time], ...] = (
    Rule(
        "(?:(?P<part>上午|早上|中午|下午|傍晚|晚上|晚"
        r"|凌晨) ?)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?",
        _clock,
        unless_after=r"[:\d]",
        unless_before=" ?[ap]\\.?m\\b",
    ),
    Rule(
        r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<part>[ap]m\b|[ap]\.m\.)",
        _clock,
    ),
    Rule(
        f"(?:(?P<part>上午|早上|中午|下午|傍晚|晚上|晚|凌晨) ?)?(?P<hour>{_ZH_FIGURE}) ?(?:点钟?"
        "|时)"
        rf"(?:整|(?P<minute>半|一刻|三刻|{_ZH_FIGURE})分?)?",
        _clock,
        unless_after="[第有差早晚快慢几一小每零点.\\d]",
        unless_before="[零一二三四五六七八九\\d]|[儿心事头多几之]|建议|意见|要求|原因|理由|说明|看法|(?:个|小)"
        "|间|差|代|期|尚|候|以?内",
    ),
    Rule("(?:12 )?noon\\b", lambda _: time(12), unless_after="after"),
    Rule("midnight\\b", lambda _: time(0)),
)


def find_times(text: str) -> list[Found[time]]:
    """Every time of day named, to the minute."""
    return longest(found for rule in _RULES for found in rule.find(text))
