"""Which days are worked in China: weekends, statutory holidays, and the days swapped for them."""

import logging
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Self

from holidays import country_holidays
from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from router.domain.errors import MisconfiguredError

FIRST_YEAR = 2001
LAST_YEAR = 2098
"""Beyond these the library knows neither the announcements nor the lunar calendar."""

_SHIPPED = Path(__file__).parent / "overrides.yaml"
_SATURDAY = 5
_log = logging.getLogger("router.calendar")


class Overrides(BaseModel):
    """What an overrides file says; see `overrides.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    announced: frozenset[int] = frozenset()
    off: frozenset[date] = frozenset()
    work: frozenset[date] = frozenset()

    def then(self, other: Self) -> Self:
        """Both together; where they contradict each other, `other` is right."""
        return self.model_copy(
            update={
                "announced": self.announced | other.announced,
                "off": (self.off - other.work) | other.off,
                "work": (self.work - other.off) | other.work,
            }
        )


@dataclass(frozen=True)
class _Year:
    off: frozenset[date]
    work: frozenset[date]
    """Weekend days that are worked."""


class WorkCalendar:
    """The Chinese working calendar, with what `overrides` change in it.

    Of a year that hasn't been announced it knows weekends and the holidays that the law
    fixes, but no swapped days; `announced` says so, and so does the log, once.

    >>> calendar = WorkCalendar.load()
    >>> calendar.is_workday(date(2026, 10, 10)), calendar.is_workday(date(2026, 10, 7))
    (True, False)
    """

    def __init__(self, overrides: Overrides | None = None) -> None:
        self._overrides = overrides or Overrides()
        self._warned: set[int] = set()

    @classmethod
    def load(cls, file: Path | None = None) -> Self:
        """The calendar with the overrides that ship with it and then those in `file`.

        Raises `MisconfiguredError` where a file can't be read or says what it can't.
        """
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
