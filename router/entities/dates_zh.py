"""How days are written in Chinese."""

from datetime import date

from router.entities import days as terms
from router.entities.grammar import Groups, Rule
from router.entities.numbers import ZH_COUNT, parse_number
from router.lexicon import ZH

_HAN_DAY = (
    "三十一|三十|二十[一二三四五六七八九]|二十|十[一二三四五六七八九]|十|[一二三四五六七八九]"
)
# 12月4日(周五) is one day; where the two disagree, none.
WITH_WEEKDAY = r"(?:[ (]{0,2}(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])\)?)?"
DAY_OF_MONTH = rf"(?:3[01]|[12]\d|0?[1-9]|{_HAN_DAY})"
MONTH = "(?:1[0-2]|0?[1-9]|十[一二]|[一二三四五六七八九十])"
YEAR = r"(?:(?:20)?\d\d|[零〇一二三四五六七八九]{2}|二[零〇][零〇一二三四五六七八九]{2})"
WEEK = "(?:周|星期|礼拜)"
WEEKDAY_FIGURE = "[一二三四五六日天1-7]"
_PRONOUN = "(?:下+|上+|这|本)一?个?"
MONTH_PRONOUN = "(?:下+|上+|这|本|当)一?个?"
"""Which week or month: `下` the next, `下下` the one after; how many are read, `away` says."""
_OTHER_PRONOUN = "[上下]一?个"
"""Before a pronoun: 下个下周 is one that nobody is sure of."""
_FURTHEST = 4


