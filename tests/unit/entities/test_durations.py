"""How long something takes, and times of day."""

import pytest

from router.entities.durations import find_durations, find_times
from router.entities.normalisation import normalise
from tests.unit.entities.tables import table


def read(typed: str) -> list[dict[str, int | float]]:
    return [f.value.value() for f in find_durations(normalise(typed).text)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("三天", {"days": 3}),
        ("三天半", {"days": 3.5}),
        ("2.5天", {"days": 2.5}),
        ("半天", {"days": 0.5}),
        ("半天假", {"days": 0.5}),
        ("三个半天", {"days": 1.5}),
        ("3个工作日", {"days": 3}),
        ("十五天", {"days": 15}),
        ("二十一天", {"days": 21}),
        ("两周", {"weeks": 2}),
        ("一个星期", {"weeks": 1}),
        ("两个半小时", {"hours": 2.5}),
        ("半个小时", {"hours": 0.5}),
        ("90分钟", {"hours": 1.5}),
        ("请下周三天假", {"days": 3}),
        ("周三三天", {"days": 3}),
        ("请两天年假", {"days": 2}),
        ("for three days", {"days": 3}),
        ("two and a half days", {"days": 2.5}),
        ("a day and a half", {"days": 1.5}),
        ("half a day", {"days": 0.5}),
        ("half-day", {"days": 0.5}),
        ("a week", {"weeks": 1}),
        ("take a day off", {"days": 1}),
        ("five working days", {"days": 5}),
        ("two weeks", {"weeks": 2}),
        ("3 hours", {"hours": 3}),
        ("3d", {"days": 3}),
        ("俩小时", {"hours": 2}),
        ("一个半星期", {"weeks": 1.5}),
        ("两小时四十五分钟", {"hours": 2.75}),
        ("三点五天", {"days": 3.5}),
        ("补助80块,三天", {"days": 3}),
        ("4hrs", {"hours": 4}),
        ("the training will last two days", {"days": 2}),
        ("it might last one and a half weeks", {"weeks": 1.5}),
        ("a 2.5-day course", {"days": 2.5}),
        ("a two-and-a-half-day trip", {"days": 2.5}),
        ("2½ days", {"days": 2.5}),
        ("1 1/2 hours", {"hours": 1.5}),
        ("½ day", {"days": 0.5}),
        ("a half-hour call", {"hours": 0.5}),
        ("1 hour 45 minutes", {"hours": 1.75}),
        ("an hour and 15 minutes", {"hours": 1.25}),
        ("more than two days", {"days": 2}),
    ],
)
def test_how_long(typed: str, expected: dict[str, int | float]) -> None:
    assert read(typed) == [expected]


@pytest.mark.parametrize("typed", table("durations", "nothing where no length is named"))
def test_nothing_where_no_length_is_named(typed: str) -> None:
    assert read(typed) == []


def times(typed: str) -> list[str]:
    return [f"{f.value:%H:%M}" for f in find_times(normalise(typed).text)]


@pytest.mark.parametrize(("typed", "expected"), table("times", "a time of day"))
def test_a_time_of_day(typed: str, expected: str) -> None:
    assert times(typed) == [expected]


@pytest.mark.parametrize("typed", table("times", "no time of day"))
def test_no_time_of_day(typed: str) -> None:
    assert times(typed) == []
