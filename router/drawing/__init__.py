"""Flows as pictures and BPMN: a definition becomes a graph, a graph Mermaid or SVG. All is pure."""

from router.drawing.bpmn import bpmn_of
from router.drawing.flowchart import (
    FlowLoad,
    Graph,
    Journey,
    graph_of,
    journey_of,
    load_of,
    mermaid_of,
)
from router.drawing.svg import can_be_drawn, svg_of

__all__ = [
    "FlowLoad",
    "Graph",
    "Journey",
    "bpmn_of",
    "can_be_drawn",
    "graph_of",
    "journey_of",
    "load_of",
    "mermaid_of",
    "svg_of",
]
