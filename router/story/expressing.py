"""What a story expects to be said, compared with what was said."""

from functools import lru_cache
from typing import Any

import re2

_SHORTEST_EXPRESSION = 3


def is_expression(pattern: str) -> bool:
    """True for `/…/`, which is RE2; anything else is looked for as it is written.

    >>> is_expression("/请.*确认/"), is_expression("请确认")
    (True, False)
    """
    slashes = pattern.startswith("/") and pattern.endswith("/")
    return slashes and len(pattern) >= _SHORTEST_EXPRESSION


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """The expression between the slashes; `.` takes line breaks too. Raises `re2.error`."""
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    return re2.compile(pattern[1:-1], options)


def end_of(pattern: str, said: str, start: int) -> int | None:
    """Where the first match from `start` on ends; None where there is none.

    >>> end_of("确认", "请确认：年假", 0)
    3
    """
    if not is_expression(pattern):
        found = said.find(pattern, start)
        return None if found < 0 else found + len(pattern)
    match = compiled(pattern).search(said[start:])
    return None if match is None else start + int(match.end())
