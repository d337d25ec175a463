"""What reception looks after: visitors and their passes, cards and certificates to fetch."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OnRecord, Records, Undone

router = APIRouter(tags=["reception"])

VISITS, CERTIFICATES = "VS", "CE"

Line = Annotated[str | None, Field(max_length=300)]


class ExpectedVisit(BaseModel):
    """Visitors whom somebody expects."""

    visitors: Annotated[str, Field(min_length=1, max_length=200)]
    company: Annotated[str, Field(max_length=100)]
    people: Annotated[int, Field(ge=1, le=100)]
    at: datetime
    area: Literal["office", "workshop", "machine_room"]
    purpose: Annotated[str, Field(max_length=300)]
    plate: Annotated[str | None, Field(max_length=20)] = None


class VisitorPass(OnRecord):
    """What reception has of a visit."""

    pass_code: str | None = None
    """What the visitor says at reception."""


@router.post("/visits", status_code=201)
async def register_visit(
    body: ExpectedVisit, records: Records, asker: Asker, key: Key
) -> VisitorPass:
    """Put a visit on record."""
    return _pass(records.make(asker, VISITS, key, body.model_dump(mode="json")))


@router.post("/visits/{id_}/closure")
async def close_visit(id_: str, records: Records, asker: Asker) -> VisitorPass:
    """Lock the pass, whoever still has it."""
    return _pass(records.move(asker, id_, "closed", {"open"}))


@router.post("/visits/withdrawals")
async def withdraw_visit(body: Undone, records: Records, asker: Asker) -> VisitorPass:
    """Take back the visit that the call with this key has put on record."""
    gone = records.take_back(asker, VISITS, body.undoes)
    return _pass(gone) if gone else VisitorPass(id=None)


def _pass(entry: LedgerEntry) -> VisitorPass:
    """Codes of four figures, which reception can ask for at the door."""
    number = int(entry.id.rpartition("-")[2])
    return VisitorPass.of(entry, pass_code=f"V{number % 10_000:04d}")


class CertificateOrder(BaseModel):
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


@router.post("/certificates", status_code=201)
async def order_certificate(
    body: CertificateOrder, records: Records, asker: Asker, key: Key
) -> OnRecord:
    """Have it made."""
    return OnRecord.of(records.make(asker, CERTIFICATES, key, body.model_dump(mode="json")))


@router.post("/certificates/withdrawals")
async def withdraw_certificate(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Take back what the call with this key has ordered."""
    return OnRecord.of(records.take_back(asker, CERTIFICATES, body.undoes))
