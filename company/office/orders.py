"""Purchase orders: what a department may still spend, what is ordered, and what has come."""

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue

from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OfficeMoney, OnRecord, Records, Undone

router = APIRouter(prefix="/purchase-orders", tags=["purchasing"])

FAMILY = "PO"
YEARLY = Decimal(300_000)
"""What each department of the sample company may order in a year, in CNY."""
STANDING = ("open", "received")


class PurchaseLine(BaseModel):
    """So many of a thing, each at a price."""

    article: Annotated[str, Field(min_length=1, max_length=200)]
    quantity: Annotated[int, Field(ge=1, le=100_000)]
    price: OfficeMoney


class PurchasePlan(BaseModel):
    """What somebody means to order."""

    items: Annotated[list[PurchaseLine], Field(min_length=1, max_length=50)]
    total: OfficeMoney
    department: str
    needed_by: str
    supplier: str | None = None
    quote: str | None = None
    reason: str


class DepartmentBudget(BaseModel):
    """What a department has left, and whether this much goes into it."""

    left: str
    enough: bool


@router.get("/budget")
async def budget(
    amount: Decimal, department: str, records: Records, asker: Asker
) -> DepartmentBudget:
    """Say what the department may still order this year."""
    spent = sum(
        map(
            _total_of, _of_department(records.everyones(asker.tenant, FAMILY, STANDING), department)
        ),
        Decimal(0),
    )
    left = YEARLY - spent
    return DepartmentBudget(left=f"{left:.2f}", enough=amount <= left)


@router.post("", status_code=201)
async def order(body: PurchasePlan, records: Records, asker: Asker, key: Key) -> OnRecord:
    """Order what was agreed to."""
    return OnRecord.of(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Call off the order that the call with this key has made."""
    return OnRecord.of(records.take_back(asker, FAMILY, body.undoes))


@router.post("/{id_}/receipt")
async def receive(id_: str, records: Records, asker: Asker) -> OnRecord:
    """Note that all of it has come."""
    return OnRecord.of(records.move(asker, id_, "received", {"open"}))


def _of_department(orders: list[LedgerEntry], department: str) -> list[LedgerEntry]:
    return [one for one in orders if one.fields["department"] == department]


def _total_of(entry: LedgerEntry) -> Decimal:
    total: JsonValue = entry.fields["total"]
    return Decimal(str(total["amount"])) if isinstance(total, dict) else Decimal(0)
