"""Which flows a message starts, or tools it asks for: all patterns at once, in time linear in it.

google-re2's `Filter` finds the literals that patterns can't match without in one pass, and tries
only the few patterns that are left. With thousands of literals it refuses to be compiled, and long
before that it is slow: so there are several, of a size that was measured
(`bench/understanding.py`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any, Literal

import re2

from router.domain.locale import Localised
from router.domain.principals import EVERYTHING, CapabilityKind, Entitlement
from router.entities.grammar import compiled, group_span
from router.entities.normalisation import Normalised, normalise
from router.flow.definition import BlockerName, FlowDefinition
from router.formats.regex import CODED
from router.lexicon import Words
from router.understanding.dialogue_acts import AROUND
from router.understanding.names import FlowNames
from router.understanding.reading import PatternHit
from router.understanding.triggers.classifier import About, Objections, blotted, spans_of

MOST_PATTERNS = 500
MOST_BYTES = 32 * 1024
"""Of patterns in one filter, and of their sources together."""
MEMORY_BYTES = 2 * 1024 * 1024
"""For the states that RE2 caches of each pattern: with half of it a long message takes 20 times as
long."""
MOST_KEPT = 8
"""Filters that are kept for whoever asks for the same patterns again: each check of a draft does,
while its author changes something else of it."""


def options() -> Any:
    """How patterns are read: indifferent to case, with little memory for each."""
    chosen = CODED.options(ignore_case=True)
    chosen.max_mem = MEMORY_BYTES
    return chosen


class PatternFilter:
    """Every pattern of a list, each under its place in it."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._parts = [*_parts(list(sources))]
        self._firsts = [0, *accumulate(map(len, self._parts))][:-1]

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


@lru_cache(maxsize=MOST_KEPT)
def _filtered(sources: tuple[str, ...]) -> _Filtered:
    return _Filtered(sources)


class _Alone:
    """A pattern with more literals than a filter has room for: a list of a thousand names."""

    def __init__(self, source: str) -> None:
        self._expression = compiled(source)

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
        yield _filtered(tuple(sources))
    except re2.error:
        if len(sources) == 1:
            yield _Alone(sources[0])
            return
        middle = len(sources) // 2
        yield from _compiled(sources[:middle])
        yield from _compiled(sources[middle:])


@dataclass(frozen=True)
class Match:
    """A pattern that was found, with what its named groups hold (spans in the normalised text)."""

    hit: PatternHit
    start: int
    end: int
    groups: dict[str, tuple[int, int]] = field(default_factory=dict)


PhraseKind = Literal["pattern", "topic", "unless"]


@dataclass(frozen=True)
class _Entry:
    flow: str
    source: str
    kind: PhraseKind
    roles: frozenset[str]
    without: tuple[BlockerName, ...]


class PatternIndex:
    """Every pattern and guard of a set of flows; and their examples, where they are `verbatim`."""

    def __init__(self, flows: Iterable[FlowDefinition], *, verbatim: bool = True) -> None:
        held = list(flows)
        self._entries = [entry for flow in held for entry in _entries(flow)]
        self._examples = _examples(held) if verbatim else {}
        self._filter = PatternFilter(entry.source for entry in self._entries)
        self._named = {flow.flow: (_names(flow), flow.verbs) for flow in held}

    def following(self, flows: Iterable[FlowDefinition]) -> "PatternIndex":
        """The index of these flows: this very one where their patterns are what they were.

        To build one takes half a second for ten thousand patterns, and what changes while a
        process runs are mostly forms of tools, which have none.
        """
        held = list(flows)
        entries = [entry for flow in held for entry in _entries(flow)]
        same = entries == self._entries and _examples(held) == self._examples
        return self if same else PatternIndex(held)

    def find(
        self, text: Normalised, roles: frozenset[str], entitlement: Entitlement = EVERYTHING
    ) -> list[Match]:
        """Every pattern of the flows for these people, in the text's order; what overrules it.

        Of a text that is an example of a flow, word for word, those of its flow alone: whoever
        wrote it down has said what it is for.
        """
        entries = ((index, self._entries[index]) for index in self._filter.found(text.text))

        def usable(kind: CapabilityKind, flow: str, its: frozenset[str]) -> bool:
            return (not its or bool(its & roles)) and entitlement.covers(kind, flow)

        found = [(n, e) for n, e in entries if usable("flow", e.flow, e.roles)]
        said = self._examples.get(_core(text.text), ())
        named = [f.flow for f in said if usable(f.stands_for, f.flow, f.triggers.roles)]
        if all(entry.kind == "unless" for _, entry in found) and not named:
            return []
        matches = list(self._matches(text, found))
        if named:
            matches = [match for match in matches if match.hit.flow in named]
            begins = {match.hit.flow for match in matches if match.hit.blocked_by is None}
            matches += [_whole(text, flow) for flow in named if flow not in begins]
        return sorted(matches, key=lambda m: (m.start, -m.end))

    def _matches(self, text: Normalised, found: list[tuple[int, _Entry]]) -> Iterator[Match]:
        objections = Objections(text.text)
        for _, group in groupby(found, key=lambda pair: pair[1].flow):
            entries = list(group)
            own = next((entry.source for _, entry in entries if entry.kind == "unless"), None)
            others = [(n, entry) for n, entry in entries if entry.kind != "unless"]
            starting = [(entry, self._filter.expression(n)) for n, entry in others]
            topics = [e for entry, e in starting if entry.kind == "topic"]
            asking = objections.asking(topics)
            # What the flow is about, and what it is called, is blotted out.
            names, verbs = self._named[entries[0][1].flow]
            about = About(blotted(text.text, spans_of([*topics, *names], text.text)), verbs)
            for entry, expression in starting:
                match = expression.search(text.text)
                judge = objections.to_pattern if entry.kind == "pattern" else objections.to_topic
                objection = judge(match.span(), entry.without, asking, about)
                yield _match(text, match, entry.flow, entry.source, own or objection)


