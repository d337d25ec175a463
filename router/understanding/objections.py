"""What speaks against a message's starting a flow although the flow's words are in it.

A pattern is a sentence that somebody thought of: it counts unless a guard, or the way in which
the message speaks of the flow's topics, says otherwise. A topic is only a word: it counts where
the message asks for it, and where a guard speaks against that, only where it surely does.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import islice
from typing import Any

from router.flow.triggers import GuardName
from router.understanding.asking import blotted, learned
from router.understanding.grammar import MOST_FOUND, Span
from router.understanding.guards import (
    QUOTATION,
    Guard,
    guards_against,
    guards_before,
    holding,
    quotations,
)
from router.understanding.leftover import without_cause

LIKELY = 0.8
"""How likely a message must ask for a topic that it names, to start the topic's flow."""

SURE = 0.9
"""The same where a guard speaks against it: what the guard saw may be why it is asked for."""

UNLIKELY = 0.2
"""A message that asks for a topic less likely than this starts nothing, whatever its patterns.

All three are measured on sentences that neither patterns nor weights have seen, by
`bench/understanding.py`.
"""

UNASKED = "speaks of it without asking for it"
"""The objection to a message that names a topic and is no request."""

_ALWAYS = frozenset({"translation"})
"""Guards that nothing outweighs: what is to be translated is a request of somebody else."""


class Objections:
    """Of one normalised text; each is found out once, and only where something was found."""

    def __init__(self, text: str) -> None:
        self._text = text

    def asking(self, topics: Iterable[Any]) -> float | None:
        """How likely the text asks for what these expressions name; None where it names none."""
        named = [
            m.span() for topic in topics for m in islice(topic.finditer(self._text), MOST_FOUND)
        ]
        return learned().likelihood(blotted(self._text, named)) if named else None

    def to_pattern(
        self, span: Span, without: Collection[GuardName], asking: float | None
    ) -> str | None:
        """Why the pattern found there starts nothing, in words; None where it does."""
        return (
            self._quotation(span, without)
            or holding(self._guards, without)
            or holding(guards_before(self._text[: span[0]]), without)
            or (UNASKED if asking is not None and asking < UNLIKELY else None)
        )

    def to_topic(
        self, span: Span, without: Collection[GuardName], asking: float | None
    ) -> str | None:
        """Why the topic found there starts nothing, in words; None where it does."""
        if asking is None or asking < LIKELY:
            return UNASKED
        sure = asking >= SURE
        guards = [g for g in self._guards if g.name in _ALWAYS] if sure else self._guards
        return self._quotation(span, without) or holding(guards, without)

    def _quotation(self, span: Span, without: Collection[GuardName]) -> str | None:
        inside = any(first < span[0] and span[1] < last for first, last in self._quotations)
        return holding([QUOTATION], without) if inside else None

    @cached_property
    def _guards(self) -> list[Guard]:
        return guards_against(without_cause(self._text))

    @cached_property
    def _quotations(self) -> list[Span]:
        return quotations(self._text)
