"""A flow as nodes and edges with the words that stand on them, in one language."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from router.domain.texts import Locale, Localised
from router.drawing import words
from router.drawing.words import named, said
from router.flow.model import Approve, Branch, FlowDefinition, State, Wait
from router.flow.status_words import STATUSES

Exit = tuple[str, str, str]
"""State, exit, state: where an edge comes from, by which event, where it leads."""

_FILLED_IN = re.compile(r"(?:(?:\{\{.*?\}\}|\{%.*?%\})\s*)+", re.DOTALL)
_LONGEST = 60
"""Characters of a text that are shown: enough to know it again."""


@dataclass(frozen=True)
class Node:
    """A state. `lines` say what it does, `timers` what happens while it waits."""

    name: str
    kind: str
    lines: tuple[str, ...]
    timers: tuple[str, ...] = ()
    end: str | None = None
    """The status that the flow ends with here, as the file has it."""


@dataclass(frozen=True)
class Edge:
    """A way from one state to another; branches of an exit that lead to the same are one."""

    source: str
    exit: str
    target: str
    label: str

    @property
    def key(self) -> Exit:
        """What tells it from every other."""
        return (self.source, self.exit, self.target)


@dataclass(frozen=True)
class Graph:
    """A flow to be drawn. Nodes and edges stand in the order of the file."""

    name: str
    version: int
    title: str
    locale: Locale
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def summary(self) -> str:
        """The picture in a sentence, for who can't see it."""
        ends = dict.fromkeys(node.end for node in self.nodes if node.end)
        ended = "、" if self.locale == "zh" else ", "
        said_ends = ended.join(named(STATUSES, end, self.locale) for end in ends)
        about = (self.title, self.version, len(self.nodes), self.start, said_ends or "–")
        return said(words.SUMMARY, self.locale, *about)


def graph_of(definition: FlowDefinition, locale: Locale) -> Graph:
    """The states of a flow and the ways between them, labelled in `locale`."""
    known = definition.states
    return Graph(
        name=definition.flow,
        version=definition.version,
        title=definition.title.within(locale),
        locale=locale,
        start=definition.start,
        nodes=tuple(_node(definition, name, locale) for name in known),
        edges=tuple(
            edge
            for name, state in known.items()
            for edge in _edges(name, state, locale)
            if edge.target in known
        ),
    )


def _node(definition: FlowDefinition, name: str, locale: Locale) -> Node:
    state = definition.states[name]
    does = named(words.KINDS, state.kind, locale)
    detail = _detail(definition, getattr(state, state.kind), locale)
    lines = [f"{does}{'：' if locale == 'zh' else ': '}{detail}" if detail else does]
    if state.end is not None:
        lines = [detail] if detail else []
        lines.append(f"■ {named(STATUSES, state.end, locale)}")
    if state.undo is not None:
        lines.append(said(words.UNDONE_BY, locale, state.undo))
    return Node(name, state.kind, tuple(lines), tuple(_timers(state, locale)), state.end)


def _detail(definition: FlowDefinition, value: object, locale: Locale) -> str:
    """What the state's own key says, whichever it is: a name, names of slots, a text."""
    if isinstance(value, Localised):
        return _plain(value.within(locale))
    if isinstance(value, Approve):
        return ", ".join(value.by)
    if isinstance(value, Wait):
        return _awaited(value, locale)
    if isinstance(value, tuple):
        return ("、" if locale == "zh" else ", ").join(_slot(definition, n, locale) for n in value)
    return value if isinstance(value, str) else ""


def _slot(definition: FlowDefinition, name: object, locale: Locale) -> str:
    slot = definition.slots.get(str(name))
    return slot.label.within(locale) if slot is not None and slot.label else str(name)


def _plain(text: str) -> str:
    """A template as something to recognise it by: what is filled in is left open."""
    plain = " ".join(_FILLED_IN.sub("… ", text).split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _awaited(wait: Wait, locale: Locale) -> str:
    if wait.duration is not None:
        return said(words.FOR, locale, words.span(wait.duration, locale))
    return said(words.UNTIL, locale, wait.until)


def _timers(state: State, locale: Locale) -> Iterator[str]:
    ask = state.approve
    if ask is None:
        return
    if ask.remind_every is not None:
        yield said(words.REMINDS, locale, words.span(ask.remind_every, locale))
    if ask.escalate_after is not None:
        after = words.span(ask.escalate_after, locale)
        yield said(words.ESCALATES, locale, after, ask.escalate_to)
    if ask.expire_after is not None:
        yield said(words.EXPIRES, locale, words.span(ask.expire_after, locale))


def _edges(name: str, state: State, locale: Locale) -> Iterator[Edge]:
    for exit_, branches in state.exits().items():
        for target in dict.fromkeys(branch.to for branch in branches):
            leading = [branch for branch in branches if branch.to == target]
            label = _label(exit_, _conditions(leading, len(branches) > 1, locale), locale)
            yield Edge(name, exit_, target, label)


def _conditions(leading: Iterable[Branch], several: bool, locale: Locale) -> list[str]:
    otherwise = words.OTHERWISE.within(locale) if several else ""
    said_ones = (" ".join((b.condition or otherwise).split()) for b in leading)
    return [condition for condition in said_ones if condition]


def _label(exit_: str, conditions: list[str], locale: Locale) -> str:
    joined = (" 或 " if locale == "zh" else " or ").join(conditions)
    event = named(words.EXITS, exit_, locale)
    return ("：" if locale == "zh" else ": ").join(filter(None, (event, joined)))
