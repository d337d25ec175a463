"""What a database knows of its house: the keys of its workflows, and that rows can be written."""

from datetime import UTC, datetime

from sqlalchemy import Connection, select

from router.store import tables
from router.store.database import Aggregate
from router.store.tables import upsert

_seals = tables.key_seals
_checks = tables.health_checks


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


class HealthChecks(Aggregate):
    """Whether rows can be written: a database that only reads, or whose disk is full, answers."""

    async def write(self, name: str) -> None:
        """Note that `name` looked just now; raises `Unavailable` where nothing can be written."""
        row = {"name": name, "at": datetime.now(UTC)}
        noted = upsert(self._database.insert(_checks), _checks)
        await self._database.write(lambda connection: connection.execute(noted, row))
