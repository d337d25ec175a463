"""Business trips. Nobody is in two places: a person's standing trips don't share a day."""

import secrets
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, select, update

from activities.people import tables
from activities.people.records import MoneyAmount, Owner, Trip, TripRecord
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import Localised
from router.store.database import Database

_trips = tables.trips


class TripBook:
    """Who travels when. Every write happens once for its key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def book(self, owner: Owner, key: str, trip: Trip) -> TripRecord:
        """Put a trip on record, or give the one that this key has made; raises as `check`."""
        _check_days(trip)
        row = {
            **owner.model_dump(),
            **trip.model_dump(exclude={"estimate"}),
            "id": f"trip-{secrets.token_hex(6)}",
            "key": key,
            "currency": trip.estimate.currency,
            "cents": int(trip.estimate.amount * 100),
            "status": "booked",
            "booked_at": datetime.now(UTC),
        }
        return await self._database.write(lambda c: self._book(c, owner, trip, row))

    async def check(self, owner: Owner, trip: Trip) -> None:
        """Raise what would keep the trip from being booked as things are now.

        `ArgumentsToolError` where it ends before it starts, `PermanentToolError` where another of
        the owner's has one of its days.
        """
        _check_days(trip)
        await self._database.read(lambda c: _check_free(c, owner, trip))

    async def cancel(self, owner: Owner, key: str) -> TripRecord | None:
        """Call off what `key` booked, once; None where it booked nothing of the owner's."""
        theirs = _of(owner) & (_trips.c.key == key)

        def cancel(connection: Connection) -> TripRecord | None:
            connection.execute(update(_trips).where(theirs).values(status="cancelled"))
            row = connection.execute(select(_trips).where(theirs)).first()
            return _read(row) if row else None

        return await self._database.write(cancel)

    async def of(self, owner: Owner, limit: int = 50) -> list[TripRecord]:
        """The owner's trips, the latest start first, with those that were called off."""
        query = (
            select(_trips).where(_of(owner)).order_by(_trips.c.start.desc(), _trips.c.id)
        ).limit(limit)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [_read(row) for row in rows]

    def _book(
        self, connection: Connection, owner: Owner, trip: Trip, row: dict[str, Any]
    ) -> TripRecord:
        self._database.serialise(connection, f"trips/{owner.tenant}/{owner.person}")
        same_key = select(_trips).where(_of(owner), _trips.c.key == row["key"])
        if known := connection.execute(same_key).first():
            return _read(known)
        _check_free(connection, owner, trip)
        connection.execute(_trips.insert(), row)
        return _read(connection.execute(same_key).one())


def _of(owner: Owner) -> Any:
    return (_trips.c.tenant == owner.tenant) & (_trips.c.person == owner.person)


def _check_days(trip: Trip) -> None:
    if trip.end < trip.start:
        zh = f"end：{trip.end} 早于出发日期 {trip.start}"
        en = f"end: {trip.end} is before the start, {trip.start}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))


def _check_free(connection: Connection, owner: Owner, trip: Trip) -> None:
    shares_a_day = (_trips.c.start <= trip.end) & (_trips.c.end >= trip.start)
    query = (
        select(_trips)
        .where(_of(owner), _trips.c.status == "booked", shares_a_day)
        .order_by(_trips.c.start)
    )
    if other := connection.execute(query).first():
        zh = (
            f"{other.start} 到 {other.end} 已经有一次去{other.destination}的出差，"
            "两次出差的日期不能重叠"
        )
        en = (
            f"there is a trip to {other.destination} from {other.start} to {other.end} "
            "already, and two trips can't share a day"
        )
        raise PermanentToolError(Localised(zh=zh, en=en))


def _read(row: Row[Any]) -> TripRecord:
    found = row._asdict()
    fields = {name: found[name] for name in TripRecord.model_fields if name in found}
    estimate = MoneyAmount(amount=Decimal(row.cents).scaleb(-2), currency=row.currency)
    return TripRecord(**fields, estimate=estimate)
