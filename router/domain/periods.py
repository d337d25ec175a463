"""Some whole days, as somebody in a time zone has them."""

from datetime import date, datetime, time, timedelta
from typing import NamedTuple, Self
from zoneinfo import ZoneInfo

from router.domain.errors import InvalidInput

WEEK = 7
MOST_DAYS = 92


class Period(NamedTuple):
    """Whole days, both ends included, as somebody in this time zone has them."""

    first: date
    last: date
    zone: ZoneInfo

    @classmethod
    def read(
        cls,
        since: date | None,
        until: date | None,
        zone: str,
        now: datetime,
        days: int | None = None,
    ) -> Self:
        """From `since` to `until`, or so many `days`; a week up to today where nothing is given.

        Raises `InvalidInput` for days that are none, too many, or in no order.
        """
        here = ZoneInfo(zone)
        last = until or now.astimezone(here).date()
        if since is not None and days is not None:
            raise InvalidInput.at("days", "since says where to begin already: name one of the two")
        first = since or last - timedelta(days=(days or WEEK) - 1)
        if first > last:
            raise InvalidInput.at("since", f"{first} comes after {last}: begin before the end")
        if (last - first).days >= MOST_DAYS:
            raise InvalidInput.at(
                "since", f"{first} to {last} are more than {MOST_DAYS} days: ask for fewer"
            )
        return cls(first, last, here)

    @property
    def days(self) -> list[date]:
        """Each of them, in order."""
        return [self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1)]

    def begins(self, day: date) -> datetime:
        """The moment at which this day begins there."""
        return datetime.combine(day, time(), self.zone)

    @property
    def since(self) -> datetime:
        """The first moment."""
        return self.begins(self.first)

    @property
    def until(self) -> datetime:
        """The first moment after it."""
        return self.begins(self.last + timedelta(days=1))
