"""Idempotency keys of requests, in the database."""

from datetime import UTC, datetime

from sqlalchemy import Connection, select

from router.domain.errors import DuplicateKey
from router.store import tables
from router.store.database import Database

_keys = tables.keys


class DatabaseKeys:
    """`router.domain.ports.IdempotencyKeys`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._claim = database.insert(_keys).on_conflict_do_nothing()

    async def claim(self, tenant: str, user: str, key: str, digest: str) -> None:
        """Remember the key; raises `DuplicateKey` where it came with another digest before."""
        row = {"tenant": tenant, "user": user, "key": key, "digest": digest}
        kept = select(_keys.c.digest).filter_by(tenant=tenant, user=user, key=key)

        def claim(connection: Connection) -> bool:
            added = connection.execute(self._claim, {**row, "claimed_at": datetime.now(UTC)})
            return bool(added.rowcount) or connection.execute(kept).scalar() == digest

        if not await self._database.write(claim):
            raise DuplicateKey(
                f"the idempotency key {key!r} was used before with another body; "
                "send the same body again, or another key"
            )

    async def claimed(self, tenant: str, user: str, key: str) -> bool:
        """True where the key came before, with whatever digest."""
        kept = select(_keys.c.digest).filter_by(tenant=tenant, user=user, key=key)
        return await self._database.read(lambda c: c.execute(kept).first()) is not None