YEARS = {"去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_DAYS = {"后": 2, "明": 1, "翌": 1, "今": 0, "昨": -1, "前": -2}

# 5号 is a day unless it numbers a thing: 5号楼, 3号线, 1号会议室; 5号机票 and 5号开会 are of a day.
_NUMBERED_THING = str(ZH.numbered)
# Of the moon's calendar: 农历八月十五.
_LUNAR = "农历|阴历|旧历|农历的"
_OF_THE_MOON = {"三月三", "五月五", "六月六", "七月七", "八月十五", "九月九"}


def weekday_of(figure: str) -> int:
    """The weekday, Monday being 0, of `一` to `日` or `1` to `7`."""
    return ZH.weekday.places[figure]


def small_number(text: str) -> int:
    """The whole number that a day or month is written with."""
    return int(parse_number(text) or 0)


def _in_year(groups: Groups) -> terms.DayRule | None:
    month, day = small_number(groups["month"]), small_number(groups["day"])
    if "sign" not in groups and f"{groups['month']}月{groups['day']}" in _OF_THE_MOON:
        return None
    if "rel" in groups:
        return terms.YearDay(month, day, YEARS[groups["rel"]], said_weekday(groups))
    return day_of_year(month, day, groups.get("year"), said_weekday(groups))


def said_weekday(groups: Groups) -> int | None:
    """The weekday that a date was given with: 12月4日(周五)."""
    return weekday_of(groups["weekday"]) if "weekday" in groups else None


def day_of_year(
    month: int, day: int, year: str | None = None, weekday: int | None = None
) -> terms.DayRule | None:
    """The term for a month and a day, of a year where it was said; None for a 30 February."""
    try:
        date(2024, month, day)
    except ValueError:
        return None
    if year:
        return terms.FixedDay(full_year(year), month, day, weekday)
    return terms.YearDay(month, day, weekday=weekday)


def full_year(text: str) -> int:
    """`26`, `2026` and `二〇二六` as the year that they name."""
    year = small_number(text)
    return year + 2000 if year < 100 else year  # noqa: PLR2004 - two digits are a year of ours


def _in_a_month(groups: Groups) -> terms.DayRule | None:
    months = away(groups["pronoun"])
    return None if months is None else terms.MonthDay(small_number(groups["day"]), months)


def _weekday(groups: Groups) -> terms.DayRule | None:
    figure = weekday_of(groups["figure"])
    if "pronoun" not in groups:
        return terms.Weekday(figure)
    weeks = away(groups["pronoun"])
    return None if weeks is None else terms.Weekday(figure, weeks)


def away(pronoun: str) -> int | None:
    """How many weeks or months away `下`, `下一个` or `上上个` are; None for a key held down."""
    number = pronoun.count("下") - pronoun.count("上")
    return number if abs(number) <= _FURTHEST else None


def _day_shift(groups: Groups) -> terms.DayRule | None:
    """`明天`, `后天`, and one day further for each 大 before that: `大大大后天` is in five."""
    days, further = _DAYS[groups["word"]], len(groups.get("further", ""))
    if further > _FURTHEST:
        return None
    return terms.DayShift(days=days + (further if days > 0 else -further))


def _week(groups: Groups, *, weekend: bool = False) -> terms.Stretch | None:
    weeks = away(groups.get("pronoun", "这"))
    return None if weeks is None else terms.Week(weeks, weekend=weekend)


def _month(groups: Groups) -> terms.Stretch | None:
    months = away(groups["pronoun"])
    return None if months is None else terms.Month(months)


def _counted(groups: Groups) -> terms.DayRule | None:
    number = parse_number(groups["n"])
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    count = int(number) * (1 if groups["way"] == "后" else -1)
    if groups["unit"].endswith("月"):
        return terms.DayShift(months=count)
    return terms.DayShift(days=count if groups["unit"] == "天" else 7 * count)


def _weekdays_in_a_row(groups: Groups) -> terms.Stretch | None:
    """`下周一二三`; None for days with others between."""
    days = [weekday_of(figure) for figure in groups["days"]]
    if days != list(range(days[0], days[0] + len(days))):
        return None
    weeks = away(groups["pronoun"]) if "pronoun" in groups else None
    if "pronoun" in groups and weeks is None:
        return None
    return terms.FromTo(terms.Weekday(days[0], weeks), terms.Weekday(days[-1], weeks))


def _days_in_a_row(groups: Groups) -> terms.Stretch | None:
    """`12月1、2、3号`; None for days with others between."""
    days = [small_number(figure) for figure in groups["days"].split("、")]
    if days != list(range(days[0], days[0] + len(days))):
        return None
    if "month" not in groups:
        return terms.FromTo(terms.MonthDay(days[0]), terms.MonthDay(days[-1]))
    first, last = (day_of_year(small_number(groups["month"]), day) for day in (days[0], days[-1]))
    return terms.FromTo(first, last) if first and last else None


def _whole_month(groups: Groups) -> terms.Stretch:
    year = groups.get("year", groups.get("year2"))
    month = small_number(groups.get("month") or groups["month2"])
    return terms.Month(month=month, year=full_year(year) if year else None)


# 周三 before these is a week and a number: 下周三天 is three days of next week.
_COUNTED_NEXT = "[天日个次小十百号]|工作日|周年"

# 周一鸣 is a person: what given names go on with, and sentences about a Monday don't.
_GIVEN_NAME = "[鸣凡帆诺涵楠菲珂鹤彤楷豪洲铭丰佑宇翔赐泽琪骐]|仙女"

# 聪明天才, 以后天天, 三天前天天: the characters belong to what stands before.
_ANOTHER_SUCH = "(?:^|[^然之以午最今事饭随目提先])[后前]"
"""后后天 is one day or another; 然后 | 后天 is the day after tomorrow."""
_NOT_THAT_WORD = r"[聪声说文光透以之然午今发失先幕落零一二三四五六七八九十半两几\d]"

DAYS: tuple[Rule[terms.DayRule], ...] = (
    Rule(
        rf"(?:(?P<year>{YEAR})年|(?P<rel>今|明|去|后|本)年的?)?(?:的)?"
        rf"(?P<month>{MONTH}) ?月份?的? ?(?P<day>{DAY_OF_MONTH}) ?(?P<sign>[日号]){WITH_WEEKDAY}",
        _in_year,
        unless_after=f"[第几零一二三四五六七八九十]|{_LUNAR}",
        unless_before="[游内]|[楼线]",
    ),
    Rule(
        rf"(?:(?P<year>{YEAR})年|(?P<rel>今|明|去|后|本)年的?)?"
        rf"(?P<month>{MONTH}) ?月 ?(?P<day>{DAY_OF_MONTH})",
        _in_year,
        unless_after=f"[第几零一二三四五六七八九十]|{_LUNAR}",
        unless_before=" ?[日号天个块元周月次人年点%份笔张时分十百千万]",
    ),
    Rule(
        rf"(?P<pronoun>{MONTH_PRONOUN})月的? ?(?P<day>{DAY_OF_MONTH}) ?[日号]",
        _in_a_month,
        unless_after=_OTHER_PRONOUN,
    ),
    Rule(
        rf"(?P<day>{DAY_OF_MONTH}) ?(?:号|(?P<ri>日)){WITH_WEEKDAY}",
        lambda g: terms.MonthDay(small_number(g["day"]), weekday=said_weekday(g)),
        unless_after=r"[第月周年路街巷弄号楼栋座期拜几近每逢前后a-z\d零一二三四五六七八九十]|月 ",
        unless_before=f"{_NUMBERED_THING}|[游内间元本语常均]",
    ),
    Rule(
        "(?P<further>大*)(?P<word>[后前])(?:天|日|儿个?)",
        _day_shift,
        unless_after=f"{_NOT_THAT_WORD}|{_ANOTHER_SUCH}",
        unless_before="之星|[气赋才堂]",
    ),
    Rule(
        "(?P<word>[明翌今昨])(?:天|日|儿个?)",
        _day_shift,
        unless_after=_NOT_THAT_WORD,
        unless_before="之星|[气赋才堂]",
    ),
    Rule(
        "(?P<word>明|今|昨)晚上?",
        _day_shift,
        unless_after=_NOT_THAT_WORD,
        unless_before=r"[会餐报\d一二两三四五六七八九十]",
    ),
    # The evening belongs to the clock that follows: 明晚八点.
    Rule(
        r"(?P<it>(?P<word>明|今|昨))晚上?(?:[\d一二两三四五六七八九十])",
        _day_shift,
        unless_after=_NOT_THAT_WORD,
    ),
    Rule("(?P<it>即日)起", lambda _: terms.DayShift()),
    Rule("(?P<it>(?P<word>明|今))(?:早|晨)", _day_shift, unless_after=_NOT_THAT_WORD),
    Rule(
        rf"(?P<n>{ZH_COUNT}|俩|仨) ?(?:个)?(?P<unit>天|周|星期|礼拜|月)(?:之|以)?(?P<way>后|前)",
        _counted,
        unless_after="[第每前后近这那]",
        unless_before="[天面台勤来]",
    ),
    Rule(
        rf"(?:(?P<pronoun>{_PRONOUN})(?:{WEEK}的?)?)?{WEEK}(?P<figure>{WEEKDAY_FIGURE})",
        _weekday,
        unless_after=rf"{_OTHER_PRONOUN}|(?:^|[^周期拜])[一二三四五六七八九十两半几\d]|[每逢]个?|[隔单双]周|[老小姓叫]",
        unless_before=f"{_COUNTED_NEXT}|{_GIVEN_NAME}|饭店|餐厅|酒吧|咖啡|[一二三四五六日](?:[^一二三四五六日天个次小点早上下杯起直些]|$)|[二三四五六日]{{2}}(?:[^天个次小点]|$)",
    ),
)

# 下月初, 本周前半段: a part that two people wouldn't agree on; 下月5号 is a day.
_A_PART = "[底初中末]|[上中下]旬|[前后上下]半|的?(?:第|前|后|最后|头)[一二三几两半1-4]|尾|早些|晚些"

STRETCHES: tuple[Rule[terms.Stretch], ...] = (
    Rule("明后(?:两|2)?天", lambda _: terms.DaysAhead(1, 2)),
    Rule("今明(?:两|2)?天", lambda _: terms.DaysAhead(0, 1)),
    Rule(
        rf"(?:(?P<pronoun>{_PRONOUN})(?:{WEEK}的?)?)?(?:周末|周六日)",
        lambda g: _week(g, weekend=True),
        unless_after=f"每个?|[每过]|{_OTHER_PRONOUN}",
        unless_before="愉快|快乐|加班费",
    ),
    Rule(
        rf"(?:(?P<pronoun>{_PRONOUN})(?:{WEEK}的?)?)?{WEEK}(?P<days>[一二三四五六日]{{2,6}})",
        _weekdays_in_a_row,
        unless_after=r"(?:^|[^周期拜])[一二三四五六七八九十两半几\d]|[每逢]个?",
        unless_before="[天个次小期号点层楼部组人百十千万元块版线届早]|工作日",
    ),
    Rule(
        rf"(?:(?P<month>{MONTH})月)?(?P<days>{DAY_OF_MONTH}(?:、{DAY_OF_MONTH}){{1,6}}) ?[日号]",
        _days_in_a_row,
        unless_after=r"[第每逢a-z\d.、零一二三四五六七八九十]",
        unless_before=f"{_NUMBERED_THING}|[游内]",
    ),
    Rule(
        rf"(?P<pronoun>{_PRONOUN}){WEEK}",
        _week,
        unless_after=_OTHER_PRONOUN,
        unless_before=rf"[末期报年边围转刊岁会例]|{WEEKDAY_FIGURE}(?:[^天个小]|$)|{_A_PART}",
    ),
    Rule(
        rf"(?P<pronoun>{_PRONOUN})月",
        _month,
        unless_after=_OTHER_PRONOUN,
        unless_before=rf"[份]?的? ?{DAY_OF_MONTH} ?[日号]|[饼亮光报刊票]|{_A_PART}",
    ),
    Rule(
        rf"(?:整个|一整个|全) ?(?:(?P<year>{YEAR})年)?(?P<month>{MONTH})月份?"
        rf"|(?:(?P<year2>{YEAR})年)?(?P<month2>{MONTH})月份?(?:一?整个?月|全月)",
        _whole_month,
        unless_after="[个第几零一二三四五六七八九十\\d]",
        unless_before=rf" ?{DAY_OF_MONTH}",
    ),
)
