"""What models cost, in the database: one row for each person and day."""

from collections.abc import Callable
from datetime import date
from typing import Any

from sqlalchemy import Connection, func, select

from router.domain.budgets import Spent
from router.domain.messages import Usage
from router.store import tables
from router.store.database import Database

_spending = tables.spending
_AMOUNTS = ("calls", "prompt_tokens", "completion_tokens")


class Spending:
    """What models cost, by day and by whom it was for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(_spending)
        more = {name: _spending.c[name] + insert.excluded[name] for name in _AMOUNTS}
        self._add = insert.on_conflict_do_update(
            index_elements=["tenant", "day", "user"], set_=more
        )

    async def add(self, tenant: str, user: str, day: date, usage: Usage) -> None:
        """Count it. A call that was paid twice counts twice."""
        row = _row(tenant, user, day, usage)
        await self._database.write(lambda connection: connection.execute(self._add, row))

    async def take(
        self, tenant: str, user: str, day: date, ahead: Usage, check: Callable[[Spent], None]
    ) -> None:
        """Count what is about to be spent, unless `check` raises; one at a time everywhere."""
        row = _row(tenant, user, day, ahead)

        def work(connection: Connection) -> None:
            # By the day, for that is the widest budget: it is over within a millisecond.
            self._database.serialise(connection, f"spending/{day}")
            check(_spent(connection, tenant, user, day))
            connection.execute(self._add, row)

        await self._database.write(work)

    async def of_day(self, tenant: str, user: str, day: date) -> Spent:
        """What that day has cost so far."""
        return await self._database.read(lambda connection: _spent(connection, tenant, user, day))


def _row(tenant: str, user: str, day: date, usage: Usage) -> dict[str, Any]:
    amounts = (usage.llm_calls, usage.prompt_tokens, usage.completion_tokens)
    cost = dict(zip(_AMOUNTS, amounts, strict=True))
    return {"tenant": tenant, "day": day, "user": user, **cost}


def _spent(connection: Connection, tenant: str, user: str, day: date) -> Spent:
    sums = [func.coalesce(func.sum(_spending.c[name]), 0) for name in _AMOUNTS]
    everybody = select(*sums).filter_by(day=day)
    of_tenant = everybody.filter_by(tenant=tenant)
    queries = (of_tenant.filter_by(user=user), of_tenant, everybody)
    rows = (connection.execute(query).one() for query in queries)
    return Spent(*(Usage(llm_calls=a, prompt_tokens=b, completion_tokens=c) for a, b, c in rows))