def _entries(flow: FlowDefinition) -> Iterator[_Entry]:
    triggers = flow.triggers
    kinds: dict[PhraseKind, tuple[str, ...]] = {
        "pattern": triggers.patterns,
        "topic": triggers.topics,
        "unless": triggers.unless,
    }
    for kind, sources in kinds.items():
        for source in sources:
            yield _Entry(flow.flow, source, kind, triggers.roles, triggers.without)


def _examples(flows: Iterable[FlowDefinition]) -> dict[str, list[FlowDefinition]]:
    found: dict[str, list[FlowDefinition]] = {}
    for flow in flows:
        for said in {_core(normalise(example).text) for example in flow.triggers.examples}:
            found.setdefault(said, []).append(flow)
    return found


def _core(text: str) -> str:
    """A normalised text without what is said around it: `请帮我出个差，谢谢`."""
    return _AROUND.sub("", text) or text


_AROUND = compiled(f"^{AROUND}+|{AROUND}+$")


def _whole(text: Normalised, flow: str) -> Match:
    hit = PatternHit(flow=flow, pattern=text.typed, span=text.span(0, len(text.text)))
    return Match(hit, 0, len(text.text))


def _names(flow: FlowDefinition) -> list[Any]:
    """What finds the names of a flow; nothing for one that has none but its title."""
    if not flow.names:
        return []
    names = FlowNames.of(flow)
    latin = f"{names.latin}s?"
    return [compiled(rf"{names.han}|\b{latin}\b" if names.han else rf"\b{latin}\b")]


def _match(
    text: Normalised, match: Any, flow: str, source: str, blocked_by: str | None = None
) -> Match:
    start, end = match.span()
    held = [name for name, value in match.groupdict().items() if value is not None]
    span = text.span(start, end)
    hit = PatternHit(flow=flow, pattern=source, span=span, blocked_by=blocked_by)
    return Match(hit, start, end, {name: group_span(match, name) for name in held})


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

    def told(self, flow: FlowDefinition) -> tuple[tuple[str | int, ...], str, str]:
        """Where in the file of `flow`, whose example it is, what is wrong, and what would help."""
        place = ("triggers", "examples", self.example)
        example = flow.triggers.examples[self.example]
        if self.kind == "blocked":
            what = (
                f"the example {example!r} doesn't start {self.flow}: {self.by!r} speaks against "
                f"its pattern {self.pattern!r}"
            )
            return (
                place,
                what,
                "say it otherwise, narrow unless, or switch the guard off with without",
            )
        does = "starts" if self.kind == "taken" else "also starts"
        what = f"the example {example!r} {does} {self.by}, by its pattern {self.pattern!r}"
        remedy = f"narrow that pattern, add an unless to {self.by}, or take the example out"
        return place, what, remedy


def rivalries(flows: Iterable[FlowDefinition]) -> Iterator[Rivalry]:
    """What flows make of each other's examples, each said by somebody who has every role."""
    held = list(flows)
    index = PatternIndex(held, verbatim=False)
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


@dataclass(frozen=True)
class ToolPhrases:
    """The sentences that ask for one tool.

    It is called at once where it only `reads`, and groups of the sentence hold all that it `needs`.

    They are RE2, searched in the normalised message as flows' patterns are, but no blocker
    overrules them: what they mean must be plain from the whole message. `{NAME_ZH}`,
    `{NAME_EN}` and `{VERB_ZH}` stand for whatever any flow is called, and done.

    Any other is started as its form, which asks for what it needs and confirms what it writes.
    """

    tool: str
    title: Localised
    phrases: tuple[str, ...]
    roles: frozenset[str] = frozenset()
    reads: bool = False
    needs: frozenset[str] = frozenset()


_NEVER = r"[^\s\S]"


class PhraseIndex:
    """The sentences of a set of tools."""

    def __init__(self, tools: Iterable[ToolPhrases] = (), names: Iterable[FlowNames] = ()) -> None:
        self.tools = {tool.tool: tool for tool in tools if tool.phrases}
        named, flows = dict[str, Words](), list(names)
        words = sorted({word for of in flows for word in of.words}, key=len, reverse=True)
        verbs = sorted({verb for of in flows for verb in of.verbs}, key=len, reverse=True)
        named["{NAME_ZH}"] = Words(w for w in words if not w.isascii())
        named["{NAME_EN}"] = Words(f"{w}s?" for w in words if w.isascii())
        named["{VERB_ZH}"] = Words(v for v in verbs if not v.isascii())
        self._entries: list[tuple[ToolPhrases, str, Any]] = []
        for tool in self.tools.values():
            for source in tool.phrases:
                whole = source
                for place, any_of in named.items():
                    whole = whole.replace(place, str(any_of or Words((_NEVER,))))
                self._entries.append((tool, source, compiled(whole)))

    def find(
        self, text: Normalised, roles: frozenset[str], entitlement: Entitlement = EVERYTHING
    ) -> list[Match]:
        """The first sentence found of each tool for these people; what a hit calls its flow."""
        found: dict[str, Match] = {}
        for tool, source, pattern in self._entries:
            if tool.tool in found or (tool.roles and not tool.roles & roles):
                continue
            if not entitlement.covers("tool", tool.tool):
                continue
            if (match := pattern.search(text.text)) is not None:
                found[tool.tool] = _match(text, match, tool.tool, source)
        return list(found.values())
