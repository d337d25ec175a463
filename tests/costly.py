"""Patterns and schemas that take long, or much memory, where nothing bounds them."""

from typing import Any

REFUSED_PATTERNS: dict[str, str] = {
    "many captured groups": "(?s)" + "(.*)" * 3_200,
    "many empty groups": "()" * 8_000 + "b",
    "many alternatives of groups": "|".join(["(a)"] * 15_000),
    "groups within groups": "(" * 900 + "a" + ")*" * 900,
    "many groups with names": "|".join(f"(?P<n{n}>a)" for n in range(40)),
    "64 KB of letters": "a" * 65_000,
    "a repeated class of letters": r"\pL{100}",
    "repeated classes of letters": r"\pL{100}" * 60,
    "a repeated negated class": r"(?i)[^\pL\pN]{999}" * 20,
    "repeats within repeats": "(?:(?:a{10}){10}){10}" * 20,
    "repeats of anything": "(?:.*){1000}",
    "optional repeats": "(?:(?:(?:.?){10}){10}){10}",
}
"""Patterns that are refused when they come."""
SLOW_PATTERNS: dict[str, str] = {
    "states that double": "[ab]*a[ab]{900}x",
    "optional repeats": "(?:(?:a?){30}){30}x",
    "bounded repeats": "(?:a{0,100}){0,10}x",
    "a long window": "(?s).*a.{400}x",
}
"""Patterns within the bounds, for which RE2 needs its program times the text."""


def object_of(**properties: Any) -> dict[str, Any]:
    """A schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def nested(key: str, levels: int) -> dict[str, Any]:
    """A schema in which each level checks the next one twice."""
    inner: dict[str, Any] = {"type": "object", "additionalProperties": {"minLength": 1}}
    for _ in range(levels):
        inner = {key: [inner, inner]}
    return inner


MANY = 20_000
SLOW_VALUES: dict[str, tuple[dict[str, Any], Any]] = {
    "schemas times items": (
        {"items": {"allOf": [{"minimum": 0}] * 300}},
        [1] * MANY,
    ),
    "choices times items": ({"items": {"enum": [*range(2_000)]}}, [-1] * MANY),
    "values that every message repeats": (
        {"items": {"anyOf": [{"type": "number"}] * 300}},
        ["x" * 2_000] * 500,
    ),
    "schemas that double": (nested("oneOf", 8), {f"p{n}": "x" for n in range(MANY)}),
    "a search for each item": (
        {"items": {"pattern": SLOW_PATTERNS["optional repeats"]}},
        ["a" * 5_000] * 500,
    ),
    "a long text": ({"pattern": SLOW_PATTERNS["optional repeats"]}, "a" * 200_000),
    "patterns of one text": (
        {"allOf": [{"pattern": f"[ab]*a[ab]{{300}}x{n}"} for n in range(40)]},
        "ab" * 15_000,
    ),
}
"""Schemas, each of a property, with values whose sizes multiply."""
