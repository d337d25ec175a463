"""Leave: entitlements, balances, records, and the trail of changes to them."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, func, select

from company.people import tables
from company.people.records import (
    ENTITLED,
    Adjustment,
    Balance,
    Change,
    Leave,
    LeaveRecord,
    LeaveType,
    Owner,
)
from company.people.tables import Book, fields_of
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import Localised
from router.store.rows import upsert

_leave = tables.leave
_entitlements = tables.entitlements


class LeaveBook(Book[LeaveRecord]):
    """Who may take how much leave, and who has. Every write happens once for its key."""

    table, moment = _leave, "recorded_at"

    async def balance(self, owner: Owner, leave_type: LeaveType, year: int) -> Balance:
        """What was granted for the year, what is taken, and what is left."""
        return await self._database.read(lambda c: _balance(c, owner, leave_type, year))

    async def balances(self, owner: Owner, year: int) -> list[Balance]:
        """Those of every kind of leave."""
        return await self._database.read(
            lambda c: [_balance(c, owner, kind, year) for kind in ENTITLED]
        )

    async def entitle(self, owner: Owner, leave_type: LeaveType, year: int, days: Decimal) -> None:
        """Grant so many days for that year, in place of what was granted before."""
        granted = {"leave_type": leave_type, "year": year, "half_days": _half_days(days)}
        row = {**owner.model_dump(), **granted}
        entitle = upsert(self._database.insert(_entitlements), _entitlements)
        await self._database.write(lambda c: c.execute(entitle, row))

    async def record(self, owner: Owner, key: str, leave: Leave) -> LeaveRecord:
        """Record a leave, or give this key's; or `PermanentToolError` where less is left."""
        if leave.end < leave.start:
            zh = f"end：{leave.end} 早于开始日期 {leave.start}"
            en = f"end: {leave.end} is before the start, {leave.start}"
            raise ArgumentsToolError(Localised(zh=zh, en=en))
        account = owner, leave.leave_type, leave.start.year
        row = {
            **leave.model_dump(exclude={"days"}),
            "key": key,
            "year": leave.start.year,
            "half_days": _half_days(leave.days),
            "status": "standing",
        }

        def check(connection: Connection) -> None:
            left = _balance(connection, *account)
            if leave.days > left.days:
                zh = f"{leave.days} 天超过了 {left.year} 年这类假期剩下的 {left.days} 天"
                en = f"{leave.days} days of {leave.leave_type} leave are more than the "
                en += f"{left.days} that are left for {left.year}"
                raise PermanentToolError(Localised(zh=zh, en=en))

        return await self.once(owner, row, _lock(*account), check)

    async def revert(self, owner: Owner, key: str) -> LeaveRecord | None:
        """Take back what `key` recorded, once; None where it recorded nothing of the owner's."""
        return await self.undone(owner, key, "reverted")

    async def of(self, owner: Owner, limit: int = 50, year: int | None = None) -> list[LeaveRecord]:
        """The owner's leave (of a year), the latest start first, with what was taken back."""
        wanted = self.owned(owner) if year is None else self.owned(owner, year=year)
        return await self.listed(wanted, "start", limit)

    def read(self, row: Row[Any]) -> LeaveRecord:
        """The leave that a row holds."""
        return LeaveRecord(**fields_of(LeaveRecord, row), days=_days(row.half_days))


def _lock(owner: Owner, leave_type: LeaveType, year: int) -> str:
    return f"leave/{owner.tenant}/{owner.person}/{leave_type}/{year}"


def _balance(connection: Connection, owner: Owner, leave_type: LeaveType, year: int) -> Balance:
    account = {**owner.model_dump(), "leave_type": leave_type, "year": year}
    granted = select(_entitlements.c.half_days).filter_by(**account)
    taken = select(func.coalesce(func.sum(_leave.c.half_days), 0)).filter_by(
        **account, status="standing"
    )
    half_days = connection.execute(granted).scalar()
    entitled = ENTITLED[leave_type] if half_days is None else _days(half_days)
    used = _days(connection.execute(taken).scalar_one())
    days = {"entitled": entitled, "used": used, "days": entitled - used}
    return Balance(leave_type=leave_type, year=year, **days)


def _days(half_days: int) -> Decimal:
    return Decimal(half_days) / 2


def _half_days(days: Decimal) -> int:
    """Halves, of so many days; raises `ArgumentsToolError` for what has smaller parts."""
    halves = days * 2
    if halves != halves.to_integral_value():
        zh, en = f"days：{days} 不是整天或半天", f"days: {days} aren't whole or half days"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return int(halves)


class AdjustmentBook(Book[Adjustment]):
    """Entitlements changed by hand. A change happens once for its key, and stays on record."""

    table, moment = tables.adjustments, "at"

    async def adjust(self, owner: Owner, key: str, change: Change) -> tuple[Adjustment, Balance]:
        """Change an entitlement, or give the change that this key has made; with it the balance.

        Raises `PermanentToolError` where less than nothing would be left, as of the transaction.
        """
        account = owner, change.leave_type, change.year
        half_days = _half_days(change.days)
        row = {**change.model_dump(exclude={"days"}), "key": key, "half_days": half_days}
        change_entitlement = upsert(self._database.insert(_entitlements), _entitlements)

        def entitle(connection: Connection) -> dict[str, int]:
            before = _balance(connection, *account)
            _check_left(before, change.days)
            entitled = _half_days(before.entitled)
            granted = {"leave_type": change.leave_type, "year": change.year}
            granted |= {"half_days": entitled + half_days}
            connection.execute(change_entitlement, owner.model_dump() | granted)
            return {"entitled_before": entitled}

        made = await self.once(owner, row, _lock(*account), entitle)
        return made, await self._database.read(lambda c: _balance(c, *account))

    async def check(self, owner: Owner, leave_type: LeaveType, year: int, days: Decimal) -> None:
        """Raise what a change by these days would, as things are now; nothing is changed."""
        _half_days(days)
        before = await self._database.read(lambda c: _balance(c, owner, leave_type, year))
        _check_left(before, days)

    async def of(self, owner: Owner, year: int, limit: int = 50) -> list[Adjustment]:
        """The changes to the owner's entitlements of a year, newest first."""
        return await self.listed(self.owned(owner, year=year), "at", limit)

    def read(self, row: Row[Any]) -> Adjustment:
        """The change that a row holds."""
        days = {"days": _days(row.half_days), "entitled_before": _days(row.entitled_before)}
        return Adjustment(**{**fields_of(Adjustment, row), **days})


def _check_left(before: Balance, days: Decimal) -> None:
    if before.days + days < 0:
        zh = f"{-days} 天超过了 {before.year} 年这类假期剩下的 {before.days} 天，"
        zh += f"{before.entitled} 天里已经用了 {before.used} 天"
        en = f"{-days} days are more than the {before.days} that are left of "
        en += f"{before.leave_type} leave for {before.year}; {before.used} of {before.entitled}"
        raise PermanentToolError(Localised(zh=zh, en=f"{en} are taken"))
