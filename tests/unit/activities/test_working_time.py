"""Deadlines in the working time of whoever is asked: holidays, weekends, shifts, time zones."""

from datetime import datetime
from typing import Any

import pytest

from activities.look_up import after_working
from company.calendar.work_calendar import WorkCalendar
from router.domain.errors import ArgumentsToolError
from router.domain.principals import Principal, WorkShift
from tests.table import each_row

CALENDAR = WorkCalendar.load()
BOB = Principal(id="bob", name="Bob")
BERLIN = Principal(id="max", name="Max", timezone="Europe/Berlin")
NIGHTS = Principal(id="nora", name="Nora", hours=(WorkShift.read("20:00-23:30"),))


@each_row(
    ("person", "start", "duration", "due"),
    [
        (BOB, "2026-11-18T10:00+08:00", {"hours": 1}, "2026-11-18T11:00+08:00"),
        (BOB, "2026-11-18T11:30+08:00", {"hours": 1}, "2026-11-18T13:30+08:00"),
        (BOB, "2026-11-18T10:00+08:00", {"hours": 8}, "2026-11-19T10:00+08:00"),
        (BOB, "2026-11-18T10:00+08:00", {"days": 1}, "2026-11-19T10:00+08:00"),
        (BOB, "2026-11-18T09:00+08:00", {"hours": 8}, "2026-11-18T18:00+08:00"),
        # Friday afternoon, Saturday, and a night: the next shift begins it.
        (BOB, "2026-11-20T17:00+08:00", {"hours": 2}, "2026-11-23T10:00+08:00"),
        (BOB, "2026-11-21T10:00+08:00", {"hours": 1}, "2026-11-23T10:00+08:00"),
        (BOB, "2026-11-21T10:00+08:00", {"days": 1}, "2026-11-24T09:00+08:00"),
        (BOB, "2026-11-18T23:00+08:00", {"days": 1, "hours": 1}, "2026-11-20T10:00+08:00"),
        # The holidays of October, and the Saturday that is worked for them.
        (BOB, "2026-09-30T10:00+08:00", {"days": 1}, "2026-10-08T10:00+08:00"),
        (BOB, "2026-10-09T10:00+08:00", {"days": 1}, "2026-10-10T10:00+08:00"),
        # Nine in the morning is another moment elsewhere.
        (BERLIN, "2026-11-18T10:00+08:00", {"hours": 1}, "2026-11-18T10:00+01:00"),
        (NIGHTS, "2026-11-18T10:00+08:00", {"hours": 4}, "2026-11-19T20:30+08:00"),
        (BOB, "2026-11-18T12:30+08:00", {}, "2026-11-18T13:00+08:00"),
    ],
)
def test_a_deadline_counts_working_time_alone(
    person: Principal, start: str, duration: dict[str, Any], due: str
) -> None:
    found = after_working(CALENDAR, person, datetime.fromisoformat(start), duration)
    assert found == datetime.fromisoformat(due)


@each_row(
    "duration",
    [None, 8, "PT8H", {"weeks": 1}, {"days": -1}, {"days": 0.5}, {"hours": float("nan")},
     {"days": 367}, {"hours": 10**9}, {"days": True}, {"days": "1"}, {"days": None}],
)  # fmt: skip
def test_what_is_no_duration_is_refused(duration: Any) -> None:
    with pytest.raises(ArgumentsToolError, match="duration"):
        after_working(CALENDAR, BOB, datetime.fromisoformat("2026-11-18T10:00Z"), duration)


@each_row("year", ["0001", "1999", "2098", "9999"])
def test_a_year_without_a_calendar_is_refused(year: str) -> None:
    with pytest.raises(ArgumentsToolError, match="no year with a calendar"):
        after_working(CALENDAR, BOB, datetime.fromisoformat(f"{year}-06-01T10:00Z"), {"days": 1})


@each_row("written", ["", "9-18", "09:00", "18:00-09:00", "09:00-09:00", "a-b"])
def test_what_is_no_shift_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="write hours"):
        WorkShift.read(written)
