"""What the books of the people system have in common: rows of people, made once for a key."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import Connection, Row, Select, Table, insert, select, update

from activities.people.records import MoneyAmount, Owner, PeopleModel
from router.store.database import Database

Kept = TypeVar("Kept", bound=PeopleModel)


class Book(Generic[Kept]):
    """The rows of one table, as records of one kind. The database has the last word on a key."""

    table: ClassVar[Table]
    moment: ClassVar[str]
    """The column that says when a row was made."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, row: Row[Any]) -> Kept:
        """The record that a row holds."""
        raise NotImplementedError

    def owned(self, owner: Owner, **narrowed: Any) -> Select[Any]:
        """The owner's rows, or those of them with these values."""
        return select(self.table).filter_by(**owner.model_dump(), **narrowed)

    async def listed(self, query: Select[Any], by: str, limit: int) -> list[Kept]:
        """What the query finds, the highest of a column first."""
        ordered = query.order_by(self.table.c[by].desc(), self.table.c.id).limit(limit)
        rows = await self._database.read(lambda c: c.execute(ordered).all())
        return [self.read(row) for row in rows]

    async def once(
        self,
        owner: Owner,
        row: dict[str, Any],
        lock: str,
        check: Callable[[Connection], dict[str, Any] | None],
    ) -> Kept:
        """What the row's key has made before, or makes now, with nobody else at `lock`.

        `check` looks at things as they are then: it raises what speaks against the row, and may
        give columns that it lacks.
        """
        same_key = self.owned(owner, key=row["key"])
        noun = self.table.name.removeprefix("people_").removesuffix("s")
        about = {"id": f"{noun}-{secrets.token_hex(6)}", self.moment: datetime.now(UTC)}

        def once(connection: Connection) -> Row[Any]:
            self._database.serialise(connection, lock)
            if known := connection.execute(same_key).first():
                return known
            more = check(connection) or {}
            connection.execute(insert(self.table), owner.model_dump() | about | row | more)
            return connection.execute(same_key).one()

        return self.read(await self._database.write(once))

    async def undone(self, owner: Owner, key: str, status: str) -> Kept | None:
        """The row that the key made, with this status now; None where it made none of theirs."""
        theirs = self.owned(owner, key=key)

        def undo(connection: Connection) -> Kept | None:
            columns = {**owner.model_dump(), "key": key}
            connection.execute(update(self.table).filter_by(**columns).values(status=status))
            row = connection.execute(theirs).first()
            return self.read(row) if row else None

        return await self._database.write(undo)


def fields_of(kind: type[PeopleModel], row: Row[Any]) -> dict[str, Any]:
    """The columns of a row that a record of this kind has as they are."""
    return {name: value for name, value in row._mapping.items() if name in kind.model_fields}  # noqa: SLF001 - the documented accessor


def cents_of(money: MoneyAmount) -> int:
    """The amount as tables have it."""
    return int(money.amount * 100)


def money_of(cents: int, currency: str) -> MoneyAmount:
    """What `cents_of` made so many cents of."""
    return MoneyAmount(amount=Decimal(cents).scaleb(-2), currency=currency)
