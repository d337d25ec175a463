from datetime import date

import pytest

from router.entities.dates import Days, find_dates
from router.entities.days import Calendar
from router.entities.normalisation import normalise
from tests.unit.entities.tables import table

WEDNESDAY = date(2026, 11, 18)


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


@pytest.mark.parametrize(("typed", "expected"), table("dates", "a day"))
def test_a_day(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(("typed", "expected"), table("dates", "days in figures alone"))
def test_days_in_figures_alone(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize("typed", table("dates", "figures that are no day"))
def test_figures_that_are_no_day(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(
    ("typed", "expected"), table("dates", "days by their place and their name")
)
def test_days_by_their_place_and_their_name(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize("typed", table("dates", "what two people would read differently is none"))
def test_what_two_people_would_read_differently_is_none(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(("typed", "expected"), table("dates", "further ways to name a day"))
def test_further_ways_to_name_a_day(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize("typed", table("dates", "further words that are no day"))
def test_further_words_that_are_no_day(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(("typed", "expected"), table("dates", "further ways to name a range"))
def test_further_ways_to_name_a_range(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(("typed", "expected"), table("dates", "a range"))
def test_a_range(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(("typed", "expected"), table("dates", "half days"))
def test_half_days(typed: str, expected: str) -> None:
    assert read(typed) == expected


def test_a_clock_after_a_half_makes_it_a_time_of_the_day() -> None:
    assert read("明天下午3点") == "11-19"


@pytest.mark.parametrize("typed", table("dates", "nothing where there is no day"))
def test_nothing_where_there_is_no_day(typed: str) -> None:
    assert read(typed) == ""


def test_a_weekday_after_a_start_is_the_first_one_after_it() -> None:
    monday = date(2026, 11, 23)
    assert read("到周四", after=monday) == "11-26"
    assert read("5号", after=monday) == "12-05"
    assert read("until Friday", after=monday) == "11-27"


def test_an_incomplete_day_of_something_past_is_the_last_one() -> None:
    assert read("周一", past=True) == "11-16"
    assert read("11月20日", past=True) == "11-20"
    assert find_dates("11月20日", Calendar(WEDNESDAY, past=True))[0].value.first.year == 2025
    assert read("12号", past=True) == "11-12"


def test_a_range_never_ends_before_it_starts() -> None:
    assert read("下周五到下周一") == "11-27..11-30"
    assert read("后天到明天") == "11-20 11-19"


def test_a_list_goes_on_in_the_week_and_month_it_began_in() -> None:
    assert read("下周三和周五") == "11-25 11-27"
    assert read("12月24日和25日") == "12-24 12-25"
    assert read("next Tuesday and Thursday") == "11-24 11-26"


def test_a_week_and_a_number_of_days_are_no_weekday() -> None:
    assert read("下周三天假") == "11-23..11-29"


def test_a_leap_day_is_found_years_ahead() -> None:
    assert find_dates("2月29日", Calendar(WEDNESDAY))[0].value.first == date(2028, 2, 29)


def test_a_month_is_as_long_as_it_is() -> None:
    assert find_dates("一个月后", Calendar(date(2027, 1, 31)))[0].value.first == date(2027, 2, 28)
