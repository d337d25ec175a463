"""The clock and China's working calendar, as tools: which days are worked, and how many."""

from datetime import date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, Field

from company.calendar.work_calendar import (
    FIRST_YEAR,
    LAST_YEAR,
    MOST_DAYS,
    WorkCalendar,
    weekday,
    work_calendar,
    workdays,
)
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool


class ClockTime(BaseModel):
    """A moment as the clocks of a time zone show it."""

    time: datetime
    """To the second, with its distance from UTC."""
    weekday: str
    timezone: str


@tool(
    permission="read",
    title={"zh": "现在几点", "en": "Current time"},
    description_zh="现在的日期、星期和时间，本地或其他时区的。",
    examples=["现在几点了", "今天星期几", "what time is it in Berlin", "what is today's date"],
)
async def get_current_time(
    ctx: ToolContext,
    timezone: Annotated[
        str | None,
        Field(
            description="An IANA time zone, such as Europe/Berlin; yours where left out",
            max_length=64,
        ),
        ChineseLabel("时区"),
    ] = None,
) -> ClockTime:
    """Today's date, the weekday and the time of day, here or in another time zone."""
    now = ctx.now.astimezone(_zone(timezone)) if timezone else ctx.now
    return ClockTime(
        time=now.replace(microsecond=0),
        weekday=weekday(now).within(ctx.locale),
        timezone=timezone or ctx.caller.timezone,
    )


def _zone(name: str) -> tzinfo:
    # ZoneInfo opens a file of that name: only names that it lists itself get as far as that.
    known = available_timezones()
    if name in known:
        return ZoneInfo(name)
    cities = {zone.rpartition("/")[2]: zone for zone in sorted(known)}
    wanted = name.rpartition("/")[2].strip().replace(" ", "_").title()
    near = get_close_matches(wanted, cities, n=1)
    zh = f"你是指 {cities[near[0]]} 吗？" if near else "可以写 Europe/Berlin 这样的"
    en = f"did you mean {cities[near[0]]}?" if near else "write one like Europe/Berlin"
    raise ArgumentsToolError(
        Localised(
            zh=f"timezone：“{name}”不是 IANA 时区，{zh}",
            en=f"timezone: {name!r} isn't an IANA time zone; {en}",
        )
    )


Calendar = Annotated[WorkCalendar, Depends(work_calendar)]
Day = Annotated[date, Field(ge=date(FIRST_YEAR, 1, 1), le=date(LAST_YEAR, 12, 31))]

_DAY = timedelta(days=1)


class CalendarDay(BaseModel):
    """One day of the calendar."""

    day: date
    weekday: str
    workday: bool
    announced: bool
    """False where the year's swapped working days aren't known yet, and this may change."""


class WorkdayCount(BaseModel):
    """Days from `start` to `end`, both included."""

    start: date
    end: date
    workdays: int
    days: int
    """All of them, those off included."""
    announced: bool


@tool(
    permission="read",
    title={"zh": "数工作日", "en": "Count working days"},
    description_zh="数一数两个日期之间有几个工作日（首尾都算），已考虑法定节假日和调休。",
    examples=[
        "12月有几个工作日",
        "下周一到月底一共几个工作日",
        "how many working days are there in December",
        "working days between 1 and 15 March",
    ],
)
async def count_workdays(
    start: Annotated[Day, Field(description="The first day"), ChineseLabel("开始日期")],
    end: Annotated[
        Day, Field(description="The last day, which counts too"), ChineseLabel("结束日期")
    ],
    calendar: Calendar,
) -> WorkdayCount:
    """How many working days there are from one day to another, both included.

    Public holidays and the weekend days that are worked in their place are taken into account.
    """
    if end < start:
        zh = f"end：{end} 早于开始日期 {start}"
        en = f"end: {end} is before the start, {start}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    if end - start > MOST_DAYS * _DAY:
        zh = f"end：{end} 比 {start} 晚了五年以上"
        en = f"end: {end} is more than five years after {start}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return WorkdayCount(
        start=start,
        end=end,
        workdays=int(workdays(calendar, start, end)),
        days=(end - start).days + 1,
        announced=all(calendar.announced(year) for year in range(start.year, end.year + 1)),
    )


@tool(
    permission="read",
    title={"zh": "是不是工作日", "en": "Working day or not"},
    description_zh="看某一天是不是工作日，已考虑法定节假日和调休。",
    examples=[
        "10月10号要上班吗",
        "下周六是工作日吗",
        "is next Friday a working day",
        "do we work on January 2",
    ],
)
async def is_workday(
    calendar: Calendar,
    ctx: ToolContext,
    day: Annotated[
        Day | None, Field(description="The day; today where left out"), ChineseLabel("日期")
    ] = None,
) -> CalendarDay:
    """Whether a day is worked: public holidays and swapped weekend days are taken into account."""
    return _shown(calendar, day or ctx.now.date(), ctx)


@tool(
    permission="read",
    title={"zh": "下一个工作日", "en": "Next working day"},
    description_zh="某一天之后的第一个工作日。",
    examples=[
        "节后哪天上班",
        "下一个工作日是哪天",
        "when is the next working day",
        "first working day after the holiday",
    ],
)
async def next_workday(
    calendar: Calendar,
    ctx: ToolContext,
    after: Annotated[
        Day | None,
        Field(description="The day that it comes after; today where left out"),
        ChineseLabel("哪天之后"),
    ] = None,
) -> CalendarDay:
    """The first working day after a day, that day itself left out."""
    day = (after or ctx.now.date()) + _DAY
    while day.year <= LAST_YEAR and not calendar.is_workday(day):
        day += _DAY
    if day.year > LAST_YEAR:
        zh = f"after：日历只到 {LAST_YEAR} 年"
        en = f"after: the calendar ends with {LAST_YEAR}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return _shown(calendar, day, ctx)


def _shown(calendar: WorkCalendar, day: date, ctx: ToolContext) -> CalendarDay:
    return CalendarDay(
        day=day,
        weekday=weekday(day).within(ctx.locale),
        workday=calendar.is_workday(day),
        announced=calendar.announced(day.year),
    )
