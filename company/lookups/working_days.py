"""What flow files of the sample ask: working days, working time, claims."""

from typing import Annotated

from pydantic import JsonValue

from activities import provided
from activities.look_up import asking_runs, passed, text
from company.calendar import work_calendar as days
from company.calendar.work_calendar import WorkCalendar, work_calendar
from company.people.people import PeopleSystem, human_resources
from company.people.records import one_spelling
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.domain.principals import Directory
from router.sdk.lookups import lookup
from router.tool.context import Depends

Calendar = Annotated[WorkCalendar, Depends(work_calendar)]

_HALVES = frozenset({"", "am", "pm"})


@lookup("working days from start to end, both included, in halves; '' for whole days")
async def workdays(
    tenant: str,
    start: JsonValue,
    end: JsonValue,
    start_half: JsonValue = "",
    end_half: JsonValue = "",
    *,
    calendar: Calendar,
) -> JsonValue:
    """Working days from start to end, as a number in halves."""
    del tenant  # one calendar for everyone, so far
    first, last = days.day(start, "start"), days.day(end, "end")
    halves = _half(start_half, "start_half"), _half(end_half, "end_half")
    return float(days.workdays(calendar, first, last, *halves))


@lookup("the day on which a leave of this duration from start ends, both included")
async def last_workday(
    tenant: str, start: JsonValue, duration: JsonValue, *, calendar: Calendar
) -> JsonValue:
    """The day on which a leave of this duration ends, as an ISO date."""
    del tenant
    return days.last_workday(calendar, days.day(start, "start"), duration).isoformat()


@lookup("the moment at which so much of the person's working time has passed since start")
async def working_time(
    tenant: str,
    person: JsonValue,
    start: JsonValue,
    duration: JsonValue,
    *,
    calendar: Calendar,
    directory: Annotated[Directory, Depends(provided.directory)],
) -> JsonValue:
    """The moment at which so much of the person's working time has passed, by the calendar."""
    return await passed(directory, calendar, tenant, person, start, duration)


def _half(value: JsonValue, name: str) -> str:
    half = "" if value is None else value
    if not isinstance(half, str) or half not in _HALVES:
        raise ArgumentsToolError(f"{name}: {str(value)[:40]!r} isn't am, pm or empty")
    return half


@lookup("true where a standing claim other than the request's own has this invoice number")
async def claimed(
    tenant: str, invoice: JsonValue, *, people: Annotated[PeopleSystem, Depends(human_resources)]
) -> JsonValue:
    """Return whether a standing claim other than the request's own has this invoice number."""
    try:
        number = one_spelling(text(invoice, "invoice"))
    except ValueError as error:
        zh = f"发票号 {invoice} 里有既不是拉丁字母也不是汉字的字母，请照发票重新写"
        raise ArgumentsToolError(Localised(zh=zh, en=f"invoice {invoice}: {error}")) from None
    return await people.claims.claimed(tenant, number, own_runs=asking_runs())
