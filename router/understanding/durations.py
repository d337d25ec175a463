"""How long something takes: `三天半`, `两周`, `for three days`, `half a day`."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from router.understanding.grammar import Found, Groups, Rule, longest
from router.understanding.numbers import EN_NUMBER, ZH_COUNT, parse_number

Unit = Literal["days", "hours", "weeks"]

_HALF = Decimal("0.5")
_ZH_UNITS: dict[str, Unit] = {
    "天": "days",
    "工作日": "days",
    "周": "weeks",
    "星期": "weeks",
    "礼拜": "weeks",
    "小时": "hours",
    "钟头": "hours",
}
_ZH_UNIT = "(?P<unit>" + "|".join(_ZH_UNITS) + ")"
_EN_UNITS: dict[str, Unit] = {"d": "days", "w": "weeks", "h": "hours", "f": "weeks"}

# 第三天 is a day, 这两天 is vague, 每两周 is a rhythm, 三天前 is a date.
_NOT_HOW_LONG = (
    r"[第每前后近这那哪某同另头隔过]|有一|(?:^|[^周期拜])[一二两三四五六七八九]|\d ?[-~到至] ?|v"
)
_NOT_AFTER = (
    "[之以]?[前后内](?:[^半]|$)|两头|到晚|打鱼|打渔|[一二两三四五六\\d]次|[岁刊报边围]"
    "|年(?:[^假休]|$)|天|工作制|制"
    "|比一天|营业|服务|客服|便利|连锁|酒店|无理由"
)
_EN_NOT_AFTER = (
    r" i(?:'ll| will)\b|"
    r" (?:ago|from now|from today|later|earlier|before|after|notice|old|in advance|trial)\b"
)
_EN_RHYTHM = r"\b(?:in|within|every|each|last|past|next|first|final|these|those|per|other|some|a) "


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
    number = parse_number(groups["n"])
    if not number:
        return None
    unit = _EN_UNITS[groups["unit"][0]]
    scale = 2 if groups["unit"].startswith("f") else 1
    return Duration(scale * number + (_HALF if "half" in groups else 0), unit)


def _en_one(groups: Groups) -> Duration:
    scale = 2 if groups["unit"].startswith("f") else 1
    return Duration(
        Decimal(scale) + (_HALF if "half" in groups else 0), _EN_UNITS[groups["unit"][0]]
    )


def _minutes(groups: Groups) -> Duration | None:
    """Minutes in hours, where the quarter of an hour allows it without a rounding."""
    number = parse_number(groups["n"])
    if not number or number % 15:
        return None
    return Duration(number / 60, "hours")


_EN_UNIT = r"(?P<unit>days?|weeks?|wks?|hours?|hrs?|fortnights?)\b"
_EN_KIND = "(?:(?:full|whole|working|business|calendar|consecutive|work|more|extra) )?"

_RULES: tuple[Rule[Duration], ...] = (
    Rule(
        f"(?P<n>{ZH_COUNT}) ?(?:个(?P<plus>半)?)?整?{_ZH_UNIT}(?P<tail>半)?",
        _zh,
        unless_after=_NOT_HOW_LONG,
        unless_before=_NOT_AFTER,
    ),
    Rule(f"(?P<n>{ZH_COUNT}) ?个半天", _half_days, unless_after=_NOT_HOW_LONG),
    Rule(
        f"半个?{_ZH_UNIT}",
        lambda g: Duration(_HALF, _ZH_UNITS[g["unit"]]),
        unless_after="[前后大老小一二两三四五六七八九十\\d]|每个?|个",
        unless_before="[之以]?[后内]|[边吊票]",
    ),
    Rule(
        f"(?P<n>{ZH_COUNT}) ?分钟",
        _minutes,
        unless_after="[第每前后近]",
        unless_before="[之以]?[前后内]",
    ),
    Rule(
        f"(?P<n>{EN_NUMBER})(?P<half> and a half)?[ -]{_EN_KIND}{_EN_UNIT}",
        _en,
        unless_after=_EN_RHYTHM,
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(
        r"(?P<n>\d{1,3}(?:\.\d)?)(?P<unit>d|h|w|hrs?|days?|weeks?|hours?|wks?)",
        _en,
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(
        f"half (?:an? |of an? )?{_EN_KIND}(?P<unit>day|hour|week)\\b",
        lambda g: Duration(_HALF, _EN_UNITS[g["unit"][0]]),
        unless_after="(?:and an?|first|second|latter|other|every) ",
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(rf"^(?P<it>an? {_EN_KIND}{_EN_UNIT})[.!]?$", _en_one),
    Rule(rf"(?P<it>an? {_EN_UNIT})'s? (?:leave|vacation|holiday)", _en_one),
    Rule("half-day\\b", lambda _: Duration(_HALF, "days")),
    Rule(f"an? {_EN_KIND}{_EN_UNIT} (?P<half>and a half)\\b", _en_one),
    Rule(
        "(?:for|take|taking|need|want|off|book|request|requesting|have|having|get|spend|about"
        "|apply for|lasts?) "
        rf"(?P<it>an? {_EN_KIND}(?P<unit>day|week|hour|fortnight))\b",
        _en_one,
        unless_before=_EN_NOT_AFTER,
    ),
    Rule(
        f"(?P<it>an? {_EN_KIND}(?P<unit>day|week|fortnight)) (?:off|of (?:[a-z]+ )?(?:leave"
        r"|vacation|pto|holiday))\b",
        _en_one,
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
    found = longest(found for rule in _RULES for found in rule.find(text))
    return [f for f in found if not _is_calendar_week(text, f)]


def _is_calendar_week(text: str, found: Found[Duration]) -> bool:
    before = text[max(0, found.start - 1) : found.start]
    return text[found.start : found.end] in _WEEK_OF_MANY and before in set("上下这那每本")
