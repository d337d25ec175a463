"""What a database knows of the house that it is of: the keys that its workflows are sealed with."""

from datetime import UTC, datetime

from sqlalchemy import Connection, select

from router.store import tables
from router.store.database import Aggregate

_seals = tables.key_seals


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
