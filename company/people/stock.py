"""The warehouse: what may be handed out, and what is set aside for whom."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from company.people import tables
from company.people.records import (
    STOCK,
    EquipmentKind,
    MoneyAmount,
    Owner,
    Reservation,
    StockRequest,
)
from company.people.tables import Book, fields_of, money_of
from router.domain.errors import PermanentToolError
from router.domain.locale import Localised

_reservations = tables.reservations


class StockBook(Book[Reservation]):
    """What the warehouse has, and has promised. Every write happens once for its key."""

    table, moment = _reservations, "reserved_at"

    def value(self, wanted: Sequence[StockRequest]) -> MoneyAmount:
        """What these are worth together, in CNY."""
        return money_of(sum(STOCK[one.kind].cents * one.quantity for one in wanted), "CNY")

    async def left(self, tenant: str, kind: EquipmentKind) -> int:
        """How many pieces nobody has reserved."""
        return await self._database.read(lambda c: _left(c, tenant, kind))

    async def reserve(
        self, owner: Owner, key: str, wanted: StockRequest, at: datetime
    ) -> Reservation:
        """Set pieces aside, or give this key's; or `PermanentToolError` where fewer are left."""
        row = {
            **wanted.model_dump(),
            "note": wanted.note or "",
            "key": key,
            "status": "reserved",
            "reserved_at": at.astimezone(UTC),
        }

        def check(connection: Connection) -> None:
            left = _left(connection, owner.tenant, wanted.kind)
            if wanted.quantity > left:
                zh = f"库存只剩 {left} 件，不够 {wanted.quantity} 件"
                en = f"{left} are left in stock, and {wanted.quantity} are wanted"
                raise PermanentToolError(Localised(zh=zh, en=en))

        return await self.once(owner, row, f"stock/{owner.tenant}/{wanted.kind}", check)

    async def release(self, owner: Owner, key: str) -> Reservation | None:
        """Put back what `key` reserved. Twice is the same as once; None where it was nothing."""
        return await self.undone(owner, key, "released")

    def read(self, row: Row[Any]) -> Reservation:
        """The reservation that a row holds."""
        return Reservation(**{**fields_of(Reservation, row), "note": row.note or None})


def _left(connection: Connection, tenant: str, kind: EquipmentKind) -> int:
    query = select(func.coalesce(func.sum(_reservations.c.quantity), 0)).filter_by(
        tenant=tenant, kind=kind, status="reserved"
    )
    return STOCK[kind].pieces - int(connection.execute(query).scalar_one())
