"""Visitors: who is expected when and where, and the pass that lets them in."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from activities.office.ledger import LedgerEntry
from activities.office.service import Asker, Key, Records, Undone

router = APIRouter(prefix="/visits", tags=["visits"])

FAMILY = "VS"


class Visit(BaseModel):
    """Visitors whom somebody expects."""

    visitors: Annotated[str, Field(min_length=1, max_length=200)]
    company: Annotated[str, Field(max_length=100)]
    people: Annotated[int, Field(ge=1, le=100)]
    at: datetime
    area: Literal["office", "workshop", "machine_room"]
    purpose: Annotated[str, Field(max_length=300)]
    plate: Annotated[str | None, Field(max_length=20)] = None


class Pass(BaseModel):
    """What reception has of a visit; without an id a call that was taken back had made none."""

    id: str | None
    status: str = "withdrawn"
    pass_code: str | None = None
    """What the visitor says at reception."""


@router.post("", status_code=201)
async def register(body: Visit, records: Records, asker: Asker, key: Key) -> Pass:
    """Put a visit on record."""
    return _pass(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/{id_}/closure")
async def close(id_: str, records: Records, asker: Asker) -> Pass:
    """Lock the pass, whoever still has it."""
    return _pass(records.move(asker, id_, "closed", {"open"}))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> Pass:
    """Take back the visit that the call with this key has put on record."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _pass(gone) if gone else Pass(id=None)


def _pass(entry: LedgerEntry) -> Pass:
    """Codes of four figures, which reception can ask for at the door."""
    number = int(entry.id.rpartition("-")[2])
    return Pass(id=entry.id, status=entry.status, pass_code=f"V{number % 10_000:04d}")
