"""The audit of tool calls, in the database: rows are added and never changed."""

from datetime import datetime

from sqlalchemy import func, insert, select

from router.domain.records import AuditRecord
from router.store import tables
from router.store.database import Database
from router.store.rows import from_row, to_row

_audit = tables.audit


class DatabaseAudit:
    """`router.domain.ports.Audit`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, tenant: str, record: AuditRecord) -> None:
        """Add a row."""
        row = to_row(record, tenant=tenant)
        await self._database.write(lambda connection: connection.execute(insert(_audit), row))

    async def calls(self, tenant: str, person: str, tool: str, since: datetime) -> int:
        """How often the person had the tool called since then, refusals not counted."""
        counted = select(func.count()).where(
            _audit.c.tenant == tenant,
            _audit.c.person == person,
            _audit.c.tool == tool,
            _audit.c.at > since,
            _audit.c.decision == "admitted",
        )
        return (
            await self._database.read(lambda connection: connection.execute(counted).scalar()) or 0
        )

    async def of_person(self, tenant: str, person: str, limit: int) -> list[AuditRecord]:
        """The person's last calls, the newest first."""
        rows = (
            select(_audit)
            .filter_by(tenant=tenant, person=person)
            .order_by(_audit.c.sequence.desc())
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [from_row(AuditRecord, row) for row in connection.execute(rows)]
        )
