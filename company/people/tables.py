"""The people system's tables, and how the books over them make, undo and list rows.

Days stand in half days and money in cents: both are exact.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Connection,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    UniqueConstraint,
    insert,
    select,
    text,
    update,
)

from company.people.records import MoneyAmount, Owner, PeopleModel
from router.store.columns import MomentType, required, texts
from router.store.database import Aggregate, Migrations

metadata = MetaData()
PEOPLE = Migrations(
    Path(__file__).parent / "migrations", "alembic_version_people", "0001", metadata
)

entitlements = Table(
    "people_entitlements",
    metadata,
    *texts("tenant", "person", "leave_type"),
    required("year", Integer),
    required("half_days", Integer),
    PrimaryKeyConstraint("tenant", "person", "leave_type", "year"),
)

adjustments = Table(
    "people_adjustments",
    metadata,
    *texts("tenant", "id", "key", "person", "leave_type"),
    required("year", Integer),
    required("half_days", Integer),
    required("entitled_before", Integer),
    *texts("reason", "by"),
    required("at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_adjustments_once"),
    CheckConstraint("half_days <> 0", name="people_adjustments_change_something"),
    CheckConstraint("entitled_before + half_days >= 0", name="people_adjustments_keep_above_zero"),
)
"""Who changed an entitlement, by how much and why. Rows are only ever added."""
Index(
    "people_adjustments_of_person",
    *(adjustments.c[n] for n in ("tenant", "person", "year", "leave_type")),
)

leave = Table(
    "people_leave",
    metadata,
    *texts("tenant", "id", "key", "person", "leave_type"),
    required("year", Integer),
    required("start", Date),
    required("end", Date),
    *texts("start_half", "end_half"),
    required("half_days", Integer),
    *texts("reason", "status"),
    required("recorded_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_leave_once"),
    CheckConstraint("half_days > 0", name="people_leave_takes_time"),
)
Index("people_leave_of_person", *(leave.c[n] for n in ("tenant", "person", "year", "leave_type")))

claims = Table(
    "people_claims",
    metadata,
    *texts("tenant", "id", "key", "person", "currency"),
    required("cents", BigInteger),
    *texts("reason", "status"),
    required("submitted_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_claims_once"),
)
Index("people_claims_of_person", claims.c.tenant, claims.c.person, claims.c.submitted_at)

claim_items = Table(
    "people_claim_items",
    metadata,
    *texts("tenant", "claim"),
    required("position", Integer),
    required("category"),
    required("cents", BigInteger),
    required("date", Date),
    required("invoice"),
    required("standing", Boolean),
    PrimaryKeyConstraint("tenant", "claim", "position"),
    ForeignKeyConstraint(["tenant", "claim"], ["people_claims.tenant", "people_claims.id"]),
)
# The last word on an invoice being claimed once, whatever the code above it believes.
Index(
    "people_invoice_claimed_once",
    claim_items.c.tenant,
    claim_items.c.invoice,
    unique=True,
    sqlite_where=text("standing = 1"),
    postgresql_where=text("standing"),
)

trips = Table(
    "people_trips",
    metadata,
    *texts("tenant", "id", "key", "person", "destination"),
    required("start", Date),
    required("end", Date),
    *texts("transport", "currency"),
    required("cents", BigInteger),
    *texts("companions", "reason", "status"),
    required("booked_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_trips_once"),
)
Index("people_trips_of_person", *(trips.c[n] for n in ("tenant", "person", "start")))

reservations = Table(
    "people_reservations",
    metadata,
    *texts("tenant", "id", "key", "person", "kind"),
    required("quantity", Integer),
    *texts("note", "status"),
    required("reserved_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_reservations_once"),
    CheckConstraint("quantity > 0", name="people_reservations_take_something"),
)
Index("people_reservations_of_kind", *(reservations.c[n] for n in ("tenant", "kind", "status")))


Kept = TypeVar("Kept", bound=PeopleModel)


class Book(Aggregate, Generic[Kept]):
    """The rows of one table, as records of one kind. The database has the last word on a key."""

    table: ClassVar[Table]
    moment: ClassVar[str]
    """The column that says when a row was made."""

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
