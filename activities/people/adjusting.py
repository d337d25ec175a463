"""Changes that people make to each other's leave entitlements, and the trail that they leave."""

import secrets
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from activities.people import tables
from activities.people.leave import account_of, balance_of, days_of, half_days_of
from activities.people.records import Adjustment, Balance, Change, Owner
from router.domain.errors import PermanentToolError
from router.domain.texts import Localised
from router.store.database import Database
from router.store.rows import upsert

_adjustments = tables.adjustments
_entitlements = tables.entitlements


class AdjustmentBook:
    """Entitlements changed by hand. A change happens once for its key, and stays on record."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entitle = upsert(database.insert(_entitlements), _entitlements)

    async def adjust(self, owner: Owner, key: str, change: Change) -> tuple[Adjustment, Balance]:
        """Change an entitlement, or give the change that this key has made before.

        With it comes the balance as it is now. Raises `PermanentToolError` where less than
        nothing would be left: the balance is looked at in the transaction that changes it, so
        that leave recorded meanwhile can't overdraw it.
        """
        row = {
            **owner.model_dump(),
            **change.model_dump(exclude={"days"}),
            "id": f"adjustment-{secrets.token_hex(6)}",
            "key": key,
            "half_days": half_days_of(change.days),
            "at": datetime.now(UTC),
        }
        return await self._database.write(lambda c: self._adjust(c, owner, change, row))

    async def check(self, owner: Owner, change: Change) -> None:
        """Raise what `adjust` would raise as things are now; nothing is changed."""
        half_days_of(change.days)
        which = owner, change.leave_type, change.year
        before = await self._database.read(lambda c: balance_of(c, *which))
        _check_left(before, change)

    async def of(self, owner: Owner, year: int, limit: int = 50) -> list[Adjustment]:
        """The changes to the owner's entitlements of a year, newest first."""
        query = (
            select(_adjustments)
            .where(_of(owner), _adjustments.c.year == year)
            .order_by(_adjustments.c.at.desc(), _adjustments.c.id)
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [_read(row) for row in rows]

    def _adjust(
        self, connection: Connection, owner: Owner, change: Change, row: dict[str, Any]
    ) -> tuple[Adjustment, Balance]:
        which = owner, change.leave_type, change.year
        self._database.serialise(connection, account_of(*which))
        same_key = select(_adjustments).where(_of(owner), _adjustments.c.key == row["key"])
        if (known := connection.execute(same_key).first()) is None:
            self._change(connection, change, row, balance_of(connection, *which))
            known = connection.execute(same_key).one()
        return _read(known), balance_of(connection, *which)

    def _change(
        self, connection: Connection, change: Change, row: dict[str, Any], before: Balance
    ) -> None:
        _check_left(before, change)
        entitled = half_days_of(before.entitled)
        connection.execute(_adjustments.insert(), {**row, "entitled_before": entitled})
        granted = {**row, "half_days": entitled + row["half_days"]}
        columns = {column.name for column in _entitlements.c}
        connection.execute(self._entitle, {k: v for k, v in granted.items() if k in columns})


def _check_left(before: Balance, change: Change) -> None:
    if before.days + change.days < 0:
        raise PermanentToolError(
            Localised(
                zh=f"{-change.days} 天超过了 {change.year} 年这类假期剩下的 {before.days} 天，"
                f"{before.entitled} 天里已经用了 {before.used} 天",
                en=f"{-change.days} days are more than the {before.days} that are left of "
                f"{change.leave_type} leave for {change.year}; {before.used} of "
                f"{before.entitled} are taken",
            )
        )


def _of(owner: Owner) -> Any:
    return (_adjustments.c.tenant == owner.tenant) & (_adjustments.c.person == owner.person)


def _read(row: Row[Any]) -> Adjustment:
    found = row._asdict()
    fields = {name: found[name] for name in Adjustment.model_fields if name in found}
    days = {"days": days_of(row.half_days), "entitled_before": days_of(row.entitled_before)}
    return Adjustment(**{**fields, **days})
