"""Advances: what somebody owes, what is paid out, what comes back, and what is kept from wages."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue

from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OfficeMoney, OnRecord, Records, Undone
from router.domain.errors import Conflict, InvalidInput
from router.domain.locale import Localised

router = APIRouter(prefix="/advances", tags=["advances"])

FAMILY = "AD"
PAID_OUT = "open"


class Debts(BaseModel):
    """What somebody has to pay back yet."""

    owed: str
    overdue: bool
    """Whether a day on which something was due has passed."""


class AdvancePlan(BaseModel):
    """Money that somebody wants before it is spent."""

    amount: OfficeMoney
    purpose: str
    needed_by: date
    repay_by: date
    reason: str


class Advance(OnRecord):
    """An advance on record."""

    owed: str = "0.00"


class Repayment(BaseModel):
    """What came back, in money or in receipts that were settled against it."""

    amount: Annotated[Decimal, Field(gt=0)]


class StoppedPayment(Undone):
    """A payment that isn't wanted any more."""

    on: date
    """The day of whoever stops it: from the day on which it is needed the money has gone out."""


@router.get("/debts")
async def debts(on: date, records: Records, asker: Asker) -> Debts:
    """Say what the person owes on that day."""
    unpaid = records.entries(asker, FAMILY, (PAID_OUT,))
    owed = sum(map(_owed, unpaid), Decimal(0))
    late = any(date.fromisoformat(str(one.fields["repay_by"])) < on for one in unpaid)
    return Debts(owed=f"{owed:.2f}", overdue=late)


@router.post("", status_code=201)
async def pay_out(body: AdvancePlan, records: Records, asker: Asker, key: Key) -> Advance:
    """Pay an advance that was agreed to."""
    fields: dict[str, JsonValue] = {**body.model_dump(mode="json"), "repaid": "0"}
    return _advance(records.make(asker, FAMILY, key, fields))


@router.post("/withdrawals")
async def withdraw(body: StoppedPayment, records: Records, asker: Asker) -> Advance:
    """Stop the payment that the call with this key has ordered, unless the money has gone out."""
    made = records.made_by(asker, FAMILY, body.undoes)
    if made is not None and made.status != "withdrawn":
        _check_unpaid(made, body.on)
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _advance(gone) if gone else Advance(id=None)


@router.post("/{id_}/repayments")
async def repay(id_: str, body: Repayment, records: Records, asker: Asker, key: Key) -> Advance:
    """Count a repayment, once for its key; when all is back the advance is settled.

    What is more than is owed is refused, whole.
    """
    counted = records.made_by(asker, f"{FAMILY}-R", key)
    entry = records.find(asker, id_)
    if counted is None:
        _check_owed(entry, body.amount)
        records.make(asker, f"{FAMILY}-R", key, {"advance": id_, "amount": str(body.amount)})
        repaid = Decimal(str(entry.fields["repaid"])) + body.amount
        entry = records.amend(asker, id_, repaid=str(repaid))
    if entry.status == PAID_OUT and _owed(entry) <= 0:
        entry = records.move(asker, id_, "settled", {PAID_OUT})
    return _advance(entry)


@router.post("/{id_}/deduction")
async def deduct(id_: str, records: Records, asker: Asker) -> Advance:
    """Keep from the next wages what is owed yet."""
    return _advance(records.move(asker, id_, "deducted", {PAID_OUT}))


def _check_unpaid(entry: LedgerEntry, on: date) -> None:
    needed_by = date.fromisoformat(str(entry.fields["needed_by"]))
    touched = entry.status != PAID_OUT or Decimal(str(entry.fields["repaid"])) > 0
    if touched or on >= needed_by:
        zh = f"{entry.id} 的钱已经付出，停不了，只能归还"
        en = f"the money of {entry.id} has gone out; it can't be stopped any more, only repaid"
        raise Conflict(Localised(zh=zh, en=en))


def _check_owed(entry: LedgerEntry, amount: Decimal) -> None:
    owed = _owed(entry) if entry.status == PAID_OUT else Decimal(0)
    if amount > owed:
        zh = f"{entry.id} 只欠 {owed:.2f} 元，还不了 {amount:.2f} 元"
        en = f"{owed:.2f} CNY are owed of {entry.id}, so {amount:.2f} can't be a repayment of it"
        raise InvalidInput(Localised(zh=zh, en=en))


def _owed(entry: LedgerEntry) -> Decimal:
    amount: JsonValue = entry.fields["amount"]
    paid = Decimal(str(amount["amount"])) if isinstance(amount, dict) else Decimal(0)
    return paid - Decimal(str(entry.fields["repaid"]))


def _advance(entry: LedgerEntry) -> Advance:
    return Advance.of(entry, owed=f"{max(_owed(entry), Decimal(0)):.2f}")
