"""Business trips. Nobody is in two places: a person's standing trips don't share a day."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, Row

from company.people import tables
from company.people.records import Owner, Trip, TripRecord
from company.people.tables import Book, cents_of, fields_of, money_of
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import Localised

_trips = tables.trips


class TripBook(Book[TripRecord]):
    """Who travels when. Every write happens once for its key."""

    table, moment = _trips, "booked_at"

    async def book(self, owner: Owner, key: str, trip: Trip) -> TripRecord:
        """Put a trip on record, or give the one that this key has made; raises as `check`."""
        _check_days(trip.start, trip.end)
        row = {
            **trip.model_dump(exclude={"estimate"}),
            "key": key,
            "currency": trip.estimate.currency,
            "cents": cents_of(trip.estimate),
            "status": "booked",
        }
        lock, days = f"trips/{owner.tenant}/{owner.person}", (trip.start, trip.end)
        return await self.once(owner, row, lock, lambda c: self._check_free(c, owner, *days))

    async def check(self, owner: Owner, start: date, end: date) -> None:
        """Raise what would keep a trip on these days from being booked as things are now.

        `ArgumentsToolError` where it ends before it starts, `PermanentToolError` where another of
        the owner's has one of its days.
        """
        _check_days(start, end)
        await self._database.read(lambda c: self._check_free(c, owner, start, end))

    async def cancel(self, owner: Owner, key: str) -> TripRecord | None:
        """Call off what `key` booked, once; None where it booked nothing of the owner's."""
        return await self.undone(owner, key, "cancelled")

    async def of(self, owner: Owner, limit: int = 50) -> list[TripRecord]:
        """The owner's trips, the latest start first, with those that were called off."""
        return await self.listed(self.owned(owner), "start", limit)

    def read(self, row: Row[Any]) -> TripRecord:
        """The trip that a row holds."""
        estimate = money_of(row.cents, row.currency)
        return TripRecord(**fields_of(TripRecord, row), estimate=estimate)

    def _check_free(self, connection: Connection, owner: Owner, start: date, end: date) -> None:
        standing = self.owned(owner, status="booked").order_by(_trips.c.start)
        sharing_a_day = standing.where(_trips.c.start <= end, _trips.c.end >= start)
        if other := connection.execute(sharing_a_day).first():
            place, days = other.destination, (other.start, other.end)
            zh = f"{days[0]} 到 {days[1]} 已经有一次去{place}的出差，两次出差的日期不能重叠"
            en = f"there is a trip to {place} from {days[0]} to {days[1]} already, and two trips"
            raise PermanentToolError(Localised(zh=zh, en=f"{en} can't share a day"))


def _check_days(start: date, end: date) -> None:
    if end < start:
        zh = f"end：{end} 早于出发日期 {start}"
        en = f"end: {end} is before the start, {start}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
