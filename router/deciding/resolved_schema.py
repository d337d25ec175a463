"""What a value has to be, in a JSON Schema that says it in a roundabout way.

References are followed within the schema, and null, which only says that the value may be left
out, is taken away.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_HOPS = 16
"""References followed for one schema: a circle of them has an end too."""


def resolved(schema: Any, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the value itself; empty where it only ever refers to another.

    >>> resolved({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "why"}, {})
    {'type': 'string', 'description': 'why'}
    """
    here = mapping_in(schema)
    for _ in range(_HOPS):
        rest = {
            key: value
            for key, value in here.items()
            if key not in ("$ref", "anyOf", "oneOf", "allOf")
        }
        if isinstance(here.get("$ref"), str):
            # What stands beside a reference says it closer: it wins.
            here = {**_referred(here["$ref"], whole), **rest}
        elif (only := _only_option(here)) is not None:
            here = {**only, **rest}
        else:
            return _without_null_type(here)
    return {}


def _only_option(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The one thing that a value may be besides null; None where there is no such choice."""
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            real = [o for o in options if isinstance(o, Mapping) and o.get("type") != "null"]
            return real[0] if len(real) == 1 else _as_number(real)
    return None


def _as_number(options: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The number among the options, where it may also be text, as a decimal may."""
    numbers = [option for option in options if option.get("type") == "number"]
    written = [option for option in options if option.get("type") == "string"]
    return numbers[0] if len(numbers) == 1 and len(written) == len(options) - 1 else None


def _without_null_type(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    real = [kind for kind in kinds if kind != "null"]
    return {**schema, "type": real[0] if len(real) == 1 else "several"}


def _referred(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the schema points at; nothing where it leads elsewhere."""
    found: Any = whole
    for part in reference.removeprefix("#/").split("/"):
        found = mapping_in(found).get(part.replace("~1", "/").replace("~0", "~"))
    return mapping_in(found)


def mapping_in(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, as a stranger's schema may say it is; else an empty one."""
    return value if isinstance(value, Mapping) else {}
