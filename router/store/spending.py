"""What models cost, in the database: one row for each person and day."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from router.domain.messages import Usage
from router.store import tables
from router.store.database import Database

_spending = tables.spending
_AMOUNTS = ("calls", "prompt_tokens", "completion_tokens")


class DatabaseSpending:
    """`router.domain.ports.Spending`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(_spending)
        more = {name: _spending.c[name] + insert.excluded[name] for name in _AMOUNTS}
        self._add = insert.on_conflict_do_update(
            index_elements=["tenant", "day", "user"], set_=more
        )

    async def add(self, tenant: str, user: str, day: date, usage: Usage) -> None:
        """Count it. A call that was paid twice counts twice."""
        row: dict[str, Any] = {
            "tenant": tenant,
            "day": day,
            "user": user,
            "calls": usage.llm_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }
        await self._database.write(lambda connection: connection.execute(self._add, row))

    async def of_day(self, tenant: str, user: str, day: date) -> tuple[Usage, Usage]:
        """What this user spent that day, and what everybody did."""
        sums = [func.coalesce(func.sum(_spending.c[name]), 0).label(name) for name in _AMOUNTS]
        everybody = select(*sums).filter_by(tenant=tenant, day=day)
        own = everybody.filter_by(user=user)

        def look(connection: Connection) -> tuple[Usage, Usage]:
            rows = (connection.execute(query).mappings().one() for query in (own, everybody))
            mine, all_of_it = map(_usage, rows)
            return mine, all_of_it

        return await self._database.read(look)


def _usage(row: RowMapping) -> Usage:
    return Usage(
        llm_calls=row["calls"],
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
    )
