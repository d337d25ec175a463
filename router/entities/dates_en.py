"""How days are written in English: by month, weekday, ordinal, or from today."""

from router.entities.dates_zh import day_of_year
from router.entities.days import (
    DayRule,
    DaysAhead,
    DayShift,
    Month,
    MonthDay,
    Stretch,
    Week,
    Weekday,
)
from router.entities.grammar import Groups, Rule
from router.entities.numbers import EN_NUMBER, parse_number
from router.lexicon import EN

MONTH_NAME = str(EN.month)

WEEKDAYS = EN.weekday.places
WEEKDAY_NAME = rf"{EN.weekday}\b"
# Sat, sun, wed and mon are words or names too, and count only where a day is expected.
_DOUBTFUL = {"mon", "wed", "sat", "sun"}
SURE_WEEKDAY = "(?:" + "|".join(name for name in WEEKDAYS if name not in _DOUBTFUL) + ")"
SHORT_WEEKDAY = "(?:" + "|".join(sorted(_DOUBTFUL)) + ")"

_ORDINALS = {word: n for n, word in enumerate(EN.ordinal, 1)} | {"thirtieth": 30}
_ORDINALS |= {
    f"{tens}{gap}{word}": base + number
    for tens, base, last in (("twenty", 20, 9), ("thirty", 30, 1))
    for number, word in enumerate(EN.ordinal[:last], 1)
    for gap in "- "
}
ORDINAL = "(?:" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + ")"
DAY_FIGURE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
ORDINAL_FIGURE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)"
DAY = rf"(?:{DAY_FIGURE}|{ORDINAL})\b"

# last, this or next week and month, counted from the current one.
WHICH = {"last": -1, "this": 0, "the": 0, "current": 0, "next": 1}


def away(which: str) -> int:
    """How many weeks or months away: `next` is 1, `next next` 2; a word that is none is 0."""
    first, *again = which.split()
    return WHICH.get(first, 0) * (1 + len(again))


def day_number(text: str) -> int:
    """The day of the month of `24`, `24th` or `twenty-fourth`."""
    return _ORDINALS.get(text) or int(text.rstrip("stndrh"))


def month_number(text: str) -> int:
    """The month of `December` or `dec`, January being 1."""
    return EN.month.places[text] + 1


# Friday, December 4th is one day; where the two disagree, none.
_WITH_WEEKDAY = rf"(?:(?P<weekday>{WEEKDAY_NAME})(?:\.?,? (?:the )?| ?\())?"
_THEN_WEEKDAY = rf"(?: ?\((?P<weekday_after>{WEEKDAY_NAME})\.?\))?"
_EXPECTING = "(?:on|from|to|until|till|through|thru|by|and|starting|before|after|since|or)"
_THEN_YEAR = r"(?:(?:, ?| |-)(?P<year>20\d\d))?"

_NEXT, _LAST = "next(?: next){0,3}", "last(?: last){0,3}"
_WORDS = EN.day.values

# What may follow `the 24th` and makes it the 24th of something else.
_THING = rf"(?:,? (?:and|or|to) [a-z0-9-]{{3,9}})?[ -]{EN.numbered}"
_MEASURE = rf" {EN.measured}\b"
# Three may join: May is a verb between a number and another verb, or after a pronoun.
_A_VERB_FOLLOWS = r" (?:be|join|not|have|enter|also|want|need|come|go|take|leave|attend|still)\b"
_WHO_MAY = r"\b(?:i|you|we|they|he|she|it|that|which|who|one|this|employees|staff|managers?) "

# Black Friday, Good Friday, TGI Friday: names, and days of every week.
_NO_ONE_DAY = (
    "(?:this|every|each|first|second|third|fourth|1st|2nd|3rd|4th|black|good|casual|happy|next|last|cyber|giving|ash|maundy|easter|palm|ruby|tgi"
    "|most|any|other|alternate)(?: other| single)? "
)
_A_NAME_FOLLOWS = r" (?:times|roast|addams|night football)\b|\.com|s\b"

# The early, late or remaining part of a week or month is none that two people would agree on.
_A_PART_OF = (
    r"(?:(?:start|beginning|end|middle|half|part|rest|remainder|days?|week|some ?time|weeks) (?:of"
    r"|in) (?:the )?|\b(?:early|late|later|mid|mid-|middle|sometime) ?)"
)


def _in_year(groups: Groups) -> DayRule | None:
    month, day = month_number(groups["month"]), day_number(groups["day"])
    return day_of_year(month, day, groups.get("year"), _said_weekday(groups))


def _said_weekday(groups: Groups) -> int | None:
    name = groups.get("weekday", groups.get("weekday_after"))
    return None if name is None else WEEKDAYS[name]


def _unless_verb(groups: Groups) -> DayRule | None:
    """`May first`, of which `you may first ask` must not become a day."""
    words = groups["month"] == "may" and groups["day"].isalpha() and "the" not in groups
    return None if words else _in_year(groups)


