"""A flow as nodes and edges with words on them, the way that a run took, and both as Mermaid.

Mermaid's flowcharts (<https://mermaid.js.org/syntax/flowchart.html>) have shapes by kind, which
its state diagrams don't.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from router.domain.locale import Locale, Localised
from router.domain.run_history import HistoryEntry
from router.flow.definition import Branch, FlowDefinition, State, find_kind
from router.flow.prompts.values import span
from router.flow.view import STATUSES

EXITS = {
    "next": Localised(zh="", en=""),
    "on_error": Localised(zh="出错", en="on error"),
    "confirmed": Localised(zh="确认", en="confirmed"),
    "declined": Localised(zh="不确认", en="declined"),
    "approved": Localised(zh="同意", en="approved"),
    "rejected": Localised(zh="拒绝", en="rejected"),
    "returned": Localised(zh="退回", en="sent back"),
    "expired": STATUSES["expired"],
    "late": Localised(zh="逾期", en="late"),
    "completed": STATUSES["completed"],
    "otherwise": Localised(zh="没有办成", en="otherwise"),
    "join": Localised(zh="汇合", en="joined"),
}
BRANCH = Localised(zh="分支", en="branch")
OTHERWISE = Localised(zh="否则", en="otherwise")
UNDONE_BY = Localised(zh="撤销用 {}", en="undone by {}")
REMINDS = Localised(zh="每 {}提醒一次", en="reminds every {}")
ESCALATES = Localised(zh="{}后升级给 {}", en="after {} goes to {}")
GOES_UP = Localised(zh="{}后升级", en="goes up after {}")
DEPENDING = Localised(zh="视情况", en="depending")
EXPIRES = Localised(zh="{}后过期", en="expires after {}")
HERE = Localised(zh="现在在这里", en="it is here now")
TIMES = Localised(zh="{} 次，最近 {}", en="{}×, last {}")
SUMMARY = Localised(
    zh="{} 第 {} 版的流程图：{} 个状态，从 {} 开始，结束于 {}。",
    en="The flow {}, version {}: {} states; it begins with {} and ends with {}.",
)
WENT = Localised(zh="这一次经过：{}。", en="This run went through {}.")


def said(words: Localised, locale: Locale, *values: object) -> str:
    """The words with the values in their places."""
    return words.within(locale).format(*values)


def named(known: dict[str, Localised], name: str, locale: Locale) -> str:
    """What a kind, exit or status is called; its own name where nobody gave it another."""
    return known[name].within(locale) if name in known else name


Exit = tuple[str, str, str]
"""State, exit, state: where an edge comes from, by which event, where it leads."""

_FILLED_IN = re.compile(r"(?:(?:\{\{.*?\}\}|\{%.*?%\})\s*)+", re.DOTALL)
_LONGEST = 60
"""Characters of a text that are shown: enough to know it again."""


@dataclass(frozen=True)
class FlowchartNode:
    """A state. `lines` say what it does, `timers` what happens while it waits."""

    name: str
    kind: str
    heading: str
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
    nodes: tuple[FlowchartNode, ...]
    edges: tuple[Edge, ...]

    @property
    def headings(self) -> dict[str, str]:
        """What each state is called here."""
        return {node.name: node.heading for node in self.nodes}

    @property
    def summary(self) -> str:
        """The picture in a sentence, for who can't see it."""
        ends = dict.fromkeys(node.end for node in self.nodes if node.end)
        ended = "、" if self.locale == "zh" else ", "
        said_ends = ended.join(named(STATUSES, end, self.locale) for end in ends)
        start = self.headings[self.start]
        about = (self.title, self.version, len(self.nodes), start, said_ends or "–")
        return said(SUMMARY, self.locale, *about)


def graph_of(definition: FlowDefinition, locale: Locale, *, plain: bool = False) -> Graph:
    """The states of a flow and the ways between them, labelled in `locale`.

    With `plain` it is for people who have never seen the file: states and ways by their names in
    words, and no expressions.
    """
    known = definition.states
    node, edges_of = (_plain_node, _plain_edges) if plain else (_node, _edges)
    edges = (edge for name, state in known.items() for edge in edges_of(name, state, locale))
    return Graph(
        name=definition.flow,
        version=definition.version,
        title=definition.title.within(locale),
        locale=locale,
        start=definition.start,
        nodes=tuple(node(definition, name, locale) for name in known),
        edges=tuple(edge for edge in edges if edge.target in known),
    )


