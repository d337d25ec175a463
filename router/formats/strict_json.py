"""JSON as RFC 8259 has it and nothing beside: no NaN, no key twice, no half characters, no depths.

Whatever comes from outside is read so; what models write is another matter (`llm.json_repair`).
"""

import json
import math
from dataclasses import replace
from typing import Any, NoReturn

from router.domain.errors import Fault, FaultyValue
from router.formats.yaml_document import Unreadable, YamlDocument, opens_too_many, read_yaml

MAX_DEPTH = 32
ANY_DEPTH = 400
"""For what others wrote and nobody goes through by recursion of a greater cost than this."""
MOST_VALUES = 500_000
"""Commas, colons and opening brackets, in texts too: a value takes fifty times a byte of JSON."""


_TOO_DEEP = "it is nested more than {} levels deep"


def strict_json(
    raw: bytes | str, deepest: int = MAX_DEPTH, *, unique: bool = True, most: int = MOST_VALUES
) -> Any:
    """The JSON value in `raw`; of a key that comes twice the last, where not `unique`.

    Raises `ValueError` with why there is none, such as more than `most` values.
    """
    text = raw if isinstance(raw, str) else raw.decode()
    if len(text) > most and sum(map(text.count, ",:[{")) > most:
        raise FaultyValue(f"it has more than {most} values", "send less at a time")
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_unique if unique else None,
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP.format(deepest)) from None
    _check(value, deepest, deepest)
    return value


def json_document(text: str) -> YamlDocument:
    """JSON with its lines; raises `Unreadable`. Its lines are those of YAML, which it is too."""
    if opens_too_many(text):
        raise Unreadable(1, Fault("it is nested too deep", "flatten it"))
    try:
        data = strict_json(text, ANY_DEPTH, unique=False)
    except json.JSONDecodeError as error:
        remedy = "mend it: look at commas, quotes and brackets here"
        raise Unreadable(error.lineno, Fault(f"this isn't JSON: {error.msg}", remedy)) from None
    except ValueError as error:
        raise Unreadable(1, Fault(f"this isn't JSON: {error}", "write it otherwise")) from None
    # Tabs are no part of any JSON text, but YAML won't be indented with them.
    return replace(read_yaml(text.replace("\t", " ")), data=data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _check(value: Any, depth: int, deepest: int) -> None:
    if depth < 0:
        raise ValueError(_TOO_DEEP.format(deepest))
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("a string has half of a surrogate pair") from error
    elif isinstance(value, list | dict):
        for key in value if isinstance(value, dict) else ():
            _check(key, depth, deepest)
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth - 1, deepest)
