"""Days and ranges of days in a sentence: `下周一到周三`, `Dec 24-26`, `2026-12-24`, `明天下午`.

`10.28` is a number or a price far more often than a day: it is one where a sentence in Chinese says
so, after `挪到`, before `请年假`. `9/10` is a mark as often as a day: it takes a word like `by`
before it. Two that are joined, `10.9-10.13`, show each other to be days.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from router.entities import dates_en, dates_zh, named_days
from router.entities.dates_zh import WITH_WEEKDAY, day_of_year, said_weekday
from router.entities.days import (
    Calendar,
    DayRule,
    DayShift,
    FixedDay,
    FromTo,
    Half,
    Later,
    MonthDay,
    Stretch,
    Weekday,
    YearDay,
    monday,
    runs_backwards,
)
from router.entities.grammar import (
    Found,
    Groups,
    Rule,
    RuleSet,
    compiled,
    cuts_a_word,
    find_all,
    group_span,
)
from router.entities.numbers import EN_NUMBER, parse_number
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


def _dated(groups: Groups) -> DayRule | None:
    month, day = int(groups["month"]), int(groups["day"])
    return day_of_year(month, day, groups.get("year"), said_weekday(groups))


def _slashed(groups: Groups) -> DayRule | None:
    """Month and day; the other way round where only that can be."""
    month, day, year = int(groups["a"]), int(groups["b"]), groups.get("year")
    weekday = said_weekday(groups)
    return day_of_year(month, day, year, weekday) or day_of_year(day, month, year, weekday)


def _surely_slashed(groups: Groups) -> DayRule | None:
    above, below = int(groups["a"]), int(groups["b"])
    a_mark = (above <= below and below in _DENOMINATORS) or (above, below) == _ALWAYS_OPEN
    return None if a_mark and "year" not in groups else _slashed(groups)


def _both(groups: Groups) -> Stretch | None:
    """The two ends of `10.9-10.13`; the second may leave out its month before 号."""
    month = int(groups["month"])
    first = day_of_year(month, int(groups["day"]), groups.get("year"))
    until = int(groups.get("until_month") or month)
    last = day_of_year(until, int(groups["until"]), groups.get("until_year"))
    return FromTo(first, last) if first and last else None


def _both_surely(groups: Groups) -> Stretch | None:
    """The same without a word of Chinese around: a day of two figures is no decimal."""
    long_enough = 2
    surely = "year" in groups or max(len(groups["day"]), len(groups["until"])) == long_enough
    return _both(groups) if surely else None


def _joined(
    separator: str,
    build: Callable[[Groups], Stretch | None],
    unless_after: str,
    before: str = "",
    after: str = "",
) -> Rule[Stretch]:
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


DAYS: tuple[Rule[DayRule], ...] = (
    Rule(
        rf"{_YEAR_FIRST.format('-')}(?:t\d\d:\d\d(?::\d\d)?)?{WITH_WEEKDAY}",
        _dated,
        unless_after="[/.]|[a-z_]-|[0-9]-[0-9]-",
        unless_before=r"[/.]\d|-\d{1,3}(?:[^\d./]|$)|-\d{5}",
    ),
    *(
        Rule[DayRule](
            _YEAR_FIRST.format(separator) + WITH_WEEKDAY,
            _dated,
            unless_after="[/.]|[a-z_]-",
            unless_before=r"[/.]\d|-\d{3}(?:\D|$)|-\d{5}",
        )
        for separator in ("/", r"\.")
    ),
    Rule(r"(?P<month>\d{1,2})[/.](?P<day>\d{1,2}) ?[日号]", _dated, unless_after=r"[/.]|\d-"),
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


@dataclass(frozen=True)
class DayMention:
    """A day as it stands in the text, with the half of it that is meant."""

    start: int
    end: int
    day: DayRule
    half: Half | None = None
    noon: int = 0
    """Where a noon after it ends, which is half a day only as an end of a range; else 0."""

    @property
    def end_of_range(self) -> int:
        """Where it ends as an end of a range."""
        return self.noon or self.end


HALF_NAME = rf"(?:(?P<am>{BOTH.morning})|(?P<pm>{BOTH.afternoon}))(?:[^a-z]|$)"
"""A half of a day, as the group `am` or `pm`."""
_HALF = compiled(rf"^ ?的?(?:in the )?{HALF_NAME}")
_HALF_BEFORE = compiled(
    r"(?:the )?(?:(?P<am>morning|first half)|(?P<pm>afternoon|second half)) (?:of|on) (?:the )?$"
)
_NOON = compiled(r"^ ?的?(?:中午|正午|(?:at )?(?:12 )?noon\b)")
_CLOCK = compiled(r"^ ?(?:\d{1,2} ?(?:[:点时]|am|pm)|[一二两三四五六七八九十]{1,2}点)")
# A week from Monday, the day before Christmas; but `three days from Monday` is how long, and when.
_FROM_DAY = compiled(
    rf"(?:^|[^a-z])(?P<n>an?|the|{EN_NUMBER}) (?:(?P<unit>week|fortnight)s? (?:from|after|on"
    r"|(?P<before>before))|days? (?:after|(?P<before_day>before))) $"
)
_HOW_LONG = compiled(
    r"\b(?:take|taking|took|need|want|for|book|request|have|having|get|of|like|leave|off) $"
)
_AND_A_WEEK = compiled(r"^ week\b(?:[^'-]|$)")
# How far what belongs to a day may stand from it.
LOOK = 12


def mentioned(text: str, start: int, end: int, day: DayRule) -> DayMention:
    """The day with `上午` after it, or `the morning of` before it."""
    after = _HALF.search(text[end : end + LOOK])
    if after:
        until = end + half_end(after)
        if not _CLOCK.search(text[until : until + LOOK]):
            return DayMention(start, until, day, half_of(after))
    noon = _NOON.search(text[end : end + LOOK])
    if noon and not _CLOCK.search(text[end + noon.end() : end + noon.end() + LOOK]):
        return DayMention(start, end, day, noon=end + noon.end())
    before = _HALF_BEFORE.search(text[max(0, start - 2 * LOOK) : start])
    if before:
        return DayMention(start - len(before.group()), end, day, half_of(before))
    return DayMention(start, end, day)


def counted_from(text: str, mention: DayMention) -> DayMention:
    """`a week from Monday`, `two days before Christmas`, `Monday week`."""
    before = text[: mention.start][-2 * LOOK :]
    counted = _FROM_DAY.search(before)
    if counted and not isinstance(mention.day, Later):
        begins, _ = group_span(counted, "n")
        days = _days_away(counted.groupdict())
        if days and not _HOW_LONG.search(before[:begins]):
            start = mention.start - len(before) + begins
            return replace(mention, start=start, day=Later(mention.day, days))
    week = _AND_A_WEEK.search(text[mention.end : mention.end + LOOK])
    if week and isinstance(mention.day, Weekday | DayShift):
        return replace(mention, end=mention.end + len(" week"), day=Later(mention.day, 7))
    return mention


def _days_away(groups: dict[str, str | None]) -> int | None:
    """How many days `two weeks from` or `the day before` are; None for what is no plan."""
    said = str(groups["n"])
    number = parse_number("1" if said in {"a", "an", "the"} else said)
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    unit = {"week": 7, "fortnight": 14}.get(str(groups["unit"]), 1)
    return int(number) * unit * (-1 if groups["before"] or groups["before_day"] else 1)


def half_of(match: Any) -> Half:
    """Which half a match of `HALF_NAME` is."""
    return "am" if match.group("am") else "pm"


def half_end(match: Any) -> int:
    """Where its name ends."""
    return group_span(match, half_of(match))[1]


@dataclass(frozen=True)
class Days:
    """One day or several, both ends included; a half says which part of an end is meant."""

    first: date
    last: date
    first_half: Half | None = None
    last_half: Half | None = None
    single: bool = False
    """True where one whole day was named, not a range that happens to be one day long."""


_A_CLOCK = (
    r"(?: ?(?:上午|下午|早上|晚上?|中午)?(?:\d{1,2}:\d\d|[\d一二两三四五六七八九十]{1,3}点半?))?"
)
_AN_HOUR = r"(?:,? (?:at )?(?:\d{1,2}:\d\d ?(?:am|pm)?|\d{1,2} ?(?:am|pm)|noon))?"
_JOINER = (
    rf"^(?:{_A_CLOCK} ?(?:开始|起)?,? ?(?:一直|直|连)?"
    rf"{ZH.goes_on}?(?:到|至|~|--?|–|—+|―|-?>|→)"
    rf"|{_AN_HOUR},? (?:up )?(?:to|until|till|til|through to|through|thru)|to) ?"
)
# An ellipsis is one full stop in the one spelling.
_JOINED = compiled(rf"{_JOINER}$|^\.$")
# 下周三和周五: what follows in a list is in the week and the month of what stands before.
_LISTED = compiled("^ ?(?:和|跟|与|及|以及|还有|、|,|,? ?and|&) ?(?:on |the )?$")
_BETWEEN = compiled("(?:between (?:the )?|介于|在)$")
_AND = compiled("^(?: and (?:the )?|和|与)$")
_A_DAY = f"(?P<day>{dates_en.DAY_FIGURE}|{dates_en.ORDINAL}|{dates_zh.DAY_OF_MONTH})"
_THEN = rf"(?:the )?{_A_DAY}(?: ?[日号]|(?:, ?| )(?P<year>20\d\d)\b)?"
_TAIL = compiled(f"{_JOINER}{_THEN}")
_AND_TAIL = compiled(f"^ and {_THEN}")
_WEEKDAY_TAIL = compiled(rf"^ ?[到至-] ?(?P<day>{dates_zh.WEEKDAY_FIGURE})")
_HALF_TAIL = compiled(rf"{_JOINER}{HALF_NAME}")
# A bare figure before `to` counts something else unless it opens what is said: move item 3 to
# 26 November.
_HEAD = compiled(
    rf"(?:{_A_DAY} ?[日号]? ?(?:到|至|~|-|–|—+) ?(?:the )?"
    rf"|(?:(?:^|from |for |off |on |[,:(] )(?P<open>{dates_en.DAY_FIGURE})"
    rf"|(?P<nth>{dates_en.ORDINAL_FIGURE}|{dates_en.ORDINAL}))"
    r" ?(?:to|until|till|through) ?(?:the )?"
    rf"|between (?:the )?(?P<one>{dates_en.DAY_FIGURE}) and (?:the )?)$"
)
_WEEK_OF = compiled("(?:the )?week (?:of|commencing|beginning|starting)(?: on)? $")
_THAT_WEEK = compiled("^(?:那|这|所在的?)一?(?:周|个?星期|个?礼拜)")
# A figure before one of these counts something else: 12月1日到5点, 周一到三楼.
_COUNTS = compiled(r"^ ?(?:[月点:/.%个天人次元块楼号层周小时分年]|-?\d|[ap]m\b|people)")

_LATIN = compiled("[a-z]")
_IN_FIGURES = RuleSet[Any](*DAYS, *STRETCHES)
_IN_CHINESE = RuleSet[Any](
    *dates_zh.DAYS,
    *dates_zh.STRETCHES,
    *named_days.ZH_MONTH_ENDS,
    *named_days.ZH_HOLIDAYS,
)
_IN_ENGLISH = RuleSet[Any](
    *dates_en.DAYS,
    *dates_en.STRETCHES,
    *named_days.EN_MONTH_ENDS,
    *named_days.EN_HOLIDAYS,
)


DateTerm = Found[DayRule | Stretch]
"""A day or several, as they stand in a text."""


def find_dates(text: str, calendar: Calendar) -> list[Found[Days]]:
    """Every day and range named, in order, none overlapping, none ending before it starts."""
    terms: list[DateTerm] = find_all(text, *_rules_for(text))
    found: list[Found[Days]] = []
    reached = 0
    for position, term in enumerate(terms):
        if term.start < reached:
            continue
        following = terms[position + 1] if position + 1 < len(terms) else None
        listed = found and _LISTED.search(text[reached : term.start])
        known = calendar.starting(found[-1].value.last) if listed else calendar
        read = _read(text, _in_its_week(text, term, following), following, known)
        if read is not None and read.start >= reached:
            found.append(read)
            reached = read.end
    return found


def _rules_for(text: str) -> Iterator[RuleSet[Any]]:
    """Those of the languages whose characters the text has: most texts have one."""
    yield _IN_FIGURES
    if not text.isascii():
        yield _IN_CHINESE
    if _LATIN.search(text):
        yield _IN_ENGLISH


def _in_its_week(text: str, term: DateTerm, following: DateTerm | None) -> DateTerm:
    """`Monday to Wednesday of next week`: the week stands at the end and is meant for both."""
    day, end = term.value, following.value if following else None
    if not (isinstance(day, Weekday) and isinstance(end, Weekday) and following):
        return term
    trailing = day.weeks is None and text[: following.end].endswith(("week", "week after next"))
    if not trailing or end.weeks is None or day.weekday > end.weekday:
        return term
    between = text[term.end : following.start]
    if not (_JOINED.search(between) or _LISTED.search(between)):
        return term
    return replace(term, value=replace(day, weeks=end.weeks))


def _read(
    text: str, term: DateTerm, following: DateTerm | None, calendar: Calendar
) -> Found[Days] | None:
    """What stands at `term`: a stretch, the beginning of a range, or a day on its own."""
    if isinstance(term.value, Stretch):
        span = term.value.across(calendar)
        return span and Found(term.start, term.end, Days(*span))
    mention = counted_from(text, mentioned(text, term.start, term.end, term.value))
    return (
        _week_of(text, mention, calendar)
        or _from_head(text, mention, calendar)
        or _to_following(text, mention, following, calendar)
        or _to_tail(text, mention, calendar)
        or _alone(mention, calendar)
    )


def _week_of(text: str, mention: DayMention, calendar: Calendar) -> Found[Days] | None:
    """`the week of December 7`, `12月7号那周`: Monday to Sunday."""
    before = _WEEK_OF.search(text[: mention.start][-2 * LOOK :])
    after = _THAT_WEEK.search(text[mention.end : mention.end + LOOK])
    day = mention.day.on(calendar) if before or after else None
    if day is None:
        return None
    start = mention.start - (len(before.group()) if before else 0)
    end = mention.end + (len(after.group()) if after else 0)
    first = monday(day, 0)
    return Found(start, end, Days(first, first + timedelta(days=6)))


def _alone(mention: DayMention, calendar: Calendar) -> Found[Days] | None:
    day = mention.day.on(calendar)
    if day is None:
        return None
    days = Days(day, day, mention.half, mention.half, single=mention.half is None)
    return Found(mention.start, mention.end, days)


def _range(start: DayMention, end: DayMention, calendar: Calendar) -> Found[Days] | None:
    first = start.day.on(calendar)
    if first is None:
        return None
    last = end.day.on(calendar.starting(first))
    if last is not None and last < first and isinstance(end.day, Weekday):
        # 下周五到下周一: the week was named again out of habit, and is the one after.
        last = Weekday(end.day.weekday).on(calendar.starting(first))
    if last is None or last < first or runs_backwards(start.day, end.day, (first, last)):
        return None
    halves = start.half or ("pm" if start.noon else None), end.half or ("am" if end.noon else None)
    return Found(start.start, end.end_of_range, Days(first, last, *halves))


def _to_following(
    text: str, mention: DayMention, following: DateTerm | None, calendar: Calendar
) -> Found[Days] | None:
    """`下周一到周三`, `between Monday and Wednesday`."""
    if following is None or isinstance(following.value, Stretch):
        return None
    end = mentioned(text, following.start, following.end, following.value)
    between = text[mention.end_of_range : end.start]
    both = _AND.search(between) and _BETWEEN.search(text[: mention.start][-LOOK:])
    return _range(mention, end, calendar) if both or _JOINED.search(between) else None


def _to_tail(text: str, mention: DayMention, calendar: Calendar) -> Found[Days] | None:
    """An end that leaves out what the start said: `12月1日到5日`, `周一至五`, `上午到下午`."""
    rest = text[mention.end :][: 2 * LOOK]
    half = _HALF_TAIL.search(rest) if mention.half else None
    if half:
        until = mention.end + half_end(half)
        return _range(mention, replace(mention, end=until, half=half_of(half)), calendar)
    tail = _tail(text, mention, rest)
    if tail is None or cuts_a_word(rest, tail.end()) or _COUNTS.search(rest[tail.end() :]):
        return None
    day, figures = mention.day, tail.groupdict()
    if isinstance(day, Weekday):
        ended: DayRule = Weekday(dates_zh.weekday_of(figures["day"]))
    else:
        ended = MonthDay(_figure(figures["day"]))
    if figures.get("year") and isinstance(day, YearDay):
        # Dec 24-26, 2026: the year stands at the end and is meant for both.
        day = FixedDay(int(figures["year"]), day.month, day.day, day.weekday)
    end = mentioned(text, mention.start, mention.end + tail.end(), ended)
    return _range(replace(mention, day=day), end, calendar)


def _tail(text: str, mention: DayMention, rest: str) -> Any:
    if isinstance(mention.day, Weekday):
        return _WEEKDAY_TAIL.search(rest)
    if not isinstance(mention.day, FixedDay | YearDay | MonthDay):
        return None
    between = _BETWEEN.search(text[: mention.start][-LOOK:])
    return _TAIL.search(rest) or (between and _AND_TAIL.search(rest))


def _from_head(text: str, mention: DayMention, calendar: Calendar) -> Found[Days] | None:
    """A start that leaves out what the end says: `1-5号`, `24th to 26th of December`."""
    day = mention.day
    if not isinstance(day, FixedDay | YearDay | MonthDay):
        return None
    before = text[: mention.start][-2 * LOOK :]
    head = _HEAD.search(before)
    if head is None:
        return None
    name = next(n for n in ("day", "open", "nth", "one") if head.group(n))
    start = mention.start - len(before) + group_span(head, name)[0]
    if cuts_a_word(text, start):
        return None
    first = replace(day, day=_figure(head.group(name)), weekday=None)
    return _range(DayMention(start, start, first), mention, calendar)


def _figure(text: str) -> int:
    return dates_en.day_number(text) if text[0].isascii() else dates_zh.small_number(text)
