"""Which days are worked in China, holidays and swapped weekends heeded, and counting in halves."""

import logging
import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Self

from holidays import country_holidays
from pydantic import JsonValue, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from router.domain.errors import ArgumentsToolError, MisconfiguredError
from router.domain.locale import Localised
from router.domain.value import Value
from router.tool.context import provider

FIRST_YEAR = 2001
LAST_YEAR = 2098
"""Beyond these the library knows neither the announcements nor the lunar calendar."""

_SHIPPED = Path(__file__).parent / "overrides.yaml"
_SATURDAY = 5
_log = logging.getLogger("router.calendar")


class Overrides(Value, extra="forbid"):
    """What an overrides file says; see `overrides.yaml`."""

    announced: frozenset[int] = frozenset()
    off: frozenset[date] = frozenset()
    work: frozenset[date] = frozenset()

    def then(self, other: Self) -> Self:
        """Both together; where they contradict each other, `other` is right."""
        return self.replace(
            announced=self.announced | other.announced,
            off=(self.off - other.work) | other.off,
            work=(self.work - other.off) | other.work,
        )


@dataclass(frozen=True)
class _Year:
    off: frozenset[date]
    work: frozenset[date]


class WorkCalendar:
    """The Chinese working calendar, with `overrides`; years yet unannounced are guessed."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self._overrides = overrides or Overrides()
        self._warned: set[int] = set()

    @classmethod
    def load(cls, file: Path | None = None) -> Self:
        """With the overrides that ship and then those in `file`; raises `MisconfiguredError`."""
        overrides = _read(_SHIPPED)
        return cls(overrides.then(_read(file)) if file else overrides)

    def is_workday(self, day: date) -> bool:
        """True where people work on this day, of a year from 2001 to 2098."""
        if not self.announced(day.year) and day.year not in self._warned:
            self._warned.add(day.year)
            _log.warning(
                "the days off of %s aren't known yet: counting without swapped working days; "
                "add them to the calendar's overrides once they are announced",
                day.year,
            )
        if day in self._overrides.off or day in self._overrides.work:
            return day in self._overrides.work
        year = self._year(day.year)
        return day in year.work or (day.weekday() < _SATURDAY and day not in year.off)

    def announced(self, year: int) -> bool:
        """True where the year's days off and swapped working days are known, not guessed."""
        # Every announcement there has been swaps some days.
        return year in self._overrides.announced or bool(_known(year).work)

    def _year(self, year: int) -> _Year:
        stands_here = year in self._overrides.announced
        return _Year(frozenset(), frozenset()) if stands_here else _known(year)


@cache
def _known(year: int) -> _Year:
    # A year's arrangement may swap a day of the December before it.
    days = country_holidays("CN", years=(year, year + 1))
    return _Year(
        off=frozenset(day for day in days if day.year == year),
        work=frozenset(day for day in days.weekend_workdays if day.year == year),
    )


def _read(file: Path) -> Overrides:
    try:
        overrides = Overrides.model_validate(YAML(typ="safe").load(file) or {})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise MisconfiguredError(f"{file}: {place}: {first['msg']}; see {_SHIPPED}") from error
    except (OSError, YAMLError, ValueError) as error:
        raise MisconfiguredError(f"{file}: the calendar can't be read: {error}") from error
    if both := overrides.off & overrides.work:
        raise MisconfiguredError(
            f"{file}: {min(both)} is both off and worked; leave it in one of the two lists"
        )
    return overrides


_DAY_NAMES = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_NAMES = [
    Localised(zh=f"星期{zh}", en=en)
    for zh, en in zip("一二三四五六日", _DAY_NAMES.split(), strict=True)
]


def weekday(day: date) -> Localised:
    """The name of the weekday that `day` falls on."""
    return _NAMES[day.weekday()]


MOST_DAYS = 5 * 366
"""Calendar days that are counted at most: a longer leave is a slip of the keyboard."""

HOURS_A_DAY = 8
_MOST = {"days": MOST_DAYS, "hours": MOST_DAYS * HOURS_A_DAY, "weeks": MOST_DAYS // 7}
HALF = Decimal("0.5")
_DAY = timedelta(days=1)


def workdays(
    calendar: WorkCalendar, start: date, end: date, start_half: str = "", end_half: str = ""
) -> Decimal:
    """Working days from `start` (from noon where "pm") to `end` (to noon where "am"), or 0."""
    if end < start:
        return Decimal(0)
    if end - start > timedelta(days=MOST_DAYS):
        zh = f"{start} 到 {end} 超过五年，请核对日期"
        en = f"{start} to {end} is longer than five years; check the dates"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    total = Decimal(sum(calendar.is_workday(day) for day in _days(start, end)))
    if start_half == "pm" and calendar.is_workday(start):
        total -= HALF
    if end_half == "am" and calendar.is_workday(end):
        total -= HALF
    return total


def last_workday(calendar: WorkCalendar, start: date, duration: JsonValue) -> date:
    """The day on which a leave of this duration that begins on `start` ends, both included.

    `duration` is `{"days": 2.5}` or `{"hours": 4}`, in working days of eight hours, or
    `{"weeks": 2}`, of the calendar. Raises `ArgumentsToolError` for any other or over five years.
    """
    unit, amount = _amount(duration)
    if unit == "weeks":
        return start + timedelta(days=max(math.ceil(amount * 7), 1) - 1)
    left = math.ceil(amount / HOURS_A_DAY if unit == "hours" else amount)
    for day in _days(start, start + timedelta(days=MOST_DAYS)):
        left -= calendar.is_workday(day)
        if left <= 0:
            return day
    zh = f"{duration} 超过五年，请核对时长"
    en = f"{duration} is longer than five years; check the duration"
    raise ArgumentsToolError(Localised(zh=zh, en=en))


def day(value: JsonValue, name: str) -> date:
    """The date that an argument holds; raises `ArgumentsToolError`, which calls it `name`."""
    try:
        found = date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        zh = f"{name}：{str(value)[:40]!r} 不是 2026-11-30 这样的日期"
        en = f"{name}: {str(value)[:40]!r} isn't a date like 2026-11-30"
        raise ArgumentsToolError(Localised(zh=zh, en=en)) from None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        zh = f"{name}：{found} 不在 {FIRST_YEAR} 到 {LAST_YEAR} 年之间"
        en = f"{name}: {found} isn't between {FIRST_YEAR} and {LAST_YEAR}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
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


@provider()
async def work_calendar() -> AsyncIterator[WorkCalendar]:
    """Which days are worked; what tools name it by."""
    yield WorkCalendar.load()
