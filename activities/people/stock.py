"""The warehouse: what may be handed out, and what is set aside for whom."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from activities.people import tables
from activities.people.records import (
    STOCK,
    EquipmentKind,
    MoneyAmount,
    Owner,
    Reservation,
    StockRequest,
)
from router.domain.errors import PermanentToolError
from router.domain.locale import Localised
from router.store.database import Database

_reservations = tables.reservations


class StockBook:
    """What the warehouse has, and has promised. Every write happens once for its key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def value(self, wanted: Sequence[StockRequest]) -> MoneyAmount:
        """What these are worth together, in CNY."""
        cents = sum(STOCK[one.kind].cents * one.quantity for one in wanted)
        return MoneyAmount(amount=Decimal(cents).scaleb(-2), currency="CNY")

    async def left(self, tenant: str, kind: EquipmentKind) -> int:
        """How many pieces nobody has reserved."""
        return await self._database.read(lambda c: _left(c, tenant, kind))

    async def reserve(
        self, owner: Owner, key: str, wanted: StockRequest, at: datetime
    ) -> Reservation:
        """Set pieces aside at that moment, or give the reservation that this key has made before.

        Raises `PermanentToolError` where fewer are left, as of the transaction.
        """
        row = {
            **owner.model_dump(),
            **wanted.model_dump(),
            "note": wanted.note or "",
            "id": f"reservation-{secrets.token_hex(6)}",
            "key": key,
            "status": "reserved",
            "reserved_at": at.astimezone(UTC),
        }
        return await self._database.write(lambda c: self._reserve(c, owner, wanted, row))

    async def release(self, owner: Owner, key: str) -> Reservation | None:
        """Put back what `key` reserved. Twice is the same as once; None where it was nothing."""
        theirs = _of(owner) & (_reservations.c.key == key)

        def release(connection: Connection) -> Reservation | None:
            connection.execute(update(_reservations).where(theirs).values(status="released"))
            row = connection.execute(select(_reservations).where(theirs)).first()
            return _read(row) if row else None

        return await self._database.write(release)

    def _reserve(
        self, connection: Connection, owner: Owner, wanted: StockRequest, row: dict[str, Any]
    ) -> Reservation:
        self._database.serialise(connection, f"stock/{owner.tenant}/{wanted.kind}")
        same_key = select(_reservations).where(_of(owner), _reservations.c.key == row["key"])
        if known := connection.execute(same_key).first():
            return _read(known)
        left = _left(connection, owner.tenant, wanted.kind)
        if wanted.quantity > left:
            zh = f"库存只剩 {left} 件，不够 {wanted.quantity} 件"
            en = f"{left} are left in stock, and {wanted.quantity} are wanted"
            raise PermanentToolError(Localised(zh=zh, en=en))
        connection.execute(_reservations.insert(), row)
        return _read(connection.execute(same_key).one())


def _of(owner: Owner) -> Any:
    return (_reservations.c.tenant == owner.tenant) & (_reservations.c.person == owner.person)


def _left(connection: Connection, tenant: str, kind: EquipmentKind) -> int:
    query = select(func.coalesce(func.sum(_reservations.c.quantity), 0)).filter_by(
        tenant=tenant, kind=kind, status="reserved"
    )
    return STOCK[kind].pieces - int(connection.execute(query).scalar_one())


def _read(row: Row[Any]) -> Reservation:
    found = row._asdict()
    fields = {name: found[name] for name in Reservation.model_fields if name in found}
    return Reservation(**{**fields, "note": row.note or None})