def _in_a_month(groups: Groups) -> DayRule:
    which = groups.get("which")
    months = WHICH[which] if which else None
    return MonthDay(day_number(groups["day"]), months, _said_weekday(groups))


def _weekday(groups: Groups) -> DayRule:
    """A weekday of the week said: `this Monday`, like `这周一`, is that of the calendar week.

    Said on a Wednesday it is past, unless days ahead are meant; `this coming Monday` is surely the
    next one. `last Monday` is the latest, but `Monday last week` is of that week.
    """
    weekday = WEEKDAYS[groups["day"]]
    which = groups.get("week") or groups.get("which")
    if which is None or "coming" in groups:
        return Weekday(weekday)
    if which == "week after next":
        return Weekday(weekday, 2)
    return Weekday(weekday, away(which), nearest="week" not in groups and "of_week" not in groups)


def _counted(groups: Groups) -> DayRule | None:
    number = parse_number(groups["n"].removeprefix("a ") if groups["n"] != "a" else "1")
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    count = -int(number) if groups.get("way", "").startswith(("ago", "earlier")) else int(number)
    unit = groups["unit"]
    if unit.startswith("month"):
        return DayShift(months=count)
    return DayShift(days=count * (14 if unit[0] == "f" else 7 if unit[0] == "w" else 1))


def _stretch(groups: Groups) -> Stretch:
    unit = groups["unit"]
    coming = groups["which"] == "coming" and unit != "weekend"
    distance = 1 if coming else away(groups["which"])
    return Month(distance) if unit == "month" else Week(distance, weekend=unit == "weekend")


def _whole_month(groups: Groups) -> Stretch:
    year = groups.get("year")
    return Month(month=month_number(groups["month"]), year=int(year) if year else None)


def _listed_day(between: str) -> Rule[DayRule]:
    return Rule(
        rf"{MONTH_NAME}\.? {DAY}{between}, ?(?P<it>(?P<day>{DAY}))",
        _in_a_month,
        only_before=rf",? ?(?:and|&|or) {DAY}|, ?{DAY},? ?(?:and|&|or) {DAY}",
    )


def _heading_day(between: str) -> Rule[DayRule]:
    """A day whose month stands after a further one: the 24 of `24 and 25 November`."""
    return Rule(
        rf"(?P<it>(?:the )?(?P<day>{DAY})){between},? ?(?:and|&|or) ?(?:the )?{DAY}"
        rf" (?:of )?(?P<month>{MONTH_NAME})\b",
        _in_year,
        unless_after=r"between (?:the )?",
    )


def _named_month(month: str, unless_after: str) -> Rule[DayRule]:
    return Rule(
        rf"{_WITH_WEEKDAY}(?P<month>{month})(?:\.? ?|-)(?P<the>the )?(?P<day>{DAY})"
        rf"{_THEN_YEAR}{_THEN_WEEKDAY}",
        _unless_verb,
        unless_after=unless_after,
        unless_before=_MEASURE,
    )


