"""What a tool gives, such that every place on its way can keep it.

A result goes into the effects ledger and the event log (PostgreSQL takes no U+0000), into
Temporal's history and before models (UTF-8, which has no lone surrogates), and is walked over by
recursion in all of them. Nobody but here has to think of that.
"""

import re
from math import isfinite
from typing import Any

from router.domain.errors import UnusableResult
from router.domain.texts import Localised

DEEPEST = 60
"""Levels of lists and objects within each other. pydantic gives up at 255, Python near 1,000."""
_MOST_BITS = 10_000
"""Of an integer: Python writes none that has more than 4,300 digits."""
_UNKEPT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and newline
    "\ud800-\udfff]"  # halves of characters
)


def keepable_text(text: str) -> str:
    r"""The text without control characters but tab and newline, and without lone surrogates.

    >>> keepable_text("a\x00b\r\nc\ud800")
    'ab\nc'
    """
    return _UNKEPT.sub("", text.replace("\r\n", "\n"))


def keepable(value: Any, deepest: int = DEEPEST) -> Any:
    r"""The value with keepable texts; what isn't JSON's own, such as a file, is left as it is.

    >>> keepable({"a\x00": ["b\ud800", 1]})
    {'a': ['b', 1]}

    Raises:
        UnusableResult: it is too deep, or has a number that JSON can't write.
    """
    kind = type(value)  # exactly: an enumeration's member may be a str, and is to stay what it is
    if kind is str:
        return keepable_text(value)
    if kind is float or kind is int:
        return _number(value)
    if kind is not list and kind is not dict:
        return value
    if deepest == 0:
        raise UnusableResult(
            Localised(
                zh=f"结果嵌套超过 {DEEPEST} 层",
                en=f"the result is nested deeper than {DEEPEST} levels",
            )
        )
    if kind is list:
        return [keepable(item, deepest - 1) for item in value]
    return {keepable(name, 0): keepable(item, deepest - 1) for name, item in value.items()}


def _number(value: float) -> float:
    if isfinite(value) if isinstance(value, float) else value.bit_length() <= _MOST_BITS:
        return value
    what = repr(value) if isinstance(value, float) else "of thousands of digits"
    raise UnusableResult(
        Localised(
            zh="结果里有 JSON 写不了的数", en=f"the result has a number that is no JSON: {what}"
        )
    )
