"""Arguments given for a portable schema, as the function's own schema would have had them.

A null for what may be absent is left out, and JSON that came as text is read.
"""

from typing import Any

from router.llm.json_reading import NotJson, read_json
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


def restored(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The way back from `portable(schema)`; what doesn't fit the schema is left as it is.

    >>> restored({"days": None}, {"type": "object", "properties": {"days": {"type": "integer"}}})
    {}
    """
    resolver = Resolver(schema)
    return _object(resolver, arguments, resolver.root, 1)


def _object(resolver: Resolver, value: dict[str, Any], node: Schema, level: int) -> dict[str, Any]:
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


def _restored(resolver: Resolver, value: Any, node: Schema, level: int) -> Any:
    match kind(node, level), value:
        case "json", str():
            return _from_text(value)
        case "object", dict():
            return _object(resolver, value, node, level)
        case "array", list():
            items = resolver.resolved(node.get("items"))
            return [_restored(resolver, entry, items, level + 1) for entry in value]
        case "either", _:
            return _either(resolver, value, node, level)
        case _:
            return value


def _either(resolver: Resolver, value: Any, node: Schema, level: int) -> Any:
    """By the first alternative that has the form of what was given."""
    for one in map(resolver.resolved, alternatives(node)):
        if _has_form(value, one):
            return _restored(resolver, value, one, level_of(one, level))
    return value


def _has_form(value: Any, node: Schema) -> bool:
    if isinstance(value, dict):
        return set(value) == set(properties(node))
    # Text is taken for text wherever that may be given: only where it can't, it is JSON.
    return isinstance(value, list) and "array" in types(node)


def _from_text(text: str) -> Any:
    try:
        return read_json(text).value
    except NotJson:
        return text  # plain words where anything goes, or an error that validation will name


def _takes_null(resolver: Resolver, node: Schema) -> bool:
    if "null" in types(node) or None in choices(node):
        return True
    return any("null" in types(resolver.resolved(one)) for one in alternatives(node))
