"""How long something takes, `三天半`, and times of day: `14:30`, `3pm`, and never `at 5`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from typing import Literal, cast

from router.entities.grammar import Found, Groups, Rule, RuleSet, find_all
from router.entities.numbers import EN_NUMBER, HAN_DIGIT, ZH_COUNT, parse_number
from router.lexicon import EN, ZH

Unit = Literal["days", "hours", "weeks"]

_HALF = Decimal("0.5")
_ZH_UNITS = cast("dict[str, Unit]", ZH.unit.values)
_ZH_UNIT = "(?P<unit>" + "|".join(_ZH_UNITS) + ")"
_EN_UNITS: dict[str, Unit] = {"d": "days", "w": "weeks", "h": "hours", "f": "weeks"}

# 第三天 is a day, 这两天 is vague, 每两周 is a rhythm, 三天前 is a date.
_NOT_HOW_LONG = (
    r"[第每前后近这那哪某同另头隔过]|有一|(?:^|[^周期拜])[一二两三四五六七八九]|\d ?[-~到至] ?|v"
    r"|[½¼¾⅓]|[一每]个?(?:周|星期|礼拜|天|月)|[元块钱]"
)
# 等了半天 is a long while.
_A_LONG_WHILE = str(ZH.long_while)
_NOT_AFTER = str(ZH.after_no_duration)
_EN_NOT_AFTER = (
    r" i(?:'ll| will)\b|"
    r"[ -](?:ago|from now|from today|later|earlier|before|after|notice|old|in advance|trial|support"
    r"|(?:work ?)?week|service|hotline|clock|format|forecast|guarantee|warranty"
    r"|(?:a|per|each|every) (?:day|week|month|year))\b|'? notice|,? (?:and )?\d{1,2} ?min"
)
_EN_RHYTHM = r"\b(?:in|within|every|each|last|past|next|first|final|these|those|per|other|some) "
# 3 to 5 days, two or three weeks: nobody said how long.
_EN_NOT_SURE = r"\d ?(?:-|to|or|–|~) ?|[½¼¾⅓/]|(?:one|two|three|four|five|six|seven) (?:to|or) "
_EN_NOT = f"{_EN_RHYTHM}|{_EN_NOT_SURE}"


@dataclass(frozen=True)
class Duration:
    """So many of a unit. Nothing is converted: a week isn't seven working days."""

    count: Decimal
    unit: Unit

    def value(self) -> dict[str, int | float]:
        """The shape that entities and slots have: `{"days": 3.5}`."""
        whole = self.count == self.count.to_integral_value()
        return {self.unit: int(self.count) if whole else float(self.count)}


def _zh(groups: Groups) -> Duration | None:
    number = parse_number(groups["n"])
    if not number or ("plus" in groups and groups["unit"] == "天"):
        return None
    halves = _HALF if groups.keys() & {"plus", "tail"} else Decimal(0)
    return Duration(number + halves, _ZH_UNITS[groups["unit"]])


def _half_days(groups: Groups) -> Duration | None:
    number = parse_number(groups["n"])
    return Duration(number * _HALF, "days") if number else None


def _en(groups: Groups) -> Duration | None:
    """Without a number it is one: `a week and a half`."""
    number = parse_number(groups.get("n", "1"))
    if not number:
        return None
    unit = _EN_UNITS[groups["unit"][0]]
    scale = 2 if groups["unit"].startswith("f") else 1
    return Duration(scale * number + (_HALF if "half" in groups else 0), unit)


def _minutes(groups: Groups) -> Duration | None:
    """Minutes in hours, where the quarter of an hour allows it without a rounding."""
    number = parse_number(groups["n"])
    return Duration(number / 60, "hours") if number and not number % 15 else None


def _hours_and_minutes(groups: Groups) -> Duration | None:
    """`2 hours 30 minutes` in hours, where the quarter of an hour allows it."""
    hours = parse_number("1" if groups["n"] == "an" else groups["n"])
    minutes = parse_number(groups["minutes"])
    if hours is None or not minutes or minutes % 15:
        return None
    return Duration(hours + minutes / 60, "hours")


_EN_UNIT = r"(?P<unit>days?|weeks?|wks?|hours?|hrs?|fortnights?)\b"
_EN_KIND = "(?:(?:full|whole|working|business|calendar|consecutive|work|more|extra) )?"


def _english(source: str, build: Callable[[Groups], Duration | None] = _en) -> Rule[Duration]:
    return Rule(source, build, unless_after=_EN_NOT, unless_before=_EN_NOT_AFTER)


