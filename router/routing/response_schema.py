"""The JSON Schema that a caller wants an answer put into: a stranger's, bounded before it is used.

What is kept of one has no references: each is written out where it stands, so that it says
everything by itself and checking a value costs no more than the schema is long. What can't be
written out (a schema that refers to itself, or elsewhere) is refused, and so is what would be
checked by backtracking. Nothing that it says is left out: what fits here fits at its author's.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from pydantic import JsonValue

from router.domain.errors import FaultyValue
from router.formats.references import Dangling, References
from router.formats.schema_check import (
    LISTED_SCHEMAS,
    NAMED_SCHEMAS,
    SINGLE_SCHEMAS,
    CheckTooCostly,
    PatternBudget,
    check_schema,
    find_errors,
    is_thorough,
    validator_of,
)

MAX_LENGTH = 16 * 1024
"""Characters of a schema as JSON, as it is sent and as it is written out."""
MAX_DEPTH = 24
"""Of the JSON that it is: about ten objects, one within the other."""
MAX_NODES = 1_000
"""Schemas within one, written out: references to references grow faster than any file shows."""
MOST_SHOWN = 5
"""Problems of a value that are told at once."""
LONGEST_PROBLEM = 200

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated"})
"""What says nothing against any value."""
_GONE = frozenset({"$schema", "$comment", "$defs", "definitions"})
_REFUSED = {
    "$id": "leave it out: references are looked up in the schema itself",
    "$anchor": "refer to it by its path, as in #/$defs/it",
    "$dynamicRef": "write $ref",
    "$dynamicAnchor": "refer to it by its path, as in #/$defs/it",
    "$recursiveRef": "write $ref",
}


class ResponseSchema:
    """A schema of an object, without references; of what the caller gave, or of what `read` kept.

    >>> ResponseSchema.read({"type": "object", "properties": {"days": {"type": "integer"}}}).names
    ['days']
    """

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self.schema = dict(schema)

    @classmethod
    def read(cls, value: Any, budget: PatternBudget | None = None) -> Self:
        """The schema, if an answer can be held to it; `budget` is that of several schemas.

        Raises `ValueError` with what is wrong with it, and what would be right.
        """
        if not isinstance(value, dict):
            # Like all that is wrong with it: pydantic tells it as the field's fault.
            raise FaultyValue("it is no object", "send a JSON Schema of an object")
        if _is_deeper(value, MAX_DEPTH):
            raise FaultyValue(f"it is nested more than {MAX_DEPTH} levels deep", "make it flatter")
        _check_length(value)
        check_schema({key: each for key, each in value.items() if key != "$schema"}, budget)
        written = _Writer(value).written_out(value, ())
        if written.get("type") != "object":
            shown = f"{written.get('type')!r:.60}"
            raise FaultyValue(f"its type is {shown}", "write type: object, with properties")
        _check_length(written)
        return cls(written)

    @property
    def names(self) -> list[str]:
        """The properties that it names."""
        named = self.schema.get("properties")
        return list(named) if isinstance(named, dict) else []

    @property
    def is_open(self) -> bool:
        """True where any object will do, as far as names go: it names no property of its own."""
        alternatives = any(key in self.schema for key in ("anyOf", "oneOf", "allOf"))
        closed = self.schema.get("additionalProperties", True) is False
        return not self.names and not alternatives and not closed

    @cached_property
    def choices(self) -> frozenset[str]:
        """Every value that the schema itself gives to choose from, as text."""
        return frozenset(str(value) for value in _choices(self.schema))

    @cached_property
    def all_names(self) -> frozenset[str]:
        """The properties that it names at any level."""
        return frozenset(_names(self.schema))

    def problems(self, value: Mapping[str, JsonValue]) -> list[str]:
        """What is wrong with the value, as `place: what`; empty where nothing is.

        Raises `CheckTooCostly` if that isn't known within a `QUICK` budget.
        """
        try:
            first = find_errors(self._validator, dict(value), MOST_SHOWN)
            return [_said(error) for error in sorted(first, key=lambda each: each.json_path)]
        except RecursionError:
            return ["it is nested too deep"]
        except CheckTooCostly as error:
            if not is_thorough():
                raise
            return [str(error)]

    @cached_property
    def _validator(self) -> Validator:
        return validator_of(self.schema)


class _Writer:
    """Writes a schema out, within bounds."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._references = References(document)
        self._nodes = 0

    def written_out(self, value: Any, above: tuple[str, ...]) -> Any:
        """The schema with what it refers to in place; `above` are the references that led here."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise FaultyValue(f"it has more than {MAX_NODES} schemas, written out", "ask for less")
        if not isinstance(value, dict):
            return value
        for key, remedy in _REFUSED.items():
            if key in value:
                raise FaultyValue(f"it has {key}", remedy)
        plain = {key: inner for key, inner in value.items() if key not in {*_GONE, "$ref"}}
        own = {key: self._inner(key, inner, above) for key, inner in plain.items()}
        if "$ref" not in value:
            return own
        there = self._there(value["$ref"], above)
        if not isinstance(there, dict):
            return own if there is True else there
        if own.keys() <= _ANNOTATIONS:
            return {**there, **own}
        return {**own, "allOf": [there, *own.get("allOf", [])]}

    def _inner(self, key: str, value: Any, above: tuple[str, ...]) -> Any:
        if key in SINGLE_SCHEMAS:
            return self.written_out(value, above)
        if key in LISTED_SCHEMAS and isinstance(value, list):
            return [self.written_out(each, above) for each in value]
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            return {name: self.written_out(each, above) for name, each in value.items()}
        return value

    def _there(self, reference: str, above: tuple[str, ...]) -> Any:
        shown = f"{reference!r:.80}"
        if reference in above or reference == "#":
            raise FaultyValue(
                f"it refers to itself by {shown}", "write out the levels that you want"
            )
        if not reference.startswith("#/"):
            raise FaultyValue(f"it refers to {shown}", "write a path within it, as in #/$defs/it")
        try:
            target = self._references.target(reference)
        except Dangling:
            raise FaultyValue(f"there is no {shown} in it", "add it") from None
        return self.written_out(target, (*above, reference))


def _check_length(value: Any) -> None:
    length = len(json.dumps(value, ensure_ascii=False))
    if length > MAX_LENGTH:
        raise FaultyValue(f"it has {length} characters", f"at most {MAX_LENGTH} are allowed")


def _is_deeper(value: Any, deepest: int) -> bool:
    level = [value]
    for _ in range(deepest):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return False
    return True


def _within(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from (each for each in inner if isinstance(each, dict | list))


def _schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema that is written out, and all within it."""
    if isinstance(schema, dict):
        yield schema
        for key in SINGLE_SCHEMAS:
            yield from _schemas(schema.get(key))
        for key in LISTED_SCHEMAS:
            yield from (one for each in schema.get(key, ()) for one in _schemas(each))
        for key in NAMED_SCHEMAS:
            yield from (one for each in schema.get(key, {}).values() for one in _schemas(each))


def _choices(schema: Any) -> Iterator[JsonValue]:
    for each in _schemas(schema):
        yield from each.get("enum", ())
        if "const" in each:
            yield each["const"]


def _names(schema: Any) -> Iterator[str]:
    for each in _schemas(schema):
        yield from each.get("properties", ())


def _said(error: ValidationError) -> str:
    what = error.message
    cut = what if len(what) <= LONGEST_PROBLEM else f"{what[:LONGEST_PROBLEM]}…"
    return f"{error.json_path.removeprefix('$').removeprefix('.') or 'the object'}: {cut}"
