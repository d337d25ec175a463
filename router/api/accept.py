"""What a client would rather have: one JSON answer, or events as they come."""

import re
from collections import defaultdict
from typing import Any

EVENTS = "text/event-stream"
JSON = "application/json"

_QUOTED = re.compile(r'"[^"]*"')
_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def events(description: str) -> dict[str, Any]:
    """What OpenAPI says of an answer of events: the schema is each one's, as its lines are read."""
    properties = {name: {"type": "string"} for name in ("event", "data", "id")}
    item = {"type": "object", "properties": properties, "required": ["data"]}
    return {EVENTS: {"itemSchema": {"description": description, **item}}}


def prefers_events(accept: str) -> bool:
    """True where the `Accept` header names events, and wants nothing else of ours more.

    A wildcard isn't enough, for every client sends one. A type whose weight can't be read
    isn't wanted.

    >>> prefers_events("text/event-stream"), prefers_events("*/*")
    (True, False)
    >>> prefers_events("application/json, text/event-stream;q=0.9")
    False
    """
    weights: dict[str, float] = defaultdict(float)
    for wish in _QUOTED.sub("", accept).lower().split(","):
        kind, *parameters = (part.strip() for part in wish.split(";"))
        weights[kind] = max(weights[kind], _weight(parameters))
    return weights[EVENTS] > 0 and weights[EVENTS] >= weights[JSON]


def _weight(parameters: list[str]) -> float:
    given = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    return float(given) if _WEIGHT.fullmatch(given) else 0.0
