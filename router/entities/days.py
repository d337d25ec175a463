"""Days and stretches of days as people name them, before anybody has looked at a calendar.

`周三` isn't a date yet: which one it is depends on today, on whether a coming or a past day is
meant, and, as the end of a range, on where the range starts. A term keeps what was said; `on`
and `across` look at the calendar.
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

Half = Literal["am", "pm"]

_A_LONG_TIME = 300


@dataclass(frozen=True)
class Calendar:
    """What days are counted from.

    `after` is where the range of an incomplete term starts. `past` prefers the last such day, as
    for money that was spent; `ahead` takes `this Thursday` for the next where it is over.
    """

    today: date
    after: date | None = None
    past: bool = False
    ahead: bool = False

    def starting(self, day: date) -> "Calendar":
        """The calendar for the end of a range that starts on `day`."""
        return replace(self, after=day, past=False)

    @property
    def origin(self) -> date:
        """The day that incomplete terms are searched from."""
        return self.after or self.today

    def distances(self, furthest: int) -> range:
        """How many years or months away to look, the nearest first, on the preferred side."""
        return range(0, -furthest - 1, -1) if self.past else range(furthest + 1)

    def nearest(self, dates: Iterable[date | None]) -> date | None:
        """The first of them that is on the preferred side, `origin` included."""
        suiting = (d for d in dates if d and (d <= self.origin if self.past else d >= self.origin))
        return next(suiting, None)


@dataclass(frozen=True)
class FixedDay:
    """`2026-12-24`; none where a `weekday` was said that it isn't."""

    year: int
    month: int
    day: int
    weekday: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date, if the month is that long; `calendar` has no say in it."""
        del calendar
        return _agreed(_date(self.year, self.month, self.day), self.weekday)


@dataclass(frozen=True)
class YearDay:
    """`12月1号`: the next, or `years` away; none where it isn't the `weekday` that was said."""

    month: int
    day: int
    years: int | None = None
    weekday: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date in the year said, else the nearest on the side that the calendar prefers."""
        if self.years is not None:
            said = _date(calendar.today.year + self.years, self.month, self.day)
            return _agreed(said, self.weekday)
        # 29 February may be eight years away.
        year = calendar.origin.year
        dates = (_date(year + n, self.month, self.day) for n in calendar.distances(8))
        return _agreed(calendar.nearest(dates), self.weekday)


@dataclass(frozen=True)
class Festival:
    """`春节`, in the calendar of `holidays`, or `shift` days from it: the next, or of a `year`."""

    name: str
    shift: int = 0
    year: int | None = None
    years: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date in the year said, else the nearest on the side that the calendar prefers."""
        year = calendar.origin.year
        if self.year is not None or self.years is not None:
            return self._in(self.year or calendar.today.year + (self.years or 0))
        return calendar.nearest(self._in(year + n) for n in calendar.distances(1))

    def _in(self, year: int) -> date | None:
        first = _festival(self.name, year)
        return first and first + timedelta(days=self.shift)


@lru_cache(maxsize=64)
def _festival(name: str, year: int) -> date | None:
    from holidays import country_holidays  # takes longer than all the rest: not before one is said

    days = country_holidays("CN", years=year, language="zh_CN").get_named(name)
    return min(days, default=None)


