"""Leave: entitlements, balances, records, and the trail of changes to them."""

import secrets
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from activities.people import tables
from activities.people.records import (
    ENTITLED,
    Adjustment,
    Balance,
    Change,
    Leave,
    LeaveRecord,
    LeaveType,
    Owner,
)
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import Localised
from router.store.database import Database
from router.store.tables import upsert

_leave = tables.leave
_entitlements = tables.entitlements


class LeaveBook:
    """Who may take how much leave, and who has. Every write happens once for its key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entitle = upsert(database.insert(_entitlements), _entitlements)

    async def balance(self, owner: Owner, leave_type: LeaveType, year: int) -> Balance:
        """What was granted for the year, what is taken, and what is left."""
        return await self._database.read(lambda c: balance_of(c, owner, leave_type, year))

    async def balances(self, owner: Owner, year: int) -> list[Balance]:
        """Those of every kind of leave."""
        kinds = tuple(ENTITLED)
        return await self._database.read(
            lambda c: [balance_of(c, owner, kind, year) for kind in kinds]
        )

    async def entitle(self, owner: Owner, leave_type: LeaveType, year: int, days: Decimal) -> None:
        """Grant so many days for that year, in place of what was granted before."""
        row = {
            **owner.model_dump(),
            "leave_type": leave_type,
            "year": year,
            "half_days": half_days_of(days),
        }
        await self._database.write(lambda c: c.execute(self._entitle, row))

    async def record(self, owner: Owner, key: str, leave: Leave) -> LeaveRecord:
        """Record a leave, or give the record that this key has made before.

        Raises `PermanentToolError` where less is left than it takes, as of the transaction.
        """
        if leave.end < leave.start:
            zh = f"end：{leave.end} 早于开始日期 {leave.start}"
            en = f"end: {leave.end} is before the start, {leave.start}"
            raise ArgumentsToolError(Localised(zh=zh, en=en))
        row = {
            **owner.model_dump(),
            **leave.model_dump(exclude={"days"}),
            "id": f"leave-{secrets.token_hex(6)}",
            "key": key,
            "year": leave.start.year,
            "half_days": half_days_of(leave.days),
            "status": "standing",
            "recorded_at": datetime.now(UTC),
        }
        return await self._database.write(lambda c: self._record(c, owner, leave, row))

    async def revert(self, owner: Owner, key: str) -> LeaveRecord | None:
        """Take back what `key` recorded, once; None where it recorded nothing of the owner's."""
        theirs = _of(owner) & (_leave.c.key == key)

        def revert(connection: Connection) -> LeaveRecord | None:
            connection.execute(update(_leave).where(theirs).values(status="reverted"))
            row = connection.execute(select(_leave).where(theirs)).first()
            return _read(row) if row else None

        return await self._database.write(revert)

    async def of(self, owner: Owner, limit: int = 50, year: int | None = None) -> list[LeaveRecord]:
        """The owner's leave (of a year), the latest start first, with what was taken back."""
        wanted = [_of(owner)] if year is None else [_of(owner), _leave.c.year == year]
        query = (
            select(_leave).where(*wanted).order_by(_leave.c.start.desc(), _leave.c.id).limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [_read(row) for row in rows]

    def _record(
        self, connection: Connection, owner: Owner, leave: Leave, row: dict[str, Any]
    ) -> LeaveRecord:
        self._database.serialise(connection, account_of(owner, leave.leave_type, row["year"]))
        same_key = select(_leave).where(_of(owner), _leave.c.key == row["key"])
        if known := connection.execute(same_key).first():
            return _read(known)
        left = balance_of(connection, owner, leave.leave_type, row["year"])
        if leave.days > left.days:
            zh = f"{leave.days} 天超过了 {left.year} 年这类假期剩下的 {left.days} 天"
            en = (
                f"{leave.days} days of {leave.leave_type} leave are more than the "
                f"{left.days} that are left for {left.year}"
            )
            raise PermanentToolError(Localised(zh=zh, en=en))
        connection.execute(_leave.insert(), row)
        return _read(connection.execute(same_key).one())


def _of(owner: Owner) -> Any:
    return (_leave.c.tenant == owner.tenant) & (_leave.c.person == owner.person)


def account_of(owner: Owner, leave_type: LeaveType, year: int) -> str:
    """What a transaction that changes this balance locks."""
    return f"leave/{owner.tenant}/{owner.person}/{leave_type}/{year}"


def balance_of(connection: Connection, owner: Owner, leave_type: LeaveType, year: int) -> Balance:
    """What was granted for the year, what is taken, and what is left."""
    granted = select(_entitlements.c.half_days).filter_by(
        **owner.model_dump(), leave_type=leave_type, year=year
    )
    taken = select(func.coalesce(func.sum(_leave.c.half_days), 0)).filter_by(
        **owner.model_dump(), leave_type=leave_type, year=year, status="standing"
    )
    half_days = connection.execute(granted).scalar()
    entitled = ENTITLED[leave_type] if half_days is None else days_of(half_days)
    used = days_of(connection.execute(taken).scalar_one())
    return Balance(
        leave_type=leave_type, year=year, entitled=entitled, used=used, days=entitled - used
    )


def _read(row: Row[Any]) -> LeaveRecord:
    found = row._asdict()
    fields = {name: found[name] for name in LeaveRecord.model_fields if name in found}
    return LeaveRecord(**fields, days=days_of(found["half_days"]))


def days_of(half_days: int) -> Decimal:
    """Days, of so many halves."""
    return Decimal(half_days) / 2


def half_days_of(days: Decimal) -> int:
    """Halves, of so many days; raises `ArgumentsToolError` for what has smaller parts."""
    halves = days * 2
    if halves != halves.to_integral_value():
        zh = f"days：{days} 不是整天或半天"
        en = f"days: {days} aren't whole or half days"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return int(halves)


_adjustments = tables.adjustments


class AdjustmentBook:
    """Entitlements changed by hand. A change happens once for its key, and stays on record."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entitle = upsert(database.insert(_entitlements), _entitlements)

    async def adjust(self, owner: Owner, key: str, change: Change) -> tuple[Adjustment, Balance]:
        """Change an entitlement, or give the change that this key has made before, and the balance.

        Raises `PermanentToolError` where less than nothing would be left, as of the transaction.
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
            .where(_adjustments_of(owner), _adjustments.c.year == year)
            .order_by(_adjustments.c.at.desc(), _adjustments.c.id)
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [_read_adjustment(row) for row in rows]

    def _adjust(
        self, connection: Connection, owner: Owner, change: Change, row: dict[str, Any]
    ) -> tuple[Adjustment, Balance]:
        which = owner, change.leave_type, change.year
        self._database.serialise(connection, account_of(*which))
        same_key = select(_adjustments).where(
            _adjustments_of(owner), _adjustments.c.key == row["key"]
        )
        if (known := connection.execute(same_key).first()) is None:
            before = balance_of(connection, *which)
            _check_left(before, change)
            entitled = half_days_of(before.entitled)
            connection.execute(_adjustments.insert(), {**row, "entitled_before": entitled})
            granted = {**row, "half_days": entitled + row["half_days"]}
            columns = {column.name for column in _entitlements.c}
            connection.execute(self._entitle, {k: v for k, v in granted.items() if k in columns})
            known = connection.execute(same_key).one()
        return _read_adjustment(known), balance_of(connection, *which)


def _check_left(before: Balance, change: Change) -> None:
    if before.days + change.days < 0:
        zh = (
            f"{-change.days} 天超过了 {change.year} 年这类假期剩下的 {before.days} 天，"
            f"{before.entitled} 天里已经用了 {before.used} 天"
        )
        en = (
            f"{-change.days} days are more than the {before.days} that are left of "
            f"{change.leave_type} leave for {change.year}; {before.used} of "
            f"{before.entitled} are taken"
        )
        raise PermanentToolError(Localised(zh=zh, en=en))


def _adjustments_of(owner: Owner) -> Any:
    return (_adjustments.c.tenant == owner.tenant) & (_adjustments.c.person == owner.person)


def _read_adjustment(row: Row[Any]) -> Adjustment:
    found = row._asdict()
    fields = {name: found[name] for name in Adjustment.model_fields if name in found}
    days = {"days": days_of(row.half_days), "entitled_before": days_of(row.entitled_before)}
    return Adjustment(**{**fields, **days})
