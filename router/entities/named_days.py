"""Days by their place in a month or year, and holidays by their name.

Days by their place in a month or year: `月底`, `the last Friday of December`.

The end of a month is its last day. Its beginning and its middle are days that two people would
name differently, and so is the end of a week: they are none.

Holidays that have one fixed day of the solar calendar, named as a day.

`元旦` is a day in `元旦我值班`, and the kind of a thing in `元旦晚会`, `元旦放假安排`: then it is
none. Holidays of the moon, and those that move, aren't days that a rule could know.
"""

from router.entities.dates_en import (
    MONTH_NAME,
    WEEKDAY_NAME,
    WEEKDAYS,
    WHICH,
    month_number,
)
from router.entities.dates_zh import (
    MONTH,
    WEEK,
    WEEKDAY_FIGURE,
    YEAR,
    YEARS,
    day_of_year,
    full_year,
    small_number,
    weekday_of,
    weeks,
)
from router.entities.days import Day, MonthDay, MonthEnd, NthWeekday, YearDay
from router.entities.grammar import Groups, Rule

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


ZH_MONTH_ENDS: tuple[Rule[Day], ...] = (
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

EN_MONTH_ENDS: tuple[Rule[Day], ...] = (
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


_ZH = {
    "元旦节": (1, 1),
    "元旦": (1, 1),
    "情人节": (2, 14),
    "妇女节": (3, 8),
    "愚人节": (4, 1),
    "劳动节": (5, 1),
    "五一劳动节": (5, 1),
    "五一节": (5, 1),
    "青年节": (5, 4),
    "儿童节": (6, 1),
    "六一儿童节": (6, 1),
    "建党节": (7, 1),
    "建军节": (8, 1),
    "教师节": (9, 10),
    "国庆节": (10, 1),
    "十一国庆节": (10, 1),
    "万圣节": (10, 31),
    "双十一": (11, 11),
    "双十二": (12, 12),
    "平安夜": (12, 24),
    "圣诞节": (12, 25),
    "跨年夜": (12, 31),
}
# These are a figure, a square or a week of holidays unless the very day is spoken of.
_ZH_DAY_ITSELF = {
    "五一": (5, 1),
    "六一": (6, 1),
    "十一": (10, 1),
    "国庆": (10, 1),
    "圣诞": (12, 25),
}
_EN = {
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "international women's day": (3, 8),
    "st patrick's day": (3, 17),
    "april fools' day": (4, 1),
    "may day": (5, 1),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "xmas eve": (12, 24),
    "xmas day": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
}

_ZH_HOLIDAY_KIND = (
    "的?(?:晚会|放假|假|期间|活动|安排|聚会|派对|礼|快乐|福利|贺卡|大促|促销|套餐|广场|路|街|酒会|联欢|节目|祝福"
    "|红包|特|主题|树|老人|老公|歌|装饰|餐|长假|小长假|黄金周|前后|那几天|那周|调休|值班表|值班安排|排班|加班费|加班工资|通知"
    "|海报|布置|氛围|三天|七天|档|购物|狂欢|嘉年华|蛋糕|前夕|后第|第|放(?:几|多少|不放|没)|怎么放|[前后][一两三几]天|[前后]一[晚夜]|次日|休几)"
)
_EN_HOLIDAY_KIND = (
    r"(?:'s)?[ -](?:party|parties|dinner|lunch|brunch|concert|gifts?|presents?|cards?|bonus|sale"
    r"|menu|events?|gala|parade|celebrations?|decorations?|tree|songs?|music|movie|schedule"
    r"|arrangements?|rota|roster|special|speech|costumes?|playlist|hamper|opening|greetings"
    r"|message|drinks|theme|outfit|candy|bash)\b"
)


def _pattern(name: str) -> str:
    return name.replace("'", "['’]?").replace(".", r"\.?")


def _named(groups: Groups) -> Day | None:
    month, day = _ZH[groups["name"]]
    if "rel" in groups:
        return YearDay(month, day, YEARS[groups["rel"]])
    return day_of_year(month, day, groups.get("year"))


def _day_itself(groups: Groups) -> Day:
    return YearDay(*_ZH_DAY_ITSELF[groups["name"]])


def _english(groups: Groups) -> Day:
    name = next(
        n for n in _EN if n.replace("'", "") == groups["name"].replace("'", "").replace("’", "")
    )
    return YearDay(*_EN[name])


ZH_HOLIDAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"(?:(?P<year>{YEAR})年|(?P<rel>今|明|去|后|本)年的?)?"
        rf"(?P<name>{'|'.join(sorted(_ZH, key=len, reverse=True))})(?:当[天日]|那一?天|这一?天)?",
        _named,
        unless_after="[每过][年个]?|[祝日号]",
        unless_before=_ZH_HOLIDAY_KIND,
    ),
    Rule(
        "(?P<name>" + "|".join(_ZH_DAY_ITSELF) + ")(?:当[天日]|那一?天|这一?天)",
        _day_itself,
        unless_after="[零一二三四五六七八九十百第双]",
    ),
    Rule(
        "(?P<name>五一)",
        _day_itself,
        unless_after="[零一二三四五六七八九十百千万第双点比]",
        only_before="[我你谁咱]|值班|加班|上班|要|得|之?前[要得给把交]",
    ),
)

EN_HOLIDAYS: tuple[Rule[Day], ...] = (
    Rule(
        "(?:the )?(?P<name>" + "|".join(_pattern(name) for name in _EN) + r")\b",
        _english,
        unless_after=r"\b(?:every|happy|each|merry|a) ",
        unless_before=_EN_HOLIDAY_KIND,
    ),
    Rule(
        r"\b(?:on|before|after|by|until|till) (?P<it>christmas|xmas)\b",
        lambda _: YearDay(12, 25),
        unless_before=f"{_EN_HOLIDAY_KIND}"
        "| (?:eve|day|week|break|holidays?|season|shutdown|leave|period|time)",
    ),
)