_RULES = RuleSet(
    Rule(
        f"(?P<n>{ZH_COUNT}|[俩仨]) ?(?:个(?P<plus>半)?)?整?{_ZH_UNIT}(?P<tail>半)?",
        _zh,
        unless_after=_NOT_HOW_LONG,
        unless_before=_NOT_AFTER,
    ),
    Rule(
        rf"(?P<n>[零一二三四五六七八九十]点{HAN_DIGIT})个?(?P<unit>天|小时|周)",
        _zh,
        unless_before=_NOT_AFTER,
    ),
    Rule(f"(?P<n>{ZH_COUNT}) ?个半天", _half_days, unless_after=_NOT_HOW_LONG),
    Rule(
        f"半个?{_ZH_UNIT}",
        lambda g: Duration(_HALF, _ZH_UNITS[g["unit"]]),
        unless_after=f"[前后大小一二两三四五六七八九十\\d]|每个?|个|{_A_LONG_WHILE}",
        unless_before="[之以]?[后内]|[边吊票]",
    ),
    Rule(
        f"(?P<n>{ZH_COUNT}) ?分钟",
        _minutes,
        unless_after="[第每前后近]",
        unless_before="[之以]?[前后内]",
    ),
    _english(f"(?P<n>{EN_NUMBER})(?P<half>[ -]and[ -]a[ -]half)?[ -]{_EN_KIND}{_EN_UNIT}"),
    # Would last six weeks: the word that lasts, not the six weeks before now.
    Rule(
        rf"\b(?:will|would|'ll|'d|to|can|could|might|may|should|must|n't|not|does|did) last"
        rf" (?:for |about |around |at least |some )?(?P<it>(?P<n>{EN_NUMBER})(?P<half> and a half)?"
        f" {_EN_KIND}{_EN_UNIT})",
        _en,
    ),
    _english(r"(?P<n>\d{1,3}(?:\.\d)?)(?P<unit>days?|d|weeks?|wks?|hours?|hrs?|h)\b"),
    # In Chinese 2w is twenty thousand.
    Rule(
        r"(?P<n>\d{1,2})(?P<unit>w)\b",
        _en,
        unless_after=rf"{_EN_NOT}|[^\x00-\x7f] ?|[$€£]|^",
        unless_before=rf"{_EN_NOT_AFTER}| ?[^\x00-\x7f]",
    ),
    _english(
        rf"(?P<n>an|{EN_NUMBER}) ?(?P<unit>hours?|hrs?|h)(?:,? and|,)? ?"
        r"(?P<minutes>\d{1,2}) ?(?:minutes?|mins?|m)?\b",
        _hours_and_minutes,
    ),
    Rule(
        f"(?P<n>{ZH_COUNT}|[俩仨]) ?个?(?:小时|钟头)零?(?P<minutes>{ZH_COUNT}) ?分钟?",
        _hours_and_minutes,
        unless_after=_NOT_HOW_LONG,
        unless_before="[之以]?[前后内]",
    ),
    Rule(
        rf"(?:(?P<n>\d)? ?1/2|(?P<n2>\d)?½)[ -]?(?:an? )?{_EN_UNIT}",
        lambda g: Duration(Decimal(g.get("n", g.get("n2", 0))) + _HALF, _EN_UNITS[g["unit"][0]]),
        unless_after=_EN_NOT,
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(
        f"half (?:an? |of an? )?{_EN_KIND}(?P<unit>day|hour|week)\\b",
        lambda g: Duration(_HALF, _EN_UNITS[g["unit"][0]]),
        unless_after="(?:and an?|first|second|latter|other|every) ",
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(rf"^(?P<it>an? {_EN_KIND}{_EN_UNIT})[.!]?$", _en),
    Rule(rf"(?P<it>an? {_EN_UNIT})'s? {EN.time_off}", _en),
    Rule(r"half-(?P<unit>day|hour|week)\b", lambda g: Duration(_HALF, _EN_UNITS[g["unit"][0]])),
    Rule(f"an? {_EN_KIND}{_EN_UNIT} (?P<half>and a half)\\b", _en),
    Rule(
        "(?:for|take|taking|need|want|off|book|request|requesting|have|having|get|spend|about"
        "|apply for|lasts?|lasted|worth of|all) "
        rf"(?P<it>an? {_EN_KIND}(?P<unit>day|week|hour|fortnight))\b",
        _en,
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(
        f"(?P<it>an? {_EN_KIND}(?P<unit>day|week|fortnight))"
        rf" (?:off|of (?:[a-z]+ )?{EN.time_off})\b",
        _en,
        unless_after="such ",
    ),
    Rule(
        r"(?P<n>\d{1,3}) ?(?:minutes?|mins?)\b",
        _minutes,
        unless_after=_EN_RHYTHM,
        unless_before=_EN_NOT_AFTER,
    ),
)
_WEEK_OF_MANY = frozenset({"一周", "一星期", "一个星期", "一礼拜", "一个礼拜"})


def find_durations(text: str) -> list[Found[Duration]]:
    """Every length of time named; `下一周` is a week of the calendar, and none."""
    return [
        f
        for f in find_all(text, _RULES)
        if text[f.start : f.end] not in _WEEK_OF_MANY
        or text[max(0, f.start - 1) : f.start] not in set("上下这那每本")
    ]


_NOON = 12
_HOURS = 24
_MINUTES = 60
_ZH_FIGURE = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[零一二两三四五六七八九])"
_LATER = frozenset({"下午", "午后", "傍晚", "晚上", "晚", "pm", "p.m."})
_ZH_MINUTES = {"半": 30, "一刻": 15, "三刻": 45}


def _clock(groups: Groups) -> time | None:
    hour, part, said = parse_number(groups["hour"]), groups.get("part", ""), groups.get("minute")
    minute = _ZH_MINUTES.get(said) if said in _ZH_MINUTES else parse_number(said or "0")
    if hour is None or minute is None:
        return None
    if (part in _LATER and hour < _NOON) or (part == "中午" and hour < _NOON - 1):
        hour += _NOON
    elif part in {"am", "a.m."} and hour == _NOON:
        hour = Decimal(0)
    return time(int(hour), int(minute)) if hour < _HOURS and minute < _MINUTES else None


_TIME_RULES = RuleSet(
    Rule(
        "(?:(?P<part>上午|早上|中午|下午|傍晚|晚上|晚"
        r"|凌晨) ?)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?",
        _clock,
        unless_after=r"[:\d]",
        unless_before=" ?[ap]\\.?m\\b",
    ),
    Rule(r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<part>[ap]m\b|[ap]\.m\.)", _clock),
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
    return find_all(text, _TIME_RULES)
