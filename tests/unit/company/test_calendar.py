import logging
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from company.calendar.work_calendar import WorkCalendar, day, last_workday, workdays
from router.domain.errors import ArgumentsToolError, MisconfiguredError
from tests.table import each_row

CALENDAR = WorkCalendar.load()

# The State Council's notice for 2026: what is off, and the weekend days worked for it.
OFF_2026 = [
    *((1, day) for day in (1, 2, 3)), *((2, day) for day in range(15, 24)),
    *((4, day) for day in (4, 5, 6)), *((5, day) for day in range(1, 6)),
    *((6, day) for day in (19, 20, 21)), *((9, day) for day in (25, 26, 27)),
    *((10, day) for day in range(1, 8)),
]  # fmt: skip
WORKED_2026 = [(1, 4), (2, 14), (2, 28), (5, 9), (9, 20), (10, 10)]


def d(text: str) -> date:
    return date.fromisoformat(text)


def test_2026_is_as_it_was_announced_on_every_one_of_its_days() -> None:
    start = date(2026, 1, 1)
    for today in (start + timedelta(days=n) for n in range(365)):
        place = (today.month, today.day)
        expected = place in WORKED_2026 or (today.weekday() < 5 and place not in OFF_2026)
        assert CALENDAR.is_workday(today) == expected, today


def test_a_swap_across_new_year_counts_in_december() -> None:
    assert CALENDAR.is_workday(d("2011-12-31"))
    assert CALENDAR.is_workday(d("2006-12-30"))


def test_of_an_unknown_year_weekends_and_holidays_are_guessed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calendar = WorkCalendar.load()
    days = ("2040-10-01", "2040-10-02", "2040-10-03", "2040-03-03", "2040-03-05")
    with caplog.at_level(logging.WARNING, "router.calendar"):
        assert [calendar.is_workday(d(each)) for each in days] == [*[False] * 4, True]
    assert [record.getMessage()[:24] for record in caplog.records] == ["the days off of 2040 are"]
    assert (calendar.announced(2026), calendar.announced(2090)) == (True, False)


class TestOverrides:
    def load(self, folder: Path, text: str) -> WorkCalendar:
        (folder / "mine.yaml").write_text(text, encoding="utf-8")
        return WorkCalendar.load(folder / "mine.yaml")

    @pytest.mark.parametrize(
        ("text", "worked", "off"),
        [
            (
                "off: [2026-11-20]\nwork: [2026-11-21, 2026-10-01]\n",
                ["2026-11-21", "2026-10-01"],
                ["2026-11-20", "2026-10-02"],
            ),
            (
                "announced: [2040]\noff: [2040-10-02]\nwork: [2040-10-06]\n",
                ["2040-10-01", "2040-10-06"],
                ["2040-10-02"],
            ),
            ("# later\n", [], ["2026-10-01"]),
        ],
        ids=["days of one's own", "an announced year is the file's alone", "an empty file"],
    )
    def test_a_company_has_days_of_its_own(
        self, tmp_path: Path, text: str, worked: list[str], off: list[str]
    ) -> None:
        calendar = self.load(tmp_path, text)
        assert [day for day in worked + off if calendar.is_workday(d(day))] == worked
        assert calendar.announced(2040) is ("announced" in text)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("off: [2026-13-01]", "can't be read: month"),
            ("off: [2026-01-01, 1.5.2026]", "off.1"),
            ("off: soon", "off"),
            ("holidays: [2026-01-01]", "holidays: Extra inputs"),
            ("off: [2026-01-05]\nwork: [2026-01-05]", "2026-01-05 is both off and worked"),
            ("off: [", "can't be read"),
            ("- 2026-01-05", "mine.yaml"),
        ],
    )
    def test_what_is_no_calendar_is_refused(self, tmp_path: Path, text: str, said: str) -> None:
        with pytest.raises(MisconfiguredError, match=said):
            self.load(tmp_path, text)

    def test_a_file_that_isnt_there_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(MisconfiguredError, match=r"nowhere\.yaml"):
            WorkCalendar.load(tmp_path / "nowhere.yaml")


