"""Who joins and who leaves: files, accounts and seats, resignations and what follows them."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OnRecord, Records, Undone

router = APIRouter(tags=["personnel"])

FILES, ACCOUNTS, PLACES, LEAVERS = "NC", "AC", "WP", "RS"
_SEATS_ON_A_FLOOR = 80


class Newcomer(BaseModel):
    """Somebody who is to join."""

    newcomer: Annotated[str, Field(min_length=1, max_length=80)]
    position: Annotated[str, Field(max_length=100)]
    kind: Literal["permanent", "intern", "contractor"]
    first_day: date
    buddy: Annotated[str | None, Field(max_length=80)] = None


class AccountPlan(BaseModel):
    """What a newcomer has to get into."""

    file: str
    systems: Annotated[str | None, Field(max_length=200)] = None


class WorkplacePlan(BaseModel):
    """Where a newcomer will sit, and with what."""

    file: str
    first_day: date
    computer: Literal["standard", "developer", "none"]


class NewcomerAccount(OnRecord):
    """An account, with its address."""

    mail: str | None = None


class Workplace(OnRecord):
    """A seat."""

    seat: str | None = None


@router.post("/newcomers", status_code=201)
async def open_file(body: Newcomer, records: Records, asker: Asker, key: Key) -> OnRecord:
    """Open the personnel file."""
    return OnRecord.of(records.make(asker, FILES, key, body.model_dump(mode="json")))


@router.post("/newcomers/withdrawals")
async def close_file(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Take back the file that the call with this key has opened."""
    return OnRecord.of(records.take_back(asker, FILES, body.undoes))


@router.post("/newcomers/accounts", status_code=201)
async def create_account(
    body: AccountPlan, records: Records, asker: Asker, key: Key
) -> NewcomerAccount:
    """Create mail and accounts for whom a file was opened."""
    file = records.find(asker, body.file)
    made = records.make(asker, ACCOUNTS, key, body.model_dump(mode="json"))
    mail = f"{file.id.lower()}@example.com"
    return NewcomerAccount.of(made, mail=mail)


@router.post("/newcomers/accounts/withdrawals")
async def remove_account(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Take back the account that the call with this key has created."""
    return OnRecord.of(records.take_back(asker, ACCOUNTS, body.undoes))


@router.post("/newcomers/workplaces", status_code=201)
async def reserve_place(body: WorkplacePlan, records: Records, asker: Asker, key: Key) -> Workplace:
    """Keep a seat and a computer for whom a file was opened."""
    file = records.find(asker, body.file)
    made = records.make(asker, PLACES, key, body.model_dump(mode="json"))
    floor, seat = divmod(int(file.id.rpartition("-")[2]), _SEATS_ON_A_FLOOR)
    return Workplace.of(made, seat=f"{floor + 3}F-{seat:02d}")


@router.post("/newcomers/workplaces/withdrawals")
async def release_place(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Take back the seat that the call with this key has kept."""
    return OnRecord.of(records.take_back(asker, PLACES, body.undoes))


class Resignation(BaseModel):
    """When somebody leaves, why, and who takes over."""

    last_day: date
    cause: Annotated[str, Field(max_length=40)]
    successor: Annotated[str, Field(max_length=80)]
    handover: Annotated[str, Field(max_length=1000)]


class LeavingRecord(OnRecord):
    """A resignation on record."""

    certificate: str | None = None
    """The number of the certificate that whoever leaves is given on the last day."""


@router.post("/resignations", status_code=201)
async def record_resignation(
    body: Resignation, records: Records, asker: Asker, key: Key
) -> LeavingRecord:
    """Put a resignation on record."""
    return _leaving(records.make(asker, LEAVERS, key, body.model_dump(mode="json")))


@router.post("/resignations/{id_}/completion")
async def complete_resignation(id_: str, records: Records, asker: Asker) -> LeavingRecord:
    """Close the accounts of whoever has left, and make out the certificate."""
    return _leaving(records.move(asker, id_, "left", {"open"}))


@router.post("/resignations/withdrawals")
async def withdraw_resignation(body: Undone, records: Records, asker: Asker) -> LeavingRecord:
    """Take back the resignation that the call with this key has put on record."""
    gone = records.take_back(asker, LEAVERS, body.undoes)
    return _leaving(gone) if gone else LeavingRecord(id=None)


def _leaving(entry: LedgerEntry) -> LeavingRecord:
    done = entry.status == "left"
    number = f"LC-{entry.id.rpartition('-')[2]}" if done else None
    return LeavingRecord.of(entry, certificate=number)
