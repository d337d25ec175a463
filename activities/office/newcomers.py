"""Newcomers: their personnel file, their account, their seat and computer."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from activities.office.ledger import LedgerEntry
from activities.office.service import Asker, Key, Records, Undone

router = APIRouter(prefix="/newcomers", tags=["newcomers"])

FILES, ACCOUNTS, PLACES = "NC", "AC", "WP"
_SEATS_ON_A_FLOOR = 80


class Newcomer(BaseModel):
    """Somebody who is to join."""

    newcomer: Annotated[str, Field(min_length=1, max_length=80)]
    position: Annotated[str, Field(max_length=100)]
    kind: Literal["permanent", "intern", "contractor"]
    first_day: date
    buddy: Annotated[str | None, Field(max_length=80)] = None


class AccountWish(BaseModel):
    """What a newcomer has to get into."""

    file: str
    systems: Annotated[str | None, Field(max_length=200)] = None


class PlaceWish(BaseModel):
    """Where a newcomer will sit, and with what."""

    file: str
    first_day: date
    computer: Literal["standard", "developer", "none"]


class Made(BaseModel):
    """What was made ready; without an id a call that was taken back had made nothing."""

    id: str | None
    status: str = "withdrawn"


class Account(Made):
    """An account, with its address."""

    mail: str | None = None


class Place(Made):
    """A seat."""

    seat: str | None = None


@router.post("", status_code=201)
async def open_file(body: Newcomer, records: Records, asker: Asker, key: Key) -> Made:
    """Open the personnel file."""
    return _made(records.make(asker, FILES, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def close_file(body: Undone, records: Records, asker: Asker) -> Made:
    """Take back the file that the call with this key has opened."""
    return _made(records.take_back(asker, FILES, body.undoes))


@router.post("/accounts", status_code=201)
async def create_account(body: AccountWish, records: Records, asker: Asker, key: Key) -> Account:
    """Create mail and accounts for whom a file was opened."""
    file = records.find(asker, body.file)
    made = records.make(asker, ACCOUNTS, key, body.model_dump(mode="json"))
    mail = f"{file.id.lower()}@example.com"
    return Account(id=made.id, status=made.status, mail=mail)


@router.post("/accounts/withdrawals")
async def remove_account(body: Undone, records: Records, asker: Asker) -> Made:
    """Take back the account that the call with this key has created."""
    return _made(records.take_back(asker, ACCOUNTS, body.undoes))


@router.post("/workplaces", status_code=201)
async def reserve_place(body: PlaceWish, records: Records, asker: Asker, key: Key) -> Place:
    """Keep a seat and a computer for whom a file was opened."""
    file = records.find(asker, body.file)
    made = records.make(asker, PLACES, key, body.model_dump(mode="json"))
    floor, seat = divmod(int(file.id.rpartition("-")[2]), _SEATS_ON_A_FLOOR)
    return Place(id=made.id, status=made.status, seat=f"{floor + 3}F-{seat:02d}")


@router.post("/workplaces/withdrawals")
async def release_place(body: Undone, records: Records, asker: Asker) -> Made:
    """Take back the seat that the call with this key has kept."""
    return _made(records.take_back(asker, PLACES, body.undoes))


def _made(entry: LedgerEntry | None) -> Made:
    return Made(id=entry.id, status=entry.status) if entry else Made(id=None)
