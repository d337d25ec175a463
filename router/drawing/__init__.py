"""Flows as pictures and BPMN: a definition becomes a graph, a graph Mermaid or SVG. All is pure."""

from router.drawing.bpmn import bpmn_of
from router.drawing.flowchart import (
    Graph,
    Journey,
    graph_of,
    journey_of,
    mermaid_of,
)
from router.drawing.svg import can_be_drawn, svg_of

__all__ = [
    "Graph",
    "Journey",
    "bpmn_of",
    "can_be_drawn",
    "graph_of",
    "journey_of",
    "mermaid_of",
    "svg_of",
]
