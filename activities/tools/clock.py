"""The clock, as a tool."""

from datetime import datetime, tzinfo
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, Field

from activities.calendar.weekdays import weekday
from router.domain.errors import ArgumentsToolError
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.labels import Labelled
from router.tool.tool import tool


class Moment(BaseModel):
    """A moment as the clocks of a time zone show it."""

    time: datetime
    """To the second, with its distance from UTC."""
    weekday: str
    """In the caller's language."""
    timezone: str


@tool(
    permission="read",
    title={"zh": "现在几点", "en": "Current time"},
    description_zh="现在的日期、星期和时间，本地或其他时区的。",
    examples=[
        "现在几点了",
        "今天星期几",
        "what time is it in Berlin",
        "what is today's date",
    ],
)
async def get_current_time(
    ctx: ToolContext,
    timezone: Annotated[
        str | None,
        Field(
            description="An IANA time zone, such as Europe/Berlin; yours where left out",
            max_length=64,
        ),
        Labelled("时区"),
    ] = None,
) -> Moment:
    """Today's date, the weekday and the time of day, here or in another time zone."""
    now = ctx.now.astimezone(_zone(timezone)) if timezone else ctx.now
    return Moment(
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
