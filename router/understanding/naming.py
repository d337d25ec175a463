"""Flows by their names: `leave request` and `请假` name one, `我要请假` asks for it."""

from collections.abc import Iterator

from router.flow.model import FlowDefinition
from router.understanding.grammar import compiled
from router.understanding.normalise import normalise

_AROUND = compiled(
    "^[ \"'“”‘’「」《》]*(?:(?:my|the|this|that)\\b|我?的|[这那](?:个|条|份))?[ \"'“‘「《]*"
    "(?P<name>.+?)[ \"'“”‘’」》.,!。]*$"
)
_SHORTEST_WORD = 4
"""Letters of a Latin name's beginning that say which is meant; of a Chinese one, two characters."""


def is_only_name(text: str, flow: FlowDefinition) -> bool:
    """True where a normalised text is nothing but what the flow is called, or how that begins.

    >>> is_only_name("my leave request", leave), is_only_name("我要请假", leave)  # doctest: +SKIP
    (True, False)
    """
    match = _AROUND.search(text)
    said = match.group("name") if match else ""
    if len(said) < (_SHORTEST_WORD if said.isascii() else 2):
        return False
    return any(_names(said, name) for name in _names_of(flow))


def _names_of(flow: FlowDefinition) -> Iterator[str]:
    for name in (flow.flow, flow.flow.replace("_", " "), flow.title.zh, flow.title.en):
        yield normalise(name).text


def _names(said: str, name: str) -> bool:
    """True for a whole word of an English name, or any part of a Chinese one."""
    return f" {said} " in f" {name} " if said.isascii() else said in name
