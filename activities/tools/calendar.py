"""The working calendar, as tools: which days are worked, and how many of them there are.

The calendar is China's, with its holidays and the weekend days that are worked for them.
"""

from datetime import date, timedelta
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from activities.calendar.counting import MOST_DAYS, workdays
from activities.calendar.weekdays import weekday
from activities.calendar.work_calendar import FIRST_YEAR, LAST_YEAR, WorkCalendar
from router.domain.errors import ArgumentsToolError
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.labels import Labelled
from router.tool.tool import tool

Calendar = Annotated[WorkCalendar, Depends(provided.work_calendar)]
Day = Annotated[date, Field(ge=date(FIRST_YEAR, 1, 1), le=date(LAST_YEAR, 12, 31))]

_DAY = timedelta(days=1)


class CalendarDay(BaseModel):
    """One day of the calendar."""

    day: date
    weekday: str
    """In the caller's language."""
    workday: bool
    announced: bool
    """False where the year's swapped working days aren't known yet, and this may change."""


class Workdays(BaseModel):
    """Days from `start` to `end`, both included."""

    start: date
    end: date
    workdays: int
    days: int
    """All of them, those off included."""
    announced: bool
    """False where the swapped working days aren't known yet, and the count may change."""


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
    start: Annotated[Day, Field(description="The first day"), Labelled("开始日期")],
    end: Annotated[Day, Field(description="The last day, which counts too"), Labelled("结束日期")],
    calendar: Calendar,
) -> Workdays:
    """How many working days there are from one day to another, both included.

    Public holidays and the weekend days that are worked in their place are taken into account.
    """
    if end < start:
        raise ArgumentsToolError(
            Localised(
                zh=f"end：{end} 早于开始日期 {start}", en=f"end: {end} is before the start, {start}"
            )
        )
    if end - start > MOST_DAYS * _DAY:
        raise ArgumentsToolError(
            Localised(
                zh=f"end：{end} 比 {start} 晚了五年以上",
                en=f"end: {end} is more than five years after {start}",
            )
        )
    return Workdays(
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
        Day | None, Field(description="The day; today where left out"), Labelled("日期")
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
        Labelled("哪天之后"),
    ] = None,
) -> CalendarDay:
    """The first working day after a day, that day itself left out."""
    day = (after or ctx.now.date()) + _DAY
    while day.year <= LAST_YEAR and not calendar.is_workday(day):
        day += _DAY
    if day.year > LAST_YEAR:
        raise ArgumentsToolError(
            Localised(
                zh=f"after：日历只到 {LAST_YEAR} 年",
                en=f"after: the calendar ends with {LAST_YEAR}",
            )
        )
    return _shown(calendar, day, ctx)


def _shown(calendar: WorkCalendar, day: date, ctx: ToolContext) -> CalendarDay:
    return CalendarDay(
        day=day,
        weekday=weekday(day).within(ctx.locale),
        workday=calendar.is_workday(day),
        announced=calendar.announced(day.year),
    )
