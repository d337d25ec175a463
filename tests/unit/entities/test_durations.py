"""How long something takes, and times of day."""

from router.entities.durations import find_durations, find_times
from router.entities.normalisation import normalise
from tests.table import each_row
from tests.unit.entities.tables import phrases, table

LENGTHS = {
    "days 0.5": "半天  半天假  half a day  half-day  ½ day",
    "days 1": "take a day off",
    "days 1.5": "三个半天  a day and a half",
    "days 2": "请两天年假  the training will last two days  more than two days",
    "days 2.5": "2.5天  two and a half days  a 2.5-day course  a two-and-a-half-day trip  2½ days",
    "days 3": "三天  3个工作日  请下周三天假  周三三天  补助80块,三天  for three days  3d",
    "days 3.5": "三天半  三点五天",
    "days 5": "five working days",
    "days 15": "十五天",
    "days 21": "二十一天",
    "weeks 1": "一个星期  a week",
    "weeks 1.5": "一个半星期  it might last one and a half weeks",
    "weeks 2": "两周  two weeks",
    "hours 0.5": "半个小时  a half-hour call",
    "hours 1.25": "an hour and 15 minutes",
    "hours 1.5": "90分钟  1 1/2 hours",
    "hours 1.75": "1 hour 45 minutes",
    "hours 2": "俩小时",
    "hours 2.5": "两个半小时",
    "hours 2.75": "两小时四十五分钟",
    "hours 3": "3 hours",
    "hours 4": "4hrs",
}


def read(typed: str) -> list[dict[str, int | float]]:
    return [f.value.value() for f in find_durations(normalise(typed).text)]


@each_row(
    ("typed", "expected"), [(said, long) for long, row in LENGTHS.items() for said in phrases(row)]
)
def test_how_long(typed: str, expected: str) -> None:
    unit, _, count = expected.partition(" ")
    assert read(typed) == [{unit: float(count)}]


@each_row("typed", table("durations", "nothing where no length is named"))
def test_nothing_where_no_length_is_named(typed: str) -> None:
    assert read(typed) == []


def times(typed: str) -> list[str]:
    return [f"{f.value:%H:%M}" for f in find_times(normalise(typed).text)]


@each_row(("typed", "expected"), table("times", "a time of day"))
def test_a_time_of_day(typed: str, expected: str) -> None:
    assert times(typed) == [expected]


@each_row("typed", table("times", "no time of day"))
def test_no_time_of_day(typed: str) -> None:
    assert times(typed) == []
