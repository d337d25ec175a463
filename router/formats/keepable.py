"""JSON values such that databases, Temporal's history and models can keep them.

PostgreSQL takes no U+0000, UTF-8 has no lone surrogates, and values are walked by recursion.
"""

from math import isfinite
from typing import Any

from router.domain.errors import UnusableResult
from router.domain.locale import Localised
from router.domain.visible_text import legible

DEEPEST = 60
"""Levels of lists and objects within each other. pydantic gives up at 255, Python near 1,000."""
MOST_VALUES = 100_000
"""Within one another: every place on its way goes through all of them, while others wait."""
_MOST_BITS = 10_000
"""Of an integer: Python writes none that has more than 4,300 digits."""


def keepable(value: Any) -> Any:
    """The value with legible texts; what isn't JSON's own, such as a file, is left as it is.

    Raises `UnusableResult` where it is too deep or of too many values, or has a number that JSON
    can't write.
    """
    left, unseen = MOST_VALUES, [value]
    while unseen:
        each = unseen.pop()
        inner = each.values() if type(each) is dict else each if type(each) is list else ()
        left -= len(inner)
        if left < 0:
            zh = f"结果里有超过 {MOST_VALUES} 个值，请一次少要一些"
            en = f"the result has more than {MOST_VALUES} values; ask for less at a time"
            raise UnusableResult(Localised(zh=zh, en=en))
        unseen.extend(inner)
    return _kept(value, DEEPEST)


def _kept(value: Any, deepest: int) -> Any:
    kind = type(value)  # exactly: an enumeration's member may be a str, and is to stay what it is
    if kind is str:
        return legible(value)
    if kind is float or kind is int:
        return _number(value)
    if kind is not list and kind is not dict:
        return value
    if deepest == 0:
        zh = f"结果嵌套超过 {DEEPEST} 层"
        en = f"the result is nested deeper than {DEEPEST} levels"
        raise UnusableResult(Localised(zh=zh, en=en))
    if kind is list:
        return [_kept(item, deepest - 1) for item in value]
    return {_kept(name, 0): _kept(item, deepest - 1) for name, item in value.items()}


def _number(value: float) -> float:
    if isfinite(value) if isinstance(value, float) else value.bit_length() <= _MOST_BITS:
        return value
    what = repr(value) if isinstance(value, float) else "of thousands of digits"
    zh = "结果里有 JSON 写不了的数"
    en = f"the result has a number that is no JSON: {what}"
    raise UnusableResult(Localised(zh=zh, en=en))
