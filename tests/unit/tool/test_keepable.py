"""What of a result can be kept everywhere that it goes."""

from typing import Any

import pytest

from router.domain.errors import UnusableResult
from router.tool.results import DEEPEST, keepable


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("x\ud800y", "xy"),
        ("a\x00b\x1b[31m\x85", "ab[31m"),
        ("a\tb\r\nc\nd\r", "a\tb\nc\nd"),
        ("晴 🌤", "晴 🌤"),
        ({"a\x00": [{"b\udfff": "\x07"}]}, {"a": [{"b": ""}]}),
        ([None, True, 1, 1.5, 10**300], [None, True, 1, 1.5, 10**300]),
        (nested(DEEPEST), nested(DEEPEST)),
    ],
)
def test_texts_lose_what_no_database_takes_and_the_rest_stays(value: Any, kept: Any) -> None:
    assert keepable(value) == kept


@pytest.mark.parametrize(
    "value",
    [nested(DEEPEST + 1), nested(5000), float("nan"), [float("-inf")], 10**5000],
    ids=["deep", "deeper", "nan", "infinite", "thousands of digits"],
)
def test_what_cannot_be_kept_is_refused(value: Any) -> None:
    with pytest.raises(UnusableResult):
        keepable(value)
