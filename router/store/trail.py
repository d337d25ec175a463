"""The audit trail, in the database. Triggers keep its lines as they are: see migration 0011."""

from sqlalchemy import insert, select

from router.domain.deeds import Deed, DeedFilter
from router.store import tables
from router.store.database import Database
from router.store.rows import newest_first, page, to_row

_trail = tables.audit_trail


class DatabaseTrail:
    """`router.domain.ports.Trail`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, deed: Deed) -> None:
        """Add a line; once this has returned, it is there for good."""
        row = to_row(deed)
        await self._database.write(lambda connection: connection.execute(insert(_trail), row))

    async def listed(
        self, tenant: str, wanted: DeedFilter, before: str | None, limit: int
    ) -> tuple[list[Deed], str | None]:
        """Lines, newest first, and the next cursor."""
        narrowed = wanted.model_dump(exclude={"since"}, exclude_none=True)
        query = select(_trail).filter_by(tenant=tenant, **narrowed)
        if wanted.since is not None:
            query = query.where(_trail.c.at >= wanted.since)
        ordered = newest_first(query, _trail, "at", before, limit)
        rows = await self._database.read(lambda connection: connection.execute(ordered).all())
        return page(Deed, rows, "at", limit)
