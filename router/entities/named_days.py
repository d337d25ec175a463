"""Days by their place in a month or year, and holidays by their name.

The beginning, the middle, and the end of a week are days that two people would name differently:
they are none. `元旦` is a day in `元旦我值班`, and the kind of a thing in `元旦晚会`. Holidays that
move are looked up in `holidays`.
"""

from router.entities import dates_zh
from router.entities.dates_en import MONTH_NAME, WEEKDAY_NAME, WEEKDAYS, WHICH, month_number
from router.entities.days import DayRule, Festival, MonthDay, MonthEnd, NthWeekday, YearDay
from router.entities.grammar import Groups, Rule
from router.lexicon import EN, ZH, Words

_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_NTH |= {"last": -1}
_OF_MONTH = (
    rf"(?:(?P<which>the|this|next|last|current) month\b|(?:the month of )?(?P<month>{MONTH_NAME})"
    rf"\b\.?(?:,? (?P<year>20\d\d))?)"
)
_ZH_MONTH = (
    rf"(?:(?:(?:(?P<year>{dates_zh.YEAR})年|(?P<rel>今|明|去|后|本)年的?))?(?P<month>{dates_zh.MONTH})月份?"
    rf"|(?P<which>{dates_zh.MONTH_PRONOUN})?月)"
)
# 月底盘点表, end of month report: no day is meant, but what kind of thing it is.
_ZH_KIND = "[奖双总评考绩聚大促尾]|盘点表|报[告表]|清仓|冲刺|光"
_EN_KIND = (
    r"[ -](?:report|review|party|close|closing|reports|reviews|parties|bonus|bonuses|sale|summary"
    r"|process|procedures?|accounts?|inventory|tasks?|checklist|dinner|lunch|celebration)\b"
)


def _month_end(groups: Groups) -> DayRule:
    if "month" in groups:
        year = groups.get("year")
        return MonthEnd(month_number(groups["month"]), year=int(year) if year else None)
    which = groups.get("which", "the")
    return MonthEnd() if which == "the" else MonthEnd(months=WHICH[which])


def _zh_month_end(groups: Groups) -> DayRule | None:
    if "month" in groups:
        year, years = groups.get("year"), dates_zh.YEARS.get(groups.get("rel", ""))
        month = dates_zh.small_number(groups["month"])
        return MonthEnd(month, year=dates_zh.full_year(year) if year else None, years=years)
    if "which" not in groups:
        return MonthEnd()
    months = dates_zh.away(groups["which"])
    return None if months is None else MonthEnd(months=months)


def _first_day(groups: Groups) -> DayRule:
    if "month" in groups:
        return YearDay(month_number(groups["month"]), 1)
    return MonthDay(1, WHICH[groups["which"]])


def _nth_weekday(groups: Groups) -> DayRule:
    nth, weekday = _NTH[groups["nth"]], WEEKDAYS[groups["day"]]
    if "month" in groups:
        return NthWeekday(nth, weekday, month_number(groups["month"]))
    return NthWeekday(nth, weekday, months=WHICH[groups["which"]])


def _zh_nth_weekday(groups: Groups) -> DayRule | None:
    said = groups["nth"].removeprefix("第")
    nth = -1 if said == "最后一" else dates_zh.small_number(said)
    weekday = dates_zh.weekday_of(groups["day"])
    if "month" in groups:
        return NthWeekday(nth, weekday, dates_zh.small_number(groups["month"]))
    months = dates_zh.away(groups["which"])
    return None if months is None else NthWeekday(nth, weekday, months=months)


ZH_MONTH_ENDS: tuple[Rule[DayRule], ...] = (
    Rule(
        rf"{_ZH_MONTH}(?:的?最后一天|[底末])",
        _zh_month_end,
        unless_after="[每第几整半个年月零一二三四五六七八九十两\\d]|岁|逢",
        unless_before=_ZH_KIND,
    ),
    Rule(
        "(?:(?P<rel>今|明|去|本)?年底|(?P<it>年(?:末|的最后一天)))",
        lambda g: YearDay(12, 31, dates_zh.YEARS.get(g.get("rel", ""))),
        unless_after=r"[每历往周半\d零一二三四五六七八九十]",
        unless_before=_ZH_KIND,
    ),
    Rule(
        rf"(?:(?P<which>{dates_zh.MONTH_PRONOUN})月|(?P<month>{dates_zh.MONTH})月份?)的?"
        rf"(?P<nth>第[一二三四1-4]|最后一)个?{dates_zh.WEEK}(?P<day>{dates_zh.WEEKDAY_FIGURE})",
        _zh_nth_weekday,
        unless_after=r"[每第\d零一二三四五六七八九十]",
    ),
)

