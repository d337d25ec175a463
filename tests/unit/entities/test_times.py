import pytest

from router.entities.durations import find_times
from router.entities.normalisation import normalise


def read(typed: str) -> list[str]:
    return [f"{f.value:%H:%M}" for f in find_times(normalise(typed).text)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("14:30", "14:30"),
        ("下午3点", "15:00"),
        ("下午三点半", "15:30"),
        ("上午9点15分", "09:15"),
        ("晚上八点", "20:00"),
        ("中午12点", "12:00"),
        ("中午一点", "13:00"),
        ("两点一刻", "02:15"),
        ("3pm", "15:00"),
        ("3:15 pm", "15:15"),
        ("12 am", "00:00"),
        ("at noon", "12:00"),
    ],
)
def test_a_time_of_day(typed: str, expected: str) -> None:
    assert read(typed) == [expected]


@pytest.mark.parametrize(
    "typed", ["call me at 5", "25:00", "有点累", "一点儿", "三点建议几点", "version 2.5.1", "9:75"]
)
def test_no_time_of_day(typed: str) -> None:
    assert read(typed) == []
