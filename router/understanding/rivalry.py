"""Flows that take each other's sentences: every example, said to all flows at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from router.flow.model import FlowDefinition
from router.understanding.normalise import normalise
from router.understanding.patterns import Match, PatternIndex


@dataclass(frozen=True)
class Rivalry:
    """An example (by its number) that doesn't come to its own flow alone.

    It is `taken` where only another flow starts, `shared` where both do and a person would have
    to choose, `blocked` where its own flow's patterns are found and a guard keeps it from starting.
    """

    flow: str
    example: int
    kind: Literal["taken", "shared", "blocked"]
    by: str
    """The other flow, or what blocks it."""
    pattern: str


def rivalries(flows: Iterable[FlowDefinition]) -> Iterator[Rivalry]:
    """What the flows' patterns, topics, `unless` and guards make of each other's examples.

    Each is said by somebody who has every role that any flow wants: whoever may start one flow
    may turn out to be allowed another.
    """
    held = list(flows)
    index = PatternIndex(held)
    everyone = frozenset(role for flow in held for role in flow.triggers.roles)
    for flow in held:
        for number, example in enumerate(flow.triggers.examples):
            matches = index.find(normalise(example), everyone)
            yield from _of(flow.flow, number, matches)


def _of(flow: str, example: int, matches: list[Match]) -> Iterator[Rivalry]:
    starting = [match.hit for match in matches if match.hit.blocked_by is None]
    own = any(hit.flow == flow for hit in starting)
    others = {hit.flow: hit.pattern for hit in starting if hit.flow != flow}
    for other, pattern in others.items():
        yield Rivalry(flow, example, "shared" if own else "taken", other, pattern)
    blocked = (m.hit for m in matches if m.hit.flow == flow and m.hit.blocked_by is not None)
    hit = next(blocked, None)
    if hit is not None and not own and not others:
        yield Rivalry(flow, example, "blocked", str(hit.blocked_by), hit.pattern)
