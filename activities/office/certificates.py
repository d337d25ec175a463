"""Business cards and certificates: what was ordered, and for whom."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from activities.office.ledger import LedgerEntry
from activities.office.service import Asker, Key, Records, Undone

router = APIRouter(prefix="/certificates", tags=["certificates"])

FAMILY = "CE"

Line = Annotated[str | None, Field(max_length=300)]


class Order(BaseModel):
    """What is to be printed or made out."""

    kind: Literal["card", "employment", "income", "both"]
    language: Literal["zh", "en", "both"]
    count: Annotated[int, Field(ge=1, le=20)]
    purpose: Annotated[str, Field(max_length=300)]
    receiver: Line = None
    job_title: Line = None
    phone: Line = None
    delivery: Literal["fetch", "post"]
    address: Line = None


class Ordered(BaseModel):
    """An order; without an id a call that was taken back had made none."""

    id: str | None
    status: str = "withdrawn"


@router.post("", status_code=201)
async def order(body: Order, records: Records, asker: Asker, key: Key) -> Ordered:
    """Have it made."""
    return _ordered(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> Ordered:
    """Take back what the call with this key has ordered."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _ordered(gone) if gone else Ordered(id=None)


def _ordered(entry: LedgerEntry) -> Ordered:
    return Ordered(id=entry.id, status=entry.status)
