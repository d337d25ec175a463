"""How days are written in English, and as figures with a slash."""

from router.understanding.dates_zh import day_of_year
from router.understanding.days import (
    Day,
    Month,
    MonthDay,
    Shift,
    Stretch,
    Week,
    Weekday,
)
from router.understanding.grammar import Groups, Rule
from router.understanding.numbers import EN_NUMBER, parse_number

_MONTHS = (
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug"
    "|september sept sep|october oct|november nov|december dec"
)
_MONTH_NUMBERS = {
    name: number for number, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()
}
_MONTH = "(?:" + "|".join(_MONTH_NUMBERS) + r")\b\.?"

_WEEKDAY_NAMES = (
    "monday mon|tuesday tues tue|wednesday wed|thursday thurs thur thu|friday fri"
    "|saturday sat|sunday sun"
)
_WEEKDAYS = {
    name: number for number, names in enumerate(_WEEKDAY_NAMES.split("|")) for name in names.split()
}
WEEKDAY_NAME = "(?:" + "|".join(_WEEKDAYS) + r")\b"
_DOUBTFUL = {"mon", "wed", "sat", "sun"}
# Friday, December 4th is one day, and the figure counts.
_WITH_WEEKDAY = rf"(?:{WEEKDAY_NAME}\.?,? (?:the )?)?"
# Sat, sun, wed and mon are words or names too, and count only where a day is expected.
_SURE_WEEKDAY = "(?:" + "|".join(n for n in _WEEKDAYS if n not in _DOUBTFUL) + ")"
_SHORT_WEEKDAY = "(?:" + "|".join(sorted(_DOUBTFUL)) + ")"
_EXPECTING = "(?:on|from|to|until|till|through|thru|by|and|starting|before|after|since|or)"

_ORDINALS = {
    word: number
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
            "twenty-first",
            "twenty-second",
            "twenty-third",
            "twenty-fourth",
            "twenty-fifth",
            "twenty-sixth",
            "twenty-seventh",
            "twenty-eighth",
            "twenty-ninth",
            "thirtieth",
            "thirty-first",
        ],
        1,
    )
}
_ORDINAL = "(?:" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + ")"
DAY_FIGURE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_DAY = rf"(?:{DAY_FIGURE}|{_ORDINAL})\b"

_THEN_YEAR = r"(?:(?:, ?| )(?P<year>20\d\d))?"

_WEEKS = {"last": -1, "this": 0, "next": 1}
_WORDS = {
    "day after tomorrow": 2,
    "day before yesterday": -2,
    "tomorrow": 1,
    "tmrw": 1,
    "tmr": 1,
    "today": 0,
    "yesterday": -1,
}

