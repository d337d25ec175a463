from datetime import date

import pytest

from router.entities.dates import Days, find_dates
from router.entities.days import Calendar
from router.entities.normalisation import normalise
from tests.table import each_row
from tests.unit.entities.tables import table

WEDNESDAY, MONDAY = date(2026, 11, 18), date(2026, 11, 23)


def shown(days: Days) -> str:
    """`11-19`, or `11-23..11-25`, with the halves after the days that they belong to."""
    ends = [
        f"{day:%m-%d}" + (half or "")
        for day, half in ((days.first, days.first_half), (days.last, days.last_half))
    ]
    return ends[0] if days.single else "..".join(ends)


def read(typed: str, after: date | None = None, *, past: bool = False) -> str:
    found = find_dates(normalise(typed).text, Calendar(WEDNESDAY, after, past))
    return " ".join(shown(f.value) for f in found)


NAMED = (
    *("a day", "days in figures alone", "days by their place and their name"),
    *("further ways to name a day", "further ways to name a range", "a range", "half days"),
)
UNNAMED = (
    *("figures that are no day", "what two people would read differently is none"),
    *("further words that are no day", "nothing where there is no day"),
)


@pytest.mark.slow
@each_row(("typed", "expected"), [row for section in NAMED for row in table("dates", section)])
def test_days_ranges_and_halves_are_read(typed: str, expected: str) -> None:
    assert read(typed) == expected


@each_row("typed", [row for section in UNNAMED for row in table("dates", section)])
def test_where_no_day_is_certain_none_is_read(typed: str) -> None:
    assert read(typed) == ""


@each_row(
    ("typed", "expected"),
    [
        # A clock after a half makes it a time of the day
        ("明天下午3点", "11-19"),
        # A range never ends before it starts
        ("下周五到下周一", "11-27..11-30"),
        ("后天到明天", "11-20 11-19"),
        # A list goes on in the week and month it began in
        ("下周三和周五", "11-25 11-27"),
        ("12月24日和25日", "12-24 12-25"),
        ("next Tuesday and Thursday", "11-24 11-26"),
        # A week and a number of days are no weekday
        ("下周三天假", "11-23..11-29"),
    ],
)
def test_days_are_read_by_what_stands_beside_them(typed: str, expected: str) -> None:
    assert read(typed) == expected


@each_row(("typed", "expected"), [("到周四", "11-26"), ("5号", "12-05"), ("until Friday", "11-27")])
def test_a_weekday_after_a_start_is_the_first_one_after_it(typed: str, expected: str) -> None:
    assert read(typed, after=MONDAY) == expected


@each_row(("typed", "expected"), [("周一", "11-16"), ("11月20日", "11-20"), ("12号", "11-12")])
def test_an_incomplete_day_of_something_past_is_the_last_one(typed: str, expected: str) -> None:
    assert read(typed, past=True) == expected


@each_row(
    ("typed", "calendar", "day"),
    [
        ("11月20日", Calendar(WEDNESDAY, past=True), date(2025, 11, 20)),
        ("2月29日", Calendar(WEDNESDAY), date(2028, 2, 29)),
        ("一个月后", Calendar(date(2027, 1, 31)), date(2027, 2, 28)),
    ],
)
def test_the_year_is_that_in_which_there_is_such_a_day(
    typed: str, calendar: Calendar, day: date
) -> None:
    assert find_dates(typed, calendar)[0].value.first == day
