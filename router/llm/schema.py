"""JSON Schemas as other people write them, in the small dialect that every server takes.

Objects are closed and require every property; what was optional may be null. References are
inlined, limits become words of the description. What the dialect can't say (maps, free objects,
anything below the fifth level) is asked for as JSON in a string. `restored` is the way back:
a null for what may be absent is left out, and JSON that came as text is read.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from router.formats.references import Dangling, References
from router.llm.json_repair import NotJson, read_json

Schema = Mapping[str, Any]
SchemaKind = Literal["object", "array", "either", "enum", "scalar", "json"]
"""The portable form that a node takes; `json` is a string that holds JSON."""
MAX_LEVELS = 5
_SCALARS = {"string", "number", "integer", "boolean", "null"}


class ReferenceResolver:
    """Follows the references within one schema."""

    def __init__(self, schema: Schema) -> None:
        self._references = References(schema)
        root = self.resolved(schema)
        parts = [_without(self.resolved(one), "required") for one in alternatives(root)]
        self.root = _merged([root, *parts]) if parts else root
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
        admitted = [*choices(values[0]), None]
        return {
            **_without(values[0], "const"),
            **_without(node, "anyOf", "oneOf"),
            "type": [*types(values[0]), "null"],
            **({"enum": admitted} if len(admitted) > 1 else {}),
        }

    def _target(self, reference: str) -> Schema:
        if reference == "#":
            return {}  # the whole within itself would only ever be told again
        try:
            found = self._references.target(reference)
        except Dangling:
            return {}
        return found if isinstance(found, Mapping) else {}


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


def kind(node: Schema, level: int) -> SchemaKind:
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


def _without(node: Schema, *keys: str) -> Schema:
    return {name: value for name, value in node.items() if name not in keys}


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


_TOLD = (
    *("format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems", "default"),
)
"""Said in the description: a model heeds words, and a strict server refuses the keywords."""


def portable(schema: Schema) -> dict[str, Any]:
    """The schema of a function's parameters in the portable dialect: always a closed object.

    >>> portable({"type": "object", "properties": {"days": {"type": "integer", "minimum": 1}}})[
    ...     "properties"]
    {'days': {'type': ['integer', 'null'], 'description': '(minimum 1)'}}
    """
    resolver = ReferenceResolver(schema)
    return _object(resolver, resolver.root, 1)


_NAMES = {type(None): "null", bool: "boolean", int: "integer", float: "number"}


def _portable(resolver: ReferenceResolver, schema: Any, level: int) -> dict[str, Any]:
    node = resolver.resolved(schema)
    match form := kind(node, level):
        case "object":
            made = _object(resolver, node, level)
        case "array":
            made = {"type": "array", "items": _portable(resolver, node.get("items"), level + 1)}
        case "either":
            options = [resolver.resolved(one) for one in alternatives(node)]
            made = {"anyOf": [_portable(resolver, one, level_of(one, level)) for one in options]}
        case "enum":
            values = choices(node)
            named = list(dict.fromkeys(_NAMES.get(type(value), "string") for value in values))
            made = {"type": _one_or_many(named), "enum": list(values)}
        case "scalar":
            made = {"type": _one_or_many(types(node))}
        case "json":
            made = {"type": "string"}
    if "null" in types(node) and form not in {"scalar", "enum"}:
        made = _nullable(made)
    return {**made, **_description(node, is_text=form == "json")}


def _object(resolver: ReferenceResolver, node: Schema, level: int) -> dict[str, Any]:
    needed, made = required(node), {}
    for name, schema in properties(node).items():
        one = _portable(resolver, schema, level + 1)
        made[name] = one if name in needed else _nullable(one)
    return {
        "type": "object",
        "properties": made,
        "required": list(made),
        "additionalProperties": False,
    }


def _one_or_many(names: list[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else names


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in made:
        others = [one for one in made["anyOf"] if one.get("type") != "null"]
        return {**made, "anyOf": [*others, {"type": "null"}]}
    nullable = {**made, "type": [*(name for name in types(made) if name != "null"), "null"]}
    if "enum" in made and None not in made["enum"]:
        nullable["enum"] = [*made["enum"], None]
    return nullable


def _description(node: Schema, is_text: bool) -> dict[str, str]:
    told = [f"{key} {node[key]}" for key in _TOLD if node.get(key) is not None]
    if is_text:
        told.append("any JSON value, as text")
    described = node.get("description")
    words = [described] if isinstance(described, str) and described else []
    if told:
        words.append(f"({', '.join(told)})")
    return {"description": " ".join(words)} if words else {}


def restored(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The way back from `portable(schema)`; what doesn't fit the schema is left as it is."""
    resolver = ReferenceResolver(schema)
    return _restored_object(resolver, arguments, resolver.root, 1)


def _restored_object(
    resolver: ReferenceResolver, value: dict[str, Any], node: Schema, level: int
) -> dict[str, Any]:
    nodes = {name: resolver.resolved(one) for name, one in properties(node).items()}
    needed = required(node)
    return {
        name: _restored(resolver, entry, nodes.get(name, {"type": "null"}), level + 1)
        for name, entry in value.items()
        if entry is not None
        or name in needed
        or name not in nodes
        or _takes_null(resolver, nodes[name])
    }


def _restored(resolver: ReferenceResolver, value: Any, node: Schema, level: int) -> Any:
    match kind(node, level), value:
        case "json", str():
            # Else plain words where anything goes, or an error that validation will name.
            with suppress(NotJson):
                return read_json(value).value
        case "object", dict():
            return _restored_object(resolver, value, node, level)
        case "array", list():
            items = resolver.resolved(node.get("items"))
            return [_restored(resolver, entry, items, level + 1) for entry in value]
        case "either", _:
            # By the first alternative that has the form of what was given.
            for one in map(resolver.resolved, alternatives(node)):
                if _has_form(value, one):
                    return _restored(resolver, value, one, level_of(one, level))
    return value


def _has_form(value: Any, node: Schema) -> bool:
    if isinstance(value, dict):
        return set(value) == set(properties(node))
    # Text is taken for text wherever that may be given: only where it can't, it is JSON.
    return isinstance(value, list) and "array" in types(node)


def _takes_null(resolver: ReferenceResolver, node: Schema) -> bool:
    if "null" in types(node) or None in choices(node):
        return True
    return any("null" in types(resolver.resolved(one)) for one in alternatives(node))
