"""Overtime: what a day counts as, how much of it there is in a month, and what is recorded."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.calendar.work_calendar import WorkCalendar
from company.office.ledger import LedgerEntry
from company.office.service import Asker, Key, OnRecord, Records, Undone

router = APIRouter(prefix="/overtime", tags=["attendance"])

FAMILY = "OT"
MOST_IN_A_MONTH = 36.0
"""Hours, by the Labour Law; beyond that HR has to agree."""
STANDING = ("open", "settled")

Hours = Annotated[Decimal, Field(gt=0, le=12, multiple_of=Decimal("0.5"))]
DayKind = Literal["workday", "rest_day", "holiday"]

_RATES: dict[DayKind, float] = {"workday": 1.5, "rest_day": 2.0, "holiday": 3.0}
_SATURDAY = 5
_calendar = WorkCalendar.load()


def kind_of(day: date) -> DayKind:
    """What work on that day counts as: a weekday off is a public holiday.

    >>> kind_of(date(2026, 10, 1)), kind_of(date(2026, 11, 21))
    ('holiday', 'rest_day')
    """
    if _calendar.is_workday(day):
        return "workday"
    return "rest_day" if day.weekday() >= _SATURDAY else "holiday"


class OvertimeEstimate(BaseModel):
    """What overtime on a day would count as, and what it would make of the month."""

    kind: DayKind
    rate: float
    """What an hour is paid, in hourly wages."""
    month_hours: float
    """Those of the month that are on record, without these."""
    over_limit: bool


class PlannedOvertime(BaseModel):
    """Overtime that somebody means to do."""

    day: date
    hours: Hours
    compensation: Literal["pay", "time_off"]
    reason: Annotated[str, Field(max_length=500)]


class RecordedOvertime(OnRecord):
    """Overtime on record."""

    hours: float = 0
    credit: float = 0
    """What it comes to, in hours of pay or of time off."""


class WorkedHours(BaseModel):
    """How long it was in the end."""

    hours: Hours


@router.get("/estimate")
async def estimate(day: date, hours: Hours, records: Records, asker: Asker) -> OvertimeEstimate:
    """Say what so many hours on that day would count as."""
    kind, month = kind_of(day), day.isoformat()[:7]
    so_far = sum(
        float(str(entry.fields["hours"]))
        for entry in records.entries(asker, FAMILY, STANDING)
        if str(entry.fields["day"]).startswith(month)
    )
    over = so_far + float(hours) > MOST_IN_A_MONTH
    return OvertimeEstimate(kind=kind, rate=_RATES[kind], month_hours=so_far, over_limit=over)


@router.post("", status_code=201)
async def record(
    body: PlannedOvertime, records: Records, asker: Asker, key: Key
) -> RecordedOvertime:
    """Put overtime on record that was agreed to."""
    return _recorded(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/{id_}/settlement")
async def settle(id_: str, body: WorkedHours, records: Records, asker: Asker) -> RecordedOvertime:
    """Count it, with the hours that were worked."""
    hours = float(body.hours)
    return _recorded(records.move(asker, id_, "settled", {"open"}, hours=hours))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> RecordedOvertime:
    """Take back the overtime that the call with this key has recorded."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return _recorded(gone) if gone else RecordedOvertime(id=None)


def _recorded(entry: LedgerEntry) -> RecordedOvertime:
    hours = float(str(entry.fields["hours"]))
    rate = _RATES[kind_of(date.fromisoformat(str(entry.fields["day"])))]
    credit = hours * rate if entry.fields["compensation"] == "pay" else hours
    return RecordedOvertime.of(entry, hours=hours, credit=credit)
