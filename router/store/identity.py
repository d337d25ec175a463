"""What a database knows of its house: which it is, its keys, and that rows can be written."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self
from uuid import uuid4

from sqlalchemy import Connection, select, update

from router.store import tables
from router.store.database import Aggregate
from router.store.rows import upsert

_seals = tables.key_seals
_checks = tables.health_checks
_houses = tables.houses
_ONLY = "house"


@dataclass(frozen=True)
class Generation:
    """Which house, and how often both of its stores were counted on together."""

    house: str
    number: int

    def __str__(self) -> str:
        return f"{self.house} {self.number}"

    @classmethod
    def read(cls, written: str) -> Self | None:
        """As `str` wrote it; None for anything else."""
        house, _, number = written.partition(" ")
        return cls(house, int(number)) if house and number.isascii() and number.isdigit() else None


class Houses(Aggregate):
    """The one house whose database this is."""

    async def known(self) -> Generation:
        """Its id, which is made when it is first asked for, and its generation."""
        now = datetime.now(UTC)
        row = {"name": _ONLY, "id": uuid4().hex, "generation": 0, "advanced_at": now}
        known = select(_houses.c.id, _houses.c.generation)

        def work(connection: Connection) -> Generation:
            connection.execute(self._database.insert_new(_houses), row)
            return Generation(*connection.execute(known).one())

        found = await self._database.read(lambda c: c.execute(known).one_or_none())
        return Generation(*found) if found else await self._database.write(work)

    async def advanced(self, from_: Generation, every: timedelta) -> Generation | None:
        """The next generation; None where another process has advanced it within `every`."""
        now = datetime.now(UTC)
        due = (_houses.c.generation == from_.number, _houses.c.advanced_at <= now - every)
        change = update(_houses).where(*due).values(generation=from_.number + 1, advanced_at=now)
        changed = await self._database.write(lambda c: c.execute(change).rowcount)
        return replace(from_, number=from_.number + 1) if changed else None

    async def set(self, number: int) -> Generation:
        """Have this generation from now on."""
        known, now = await self.known(), datetime.now(UTC)
        change = update(_houses).values(generation=number, advanced_at=now)
        await self._database.write(lambda c: c.execute(change))
        return replace(known, number=number)


class KeySeals(Aggregate):
    """A seal of each payload key, made with the key that the first process had by that id."""

    async def keep(self, key_id: str, seal: bytes) -> bytes:
        """Keep the seal unless there is one, and give the one that there is."""
        row = {"key_id": key_id, "seal": seal, "first_seen": datetime.now(UTC)}
        known = select(_seals.c.seal).filter_by(key_id=key_id)

        def work(connection: Connection) -> bytes:
            # Several processes start at once: whoever is first writes, the others read that.
            connection.execute(self._database.insert_new(_seals), row)
            return bytes(connection.execute(known).scalar_one())

        return await self._database.write(work)

    async def known(self) -> dict[str, datetime]:
        """The ids of all keys that the house has had, and since when; the oldest first."""
        query = select(_seals.c.key_id, _seals.c.first_seen).order_by(_seals.c.first_seen)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return {row.key_id: row.first_seen for row in rows}


class HealthChecks(Aggregate):
    """Whether rows can be written: a database that only reads, or whose disk is full, answers."""

    async def write(self, name: str) -> None:
        """Note that `name` looked just now; raises `Unavailable` where nothing can be written."""
        row = {"name": name, "at": datetime.now(UTC)}
        noted = upsert(self._database.insert(_checks), _checks)
        await self._database.write(lambda connection: connection.execute(noted, row))

    async def overload(self) -> str | None:
        """Say why work waits although the database answers; see `Database.overload`."""
        return await self._database.overload()
