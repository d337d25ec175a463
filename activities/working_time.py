"""When so much of somebody's working time has passed, by whatever says which days are worked."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.errors import ArgumentsToolError
from router.domain.principals import Principal

FIRST_YEAR = 2001
LAST_YEAR = 2098
"""Beyond these calendars know neither announcements nor the moon."""
_SATURDAY = 5
_DAY = timedelta(days=1)


class Workdays(Protocol):
    """Knows which days are worked."""

    def is_workday(self, day: date) -> bool:
        """True where people work on this day."""


class Weekdays:
    """Monday to Friday: where nobody has declared a calendar."""

    def is_workday(self, day: date) -> bool:
        """True on any day but of a weekend."""
        return day.weekday() < _SATURDAY


MOST_WAITING_DAYS = 366


def after_working(
    calendar: Workdays, person: Principal, start: datetime, duration: JsonValue
) -> datetime:
    """The moment at which the duration has passed in the person's working time, in UTC.

    A day leads to the same time of the next working day, hours are counted within the
    person's shifts. What begins outside of them begins with the next shift.
    Raises `ArgumentsToolError` for anything but `{"days": 1, "hours": 4}` up to a year.

    >>> friday = datetime(2026, 11, 20, 17, tzinfo=ZoneInfo("Asia/Shanghai"))
    >>> after_working(Weekdays(), Principal(id="a", name="A"), friday, {"hours": 2})
    datetime.datetime(2026, 11, 23, 2, 0, tzinfo=datetime.timezone.utc)
    """
    days, hours = _amounts(duration)
    local = start.astimezone(ZoneInfo(person.timezone))
    if not FIRST_YEAR <= local.year < LAST_YEAR - 1:
        raise ArgumentsToolError(f"start: {start.isoformat()} is in no year with a calendar")
    at = next(begins for begins, _ in _shifts(calendar, person, local))
    for _ in range(days):
        at = datetime.combine(_next_workday(calendar, at.date()), at.time(), at.tzinfo)
    left = timedelta(hours=hours)
    if not left:
        return at.astimezone(UTC)
    for begins, ends in _shifts(calendar, person, at):
        if left <= ends - begins:
            return (begins + left).astimezone(UTC)
        left -= ends - begins
    raise AssertionError("shifts never end")  # pragma: no cover


def _shifts(
    calendar: Workdays, person: Principal, since: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The person's shifts from a moment on, the first one cut where it has begun already."""
    day = since.date()
    while True:
        if calendar.is_workday(day):
            for shift in person.hours:
                ends = datetime.combine(day, shift.ends, since.tzinfo)
                begins = datetime.combine(day, shift.begins, since.tzinfo)
                if ends > since:
                    yield max(begins, since), ends
        day += _DAY


def _next_workday(calendar: Workdays, day: date) -> date:
    day += _DAY
    while not calendar.is_workday(day):
        day += _DAY
    return day


def _amounts(duration: JsonValue) -> tuple[int, float]:
    """Whole days and hours besides."""
    given = duration if isinstance(duration, dict) else {"": duration}
    days, hours = given.get("days", 0), given.get("hours", 0)
    numbers = all(
        isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n <= MOST_WAITING_DAYS * 24
        for n in (days, hours)
    )
    if not numbers or not given.keys() <= {"days", "hours"} or _is_too_long(days, hours):
        raise ArgumentsToolError(
            f"duration: {str(duration)[:80]} isn't one of up to a year like "
            '{"days": 1, "hours": 4}, in whole days'
        )
    return int(float(str(days))), float(str(hours))


def _is_too_long(days: JsonValue, hours: JsonValue) -> bool:
    count = float(str(days))
    return count != int(count) or count + float(str(hours)) / 8 > MOST_WAITING_DAYS