DAYS: tuple[Rule[DayRule], ...] = (
    _heading_day(""),
    _heading_day(f", ?{DAY}"),
    Rule(rf"(?P<day>{DAY})-(?P<month>{MONTH_NAME})-(?P<year>\d\d)", _in_year, unless_before="-"),
    _named_month(MONTH_NAME.replace("|may|", "|"), ""),
    _named_month("may", _WHO_MAY),
    Rule(
        rf"(?:on|from|to|until|till|through|by|before|after|since) (?P<it>(?P<month>may)"
        rf" (?P<day>{ORDINAL})\b)",
        _in_year,
    ),
    Rule(
        rf"{_WITH_WEEKDAY}(?P<day>{DAY})[ -]?(?:of )?(?P<month>{MONTH_NAME})\b\.?{_THEN_YEAR}"
        f"{_THEN_WEEKDAY}",
        _in_year,
        unless_before=_A_VERB_FOLLOWS,
    ),
    # Dec 23, 24 and 28: further days of the month.
    Rule(
        rf"{MONTH_NAME}\.? {DAY}(?:, ?{DAY}){{0,3}},? ?(?:and|&|or) (?P<it>(?P<day>{DAY}))",
        _in_a_month,
        unless_before=rf" ?(?:{MONTH_NAME}|[ap]m\b|[:/%])|[a-z-]|{_MEASURE}",
    ),
    _listed_day(""),
    _listed_day(f", ?{DAY}"),
    Rule(
        rf"(?:(?P<weekday>{WEEKDAY_NAME})\.?,? (?:the )?|the )(?P<day>{ORDINAL_FIGURE})\b"
        "(?: (?:of |in )?(?P<which>this|next|last|the|current) month)?",
        _in_a_month,
        unless_before=f"{_THING}| of {MONTH_NAME}\\b",
    ),
    Rule(
        rf"(?:(?P<weekday>{WEEKDAY_NAME})\.?,?|\bon|by|from|to|until|till|through|and|or|,|&) "
        rf"(?P<it>(?P<day>{ORDINAL_FIGURE}))\b",
        _in_a_month,
        unless_before=_THING,
    ),
    Rule(
        rf"(?P<which>this|next|last) month,? (?:on )?the (?P<day>{ORDINAL_FIGURE}|{ORDINAL})\b",
        _in_a_month,
        unless_before=_THING,
    ),
    Rule(rf"the (?P<day>{ORDINAL}) (?:of )?(?P<which>this|next|last) month\b", _in_a_month),
    # A bare `the fifth` is a day only in a sentence that leaves nothing else for it to count.
    Rule(
        rf"(?:on|by|from|to|until|till|through|before|after|since|starting) "
        rf"(?P<it>the (?P<day>{ORDINAL}))\b",
        _in_a_month,
        only_before=r"$|[.,;!?)]| (?:to|until|through|till|and|or|please|at|if|because|so|but|as"
        r"|when|instead|i|we|he|she)\b",
        unless_before=_THING,
    ),
    Rule(
        rf"(?:(?:the |this )?coming |the following |the )?(?P<day>{SURE_WEEKDAY})\b"
        rf"(?:,? (?:of )?(?:the )?(?P<week>{_NEXT}|this|last|week after next)(?: week)?\b)?",
        _weekday,
        unless_after=_NO_ONE_DAY,
        unless_before=_A_NAME_FOLLOWS,
    ),
    Rule(rf"(?:{_EXPECTING} |- ?)(?P<it>(?P<day>{SHORT_WEEKDAY}))\b\.?", _weekday),
    Rule(
        rf"(?P<it>(?P<day>{SHORT_WEEKDAY}))\b\.?"
        rf"(?: ?(?:-|to|through|thru|until|till|&|and|or) ?(?:next )?{WEEKDAY_NAME}"
        r"| (?:morning|afternoon|am|pm)\b|[,. ]*$)",
        _weekday,
        unless_after="[a-z] ",
    ),
    Rule(
        rf"(?:the )?(?P<which>{_NEXT}|last|this) (?P<coming>coming )?(?P<day>{WEEKDAY_NAME})",
        _weekday,
        unless_after=r"\blast ",
        unless_before=_A_NAME_FOLLOWS,
    ),
    Rule(rf"(?P<day>{SHORT_WEEKDAY})\.?,? (?:of )?(?P<week>next|this|last) week\b", _weekday),
    Rule(
        rf"(?P<which>{_NEXT}|{_LAST}|this) (?P<of_week>week)(?:'s| on|,)? (?P<day>{WEEKDAY_NAME})",
        _weekday,
    ),
    Rule(
        rf"(?:the )?(?P<day>{WEEKDAY_NAME}) after next\b", lambda g: Weekday(WEEKDAYS[g["day"]], 2)
    ),
    Rule(
        r"(?:the )?(?P<word>" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")\b",
        lambda g: DayShift(days=int(_WORDS[g["word"]])),
        unless_before="'s (?:world|generation)",
    ),
    Rule(r"(?P<it>this) (?:morning|afternoon)\b", lambda _: DayShift()),
    Rule(r"this evening\b", lambda _: DayShift()),
    Rule(r"last night\b", lambda _: DayShift(days=-1), unless_before="'s"),
    Rule(
        rf"in (?P<n>an?|{EN_NUMBER}) (?P<unit>days?|weeks?|fortnight|months?)"
        rf"(?:'? time|'s time)?\b",
        _counted,
        unless_before=" (?:a row|advance|total|of|or)",
    ),
    Rule(rf"(?P<n>an?|{EN_NUMBER}) (?P<unit>weeks?|fortnight) today\b", _counted),
    Rule(
        rf"(?P<n>an?|{EN_NUMBER}) (?P<unit>days?|weeks?|fortnight|months?) "
        r"(?P<way>ago(?: today)?|earlier|from (?:now|today)|later)\b",
        _counted,
    ),
)

STRETCHES: tuple[Rule[Stretch], ...] = (
    Rule(
        rf"(?:the )?(?P<which>this|{_NEXT}|{_LAST}|coming) (?P<unit>week|weekend|month)\b",
        _stretch,
        unless_after=_A_PART_OF,
        unless_before=rf"(?:'s)?(?: on)? {WEEKDAY_NAME}| day|-end| end\b",
    ),
    Rule(
        r"(?P<it>tomorrow(?: and| &|,) the (?:day after|following day|next day))\b",
        lambda _: DaysAhead(1, 2),
        unless_before=" tomorrow",
    ),
    Rule(r"the week after next\b", lambda _: Week(2), unless_after=_A_PART_OF),
    Rule(
        rf"(?:all of|all|the whole of|the entire|entire|throughout|the whole month of"
        rf"|the (?:entire )?month of) (?P<month>{MONTH_NAME})\b\.?(?:,? (?P<year>20\d\d))?",
        _whole_month,
        unless_before=r" (?:\d|the \d)",
    ),
)
