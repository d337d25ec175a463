"""Results of tools that are too long to be carried, in the database."""

import secrets
from datetime import UTC, datetime

from sqlalchemy import insert, select

from router.store import tables
from router.store.database import Database

_results = tables.results


class DatabaseResults:
    """`router.domain.ports.Results`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, tenant: str, owner: str, tool: str, body: str) -> str:
        """Keep a result for its owner; the handle that it is read on with."""
        handle = secrets.token_urlsafe(9)
        row = {
            "tenant": tenant,
            "id": handle,
            "owner": owner,
            "tool": tool,
            "body": body,
            "kept_at": datetime.now(UTC),
        }
        await self._database.write(lambda connection: connection.execute(insert(_results), row))
        return handle

    async def find(self, tenant: str, owner: str, handle: str) -> str | None:
        """The whole result; None where the owner has none of this handle."""
        query = select(_results.c.body).filter_by(tenant=tenant, owner=owner, id=handle)
        return await self._database.read(lambda connection: connection.execute(query).scalar())
