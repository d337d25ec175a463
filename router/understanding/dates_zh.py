"""How days are written in Chinese, and as bare figures."""

from datetime import date

from router.understanding.days import (
    Day,
    DaysAhead,
    FixedDay,
    Month,
    MonthDay,
    Shift,
    Stretch,
    Week,
    Weekday,
    YearDay,
)
from router.understanding.grammar import Groups, Rule
from router.understanding.numbers import ZH_COUNT, parse_number

_HAN_DAY = (
    "三十一|三十|二十[一二三四五六七八九]|二十|十[一二三四五六七八九]|十|[一二三四五六七八九]"
)
# 12月4日(周五) is one day, and the figure counts.
_WITH_WEEKDAY = r"(?:[ (]{0,2}(?:周|星期|礼拜)[一二三四五六日天]\)?)?"
DAY_OF_MONTH = rf"(?:3[01]|[12]\d|0?[1-9]|{_HAN_DAY})"
_MONTH = "(?:1[0-2]|0?[1-9]|十[一二]|[一二三四五六七八九十])"
_YEAR = r"(?:(?:20)?\d\d|[零〇一二三四五六七八九]{2}|二[零〇][零〇一二三四五六七八九]{2})"
_WEEK = "(?:周|星期|礼拜)"
WEEKDAY_FIGURE = "[一二三四五六日天1-7]"
_PRONOUN = "(?:下下|上上|下|上|这|本)(?:一)?个?"

_YEARS = {"去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_WEEKS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_WEEKDAYS = {
    c: n for n, pair in enumerate(("一1", "二2", "三3", "四4", "五5", "六6")) for c in pair
}
_WEEKDAYS |= dict.fromkeys("日天7", 6)
_DAYS = {"大后": 3, "后": 2, "明": 1, "翌": 1, "今": 0, "昨": -1, "前": -2, "大前": -3}

# 5号 is a day unless it numbers a thing: 5号楼, 3号线, 1号会议室.
_NUMBERED_THING = "[楼线门院会桌文机厅馆仓店球房间车库台窗口柜位选厂井码员矿坑舱电铁床站铺字]"


def weekday_of(figure: str) -> int:
    """The weekday, Monday being 0, of `一` to `日` or `1` to `7`."""
    return _WEEKDAYS[figure]


def small_number(text: str) -> int:
    """The whole number that a day or month is written with."""
    number = parse_number(text)
    return 0 if number is None else int(number)


def _in_year(groups: Groups) -> Day | None:
    month, day = small_number(groups["month"]), small_number(groups["day"])
    if "rel" in groups:
        return YearDay(month, day, _YEARS[groups["rel"]])
    return day_of_year(month, day, groups.get("year"))


def day_of_year(month: int, day: int, year: str | None = None) -> Day | None:
    """The term for a month and a day, of a year where it was said; None for a 30 February."""
    if not is_day(month, day):
        return None
    return FixedDay(full_year(year), month, day) if year else YearDay(month, day)


def is_day(month: int, day: int) -> bool:
    """True where some year has this day."""
    try:
        date(2024, month, day)
    except ValueError:
        return False
    return True


def full_year(text: str) -> int:
    """`26`, `2026` and `二〇二六` as the year that they name."""
    year = small_number(text)
    return year + 2000 if year < 100 else year  # noqa: PLR2004 - two digits are a year of ours


def _in_a_month(groups: Groups) -> Day:
    pronoun = groups["pronoun"].replace("个", "").replace("一", "").replace("当", "本")
    return MonthDay(small_number(groups["day"]), _WEEKS[pronoun])


def _weekday(groups: Groups) -> Day:
    figure = weekday_of(groups["figure"])
    if "pronoun" not in groups:
        return Weekday(figure)
    return Weekday(figure, _weeks(groups["pronoun"]))


def _weeks(pronoun: str) -> int:
    return _WEEKS[pronoun.replace("个", "").replace("一", "")]


def _counted(groups: Groups) -> Day | None:
    number = parse_number(groups["n"])
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    count = int(number) * (1 if groups["way"] == "后" else -1)
    if groups["unit"].endswith("月"):
        return Shift(months=count)
    return Shift(days=count if groups["unit"] == "天" else 7 * count)


# 周三 before these is a week and a number: 下周三天 is three days of next week.
_COUNTED_NEXT = "[天日个次小十百号]|工作日|周年"

# 聪明天才, 以后天天, 三天前天天: the characters belong to what stands before.
_NOT_THAT_WORD = r"[聪声说文光透以之然午今发失先幕落零一二三四五六七八九十半两几\d]"

DAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"(?:(?P<year>{_YEAR})年|(?P<rel>今|明|去|后|本)年的?)?(?:的)?"
        rf"(?P<month>{_MONTH}) ?月份?的? ?(?P<day>{DAY_OF_MONTH}) ?[日号]{_WITH_WEEKDAY}",
        _in_year,
        unless_after="[第几零一二三四五六七八九十]",
        unless_before=f"{_NUMBERED_THING}|[游内]",
    ),
    Rule(
        rf"(?:(?P<year>{_YEAR})年|(?P<rel>今|明|去|后|本)年的?)?"
        rf"(?P<month>{_MONTH}) ?月 ?(?P<day>{DAY_OF_MONTH})",
        _in_year,
        unless_after="[第几零一二三四五六七八九十]",
        unless_before=" ?[日号天个块元周月次人年点%份笔张时分十百千万]",
    ),
    Rule(
        rf"(?P<pronoun>(?:下下|上上|下|上|这|本|当)个?)月的? ?(?P<day>{DAY_OF_MONTH}) ?[日号]",
        _in_a_month,
        unless_before=_NUMBERED_THING,
    ),
    Rule(
        rf"(?P<day>{DAY_OF_MONTH}) ?[号日]{_WITH_WEEKDAY}",
        lambda g: MonthDay(small_number(g["day"])),
        unless_after=r"[第月周年路街巷弄号楼栋座期拜几近每前后a-z\d零一二三四五六七八九十]|月 ",
        unless_before=f"{_NUMBERED_THING}|[游内间后前元本语常均]",
    ),
    Rule(
        "(?P<word>大后|后|明|翌|今|昨|大前|前)(?:天|日|儿个?)",
        lambda g: Shift(days=_DAYS[g["word"]]),
        unless_after=_NOT_THAT_WORD,
        unless_before="之星|[气赋才堂]",
    ),
    Rule(
        "(?P<word>明|今|昨)晚上?",
        lambda g: Shift(days=_DAYS[g["word"]]),
        unless_after=_NOT_THAT_WORD,
        unless_before="[会餐报]",
    ),
    Rule(
        "(?P<it>(?P<word>明|今))(?:早|晨)",
        lambda g: Shift(days=_DAYS[g["word"]]),
        unless_after=_NOT_THAT_WORD,
    ),
    Rule(
        rf"(?P<n>{ZH_COUNT}) ?(?:个)?(?P<unit>天|周|星期|礼拜|月)(?:之|以)?(?P<way>后|前)",
        _counted,
        unless_after="[第每前后近这那]",
        unless_before="[天面台勤来]",
    ),
    Rule(
        rf"(?P<pronoun>{_PRONOUN})?{_WEEK}(?P<figure>{WEEKDAY_FIGURE})",
        _weekday,
        unless_after=r"(?:^|[^周期拜])[一二三四五六七八九十两半几\d]|[每逢]个?",
        unless_before=f"{_COUNTED_NEXT}|丰|仙女",
    ),
    Rule(
        r"(?P<year>20\d\d)(?:-|/|\.)(?P<month>\d{1,2})(?:-|/|\.)(?P<day>\d{1,2})",
        _in_year,
        unless_after="[-/.]",
        unless_before=r"[-/.]\d",
    ),
    Rule(
        r"(?P<month>\d{1,2})[/.](?P<day>\d{1,2})[日号]",
        lambda g: day_of_year(int(g["month"]), int(g["day"])),
        unless_after="[-/.]",
        unless_before=_NUMBERED_THING,
    ),
)

STRETCHES: tuple[Rule[Stretch], ...] = (
    Rule("明后两?天", lambda _: DaysAhead(1, 2)),
    Rule("今明两?天", lambda _: DaysAhead(0, 1)),
    Rule(
        rf"(?P<pronoun>{_PRONOUN})?(?:周末|周六日)",
        lambda g: Week(_weeks(g.get("pronoun", "这")), weekend=True),
        unless_after="每个?|[每过]",
        unless_before="愉快|快乐|加班费",
    ),
    Rule(
        rf"(?P<pronoun>{_PRONOUN}){_WEEK}",
        lambda g: Week(_weeks(g["pronoun"])),
        unless_before=f"[末期报年边围转刊岁会例]|{WEEKDAY_FIGURE}(?:[^天个小]|$)",
    ),
    Rule(
        rf"(?P<pronoun>{_PRONOUN})月",
        lambda g: Month(_weeks(g["pronoun"])),
        unless_before=rf"[份]?的? ?{DAY_OF_MONTH}|[底初末饼亮光报刊票]|中旬|上旬|下旬",
    ),
)