@each_row(
    ("start", "end", "start_half", "end_half", "days"),
    [
        ("2026-11-23", "2026-11-25", "", "", "3"),
        ("2026-11-20", "2026-11-23", "", "", "2"),
        ("2026-11-20", "2026-11-23", "pm", "am", "1"),
        ("2026-11-20", "2026-11-20", "am", "am", "0.5"),
        ("2026-11-20", "2026-11-20", "pm", "pm", "0.5"),
        ("2026-11-20", "2026-11-20", "pm", "", "0.5"),
        ("2026-11-20", "2026-11-20", "", "am", "0.5"),
        ("2026-11-20", "2026-11-20", "am", "pm", "1"),
        ("2026-11-20", "2026-11-20", "pm", "am", "0"),
        ("2026-11-21", "2026-11-22", "pm", "am", "0"),
        ("2026-11-21", "2026-11-23", "pm", "", "1"),
        ("2026-09-28", "2026-10-12", "", "", "7"),
        ("2026-10-10", "2026-10-11", "", "", "1"),
        ("2026-12-31", "2027-01-01", "", "", "1"),
        ("2026-11-25", "2026-11-23", "", "", "0"),
    ],
)
def test_working_days_are_counted_in_halves(
    start: str, end: str, start_half: str, end_half: str, days: str
) -> None:
    assert workdays(CALENDAR, d(start), d(end), start_half, end_half) == Decimal(days)


@each_row(
    ("start", "duration", "end"),
    [
        ("2026-11-23", {"days": 1}, "2026-11-23"),
        ("2026-11-23", {"days": 0.5}, "2026-11-23"),
        ("2026-11-20", {"days": 2.5}, "2026-11-24"),
        ("2026-11-20", {"days": "3"}, "2026-11-24"),
        ("2026-11-21", {"days": 1}, "2026-11-23"),
        ("2026-09-28", {"days": 4}, "2026-10-08"),
        ("2026-11-23", {"weeks": 1}, "2026-11-29"),
        ("2026-11-23", {"weeks": 2}, "2026-12-06"),
        ("2026-11-23", {"hours": 4}, "2026-11-23"),
        ("2026-11-20", {"hours": 12}, "2026-11-23"),
    ],
)
def test_a_duration_ends_on_a_day(start: str, duration: Any, end: str) -> None:
    assert last_workday(CALENDAR, d(start), duration) == d(end)


@given(start=st.dates(d("2025-01-01"), d("2026-06-01")), halves=st.integers(1, 60))
def test_a_duration_and_the_days_up_to_its_end_agree(start: date, halves: int) -> None:
    end = last_workday(CALENDAR, start, {"days": halves / 2})
    assert workdays(CALENDAR, start, end) == Decimal((halves + 1) // 2)


@each_row(
    "duration",
    [
        None, "2 days", {}, {"days": 1, "weeks": 1}, {"months": 1}, {"days": 0}, {"days": -1},
        {"days": float("nan")}, {"days": float("inf")}, {"days": "many"}, {"days": None},
        {"days": [1]}, {"days": 10**30}, {"days": 1829}, {"weeks": 300}, {"hours": 10**6},
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused(duration: Any) -> None:
    with pytest.raises(ArgumentsToolError, match=r"duration|five years"):
        last_workday(CALENDAR, d("2026-11-23"), duration)


def test_the_last_years_there_are_can_be_counted_through_and_five_at_most() -> None:
    assert last_workday(CALENDAR, d("2098-12-31"), {"days": 1000}).year == 2102
    with pytest.raises(ArgumentsToolError, match="longer than five years"):
        workdays(CALENDAR, d("2026-01-01"), d("2036-01-01"))


@each_row("value", [None, "", 20261130, "2026-02-30", "9999-12-31", "0001-01-01", "tomorrow", {}])
def test_what_is_no_date_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(ArgumentsToolError, match="start: "):
        day(value, "start")
