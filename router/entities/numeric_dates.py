"""Dates in figures alone: `2026-12-24`, `12/24`, and `12.24` where only a date can be meant.

`10.28` is a number, a version or a price far more often than a day. It is a day where a sentence
in Chinese says so: after `挪到` or `从`, before `请年假` or `那天`. `9/10` is a mark as often as
a day: it takes a word like `by` before it. Two that are joined, `10.9-10.13`, show each other to
be days.
"""

from collections.abc import Callable

from router.entities.dates_zh import WITH_WEEKDAY, day_of_year, said_weekday
from router.entities.days import Day, FromTo, Stretch
from router.entities.grammar import Groups, Rule
from router.lexicon import BOTH, ZH

# With a smaller number above, these below are of marks and fractions: 1/2, 9/10.
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 7, 8, 10})
_ALWAYS_OPEN = (24, 7)

_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_YEAR_FIRST = r"(?P<year>20\d\d){0}(?P<month>\d{{1,2}}){0}(?P<day>\d{{1,2}})"

_UNIT = str(BOTH.unit_of_decimal)
_BETWEEN_FIGURES = " ?(?:-|~|–|—+|至|到|―) ?"
_ZH_MOVING = (
    "(?:请|休|定|约|排|订|放|住|改|挪|推迟?|延期?|延后|延迟|提前|调|调整|换|安排|截止|截至|顺延|拖|改期|改签|移)"
    "(?:到|在|至|于|为|成)|截[至止]"
)
_ZH_EXPECTING = f"{_ZH_MOVING}|从|自|截至|截止|日期[是为:]?|时间[是为:]?|我想|我要|我|想|就"
_ZH_DOING = f" ?{ZH.after_date}"
# What stands before a number that is no day: a price, a mark, a version.
_ZH_MEASURED = (
    r"\d ?[-~]|[/.a-z+¥$€£]|[a-z¥$€£] |版本|[级新]到|价|分|约|共|了|[是为] ?|率|[^\x00-\x7f] "
)
# Python 3.10-3.12, 评分4.5-4.8: what stands before says that figures aren't days.
_NO_DAY_FOLLOWS = "[/.a-z-]|[a-z] |版本?|价|分|率|比例|区间|[码值数] ?"
_EN_EXPECTING = (
    r"(?:^|[^a-z])(?:on|from|until|till|by|before|after|due|dated|starting|since|through|thru|date:?)"
    r" (?:\w{3,9},? )?"
)
_A_MARK = (
    r"\b(?:page|step|part|scored?|rated?|rating|slide|phase|chapter|level|an?|about|ratio|nearly"
    r"|room|unit|apt|gate|flat|suite|bay|no) "
)


def _dated(groups: Groups) -> Day | None:
    month, day = int(groups["month"]), int(groups["day"])
    return day_of_year(month, day, groups.get("year"), said_weekday(groups))


def _slashed(groups: Groups) -> Day | None:
    """Month and day; the other way round where only that can be."""
    month, day, year = int(groups["a"]), int(groups["b"]), groups.get("year")
    weekday = said_weekday(groups)
    return day_of_year(month, day, year, weekday) or day_of_year(day, month, year, weekday)


def _surely_slashed(groups: Groups) -> Day | None:
    above, below = int(groups["a"]), int(groups["b"])
    a_mark = (above <= below and below in _DENOMINATORS) or (above, below) == _ALWAYS_OPEN
    return None if a_mark and "year" not in groups else _slashed(groups)


def _both(groups: Groups) -> Stretch | None:
    """The two ends of `10.9-10.13`; the second may leave out its month before 号."""
    month = int(groups["month"])
    first = day_of_year(month, int(groups["day"]), groups.get("year"))
    until = groups.get("until_month")
    last = day_of_year(
        int(until) if until else month, int(groups["until"]), groups.get("until_year")
    )
    return FromTo(first, last) if first and last else None


def _both_surely(groups: Groups) -> Stretch | None:
    """The same without a word of Chinese around: a day of two figures is no decimal."""
    long_enough = 2
    surely = "year" in groups or max(len(groups["day"]), len(groups["until"])) == long_enough
    return _both(groups) if surely else None


def _year_first(separator: str) -> Rule[Day]:
    return Rule(
        _YEAR_FIRST.format(separator) + WITH_WEEKDAY,
        _dated,
        unless_after="[/.]|[a-z_]-",
        unless_before=r"[/.]\d|-\d{3}(?:\D|$)|-\d{5}",
    )


