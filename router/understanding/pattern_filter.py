"""Thousands of RE2 patterns searched at once, in time linear in the text.

google-re2's `Filter` knows of every pattern which literals it can't match without, finds those
in one pass, and tries only the few patterns that are left; a pattern without literals is always
tried. It finds the literals with one automaton of bounded memory: with a few thousand distinct
ones it refuses to be compiled, and long before that a text made of them costs a hundred times
what it should, since states are forgotten and built again. So there are several, of a size that
was measured (`bench/understanding.py`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import re2

MOST_PATTERNS = 500
MOST_BYTES = 32 * 1024
"""Of patterns in one filter, and of their sources together."""


def options() -> Any:
    """How patterns are read: indifferent to case; errors are raised, not printed."""
    chosen = re2.Options()
    chosen.log_errors = False
    chosen.case_sensitive = False
    return chosen


class PatternFilter:
    """Every pattern of a list, each under its place in it.

    >>> patterns = PatternFilter(["tea", "green (?:tea|paper)", "coffee"])
    >>> patterns.found("some green tea"), patterns.expression(0).search("some green tea").span()
    ([0, 1], (11, 14))
    """

    def __init__(self, sources: Iterable[str]) -> None:
        self._parts: list[_Part] = []
        self._firsts: list[int] = []
        first = 0
        for part in _parts(list(sources)):
            self._parts.append(part)
            self._firsts.append(first)
            first += len(part)

    def found(self, text: str) -> list[int]:
        """The places of all patterns that are found in the text, in their order."""
        encoded = text.encode()
        pairs = zip(self._firsts, self._parts, strict=True)
        return [first + place for first, part in pairs for place in part.found(encoded)]

    def expression(self, place: int) -> Any:
        """The pattern at a place, ready to search."""
        part = bisect_right(self._firsts, place) - 1
        return self._parts[part].expression(place - self._firsts[part])


class _Filtered:
    """Patterns of which only those whose literals are there are tried."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._length = len(sources)
        self._filter = re2.Filter()
        for source in sources:
            self._filter.Add(source, options())
        self._filter.Compile()

    def __len__(self) -> int:
        return self._length

    def found(self, text: bytes) -> Sequence[int]:
        return self._filter.Match(text) or ()

    def expression(self, place: int) -> Any:
        return self._filter.re(place)


class _Alone:
    """A pattern with more literals than a filter has room for: a list of a thousand names."""

    def __init__(self, source: str) -> None:
        self._expression = re2.compile(source, options())

    def __len__(self) -> int:
        return 1

    def found(self, text: bytes) -> Sequence[int]:
        return () if self._expression.search(text) is None else (0,)

    def expression(self, place: int) -> Any:
        del place
        return self._expression


_Part = _Filtered | _Alone


def _parts(sources: Sequence[str]) -> Iterable[_Part]:
    chosen: list[str] = []
    size = 0
    for source in sources:
        length = len(source.encode())
        if chosen and (len(chosen) == MOST_PATTERNS or size + length > MOST_BYTES):
            yield from _compiled(chosen)
            chosen, size = [], 0
        chosen.append(source)
        size += length
    if chosen:
        yield from _compiled(chosen)


def _compiled(sources: Sequence[str]) -> Iterable[_Part]:
    """One filter; where its literals are too many for it, two of half the patterns each."""
    if len(sources) == 1 and len(sources[0].encode()) > MOST_BYTES:
        yield _Alone(sources[0])
        return
    try:
        yield _Filtered(sources)
    except re2.error:
        if len(sources) == 1:
            yield _Alone(sources[0])
            return
        middle = len(sources) // 2
        yield from _compiled(sources[:middle])
        yield from _compiled(sources[middle:])
