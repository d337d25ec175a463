"""The audit of tool calls and the trail of what operators did: rows are added, never changed."""

from datetime import datetime

from sqlalchemy import Connection, func, insert, select

from router.domain.records import AuditEntry, AuditFilter, AuditRecord
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import page, records, to_row

_audit = tables.audit


class ToolCallAudit(Aggregate):
    """Who had which tool called, and what became of it."""

    async def note(self, tenant: str, record: AuditRecord, *, again: bool = False) -> None:
        """Add a row; `again` says that it may be there already, and then it stays the only one."""
        row = to_row(record, tenant=tenant)
        named = {name: row[name] for name in ("tenant", "person", "tool", "at", "digest", "key")}
        same = select(_audit.c.sequence).filter_by(**named).limit(1)

        def note(connection: Connection) -> None:
            if not again or connection.execute(same).first() is None:
                connection.execute(insert(_audit), row)

        await self._database.write(note)

    async def calls(self, tenant: str, person: str, tool: str, since: datetime) -> int:
        """How often the person had the tool called since then, refusals not counted."""
        narrowed = {"tenant": tenant, "person": person, "tool": tool, "decision": "admitted"}
        counted = select(func.count(_audit.c.sequence)).filter_by(**narrowed)
        recent = counted.where(_audit.c.at > since)
        return await self._database.read(lambda c: c.execute(recent).scalar()) or 0

    async def of_person(self, tenant: str, person: str, limit: int) -> list[AuditRecord]:
        """The person's last calls, the newest first."""
        theirs = select(_audit).filter_by(tenant=tenant, person=person)
        rows = theirs.order_by(_audit.c.sequence.desc()).limit(limit)
        return await records(self._database, AuditRecord, rows)


_trail = tables.audit_trail


class AuditTrail(Aggregate):
    """What operators did and looked at, each noted before it was done."""

    async def note(self, deed: AuditEntry) -> None:
        """Add a line, there for good on return; where `Unavailable` is raised, don't act.

        What one process after the other comes to notice has one id, and is one line.
        """
        row, once = to_row(deed), self._database.insert_new(_trail)
        await self._database.write(lambda connection: connection.execute(once, row))

    async def listed(
        self, tenant: str, wanted: AuditFilter, before: str | None, limit: int
    ) -> tuple[list[AuditEntry], str | None]:
        """Lines, newest first, and the next cursor."""
        narrowed = wanted.model_dump(exclude={"since", "besides"}, exclude_none=True)
        query = select(_trail).filter_by(tenant=tenant, **narrowed)
        if wanted.besides:
            query = query.where(_trail.c.act.not_in(wanted.besides))
        if wanted.since is not None:
            query = query.where(_trail.c.at >= wanted.since)
        return await page(self._database, AuditEntry, query, _trail.c.at, before, limit)
