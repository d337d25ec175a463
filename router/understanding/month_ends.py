"""Days by their place in a month or year: `月底`, `the last Friday of December`.

The end of a month is its last day. Its beginning and its middle are days that two people would
name differently, and so is the end of a week: they are none.
"""

from router.understanding.calendar_en import (
    MONTH_NAME,
    WEEKDAY_NAME,
    WEEKDAYS,
    WHICH,
    month_number,
)
from router.understanding.dates_zh import (
    MONTH,
    WEEK,
    WEEKDAY_FIGURE,
    YEAR,
    YEARS,
    full_year,
    small_number,
    weekday_of,
    weeks,
)
from router.understanding.days import Day, MonthDay, MonthEnd, NthWeekday, YearDay
from router.understanding.grammar import Groups, Rule

_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_NTH |= {"last": -1}
_OF_MONTH = (
    rf"(?:(?P<which>the|this|next|last|current) month\b|(?:the month of )?(?P<month>{MONTH_NAME})"
    rf"\b\.?(?:,? (?P<year>20\d\d))?)"
)
_ZH_MONTH = (
    rf"(?:(?:(?:(?P<year>{YEAR})年|(?P<rel>今|明|去|后|本)年的?))?(?P<month>{MONTH})月份?"
    r"|(?P<which>(?:下下|上上|下|上|这|本|当)(?:一)?个?)?月)"
)
# 月底盘点表, end of month report: no day is meant, but what kind of thing it is.
_ZH_KIND = "[奖双总评考绩聚大促尾]|盘点表|报[告表]|清仓|冲刺|光"
_EN_KIND = (
    r"[ -](?:report|review|party|close|closing|reports|reviews|parties|bonus|bonuses|sale|summary"
    r"|process|procedures?|accounts?|inventory|tasks?|checklist|dinner|lunch|celebration)\b"
)


def _month_end(groups: Groups) -> Day:
    if "month" in groups:
        year = groups.get("year")
        return MonthEnd(month_number(groups["month"]), year=int(year) if year else None)
    which = groups.get("which", "the")
    return MonthEnd() if which == "the" else MonthEnd(months=WHICH[which])


def _zh_month_end(groups: Groups) -> Day:
    if "month" in groups:
        year, years = groups.get("year"), YEARS.get(groups.get("rel", ""))
        return MonthEnd(
            small_number(groups["month"]), year=full_year(year) if year else None, years=years
        )
    which = groups.get("which")
    return MonthEnd(months=weeks(which.replace("当", "本"))) if which else MonthEnd()


def _year_end(groups: Groups) -> Day:
    return YearDay(12, 31, WHICH[groups["which"]] if groups.get("which") != "the" else None)


def _zh_year_end(groups: Groups) -> Day:
    return YearDay(12, 31, YEARS[groups["rel"]] if "rel" in groups else None)


def _first_day(groups: Groups) -> Day:
    if "month" in groups:
        return YearDay(month_number(groups["month"]), 1)
    which = groups["which"]
    return MonthDay(1, WHICH[which])


def _nth_weekday(groups: Groups) -> Day:
    nth, weekday = _NTH[groups["nth"]], WEEKDAYS[groups["day"]]
    if "month" in groups:
        return NthWeekday(nth, weekday, month_number(groups["month"]))
    return NthWeekday(nth, weekday, months=WHICH[groups["which"]])


def _zh_nth_weekday(groups: Groups) -> Day:
    nth = -1 if groups["nth"] == "最后一" else small_number(groups["nth"].removeprefix("第"))
    weekday = weekday_of(groups["day"])
    if "month" in groups:
        return NthWeekday(nth, weekday, small_number(groups["month"]))
    return NthWeekday(nth, weekday, months=weeks(groups["which"].replace("当", "本")))


ZH_DAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"{_ZH_MONTH}(?:的?最后一天|[底末])",
        _zh_month_end,
        unless_after="[每第几整半个年月零一二三四五六七八九十两\\d]|岁|逢",
        unless_before=_ZH_KIND,
    ),
    Rule(
        "(?:(?P<rel>今|明|去|本)?年底|(?P<it>年(?:末|的最后一天)))",
        _zh_year_end,
        unless_after=r"[每历往周半\d零一二三四五六七八九十]",
        unless_before=_ZH_KIND,
    ),
    Rule(
        rf"(?:(?P<which>(?:下下|上上|下|上|这|本|当)(?:一)?个?)月|(?P<month>{MONTH})月份?)的?"
        rf"(?P<nth>第[一二三四1-4]|最后一)个?{WEEK}(?P<day>{WEEKDAY_FIGURE})",
        _zh_nth_weekday,
        unless_after=r"[每第\d零一二三四五六七八九十]",
    ),
)

EN_DAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"(?:the )?(?:(?:very )?end|last day) of {_OF_MONTH}",
        _month_end,
        unless_before=_EN_KIND,
    ),
    Rule(
        r"(?:(?:by|before|until|till|at|on) (?P<it>(?:the )?month[ -]?end)|(?:(?P<eom>eom)))\b",
        lambda _: MonthEnd(),
        unless_before=_EN_KIND,
    ),
    Rule(
        r"(?:the )?(?:end|last day) of (?P<which>the|this|next|last) year\b",
        _year_end,
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
