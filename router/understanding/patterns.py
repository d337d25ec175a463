"""Which flows a message starts: all patterns of all flows at once, in time linear in the text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from router.flow.model import FlowDefinition
from router.flow.triggers import GuardName
from router.understanding.grammar import group_span
from router.understanding.normalise import Normalised
from router.understanding.objections import Objections
from router.understanding.pattern_filter import PatternFilter
from router.understanding.reading import PatternHit


@dataclass(frozen=True)
class Match:
    """A pattern that was found, with what its named groups hold (spans in the normalised text)."""

    hit: PatternHit
    start: int
    end: int
    groups: dict[str, tuple[int, int]] = field(default_factory=dict)


Kind = Literal["pattern", "topic", "unless"]


@dataclass(frozen=True)
class _Entry:
    flow: str
    source: str
    kind: Kind
    roles: frozenset[str]
    without: tuple[GuardName, ...]


class PatternIndex:
    """Every pattern and guard of a set of flows.

    >>> index = PatternIndex(flows)  # doctest: +SKIP
    >>> [m.hit.flow for m in index.find(normalise("我要请假"), roles)]  # doctest: +SKIP
    ['leave_request']
    """

    def __init__(self, flows: Iterable[FlowDefinition]) -> None:
        self._entries = [entry for flow in flows for entry in _entries(flow)]
        self._filter = PatternFilter(entry.source for entry in self._entries)

    def following(self, flows: Iterable[FlowDefinition]) -> "PatternIndex":
        """The index of these flows: this very one where their patterns are what they were.

        To build one takes half a second for ten thousand patterns, and what changes while a
        process runs are mostly forms of tools, which have none.
        """
        held = list(flows)
        entries = [entry for flow in held for entry in _entries(flow)]
        return self if entries == self._entries else PatternIndex(held)

    def find(self, text: Normalised, roles: frozenset[str]) -> list[Match]:
        """Every pattern found of the flows that these roles may start, in order of the text.

        Where a guard overrules it, the hit says which.
        """
        found = [
            (index, entry)
            for index in self._filter.found(text.text)
            if _may(entry := self._entries[index], roles)
        ]
        if all(entry.kind == "unless" for _, entry in found):
            return []
        return sorted(self._matches(text, found), key=lambda m: (m.start, -m.end))

    def _matches(self, text: Normalised, found: list[tuple[int, _Entry]]) -> Iterator[Match]:
        objections = Objections(text.text)
        for _, group in groupby(found, key=lambda pair: pair[1].flow):
            entries = list(group)
            own = next((entry.source for _, entry in entries if entry.kind == "unless"), None)
            starting = [
                (entry, self._filter.expression(index))
                for index, entry in entries
                if entry.kind != "unless"
            ]
            asking = objections.asking([e for entry, e in starting if entry.kind == "topic"])
            for entry, expression in starting:
                match = expression.search(text.text)
                objection = (
                    objections.to_pattern(match.span(), entry.without, asking)
                    if entry.kind == "pattern"
                    else objections.to_topic(match.span(), entry.without, asking)
                )
                yield _match(text, entry, match, own or objection)


def _entries(flow: FlowDefinition) -> Iterator[_Entry]:
    triggers = flow.triggers
    kinds: dict[Kind, tuple[str, ...]] = {
        "pattern": triggers.patterns,
        "topic": triggers.topics,
        "unless": triggers.unless,
    }
    for kind, sources in kinds.items():
        for source in sources:
            yield _Entry(flow.flow, source, kind, triggers.roles, triggers.without)


def _may(entry: _Entry, roles: frozenset[str]) -> bool:
    return not entry.roles or bool(entry.roles & roles)


def _match(text: Normalised, entry: _Entry, match: Any, blocked_by: str | None) -> Match:
    start, end = match.span()
    groups = {
        name: group_span(match, name)
        for name, value in match.groupdict().items()
        if value is not None
    }
    hit = PatternHit(
        flow=entry.flow,
        pattern=entry.source,
        span=text.span(start, end),
        blocked_by=blocked_by,
    )
    return Match(hit, start, end, groups)