def _joined(
    separator: str,
    build: Callable[[Groups], Stretch | None],
    unless_after: str,
    before: str = "",
    after: str = "",
) -> Rule[Stretch]:
    """Two ends with the same separator, each with its month."""
    year = rf"(?:(?P<{{}}>20\d\d){separator})?"
    return Rule(
        rf"{year.format('year')}(?P<month>{_MONTH}){separator}(?P<day>{_DAY}){_BETWEEN_FIGURES}"
        rf"{year.format('until_year')}(?P<until_month>{_MONTH}){separator}(?P<until>{_DAY})[日号]?",
        build,
        unless_after=unless_after,
        unless_before=f" ?(?:{_UNIT})",
        only_before=before,
        only_after=after,
    )


DAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"{_YEAR_FIRST.format('-')}(?:t\d\d:\d\d(?::\d\d)?)?{WITH_WEEKDAY}",
        _dated,
        unless_after="[/.]|[a-z_]-|[0-9]-[0-9]-",
        unless_before=r"[/.]\d|-\d{1,3}(?:[^\d./]|$)|-\d{5}",
    ),
    *(_year_first(separator) for separator in ("/", r"\.")),
    Rule(
        r"(?P<month>\d{1,2})[/.](?P<day>\d{1,2}) ?[日号]",
        _dated,
        unless_after=r"[/.]|\d-",
    ),
    # 24.12.2026: nobody who ends with the year puts the month before the day.
    Rule(
        rf"(?P<day>{_DAY})\.(?P<month>{_MONTH})\.(?P<year>20\d\d)",
        _dated,
        unless_after="[-/.a-z]",
        unless_before=r"[-/.]\d",
    ),
    Rule(
        rf"(?P<month>{_MONTH})\.(?P<day>{_DAY})",
        _dated,
        unless_before=f" ?(?:{_UNIT})",
        only_before=_ZH_DOING,
        unless_after=_ZH_MEASURED,
    ),
    Rule(
        rf"(?P<month>{_MONTH})\.(?P<day>{_DAY})",
        _dated,
        unless_before=f" ?(?:{_UNIT})",
        only_after=_ZH_MOVING,
    ),
    Rule(
        r"(?P<a>\d{1,2})/(?P<b>\d{1,2})(?:/(?P<year>20\d\d|\d\d))?" + WITH_WEEKDAY,
        _surely_slashed,
        unless_after=rf"[/.]|(?:^|[^/\d])\d+-|{_A_MARK}",
        unless_before=r"[/.]\d|-\d+(?:[^\d/]|$)|[天个%]| of\b",
    ),
    Rule(
        r"(?P<a>\d{1,2})/(?P<b>\d{1,2})",
        _slashed,
        unless_after=r"[/.-]",
        unless_before=r"[/.-]\d|[天个%的杯]| (?:of|cup|full|done|complete)\b",
        only_after=f"{_EN_EXPECTING}|{_ZH_EXPECTING}",
        only_before=_ZH_DOING,
    ),
    Rule(r"^(?P<a>\d|1[0-2])/(?P<b>\d{1,2})$", _slashed),
)

STRETCHES: tuple[Rule[Stretch], ...] = (
    _joined(r"\.", _both, _NO_DAY_FOLLOWS, before=r" ?[^\x00-\x7f]", after="[请休从假][,: ]*"),
    _joined(r"\.", _both_surely, _NO_DAY_FOLLOWS),
    _joined("/", _both, "[/.a-z-]"),
    Rule(
        rf"(?P<year>20\d\d)-(?P<month>{_MONTH})-(?P<day>{_DAY}) ?(?:~|至|到|to) ?"
        rf"(?P<until_month>{_MONTH})-(?P<until>{_DAY})",
        _both,
        unless_after="[-/.a-z]",
        unless_before="[-/.]",
    ),
    Rule(
        rf"(?P<month>{_MONTH})[./](?P<day>{_DAY}){_BETWEEN_FIGURES}(?P<until>{_DAY}) ?[日号]",
        _both,
        unless_after="[-/.]",
    ),
    Rule(
        rf"(?P<month>{_MONTH})/(?P<day>{_DAY})-(?P<until>{_DAY})",
        _both_surely,
        unless_after=rf"[-/.]|{_A_MARK}",
        unless_before=r"[-/.]\d| ?[天个%]",
    ),
)