@dataclass(frozen=True)
class MonthDay:
    """`5号`, `the 24th`: the next one, or `months` away; None where it isn't the `weekday` said."""

    day: int
    months: int | None = None
    weekday: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date in the month said, else the nearest on the side that the calendar prefers."""
        if self.months is not None:
            return _agreed(in_month(calendar.today, self.months, self.day), self.weekday)
        dates = (in_month(calendar.origin, n, self.day) for n in calendar.distances(3))
        return _agreed(calendar.nearest(dates), self.weekday)


@dataclass(frozen=True)
class Weekday:
    """`周三` (Monday is 0): the next one, or of the week `weeks` away.

    `nearest` is English: `last Friday` is the latest that is over, `this Thursday` may be the next.
    """

    weekday: int
    weeks: int | None = None
    nearest: bool = False

    def on(self, calendar: Calendar) -> date:
        """The date in the week said, else the nearest on the side that the calendar prefers."""
        if self.weeks is not None:
            said = monday(calendar.today, self.weeks) + timedelta(days=self.weekday)
            passed = self.weeks == 0 and said < calendar.today and calendar.ahead
            again = self.weeks == -1 and said + timedelta(weeks=1) < calendar.today
            return said + timedelta(weeks=1) if self.nearest and (passed or again) else said
        ahead = (self.weekday - calendar.origin.weekday()) % 7
        return calendar.origin + timedelta(days=ahead - 7 if calendar.past and ahead else ahead)


@dataclass(frozen=True)
class DayShift:
    """`明天`, `three weeks ago`: so many days or months from today."""

    days: int = 0
    months: int = 0

    def on(self, calendar: Calendar) -> date | None:
        """The date; the last of the month where the month is too short."""
        today = calendar.today
        if self.months:
            last = last_of(in_month(today, self.months, 1))
            return last and last.replace(day=min(today.day, last.day))
        return today + timedelta(days=self.days)


@dataclass(frozen=True)
class MonthEnd:
    """`月底`: the last day of a `month`, or of that `months` away, of a `year`, or `years` away."""

    month: int | None = None
    months: int | None = None
    year: int | None = None
    years: int | None = None

    def on(self, calendar: Calendar) -> date | None:
        """The date; of a month without a year the next such, today included."""
        return last_of(month_start(calendar, self.month, self.months, self.year, self.years))


@dataclass(frozen=True)
class NthWeekday:
    """`下个月第一个周五`, `the last Friday of December`: `nth` from 1, or -1 for the last."""

    nth: int
    weekday: int
    month: int | None = None
    months: int = 0

    def on(self, calendar: Calendar) -> date | None:
        """The date, if the month has so many; of a month by name the next such."""
        first = month_start(calendar, self.month, self.months)
        if first is None:
            return None
        days = monthrange(first.year, first.month)[1]
        such = [d for d in range(1, days + 1) if first.replace(day=d).weekday() == self.weekday]
        if self.nth > len(such):
            return None
        return first.replace(day=such[self.nth - 1 if self.nth > 0 else self.nth])


@dataclass(frozen=True)
class Later:
    """`a week from Monday`, `two days after Christmas`: so many days from another day."""

    day: "FixedDay | YearDay | Festival | MonthDay | Weekday | DayShift | MonthEnd | NthWeekday"
    days: int

    def on(self, calendar: Calendar) -> date | None:
        """The date, if there is the day that it is counted from."""
        first = self.day.on(calendar)
        return first and first + timedelta(days=self.days)


DayRule = (
    FixedDay | YearDay | Festival | MonthDay | Weekday | DayShift | MonthEnd | NthWeekday | Later
)
"""A term for one day."""


def month_start(
    calendar: Calendar,
    month: int | None,
    months: int | None = None,
    year: int | None = None,
    years: int | None = None,
) -> date | None:
    """The first of a month by name, of the year said or the next; else of that `months` away."""
    if month is None:
        return in_month(calendar.origin if months is None else calendar.today, months or 0, 1)
    if year is None and years is not None:
        year = calendar.today.year + years
    elif year is None:
        origin = calendar.origin
        away = -(month > origin.month) if calendar.past else month < origin.month
        year = origin.year + away
    return _date(year, month, 1)


def monday(today: date, weeks: int) -> date:
    """The Monday of the week that is `weeks` away from that of `today`."""
    return today - timedelta(days=today.weekday()) + timedelta(weeks=weeks)


def runs_backwards(first: DayRule, last: DayRule, span: tuple[date, date]) -> bool:
    """True for `11月30日到11月25日`, whose end is a year later only since it can't be before."""
    open_years = all(
        isinstance(day, YearDay | Festival) and day.years is None and not getattr(day, "year", None)
        for day in (first, last)
    )
    return open_years and span[0].year < span[1].year and (span[1] - span[0]).days > _A_LONG_TIME


def _agreed(day: date | None, weekday: int | None) -> date | None:
    return day if day is None or weekday in {None, day.weekday()} else None


def last_of(first: date | None) -> date | None:
    """The last day of a month, by its first."""
    return first and first.replace(day=monthrange(first.year, first.month)[1])


def in_month(day: date, months: int, of_month: int) -> date | None:
    """The day of a month that is `months` away from that of `day`, if it is that long."""
    years, month = divmod(day.month - 1 + months, 12)
    return _date(day.year + years, month + 1, of_month)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


DayRange = tuple[date, date]


@dataclass(frozen=True)
class Week:
    """`下周`, Monday to Sunday; `weekend` alone is its last two days."""

    weeks: int
    weekend: bool = False

    def across(self, calendar: Calendar) -> DayRange:
        """Its first and last day."""
        first = monday(calendar.today, self.weeks)
        return first + timedelta(days=5 if self.weekend else 0), first + timedelta(days=6)


@dataclass(frozen=True)
class DaysAhead:
    """`明后天`."""

    first: int
    last: int

    def across(self, calendar: Calendar) -> DayRange:
        """The first and the last day."""
        today = calendar.today
        return today + timedelta(days=self.first), today + timedelta(days=self.last)


@dataclass(frozen=True)
class Month:
    """`下个月`, `months` away; `all of August`: the `month` of a `year`, or the next not over."""

    months: int = 0
    month: int | None = None
    year: int | None = None

    def across(self, calendar: Calendar) -> DayRange | None:
        """Its first and last day."""
        first = month_start(calendar, self.month, self.months, self.year)
        last = last_of(first)
        return (first, last) if first and last else None


@dataclass(frozen=True)
class FromTo:
    """`10.9-10.13`: a range that only its two ends together show to be one."""

    first: DayRule
    last: DayRule

    def across(self, calendar: Calendar) -> DayRange | None:
        """The two days, the last one not before the first; None if that can't be."""
        first = self.first.on(calendar)
        last = first and self.last.on(calendar.starting(first))
        if not first or not last or first > last:
            return None
        return None if runs_backwards(self.first, self.last, (first, last)) else (first, last)


Stretch = Week | Month | DaysAhead | FromTo
"""A term for several days in a row."""