def _node(definition: FlowDefinition, name: str, locale: Locale) -> FlowchartNode:
    state = definition.states[name]
    does, detail = state.label.within(locale), _detail(definition, state, locale)
    lines = [f"{does}{'：' if locale == 'zh' else ': '}{detail}" if detail else does]
    if state.ends is not None:
        lines = [detail] if detail else []
        lines.append(f"■ {named(STATUSES, state.ends, locale)}")
    if state.undoes is not None:
        lines.append(said(UNDONE_BY, locale, state.undoes))
    timers = tuple(_timers(state, locale, plain=False))
    return FlowchartNode(name, state.kind, name, tuple(lines), timers, state.ends)


def _plain_node(definition: FlowDefinition, name: str, locale: Locale) -> FlowchartNode:
    state = definition.states[name]
    heading = (state.name or state.label).within(locale)
    told = state.collects or isinstance(state.shown, Localised)
    detail = _detail(definition, state, locale) if told and state.name is None else ""
    lines = [detail] if detail else []
    if state.ends is not None:
        lines.append(f"■ {named(STATUSES, state.ends, locale)}")
    timers = tuple(_timers(state, locale, plain=True))
    return FlowchartNode(name, state.kind, heading, tuple(lines), timers, state.ends)


def _detail(definition: FlowDefinition, state: State, locale: Locale) -> str:
    slots = {n: definition.slots[n] for n in state.collects if n in definition.slots}
    labels = {n: slot.label.within(locale) for n, slot in slots.items() if slot.label}
    asked = ("、" if locale == "zh" else ", ").join(labels.get(n, n) for n in state.collects)
    shown = state.shown if isinstance(state.shown, str) else state.shown.within(locale)
    # Of a template what it is recognised by: what is filled in is left open.
    text = " ".join(_FILLED_IN.sub("… ", shown).split())
    return asked or (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _timers(state: State, locale: Locale, *, plain: bool) -> Iterator[str]:
    if (ask := state.asks) is None:
        return
    if ask.remind_every is not None:
        yield said(REMINDS, locale, span(ask.remind_every, locale))
    if ask.escalate_after is not None:
        after = span(ask.escalate_after, locale)
        yield (
            said(GOES_UP, locale, after)
            if plain
            else said(ESCALATES, locale, after, ask.escalate_to)
        )
    if ask.expire_after is not None:
        yield said(EXPIRES, locale, span(ask.expire_after, locale))


WriteCondition = Callable[[Branch, bool], str]
"""What is written on a way for a branch, and whether it is one of several."""


def _edges(name: str, state: State, locale: Locale) -> Iterator[Edge]:
    def condition(branch: Branch, one_of_several: bool) -> str:
        return branch.condition or (OTHERWISE.within(locale) if one_of_several else "")

    return _ways(name, state, locale, condition)


def _plain_edges(name: str, state: State, locale: Locale) -> Iterator[Edge]:
    def condition(branch: Branch, one_of_several: bool) -> str:
        if branch.name is not None:
            return branch.name.within(locale)
        unsaid = DEPENDING if branch.condition else OTHERWISE
        return unsaid.within(locale) if one_of_several or branch.condition else ""

    return _ways(name, state, locale, condition)


def _ways(name: str, state: State, locale: Locale, condition: WriteCondition) -> Iterator[Edge]:
    for exit_, branches in state.exits().items():
        for target in dict.fromkeys(branch.to for branch in branches):
            leading = (condition(b, len(branches) > 1) for b in branches if b.to == target)
            conditions = dict.fromkeys(" ".join(each.split()) for each in leading if each)
            joined = (" 或 " if locale == "zh" else " or ").join(conditions)
            event = named(EXITS, exit_, locale)
            label = ("：" if locale == "zh" else ": ").join(filter(None, (event, joined)))
            yield Edge(name, exit_, target, label)
    for branch in state.batch.branches if state.batch else ():
        yield Edge(name, "parallel", branch, BRANCH.within(locale))


MOVES = frozenset({"began", "changed", "asked_back"})
"""What enters a state without being an exit: the beginning, a correction, a tool's question."""


@dataclass(frozen=True)
class Journey:
    """States with the moments at which they were entered, exits with how often they were taken."""

    visits: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    taken: Mapping[Exit, int] = field(default_factory=dict)
    here: str | None = None
    """Where the run stands, or ended."""

    def seen(self, name: str, locale: Locale) -> str:
        """How often the state was entered, and when last; empty where it never was."""
        if not (visits := self.visits.get(name)):
            return ""
        return said(TIMES, locale, len(visits), visits[-1].strftime("%m-%d %H:%M"))

    def notes(self, name: str, locale: Locale) -> list[str]:
        """What is to be said of the state."""
        seen, here = self.seen(name, locale), name == self.here
        return [
            *([f"✓ {seen}"] if seen else []),
            *([f"● {HERE.within(locale)}"] if here else []),
        ]

    def often(self, edge: Edge) -> str:
        """How often the way was taken, where that was more than once."""
        times = self.taken.get(edge.key, 0)
        return f"×{times}" if times > 1 else ""

    def breadth(self, edge: Edge) -> int:  # noqa: ARG002 - those of many runs look at it
        """How broad the way is drawn beside others: 0, as any that was taken, to `BROADEST`."""
        return 0


BROADEST = 4


def journey_of(
    definition: FlowDefinition, history: Iterable[HistoryEntry], zone: tzinfo = UTC
) -> Journey:
    """The path of a run with this history, its moments as a clock in `zone` shows them.

    Lines that only tell of something (a reminder, a verdict) move nothing. A correction moves
    to a state by no exit of the file: the visit counts, and no edge is marked.
    """
    visits: dict[str, list[datetime]] = {}
    taken: Counter[Exit] = Counter()
    here: str | None = None
    for line in history:
        state = definition.states.get(here or "")
        branches = state.exits().get(line.event, ()) if state is not None else ()
        is_exit = any(branch.to == line.state for branch in branches)
        if line.state != here or line.event in MOVES or is_exit:
            visits.setdefault(line.state, []).append(line.at.astimezone(zone))
        if is_exit:
            taken[(str(here), line.event, line.state)] += 1
        here = line.state
    return Journey(visits, dict(taken), here)


STYLES = {
    "ended": "stroke-width:3px",
    "been": "fill:#2f7d5b33,stroke:#2f7d5b",
    "here": "fill:#2f7d5b,stroke:#2f7d5b,color:#ffffff,stroke-width:4px",
}
"""Classes; half-transparent where the text keeps the theme's colour."""

_CODES = {c: f"#{ord(c)};" for c in '#&<>"`\\'} | {"\n": " "}
_MEANINGFUL = str.maketrans(dict.fromkeys("<>%;#{}"))
_ESCAPES = str.maketrans(_CODES)


def mermaid_of(graph: Graph, journey: Journey | None = None) -> str:
    """The text of the diagram, with a run's path marked where one is given."""
    went = journey or Journey()
    numbers = {node.name: f"s{number}" for number, node in enumerate(graph.nodes)}
    title = graph.title.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    # The description knows no escapes: what means something there is left out.
    summary = " ".join(graph.summary.translate(_MEANINGFUL).split())
    return "\n".join(
        [
            "---",
            f'title: "{title} (v{graph.version})"',
            "---",
            "flowchart TD",
            f"    accDescr: {summary}",
            f"    start((( ))) --> {numbers[graph.start]}",
            *(f"    {numbers[n.name]}{_shape(graph, n, went)}" for n in graph.nodes),
            *(f"    {_arrow(edge, numbers, went)}" for edge in graph.edges),
            *(f"    {line}" for line in _marks(graph, went, numbers)),
            "",
        ]
    )


def _shape(graph: Graph, node: FlowchartNode, journey: Journey) -> str:
    opening, closing = find_kind(node.kind).outline.mermaid
    lines = [f"<b>{_escaped(node.heading)}</b>", *map(_escaped, (*node.lines, *node.timers))]
    if been := journey.seen(node.name, graph.locale):
        lines.append(_escaped(been))
    return f'{opening}"{"<br>".join(lines)}"{closing}'


def _arrow(edge: Edge, numbers: dict[str, str], journey: Journey) -> str:
    arrow = "==>" if edge.key in journey.taken else "-->"
    label = f'|"{_escaped(edge.label)}"| ' if edge.label else ""
    return f"{numbers[edge.source]} {arrow}{label or ' '}{numbers[edge.target]}"


def _marks(graph: Graph, journey: Journey, numbers: dict[str, str]) -> Iterator[str]:
    marked = {
        "ended": {node.name for node in graph.nodes if node.end},
        "been": journey.visits.keys(),
        "here": {journey.here},
    }
    for style, names in marked.items():
        if those := [number for name, number in numbers.items() if name in names]:
            yield f"classDef {style} {STYLES[style]}"
            yield f"class {','.join(those)} {style}"


def _escaped(text: str) -> str:
    """Text within quotes: what means something there or in HTML is written by its number."""
    return text.translate(_ESCAPES)
