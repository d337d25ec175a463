"""Leavers: resignations that were agreed to, and what is closed on the last day."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from activities.office.ledger import LedgerEntry
from activities.office.service import Asker, Key, Records, Undone

router = APIRouter(prefix="/resignations", tags=["leavers"])

FAMILY = "RS"


class Resignation(BaseModel):
    """When somebody leaves, why, and who takes over."""

    last_day: date
    cause: Annotated[str, Field(max_length=40)]
    successor: Annotated[str, Field(max_length=80)]
    handover: Annotated[str, Field(max_length=1000)]


class Leaving(BaseModel):
    """A resignation on record; without an id a call that was taken back had made none."""

    id: str | None
    status: str = "withdrawn"
    certificate: str | None = None
    """The number of the certificate that whoever leaves is given on the last day."""


@router.post("", status_code=201)
async def record(body: Resignation, records: Records, asker: Asker, key: Key) -> Leaving:
    """Put a resignation on record."""
    return _leaving(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/{id_}/completion")
async def complete(id_: str, records: Records, asker: Asker) -> Leaving:
    """Close the accounts of whoever has left, and make out the certificate."""
    return _leaving(records.move(asker, id_, "left", {"open"}))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> Leaving:
    """Take back the resignation that the call with this key has put on record."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _leaving(gone) if gone else Leaving(id=None)


def _leaving(entry: LedgerEntry) -> Leaving:
    done = entry.status == "left"
    number = f"LC-{entry.id.rpartition('-')[2]}" if done else None
    return Leaving(id=entry.id, status=entry.status, certificate=number)
