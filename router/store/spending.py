"""What models cost, in the database: a row for each person, day and purpose, in each currency.

Money is kept as a whole number of billionths, at the price of the moment. What had no price stands
in rows without a currency.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    case,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)

from router.domain.budgets import Spent
from router.domain.costs import MOST_LINES, CostDimension, Purpose, SpendingLine, SpentAmounts
from router.domain.errors import InvalidInput
from router.domain.messages import Cost, Usage
from router.domain.periods import Period
from router.store import tables
from router.store.database import Database, Insert

_spending = tables.spending
_days = tables.spending_days
_TOKENS = (
    *("prompt_tokens", "completion_tokens"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens"),
)
_AMOUNTS = ("calls", *_TOKENS, "cost")
BILLION = 10**9
ANY = Purpose()
_COLUMNS: Mapping[CostDimension, str] = {"person": "user"}
"""What a part is called in the table, where that isn't its name."""


class Spending:
    """What models cost, by day, by whom it was for, and for what."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._add = added(database.insert(_spending), _spending)
        self._add_to_day = added(database.insert(_days), _days)

    async def add(
        self, tenant: str, user: str, day: date, usage: Usage, purpose: Purpose = ANY
    ) -> None:
        """Count it. A call that was paid twice counts twice."""
        await self.settle(tenant, user, day, [(purpose, usage)])

    async def settle(
        self, tenant: str, user: str, day: date, amounts: Sequence[tuple[Purpose, Usage]]
    ) -> None:
        """Count all of these at once; what was taken too much is negative."""
        # In one order everywhere: two that wait for each other's rows would wait for ever.
        ordered = sorted(amounts, key=lambda each: each[0])
        rows = [_row(tenant, user, day, usage, purpose) for purpose, usage in ordered]

        def work(connection: Connection) -> None:
            for row in rows:
                connection.execute(self._add, row)
            # After the rows of persons, and in order too: these are everybody's.
            for currency in sorted({row["currency"] for row in rows}):
                self._count_day(connection, [r for r in rows if r["currency"] == currency])

        await self._database.write(work)

    async def take(
        self,
        tenant: str,
        user: str,
        day: date,
        ahead: Usage,
        check: Callable[[Spent], None],
        purpose: Purpose = ANY,
    ) -> None:
        """Count what is about to be spent, unless `check` raises; one at a time everywhere."""
        row = _row(tenant, user, day, ahead, purpose)

        def work(connection: Connection) -> None:
            # By the day, for that is the widest budget: it is over within milliseconds.
            self._database.serialise(connection, f"spending/{day}")
            check(_spent(connection, tenant, user, day, row["currency"]))
            connection.execute(self._add, row)
            self._count_day(connection, [row])

        await self._database.write(work)

    def _count_day(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows of one day, tenant and currency to its sums."""
        sums = {name: sum(row[name] for row in rows) for name in _AMOUNTS}
        named = {name: rows[0][name] for name in ("day", "tenant", "currency")}
        connection.execute(self._add_to_day, {**named, **sums})

    async def of_day(self, tenant: str, user: str, day: date, currency: str = "") -> Spent:
        """What that day has cost so far; in money, what was paid in this currency."""
        return await self._database.read(
            lambda connection: _spent(connection, tenant, user, day, currency)
        )

    async def lines(
        self, tenant: str, period: Period, parts: Sequence[CostDimension], currency: str
    ) -> list[SpendingLine]:
        """What a tenant's days have cost, told apart by these; raises `InvalidInput` for too many.

        The dearest first; by the day, the oldest day first.
        """
        apart = [_spending.c[_COLUMNS.get(part, part)].label(part) for part in parts]
        is_priced = _spending.c.currency == currency
        cost = func.coalesce(func.sum(case((is_priced, _spending.c.cost), else_=0)), 0)
        calls = func.coalesce(func.sum(_spending.c.calls), 0)
        priced = func.coalesce(func.sum(case((is_priced, _spending.c.calls), else_=0)), 0)
        tokens = [func.coalesce(func.sum(_spending.c[name]), 0).label(name) for name in _TOKENS]
        days = [column for column in apart if column.name == "day"]
        query = (
            select(
                *apart, calls.label("calls"), priced.label("priced"), *tokens, cost.label("cost")
            )
            .where(_spending.c.tenant == tenant)
            .where(_spending.c.day.between(period.first, period.last))
            .group_by(*apart)
            .having(or_(calls > 0, func.sum(_spending.c.prompt_tokens) > 0))
            .order_by(*days, cost.desc(), calls.desc(), *apart)
            .limit(MOST_LINES + 1)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        if len(rows) > MOST_LINES:
            said = f"there are more than {MOST_LINES} lines: ask for fewer days, or parts"
            raise InvalidInput.at("by", said)
        return [_line(row, parts) for row in rows]


def added(insert: Insert, table: Table) -> Insert:
    """An insert into one of the two tables that adds its amounts to a row of the same key."""
    more = {name: table.c[name] + insert.excluded[name] for name in _AMOUNTS}
    key = [column.name for column in table.primary_key]
    return insert.on_conflict_do_update(index_elements=key, set_=more)


class NamedDay(NamedTuple):
    """Some persons' rows of a day: those of users from the `first` to the `last`, by name."""

    day: date
    first: str
    last: str


def next_named(
    connection: Connection, after: NamedDay | None, before: date, most: int
) -> NamedDay | None:
    """The next so many rows that are somebody's, all of one day; None where there are no more."""
    place = (_spending.c.day, _spending.c.user)
    named = select(*place).where(_IS_NAMED, _spending.c.day < before).order_by(*place)
    if after is not None:
        named = named.where(tuple_(*place) > tuple_(literal(after.day), literal(after.last)))
    rows = connection.execute(named.limit(most)).all()
    users = [row.user for row in rows if row.day == rows[0].day]
    return NamedDay(rows[0].day, users[0], users[-1]) if rows else None


def fold(
    database: Database, connection: Connection, some: NamedDay, kept: ColumnElement[bool]
) -> None:
    """Have what these have cost be nobody's any more, but for persons for whom `kept` holds.

    The rows are added up by all that they tell apart besides the person.
    """
    theirs = _spending.c.user.between(some.first, some.last)
    named = and_(_spending.c.day == some.day, theirs, _IS_NAMED, ~kept)
    by = [_spending.c[name] for name in ("tenant", "day", "role", "model", "prompt", "currency")]
    sums = [func.sum(_spending.c[name]).label(name) for name in _AMOUNTS]
    summed = select(*by, literal("").label("user"), *sums).where(named).group_by(*by)
    names = [column.name for column in summed.selected_columns]
    connection.execute(added(database.insert(_spending).from_select(names, summed), _spending))
    connection.execute(delete(_spending).where(named))


_IS_NAMED = _spending.c.user != literal_column("''")
"""Spelled out, not a parameter: only so is the index on named rows alone of use."""


def _line(row: Any, parts: Sequence[CostDimension]) -> SpendingLine:
    amounts = SpentAmounts(
        **{name: int(getattr(row, name)) for name in ("calls", *_TOKENS)},
        cost=_money(row.cost),
        unpriced_calls=int(row.calls - row.priced),
    )
    return SpendingLine.of(amounts, **{part: getattr(row, part) for part in parts})


def _money(billionths: Any) -> Decimal:
    return Decimal(int(billionths)).scaleb(-9)


def _row(tenant: str, user: str, day: date, usage: Usage, purpose: Purpose) -> dict[str, Any]:
    cost = usage.cost
    return {
        "tenant": tenant,
        "day": day,
        "user": user,
        **purpose._asdict(),
        "currency": cost.currency if cost else "",
        "calls": usage.llm_calls,
        **{name: getattr(usage, name) for name in _TOKENS},
        "cost": int(cost.amount.scaleb(9)) if cost else 0,
    }


def _spent(connection: Connection, tenant: str, user: str, day: date, currency: str) -> Spent:
    """The day's sums. Those of money come with the rest: it is one look at the same rows."""
    theirs = select(*_sums(_spending, currency)).filter_by(tenant=tenant, day=day, user=user)
    everybody = select(*_sums(_days, currency)).filter_by(day=day)
    queries = (theirs, everybody.filter_by(tenant=tenant), everybody)
    return Spent(*(_usage(connection.execute(query).one(), currency) for query in queries))


def _sums(table: Table, currency: str) -> list[ColumnElement[Any]]:
    is_priced = and_(literal(bool(currency)), table.c.currency == currency)
    sums = [func.coalesce(func.sum(table.c[name]), 0) for name in ("calls", *_TOKENS)]
    priced = (case((is_priced, amount), else_=0) for amount in (table.c.cost, table.c.calls))
    return [*sums, *(func.coalesce(func.sum(amount), 0) for amount in priced)]


def _usage(row: Any, currency: str) -> Usage:
    calls, *tokens, cost, priced = row
    return Usage(
        llm_calls=int(calls),
        **{name: int(count) for name, count in zip(_TOKENS, tokens, strict=True)},
        cost=Cost(amount=_money(cost), currency=currency) if currency else None,
        priced_calls=int(priced),
    )
