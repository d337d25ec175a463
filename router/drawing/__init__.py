"""Flows as pictures: a definition becomes a graph, a graph Mermaid or SVG. All of it is pure."""

from router.drawing.flowchart import (
    FlowLoad,
    Graph,
    Journey,
    graph_of,
    journey_of,
    load_of,
    mermaid_of,
)
from router.drawing.svg import svg_of

__all__ = [
    "FlowLoad",
    "Graph",
    "Journey",
    "graph_of",
    "journey_of",
    "load_of",
    "mermaid_of",
    "svg_of",
]
