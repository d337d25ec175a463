"""What the grammars of numbers, money and dates are written with.

A `Rule` is an RE2 expression and a function that makes a value of its groups. RE2 knows no
lookaround, so a rule says beside its expression what may not stand before and after a match.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import re2

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Groups = dict[str, str]
"""The named groups that took part in a match."""

Span = tuple[int, int]
"""Where something stands in a text, half-open."""

MOST_FOUND = 120
"""Things that are read of one text: 60 costs with their days are so many."""
MAX_MATCHES = 4 * MOST_FOUND
"""Matches that one rule looks at, most of which other rules read; a longer text costs no more."""

_STOPS: ContextVar[list[int] | None] = ContextVar("stops", default=None)


@contextmanager
def noting_stops() -> Iterator[list[int]]:
    """Collect the places at which rules stop reading a text, since they have matched so often."""
    stops: list[int] = []
    token = _STOPS.set(stops)
    try:
        yield stops
    finally:
        _STOPS.reset(token)


def note_stop(start: int) -> None:
    """Note that what begins here in the text, and all that follows, isn't read."""
    stops = _STOPS.get()
    if stops is not None:
        stops.append(start)


# How much of what stands before and after a match a rule may look at.
_CONTEXT = 16


@dataclass(frozen=True)
class Found(Generic[T_co]):
    """A value and where it stands, half-open, in the normalised text."""

    start: int
    end: int
    value: T_co

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.start, self.end

    def overlaps(self, other: "Found[Any]") -> bool:
        """True where the two share a character."""
        return self.touches([other.span])

    def touches(self, spans: Iterable[Span]) -> bool:
        """True where it shares a character with one of the spans."""
        return any(start < self.end and self.start < end for start, end in spans)


def compiled(source: str) -> Any:
    """The RE2 expression for `source`, indifferent to case; errors are raised, not printed."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    return re2.compile(source, options)


def group_span(match: Any, name: str) -> tuple[int, int]:
    """Where a named group stands; RE2's matches take only numbers there."""
    first, last = match.span(match.re.groupindex[name])
    return first, last


@dataclass(frozen=True)
class Rule(Generic[T_co]):
    """One way to write something. `build` may answer None: then it wasn't one after all.

    `unless_after` and `unless_before` are expressions for what, directly before or after the
    match, shows that something else is meant: `三天` after `第`, or before `两头`. `only_after`
    and `only_before` are for what is doubtful by itself: one of those given must be there. A
    group named `it` is the thing itself where the expression also spans what must stand around it.
    """

    source: str
    build: Callable[[Groups], T_co | None]
    unless_after: str = ""
    unless_before: str = ""
    only_after: str = ""
    only_before: str = ""
    _pattern: Any = field(init=False, repr=False)
    _context: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        context = {
            "unless_after": self.unless_after and f"(?:{self.unless_after})$",
            "unless_before": self.unless_before and f"^(?:{self.unless_before})",
            "only_after": self.only_after and f"(?:{self.only_after})$",
            "only_before": self.only_before and f"^(?:{self.only_before})",
        }
        compiled_context = {name: compiled(source) for name, source in context.items() if source}
        object.__setattr__(self, "_pattern", compiled(self.source))
        object.__setattr__(self, "_context", compiled_context)

    def find(self, text: str) -> Iterator[Found[T_co]]:
        """Everything in `text` that is written this way, from left to right."""
        for number, match in enumerate(self._pattern.finditer(text)):
            if number == MAX_MATCHES:
                return note_stop(match.start())
            groups = {k: v for k, v in match.groupdict().items() if v is not None}
            start, end = group_span(match, "it") if "it" in groups else match.span()
            if start == end or cuts_a_word(text, start) or cuts_a_word(text, end):
                continue
            before, after = text[max(0, start - _CONTEXT) : start], text[end : end + _CONTEXT]
            value = self.build(groups) if self._fits(before, after) else None
            if value is not None:
                yield Found(start, end, value)

    def _fits(self, before: str, after: str) -> bool:
        seen = {
            name: bool(pattern.search(before if name.endswith("after") else after))
            for name, pattern in self._context.items()
        }
        if seen.get("unless_after") or seen.get("unless_before"):
            return False
        wanted = [seen[name] for name in ("only_after", "only_before") if name in seen]
        return not wanted or any(wanted)


def cuts_a_word(text: str, at: int) -> bool:
    """True where `at` falls within an ASCII word, a number, or a version like `2.5.1`."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isascii() and left.isalnum() and right.isascii() and right.isalnum():
        return True
    if left in ".," and right.isdigit():
        return at > 1 and text[at - 2].isdigit()
    return left.isdigit() and right in ".," and text[at + 1 : at + 2].isdigit()


def longest(found: Iterable[Found[T]]) -> list[Found[T]]:
    """Those that don't overlap, from left to right; of two that do, the longer one stays."""
    kept: list[Found[T]] = []
    for candidate in sorted(found, key=lambda f: (f.start, -f.end)):
        length = candidate.end - candidate.start
        while kept and candidate.overlaps(kept[-1]) and length > kept[-1].end - kept[-1].start:
            kept.pop()
        if not kept or not candidate.overlaps(kept[-1]):
            kept.append(candidate)
    return kept


_NAMES = re.compile(r"\(\?P<\w+>")
_TOGETHER = 8
"""Rules that are looked for at once: most texts have none of them."""


class RuleSet(Generic[T_co]):
    """Ways to write things of one kind. Where few fit a text the others cost it next to nothing.

    >>> days = RuleSet(Rule("(?P<day>[0-9]+)日", lambda groups: int(groups["day"])))
    >>> find_all("3日", days)
    [Found(start=0, end=2, value=3)]
    """

    def __init__(self, *rules: Rule[T_co]) -> None:
        starts = range(0, len(rules), _TOGETHER)
        parts = [rules[start : start + _TOGETHER] for start in starts]
        self._parts = [(_any_of(part), part) for part in parts]

    def find(self, text: str) -> Iterator[Found[T_co]]:
        """Everything in `text` that one of them finds, rule by rule."""
        for fits, rules in self._parts:
            if fits.search(text) is not None:
                for rule in rules:
                    yield from rule.find(text)


def _any_of(rules: Iterable[Rule[Any]]) -> Any:
    # A name of a group can't stand twice in one expression; nobody asks for these.
    sources = [_NAMES.sub("(?:", rule.source) for rule in rules]
    return compiled("|".join(f"(?:{source})" for source in sources))


def find_all(text: str, *sets: RuleSet[T]) -> list[Found[T]]:
    """What any of their rules finds, in order; of two that overlap the longer one."""
    return longest(found for rules in sets for found in rules.find(text))


def only(kind: type[T], found: Iterable[Found[Any]]) -> list[Found[T]]:
    """Those whose value is of a kind."""
    return [f for f in found if isinstance(f.value, kind)]
