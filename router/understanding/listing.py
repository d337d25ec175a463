"""Several plain values in one answer: `a, b and c`, `甲、乙和丙`, or one a line."""

import re

from router.flow.model import Slot

_SEPARATOR = re.compile(r"[、，;；\n]|(?<!\d),|,(?!\d{3}(?!\d))")
"""A comma between thousands, `1,200`, separates nothing."""
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_LAST = re.compile(r"(?<=\S)\s*(?:以及|和|及)\s*(?=\S)")
"""Between the last two of a row only: by itself it is part of many a word, `和平`, `以及格`."""
_LEADING = re.compile(r"^(?:and|&)\s+|^(?:以及|和)\s*", re.IGNORECASE)


def is_listed(slot: Slot | None) -> bool:
    """True for a list of plain values, which one answer may name together."""
    of = slot.of if slot is not None and slot.type == "list" else None
    return of is not None and of.type not in ("object", "list")


def pieces(typed: str) -> list[str]:
    """The things that are named in a row; one alone where nothing separates any.

    >>> pieces("milk, 1,200 eggs and bread"), pieces("张三、李四和王五")
    (['milk', '1,200 eggs', 'bread'], ['张三', '李四', '王五'])
    """
    row = [part.strip() for part in _SEPARATOR.split(typed)]
    row = [part for part in row if part]
    if not row:
        return []
    *before, last = row
    if before:
        last = _LEADING.sub("", last)
        ends = _AND.split(last) if _AND.search(last) else _LAST.split(last, maxsplit=1)
    else:
        ends = _AND.split(last)
    return [*before, *(end.strip() for end in ends if end.strip())]
