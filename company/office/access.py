"""Rights in systems: whose a system is, how far a right goes, and until when it holds."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.service import Asker, Key, OnRecord, Records, Undone
from router.domain.errors import NotFound
from router.domain.locale import Localised

router = APIRouter(prefix="/access", tags=["access"])

FAMILY = "AC"

Level = Literal["read", "write", "admin"]


class _KnownSystem(NamedTuple):
    owner: str
    sensitive: bool


_SYSTEMS: Mapping[str, _KnownSystem] = {
    "crm": _KnownSystem("bob", sensitive=False),
    "erp": _KnownSystem("erin", sensitive=True),
    "hr": _KnownSystem("dave", sensitive=True),
    "code": _KnownSystem("gina", sensitive=False),
    "warehouse": _KnownSystem("gina", sensitive=True),
    "vpn": _KnownSystem("ivy", sensitive=False),
    "bi": _KnownSystem("erin", sensitive=False),
    "other": _KnownSystem("ivy", sensitive=False),
}
"""The sample company's: who answers for each, and whether personal or financial data lie there."""


class SystemStanding(BaseModel):
    """What there is to know of a system before a right in it is asked for."""

    owner: str
    sensitive: bool
    held: str | None
    """The level that the person has there already, and until when."""
    until: date | None


class AccessPlan(BaseModel):
    """A right that somebody wants."""

    system: str
    level: Level
    detail: Annotated[str | None, Field(max_length=200)] = None
    until: date
    reason: str


@router.get("/systems/{system}")
async def standing(system: str, records: Records, asker: Asker) -> SystemStanding:
    """Say whose the system is, and what the person has there."""
    known = _SYSTEMS.get(system)
    if known is None:
        zh, en = f"没有叫 {system:.40} 的系统", f"there is no system {system:.40}"
        raise NotFound(Localised(zh=zh, en=en))
    rights = records.entries(asker, FAMILY, ("open",))
    there = next((one.fields for one in rights if one.fields["system"] == system), None)
    return SystemStanding(
        owner=known.owner,
        sensitive=known.sensitive,
        held=str(there["level"]) if there else None,
        until=date.fromisoformat(str(there["until"])) if there else None,
    )


@router.post("", status_code=201)
async def grant(body: AccessPlan, records: Records, asker: Asker, key: Key) -> OnRecord:
    """Give a right that was agreed to."""
    return OnRecord.of(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Take away the right that the call with this key has given."""
    return OnRecord.of(records.take_back(asker, FAMILY, body.undoes))


@router.post("/{id_}/end")
async def end(id_: str, records: Records, asker: Asker) -> OnRecord:
    """End a right whose time is over."""
    return OnRecord.of(records.move(asker, id_, "ended", {"open"}))
