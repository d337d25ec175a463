"""JSON Schemas as other people write them, one node at a time: references, parts, kinds."""

from collections.abc import Mapping
from typing import Any, Literal

Schema = Mapping[str, Any]
Kind = Literal["object", "array", "either", "enum", "scalar", "json"]
"""The portable form that a node takes; `json` is a string that holds JSON."""

MAX_LEVELS = 5
_SCALARS = {"string", "number", "integer", "boolean", "null"}


class Resolver:
    """Follows the references within one schema."""

    def __init__(self, schema: Schema) -> None:
        self._whole = schema
        self.root = self._root()
        """The schema itself; of several alternative objects, one with the properties of all."""

    def resolved(self, schema: Any, depth: int = 0) -> Schema:
        """What a node means, with its reference followed and its `allOf` merged into it."""
        node = schema if isinstance(schema, Mapping) else {}
        if depth > MAX_LEVELS:
            return {}  # it refers to itself and never says what it is
        if isinstance(reference := node.get("$ref"), str):
            return self.resolved({**self._target(reference), **_without(node, "$ref")}, depth + 1)
        if isinstance(parts := node.get("allOf"), list):
            rest = _without(node, "allOf")
            return _merged([rest, *(self.resolved(part, depth + 1) for part in parts)])
        return self._optional(node, depth)

    def _optional(self, node: Schema, depth: int) -> Schema:
        """A value or null, said as one type of two: half as long as two alternatives."""
        options = [self.resolved(one, depth + 1) for one in alternatives(node)]
        values = [one for one in options if types(one) != ["null"]]
        if len(values) != 1 or len(values) == len(options) or alternatives(values[0]):
            return node
        if kind(values[0], 1) not in {"scalar", "enum"}:
            return node
        outer = _without(_without(node, "anyOf"), "oneOf")
        admitted = [*choices(values[0]), None]
        return {
            **_without(values[0], "const"),
            **outer,
            "type": [*types(values[0]), "null"],
            **({"enum": admitted} if len(admitted) > 1 else {}),
        }

    def _target(self, reference: str) -> Schema:
        node: Any = self._whole
        for step in reference.removeprefix("#").strip("/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            node = node.get(name, {}) if isinstance(node, Mapping) else {}
        return node if isinstance(node, Mapping) else {}

    def _root(self) -> Schema:
        root = self.resolved(self._whole)
        parts = [_without(self.resolved(one), "required") for one in alternatives(root)]
        return _merged([root, *parts]) if parts else root


def properties(node: Schema) -> Mapping[str, Any]:
    """The schemas of an object's properties, by name."""
    found = node.get("properties")
    return found if isinstance(found, Mapping) else {}


def required(node: Schema) -> set[str]:
    """The names that an object can't do without."""
    names = node.get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def alternatives(node: Schema) -> list[Any]:
    """The schemas of which one has to fit."""
    found = node.get("anyOf") or node.get("oneOf")
    return found if isinstance(found, list) else []


def level_of(alternative: Schema, level: int) -> int:
    """Where one of several alternatives stands: as deep as their node, unless it has some too."""
    return level + bool(alternatives(alternative))


def types(node: Schema) -> list[str]:
    """The names of the types that a node admits by name."""
    named = node.get("type")
    listed = named if isinstance(named, list) else [named]
    return [name for name in listed if isinstance(name, str)]


def choices(node: Schema) -> list[Any]:
    """The plain values of which one has to be given; none where others fit too."""
    values = node.get("enum", [node["const"]] if "const" in node else [])
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        return []
    return values


def kind(node: Schema, level: int) -> Kind:
    """The form that a resolved node takes at a level, the root being at the first."""
    named = set(types(node)) - {"null"}
    has_room = level < MAX_LEVELS
    if alternatives(node):
        return "either" if has_room else "json"
    if choices(node):
        return "enum"
    if types(node) and named <= _SCALARS:
        return "scalar"
    if named == {"array"} and has_room:
        return "array"
    return "object" if named <= {"object"} and properties(node) and has_room else "json"


def _without(node: Schema, key: str) -> Schema:
    return {name: value for name, value in node.items() if name != key}


def _merged(parts: list[Schema]) -> Schema:
    """All of the parts at once: their properties together, else the later one's word."""
    merged: dict[str, Any] = {}
    for part in parts:
        merged = {
            **merged,
            **part,
            "properties": {**properties(merged), **properties(part)},
            "required": sorted(required(merged) | required(part)),
        }
    return merged