# What may follow `the 24th` without making it the 24th of something else.
_THING = (
    "[ -](?:floor|time|item|one|option|street|avenue|century|place|grade|year|quarter|party"
    "|person|generation|edition|version|draft|birthday|anniversary|attempt|meeting|row|line|page"
    "|week|half|day|month|hour)"
)
_MEASURE = (
    r" (?:miles|km|kilometers|people|times|days|weeks|hours|minutes|yuan|dollars|percent|more|or)\b"
)
# `1/2` is a fraction more often than a day.
_FRACTIONS = {(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (24, 7)}


def day_number(text: str) -> int:
    """The day of the month of `24`, `24th` or `first`."""
    return _ORDINALS.get(text) or int(text.rstrip("stndrh"))


def _month_number(text: str) -> int:
    return _MONTH_NUMBERS[text.rstrip(".")]


def _in_year(groups: Groups) -> Day | None:
    month, day = _month_number(groups["month"]), day_number(groups["day"])
    return day_of_year(month, day, groups.get("year"))


def _slashed(groups: Groups) -> Day | None:
    """Month and day; the other way round where only that can be."""
    month, day, year = int(groups["a"]), int(groups["b"]), groups.get("year")
    if (month, day) in _FRACTIONS and year is None:
        return None
    return day_of_year(month, day, year) or day_of_year(day, month, year)


def _in_a_month(groups: Groups) -> Day:
    day = day_number(groups["day"])
    return MonthDay(day, _WEEKS[groups["which"]]) if "which" in groups else MonthDay(day)


def _weekday(groups: Groups) -> Day:
    weekday = _WEEKDAYS[groups["day"]]
    which = groups.get("week") or groups.get("which")
    # "This Monday", said on a Wednesday, is the coming one; "next" and "last" count weeks.
    return Weekday(weekday) if which in {None, "this"} else Weekday(weekday, _WEEKS[str(which)])


def _after_next(groups: Groups) -> Day:
    return Weekday(_WEEKDAYS[groups["day"]], 2)


def _counted(groups: Groups) -> Day | None:
    number = parse_number(groups["n"].removeprefix("a ") if groups["n"] != "a" else "1")
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    count = -int(number) if groups.get("way") in {"ago", "earlier"} else int(number)
    if groups["unit"].startswith("month"):
        return Shift(months=count)
    return Shift(days=7 * count if groups["unit"].startswith("week") else count)


def _stretch(groups: Groups) -> Stretch:
    distance = _WEEKS.get(groups["which"], 0 if groups["unit"] == "weekend" else 1)
    if groups["unit"] == "month":
        return Month(distance)
    return Week(distance, weekend=groups["unit"] == "weekend")


DAYS: tuple[Rule[Day], ...] = (
    Rule(
        f"{_WITH_WEEKDAY}(?P<month>{_MONTH}) (?:the )?(?P<day>{_DAY}){_THEN_YEAR}",
        _in_year,
        unless_before=_MEASURE,
    ),
    Rule(
        rf"{_WITH_WEEKDAY}(?P<day>{_DAY}) (?:of )?(?P<month>{_MONTH}){_THEN_YEAR}",
        _in_year,
    ),
    Rule(
        rf"(?P<it>{_WITH_WEEKDAY}(?:the )(?P<day>{DAY_FIGURE})\b(?: of (?P<which>this|next"
        "|last) month)?)",
        lambda g: _in_a_month(g) if g["day"][-1].isalpha() else None,
        unless_before=_THING,
    ),
    Rule(
        rf"(?:on|by|from|to|until|till|through) (?P<it>(?P<day>{DAY_FIGURE}))\b",
        lambda g: _in_a_month(g) if g["day"][-1].isalpha() else None,
        unless_before=_THING,
    ),
    Rule(
        rf"(?:the |this )?(?:coming )?(?P<day>{_SURE_WEEKDAY})\b(?: (?P<week>next|this"
        "|last) week)?",
        _weekday,
        unless_after=r"(?:every|each|black|good|casual|happy|next|last)(?: other)? ",
    ),
    Rule(rf"(?:{_EXPECTING} |- ?)(?P<it>(?P<day>{_SHORT_WEEKDAY}))\b\.?", _weekday),
    Rule(
        rf"(?P<it>(?P<day>{_SHORT_WEEKDAY}))\b\.?"
        rf"(?: ?(?:-|to|through|thru|until|till) ?(?:next )?{WEEKDAY_NAME}"
        r"| (?:morning|afternoon)\b|[,. ]*$)",
        _weekday,
        unless_after="[a-z] ",
    ),
    Rule(rf"(?:the )?(?P<which>next|last|this) (?:coming )?(?P<day>{WEEKDAY_NAME})", _weekday),
    Rule(rf"(?P<which>next|last|this) week(?:'s| on)? (?P<day>{WEEKDAY_NAME})", _weekday),
    Rule(rf"(?P<day>{WEEKDAY_NAME}) after next", _after_next),
    Rule(
        "(?:the )?(?P<word>" + "|".join(_WORDS) + r")\b",
        lambda g: Shift(days=_WORDS[g["word"]]),
        unless_before="'s (?:world|generation)",
    ),
    Rule(r"(?P<it>this) (?:morning|afternoon)\b", lambda _: Shift()),
    Rule(
        rf"in (?P<n>a|{EN_NUMBER}) (?P<unit>days?|weeks?|months?)(?:' time|'s time)?\b",
        _counted,
        unless_before=" (?:a row|advance|total)",
    ),
    Rule(
        rf"(?P<n>a|{EN_NUMBER}) (?P<unit>days?|weeks?|months?) "
        r"(?P<way>ago|earlier|from now|from today|later)\b",
        _counted,
    ),
    Rule(
        r"(?P<a>\d{1,2})/(?P<b>\d{1,2})(?:/(?P<year>20\d\d|\d\d))?",
        _slashed,
        unless_after=r"[/.]|(?:^|[^/\d])\d+-",
        unless_before=r"[/.]\d|-\d+(?:[^\d/]|$)|[天个%]",
    ),
)

STRETCHES: tuple[Rule[Stretch], ...] = (
    Rule(
        r"(?:the )?(?P<which>this|next|last|coming) (?P<unit>week|weekend|month)\b",
        _stretch,
        unless_before=rf"(?:'s)?(?: on)? {WEEKDAY_NAME}| day",
    ),
    Rule(r"the week after next\b", lambda _: Week(2)),
)
