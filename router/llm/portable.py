"""JSON Schemas in the small dialect that every server takes for strict functions.

Objects are closed and require every property; what was optional may be null. References
are inlined, limits become words of the description. What the dialect can't say (maps, free
objects, anything below the fifth level) is asked for as JSON in a string.
`router.llm.restoring` is the way back.
"""

from typing import Any

from router.llm.schema_nodes import (
    Resolver,
    Schema,
    alternatives,
    choices,
    kind,
    level_of,
    properties,
    required,
    types,
)

_TOLD = (
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "default",
)
"""Said in the description: a model heeds words, and a strict server refuses the keywords."""


def portable(schema: Schema) -> dict[str, Any]:
    """The schema of a function's parameters in the portable dialect: always a closed object.

    >>> portable({"type": "object", "properties": {"days": {"type": "integer", "minimum": 1}}})[
    ...     "properties"]
    {'days': {'type': ['integer', 'null'], 'description': '(minimum 1)'}}
    """
    resolver = Resolver(schema)
    return _object(resolver, resolver.root, 1)


def _portable(resolver: Resolver, schema: Any, level: int) -> dict[str, Any]:
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
            made = _choice(choices(node))
        case "scalar":
            made = {"type": _one_or_many(types(node))}
        case "json":
            made = {"type": "string"}
    if "null" in types(node) and form not in {"scalar", "enum"}:
        made = _nullable(made)
    return {**made, **_description(node, is_text=form == "json")}


def _object(resolver: Resolver, node: Schema, level: int) -> dict[str, Any]:
    made = {
        name: _portable(resolver, schema, level + 1) for name, schema in properties(node).items()
    }
    needed = required(node)
    return {
        "type": "object",
        "properties": {
            name: one if name in needed else _nullable(one) for name, one in made.items()
        },
        "required": list(made),
        "additionalProperties": False,
    }


def _choice(values: list[Any]) -> dict[str, Any]:
    named = list(dict.fromkeys(map(_type_of, values)))
    return {"type": _one_or_many(named), "enum": list(values)}


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    # bool before int, which it is a kind of.
    for name, kinds in (("boolean", bool), ("integer", int), ("number", float)):
        if isinstance(value, kinds):
            return name
    return "string"


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
