"""Several days in a row as people name them: `下周`, `明后天`, `all of August`, `10.9-10.13`."""

from dataclasses import dataclass
from datetime import date, timedelta

from router.understanding.days import (
    Calendar,
    Day,
    in_month,
    last_of,
    monday,
    month_start,
    runs_backwards,
)

Span = tuple[date, date]


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
        return _whole(in_month(calendar.today, self.months, 1))


@dataclass(frozen=True)
class DaysAhead:
    """`明后天`."""

    first: int
    last: int

    def across(self, calendar: Calendar) -> Span:
        """The first and the last day."""
        today = calendar.today
        return today + timedelta(days=self.first), today + timedelta(days=self.last)


@dataclass(frozen=True)
class NamedMonth:
    """`all of August`, `整个八月`: the one of `year`, else the next that isn't over."""

    month: int
    year: int | None = None

    def across(self, calendar: Calendar) -> Span | None:
        """Its first and last day."""
        return _whole(month_start(calendar, self.month, self.year))


@dataclass(frozen=True)
class FromTo:
    """`10.9-10.13`: a range that only its two ends together show to be one."""

    first: Day
    last: Day

    def across(self, calendar: Calendar) -> Span | None:
        """The two days, the last one not before the first; None if that can't be."""
        first = self.first.on(calendar)
        last = first and self.last.on(calendar.starting(first))
        if not first or not last or first > last:
            return None
        return None if runs_backwards(self.first, self.last, (first, last)) else (first, last)


Stretch = Week | Month | DaysAhead | NamedMonth | FromTo
"""A term for several days in a row."""


def _whole(first: date | None) -> Span | None:
    last = last_of(first)
    return (first, last) if first and last else None
