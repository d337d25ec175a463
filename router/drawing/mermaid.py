"""A flow as a Mermaid flowchart: shapes by kind, which a state diagram doesn't have.

<https://mermaid.js.org/syntax/flowchart.html>
"""

from collections.abc import Iterator

from router.drawing import flowchart
from router.drawing.flowchart import Edge, Graph, Journey, Node, said
from router.flow.definition import KINDS

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
    return "\n".join(
        [
            "---",
            f'title: "{_quoted(graph.title)} (v{graph.version})"',
            "---",
            "flowchart TD",
            f"    accDescr: {_described(graph)}",
            f"    start((( ))) --> {numbers[graph.start]}",
            *(f"    {numbers[n.name]}{_shape(graph, n, went)}" for n in graph.nodes),
            *(f"    {_arrow(edge, numbers, went)}" for edge in graph.edges),
            *(f"    {line}" for line in _marks(graph, went, numbers)),
            "",
        ]
    )


def _shape(graph: Graph, node: Node, journey: Journey) -> str:
    opening, closing = KINDS[node.kind].outline.mermaid
    lines = [f"<b>{_escaped(node.name)}</b>", *map(_escaped, (*node.lines, *node.timers))]
    if visits := journey.visits.get(node.name):
        last = visits[-1].strftime("%m-%d %H:%M")
        lines.append(_escaped(said(flowchart.TIMES, graph.locale, len(visits), last)))
    return f'{opening}"{"<br>".join(lines)}"{closing}'


def _arrow(edge: Edge, numbers: dict[str, str], journey: Journey) -> str:
    arrow = "==>" if edge.key in journey.taken else "-->"
    label = f'|"{_escaped(edge.label)}"| ' if edge.label else ""
    return f"{numbers[edge.source]} {arrow}{label or ' '}{numbers[edge.target]}"


def _marks(graph: Graph, journey: Journey, numbers: dict[str, str]) -> Iterator[str]:
    members = {
        "ended": [node.name for node in graph.nodes if node.end],
        "been": [node.name for node in graph.nodes if node.name in journey.visits],
        "here": [node.name for node in graph.nodes if node.name == journey.here],
    }
    for style, names in members.items():
        if names:
            yield f"classDef {style} {STYLES[style]}"
            yield f"class {','.join(numbers[name] for name in names)} {style}"


def _escaped(text: str) -> str:
    """Text within quotes: what means something there or in HTML is written by its number."""
    return text.translate(_ESCAPES)


def _described(graph: Graph) -> str:
    """The description knows no escapes: what means something there is left out."""
    return " ".join(graph.summary.translate(_MEANINGFUL).split())


def _quoted(text: str) -> str:
    """Text within the double quotes of YAML."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
