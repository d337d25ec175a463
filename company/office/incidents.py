"""Incidents: what happened, who takes care of it, and how it was closed."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OnRecord, Records, Undone

router = APIRouter(prefix="/incidents", tags=["incidents"])

FAMILY = "IN"

Severity = Literal["low", "medium", "high", "critical"]


class IncidentReport(BaseModel):
    """What somebody reports."""

    kind: str
    severity: Severity
    happened_on: date
    place: Annotated[str, Field(max_length=200)]
    injured: bool
    account: Annotated[str, Field(max_length=2000)]
    photo: str | None = None


class Incident(OnRecord):
    """An incident on record."""

    severity: Severity | None = None


class IncidentClosure(BaseModel):
    """How it came about, and what is done so that it doesn't again."""

    cause: Annotated[str, Field(min_length=1, max_length=1000)]
    measures: Annotated[str, Field(max_length=1000)] = ""


@router.post("", status_code=201)
async def report(body: IncidentReport, records: Records, asker: Asker, key: Key) -> Incident:
    """Put an incident on record, before anybody has looked at it."""
    return _incident(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> Incident:
    """Mark as mistaken what the call with this key has reported."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _incident(gone) if gone else Incident(id=None)


@router.post("/{id_}/closure")
async def close(id_: str, body: IncidentClosure, records: Records, asker: Asker) -> Incident:
    """Close it, with its cause."""
    return _incident(records.move(asker, id_, "closed", {"open"}, **body.model_dump()))


def _incident(entry: LedgerEntry) -> Incident:
    severity = IncidentReport.model_validate(entry.fields).severity
    return Incident.of(entry, severity=severity)
