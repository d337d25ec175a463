"""Days as people name them, before anybody has looked at a calendar.

`周三` isn't a date yet: which one it is depends on today, on whether a coming or a past day is
meant, and, as the end of a range, on where the range starts. A term keeps what was said; `on`
looks at the calendar.
"""

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

Half = Literal["am", "pm"]
Span = tuple[date, date]


@dataclass(frozen=True)
class Calendar:
    """What days are counted from.

    `after` is the day that an incomplete term can't lie before: where its range starts.
    `past` prefers the last such day to the next, as for money that was already spent.
    """

    today: date
    after: date | None = None
    past: bool = False

    def starting(self, day: date) -> "Calendar":
        """The calendar for the end of a range that starts on `day`."""
        return replace(self, after=day, past=False)

    @property
    def origin(self) -> date:
        """The day that incomplete terms are searched from."""
        return self.after or self.today


@dataclass(frozen=True)
class FixedDay:
    """`2026-12-24`."""

    year: int
    month: int
    day: int

    def on(self, calendar: Calendar) -> date | None:
        """The date, if the month is that long; `calendar` has no say in it."""
        del calendar
        return _date(self.year, self.month, self.day)


@dataclass(frozen=True)
class YearDay:
    """`12月1号`, `Dec 24`: the next one; `years` away where that was said (`明年`)."""

    month: int
    day: int
    years: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date in the year said, else the nearest on the side that the calendar prefers."""
        origin = calendar.origin
        if self.years is not None:
            return _date(calendar.today.year + self.years, self.month, self.day)
        # 29 February may be eight years away.
        distances = range(0, -9, -1) if calendar.past else range(9)
        dates = (_date(origin.year + n, self.month, self.day) for n in distances)
        return next((d for d in dates if d and _suits(d, calendar)), None)


@dataclass(frozen=True)
class MonthDay:
    """`5号`, `the 24th`: the next one; `months` away where that was said (`下个月`)."""

    day: int
    months: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date in the month said, else the nearest on the side that the calendar prefers."""
        if self.months is not None:
            return _in_month(calendar.today, self.months, self.day)
        distances = range(0, -4, -1) if calendar.past else range(4)
        dates = (_in_month(calendar.origin, n, self.day) for n in distances)
        return next((d for d in dates if d and _suits(d, calendar)), None)


@dataclass(frozen=True)
class Weekday:
    """`周三` (Monday is 0): the next one; of the week `weeks` away where that was said."""

    weekday: int
    weeks: int | None = None

    def on(self, calendar: Calendar) -> date:
        """The date in the week said, else the nearest on the side that the calendar prefers."""
        if self.weeks is not None:
            return monday(calendar.today, self.weeks) + timedelta(days=self.weekday)
        ahead = (self.weekday - calendar.origin.weekday()) % 7
        return calendar.origin + timedelta(days=ahead - 7 if calendar.past and ahead else ahead)


@dataclass(frozen=True)
class Shift:
    """`明天`, `three weeks ago`: so many days or months from today."""

    days: int = 0
    months: int = 0

    def on(self, calendar: Calendar) -> date | None:
        """The date; the last of the month where the month is too short."""
        today = calendar.today
        if self.months:
            first = _in_month(today, self.months, 1)
            return first and first.replace(
                day=min(today.day, monthrange(first.year, first.month)[1])
            )
        return today + timedelta(days=self.days)


@dataclass(frozen=True)
class Week:
    """`下周`, Monday to Sunday; `weekend` alone is its last two days."""

    weeks: int
    weekend: bool = False

    def across(self, calendar: Calendar) -> Span:
        """Its first and last day."""
        first = monday(calendar.today, self.weeks)
        return first + timedelta(days=5 if self.weekend else 0), first + timedelta(days=6)


@dataclass(frozen=True)
class Month:
    """`下个月`."""

    months: int

    def across(self, calendar: Calendar) -> Span | None:
        """Its first and last day."""
        first = _in_month(calendar.today, self.months, 1)
        if first is None:
            return None
        return first, first.replace(day=monthrange(first.year, first.month)[1])


@dataclass(frozen=True)
class DaysAhead:
    """`明后天`."""

    first: int
    last: int

    def across(self, calendar: Calendar) -> Span:
        """The first and the last day."""
        today = calendar.today
        return today + timedelta(days=self.first), today + timedelta(days=self.last)


Day = FixedDay | YearDay | MonthDay | Weekday | Shift
"""A term for one day."""

Stretch = Week | Month | DaysAhead
"""A term for several days in a row."""


def monday(today: date, weeks: int) -> date:
    """The Monday of the week that is `weeks` away from that of `today`."""
    return today - timedelta(days=today.weekday()) + timedelta(weeks=weeks)


def _suits(day: date, calendar: Calendar) -> bool:
    return day <= calendar.origin if calendar.past else day >= calendar.origin


def _in_month(day: date, months: int, of_month: int) -> date | None:
    years, month = divmod(day.month - 1 + months, 12)
    return _date(day.year + years, month + 1, of_month)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