EN_MONTH_ENDS: tuple[Rule[DayRule], ...] = (
    Rule(
        rf"(?:the )?(?:(?:very )?end|last day) of {_OF_MONTH}", _month_end, unless_before=_EN_KIND
    ),
    Rule(
        r"(?:(?:by|before|until|till|at|on) (?P<it>(?:the )?month[ -]?end)|(?:(?P<eom>eom)))\b",
        lambda _: MonthEnd(),
        unless_before=_EN_KIND,
    ),
    Rule(
        r"(?:the )?(?:end|last day) of (?P<which>the|this|next|last) year\b",
        lambda g: YearDay(12, 31, None if g["which"] == "the" else WHICH[g["which"]]),
        unless_before=_EN_KIND,
    ),
    Rule(
        r"(?:(?:by|before|until|till|at|on) (?P<it>(?:the )?(?:year[ -]?end|end of year))|eoy)\b",
        lambda _: YearDay(12, 31),
        unless_before=_EN_KIND,
    ),
    Rule(
        rf"(?:the )?first day of (?:(?P<which>this|next|last) month|(?P<month>{MONTH_NAME}))\b",
        _first_day,
    ),
    Rule(
        rf"(?:the )?(?P<nth>{'|'.join(_NTH)}) (?P<day>{WEEKDAY_NAME}) (?:of|in) {_OF_MONTH}",
        _nth_weekday,
    ),
)


_ZH_HOLIDAY_KIND = f"的?{ZH.of_a_holiday}"
_EN_HOLIDAY_KIND = rf"(?:'s)?[ -]{EN.of_a_holiday}\b"


def _holiday(called: str, year: str | None = None, years: int | None = None) -> DayRule | None:
    month, _, day = called.partition("-")
    if not day:
        # The eve of New Year is a holiday of its own only since 2025.
        name, shift = ("春节", -1) if called == "除夕" else (called, 0)
        return Festival(name, shift, dates_zh.full_year(year) if year else None, years)
    if years is not None:
        return YearDay(int(month), int(day), years)
    return dates_zh.day_of_year(int(month), int(day), year)


class _Names:
    """Holidays by any of their names, as an expression with the group `name`."""

    def __init__(self, names: Words) -> None:
        called = names.values
        self._called = {name.replace("'", ""): day for name, day in called.items()}
        longest_first = sorted(called, key=len, reverse=True)
        alternatives = (n.replace("'", "['’]?").replace(" ", "[ -]") for n in longest_first)
        self.source = f"(?P<name>{'|'.join(alternatives)})"

    def day(self, groups: Groups) -> DayRule | None:
        """The day that is named, in the year that was said."""
        plain = groups["name"].replace("'", "").replace("’", "").replace("-", " ")
        years = dates_zh.YEARS.get(groups.get("rel", ""))
        return _holiday(self._called[plain], groups.get("year"), years)


_ZH_NAMES, _ZH_THE_DAY, _EN_NAMES = (
    _Names(names) for names in (ZH.holiday, ZH.holiday_itself, EN.holiday)
)

ZH_HOLIDAYS: tuple[Rule[DayRule], ...] = (
    Rule(
        rf"(?:(?P<year>{dates_zh.YEAR})年|(?P<rel>今|明|去|后|本)年的?)?"
        rf"{_ZH_NAMES.source}(?:当[天日]|那一?天|这一?天)?",
        _ZH_NAMES.day,
        unless_after="[每过][年个]?|[祝日号]",
        unless_before=_ZH_HOLIDAY_KIND,
    ),
    Rule(
        f"{_ZH_THE_DAY.source}(?:当[天日]|那一?天|这一?天)",
        _ZH_THE_DAY.day,
        unless_after="[零一二三四五六七八九十百第双]",
    ),
    Rule(
        "(?P<name>五一)",
        _ZH_THE_DAY.day,
        unless_after="[零一二三四五六七八九十百千万第双点比]",
        only_before="[我你谁咱]|值班|加班|上班|要|得|之?前[要得给把交]",
    ),
    Rule("^(?P<name>五一|六一)$", _ZH_THE_DAY.day),
)

EN_HOLIDAYS: tuple[Rule[DayRule], ...] = (
    Rule(
        rf"(?:the )?{_EN_NAMES.source}\b(?:,? (?P<year>20\d\d)\b)?",
        _EN_NAMES.day,
        unless_after=r"\b(?:every|happy|each|merry|a|for|over|during|around|celebrat(?:e|ing)) ",
        unless_before=_EN_HOLIDAY_KIND,
    ),
    Rule(
        r"\b(?:on|before|after|by|until|till) (?P<it>christmas|xmas)\b",
        lambda _: YearDay(12, 25),
        unless_before=f"{_EN_HOLIDAY_KIND}"
        "| (?:eve|day|week|break|holidays?|season|shutdown|leave|period|time)",
    ),
)
