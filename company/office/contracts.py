"""Contracts and seals: whom one may sign with, what was sealed, and where a seal is."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.service import Asker, Key, OnRecord, Records, Undone
from router.domain.errors import Conflict
from router.domain.locale import Localised

router = APIRouter(prefix="/contracts", tags=["contracts"])

FAMILY = "CT"
SANCTIONED = frozenset({"黑石贸易", "black stone trading"})
"""Whom the sample company signs nothing with."""
OUT = "seal_out"

Seal = Literal["company", "contract", "legal_representative"]


class Counterparty(BaseModel):
    """Whether one may sign with somebody, and how many contracts there are with them."""

    allowed: bool
    contracts: int


class SealUse(BaseModel):
    """A paper that a seal is put on."""

    counterparty: Annotated[str, Field(min_length=1, max_length=200)]
    kind: str
    seal: Seal
    copies: Annotated[int, Field(ge=1, le=50)]
    paper: str
    amount: dict[str, str] | None = None
    return_by: date | None = None
    """Where the seal leaves the house: the day on which it is back."""
    reason: str


@router.get("/counterparty")
async def counterparty(name: str, records: Records, asker: Asker) -> Counterparty:
    """Say whether one may sign with somebody of that name."""
    known = records.everyones(asker.tenant, FAMILY, ("open", OUT, "archived"))
    count = sum(entry.fields["counterparty"] == name for entry in known)
    return Counterparty(allowed=name.strip().casefold() not in SANCTIONED, contracts=count)


@router.post("", status_code=201)
async def register(body: SealUse, records: Records, asker: Asker, key: Key) -> OnRecord:
    """Put the use of a seal into the register; a seal that is out of the house can't be used."""
    made_before = records.made_by(asker, FAMILY, key)
    out = [
        e for e in records.everyones(asker.tenant, FAMILY, (OUT,)) if e.fields["seal"] == body.seal
    ]
    if out and made_before is None:
        zh = f"这枚章外借未还（{out[0].id}，{out[0].person}）"
        en = f"that seal is out of the house ({out[0].id}, {out[0].person})"
        raise Conflict(Localised(zh=zh, en=en))
    status = "open" if body.return_by is None else OUT
    return OnRecord.of(records.make(asker, FAMILY, key, body.model_dump(mode="json"), status))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Strike out what the call with this key has registered."""
    return OnRecord.of(records.take_back(asker, FAMILY, body.undoes))


@router.post("/{id_}/archive")
async def archive(id_: str, records: Records, asker: Asker) -> OnRecord:
    """Put the sealed paper into the archive; its seal is in the house."""
    return OnRecord.of(records.move(asker, id_, "archived", {"open", OUT}))
