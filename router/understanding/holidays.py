"""Holidays that have one fixed day of the solar calendar, named as a day.

`元旦` is a day in `元旦我值班`, and the kind of a thing in `元旦晚会`, `元旦放假安排`: then it is
none. Holidays of the moon, and those that move, aren't days that a rule could know.
"""

from router.understanding.dates_zh import YEAR, YEARS, day_of_year
from router.understanding.days import Day, YearDay
from router.understanding.grammar import Groups, Rule

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

_ZH_KIND = (
    "的?(?:晚会|放假|假|期间|活动|安排|聚会|派对|礼|快乐|福利|贺卡|大促|促销|套餐|广场|路|街|酒会|联欢|节目|祝福"
    "|红包|特|主题|树|老人|老公|歌|装饰|餐|长假|小长假|黄金周|前后|那几天|那周|调休|值班表|值班安排|排班|加班费|加班工资|通知"
    "|海报|布置|氛围|三天|七天|档|购物|狂欢|嘉年华|蛋糕|前夕|后第|第|放(?:几|多少|不放|没)|怎么放|[前后][一两三几]天|[前后]一[晚夜]|次日|休几)"
)
_EN_KIND = (
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


ZH_DAYS: tuple[Rule[Day], ...] = (
    Rule(
        rf"(?:(?P<year>{YEAR})年|(?P<rel>今|明|去|后|本)年的?)?"
        rf"(?P<name>{'|'.join(sorted(_ZH, key=len, reverse=True))})(?:当[天日]|那一?天|这一?天)?",
        _named,
        unless_after="[每过][年个]?|[祝日号]",
        unless_before=_ZH_KIND,
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

EN_DAYS: tuple[Rule[Day], ...] = (
    Rule(
        "(?:the )?(?P<name>" + "|".join(_pattern(name) for name in _EN) + r")\b",
        _english,
        unless_after=r"\b(?:every|happy|each|merry|a) ",
        unless_before=_EN_KIND,
    ),
    Rule(
        r"\b(?:on|before|after|by|until|till) (?P<it>christmas|xmas)\b",
        lambda _: YearDay(12, 25),
        unless_before=rf"{_EN_KIND}| (?:eve|day|week|break|holidays?|season|shutdown|leave|period"
        "|time)",
    ),
)
