"""Counting in working days, halves included."""

import math
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from activities.calendar.work_calendar import FIRST_YEAR, LAST_YEAR, WorkCalendar
from router.domain.errors import ArgumentsToolError
from router.domain.texts import Localised

MOST_DAYS = 5 * 366
"""Calendar days that are counted at most: a longer leave is a slip of the keyboard."""

HOURS_A_DAY = 8
_MOST = {"days": MOST_DAYS, "hours": MOST_DAYS * HOURS_A_DAY, "weeks": MOST_DAYS // 7}
HALF = Decimal("0.5")
_DAY = timedelta(days=1)


def workdays(
    calendar: WorkCalendar, start: date, end: date, start_half: str = "", end_half: str = ""
) -> Decimal:
    """Working days from `start` to `end`, both included; 0 where the end comes first.

    `start_half` "pm" begins at noon, `end_half` "am" ends at noon; half a day goes only
    where that day is worked. A morning or an afternoon is a day that ends or begins at noon.

    >>> calendar = WorkCalendar.load()
    >>> workdays(calendar, date(2026, 11, 20), date(2026, 11, 23), "pm", "am")
    Decimal('1.0')
    """
    if end < start:
        return Decimal(0)
    if end - start > timedelta(days=MOST_DAYS):
        raise ArgumentsToolError(
            Localised(
                zh=f"{start} 到 {end} 超过五年，请核对日期",
                en=f"{start} to {end} is longer than five years; check the dates",
            )
        )
    total = Decimal(sum(calendar.is_workday(day) for day in _days(start, end)))
    if start_half == "pm" and calendar.is_workday(start):
        total -= HALF
    if end_half == "am" and calendar.is_workday(end):
        total -= HALF
    return total


def last_workday(calendar: WorkCalendar, start: date, duration: JsonValue) -> date:
    """The day on which a leave of this duration that begins on `start` ends, both included.

    `duration` is `{"days": 2.5}` or `{"hours": 4}`, in working days of eight hours, or
    `{"weeks": 2}`, which are calendar weeks. A leave that ends at noon ends on that day.
    Raises `ArgumentsToolError` for any other, and for more than five years.

    >>> last_workday(WorkCalendar.load(), date(2026, 11, 20), {"days": 2.5}).isoformat()
    '2026-11-24'
    """
    unit, amount = _amount(duration)
    if unit == "weeks":
        return start + timedelta(days=max(math.ceil(amount * 7), 1) - 1)
    left = math.ceil(amount / HOURS_A_DAY if unit == "hours" else amount)
    for day in _days(start, start + timedelta(days=MOST_DAYS)):
        left -= calendar.is_workday(day)
        if left <= 0:
            return day
    raise ArgumentsToolError(
        Localised(
            zh=f"{duration} 超过五年，请核对时长",
            en=f"{duration} is longer than five years; check the duration",
        )
    )


def day(value: JsonValue, name: str) -> date:
    """The date that an argument holds; raises `ArgumentsToolError`, which calls it `name`."""
    try:
        found = date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ArgumentsToolError(
            Localised(
                zh=f"{name}：{str(value)[:40]!r} 不是 2026-11-30 这样的日期",
                en=f"{name}: {str(value)[:40]!r} isn't a date like 2026-11-30",
            )
        ) from None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ArgumentsToolError(
            Localised(
                zh=f"{name}：{found} 不在 {FIRST_YEAR} 到 {LAST_YEAR} 年之间",
                en=f"{name}: {found} isn't between {FIRST_YEAR} and {LAST_YEAR}",
            )
        )
    return found


def _days(start: date, end: date) -> Iterator[date]:
    return (start + _DAY * number for number in range((end - start).days + 1))


def _amount(duration: JsonValue) -> tuple[str, Decimal]:
    wrong = ArgumentsToolError(
        f"duration: {str(duration)[:80]} isn't a duration of up to five years "
        'like {"days": 2.5}, {"hours": 4} or {"weeks": 2}'
    )
    if not isinstance(duration, dict) or len(duration) != 1:
        raise wrong
    ((unit, number),) = duration.items()
    try:
        amount = Decimal(str(number))
    except InvalidOperation:
        raise wrong from None
    if unit not in _MOST or not amount.is_finite() or not 0 < amount <= _MOST[unit]:
        raise wrong
    return unit, amount
