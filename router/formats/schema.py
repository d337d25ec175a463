"""JSON Schemas that strangers wrote, as ones that cost whoever uses them little.

What is read has no references, no depths, and no more of it than a form or a model can use; every
keyword that is left has a value of its kind, so that it is sound by itself. It admits whatever the
stranger's does: what is left out there may be anything, and its author will judge that.
"""

from collections.abc import Callable, Mapping
from typing import Any

from router.domain.errors import FaultyValue
from router.formats.references import Dangling, References
from router.formats.schema_check import VALUE_CHECKS, PatternBudget, not_a_schema

DEEPEST = 12
"""Levels of a schema; what lies deeper may be anything."""
MOST_NODES = 5_000
"""Of one schema, written out: references to references grow faster than any file shows."""
LONGEST_REFERENCE = 500
LONGEST = 256 * 1024
"""Characters of what one demands, such as the values to choose from."""

_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_Check = Callable[[Any], bool]
_KEPT: dict[str, _Check] = {
    **{
        key: VALUE_CHECKS[key]
        for key in (
            *("title", "description", "format", "pattern", "enum", "examples", "const", "default"),
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
            *("uniqueItems", "required", "type"),
        )
    },
    "x-zh": VALUE_CHECKS["title"],
    "enumNames": VALUE_CHECKS["enum"],
    "x-zh-enum": lambda value: isinstance(value, dict),
}


class SchemaReader:
    """Writes schemas of one document out; nothing outside it is ever read."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._nodes = 0
        self._length = 0
        self._patterns = PatternBudget()

    def read(self, value: Any) -> dict[str, Any]:
        """A schema as JSON Schema 2020-12, without references: those to itself are anything.

        Raises `ValueError` with what is wrong with it, and what would be right.
        """
        self._nodes = self._length = 0
        self._patterns = PatternBudget()
        return self._written_out(value, ())

    def _written_out(self, value: Any, above: tuple[str, ...]) -> dict[str, Any]:
        self._nodes += 1
        if self._nodes > MOST_NODES or self._length > LONGEST:
            raise FaultyValue("its schema is too large", "use what has a smaller one")
        if not isinstance(value, dict) or len(above) >= DEEPEST:
            return {}
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in above or reference == "#":
                return {}
            # What stands beside a reference says it closer: it wins.
            there = self._written_out(self._target(reference), (*above, reference))
            return {**there, **self._demands(_modern(value))}
        return self._plain(value, (*above, ""))

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            what = f"it refers to {reference!r:.80}, outside the document"
            raise FaultyValue(what, "bundle the document into one file")
        if not reference.startswith("#/") or len(reference) > LONGEST_REFERENCE:
            # What is found by a name of its own is looked for all over the document, each time.
            raise FaultyValue(f"it refers to {reference!r:.80}", "write the path, as in #/$defs/it")
        try:
            return self._references.target(reference)
        except Dangling:
            raise FaultyValue(f"there is no {reference:.80}", "mend the document") from None

    def _plain(self, value: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
        schema = self._demands(_modern(value))
        for key in ("items", "additionalProperties"):
            inner = value.get(key)
            if isinstance(inner, dict | bool):
                is_flag = isinstance(inner, bool)
                schema[key] = inner if is_flag else self._written_out(inner, above)
        if "patternProperties" in value:
            schema.pop("additionalProperties", None)
        if isinstance(properties := value.get("properties"), dict):
            given = {name: each for name, each in properties.items() if not _is_never_given(each)}
            schema["properties"] = {n: self._written_out(each, above) for n, each in given.items()}
            never = properties.keys() - given.keys()
            if "required" in schema:
                schema["required"] = [name for name in schema["required"] if name not in never]
        for key in _LISTS:
            if isinstance(each_of := value.get(key), list) and each_of:
                schema[key] = [self._written_out(each, above) for each in each_of]
        return _merged(_with_choices(schema))

    def _demands(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """What it says of the value itself; a pattern that isn't taken is left to its author."""
        kept = {key: inner for key, inner in value.items() if key in _KEPT}
        for key, inner in kept.items():
            if not _KEPT[key](inner):
                raise not_a_schema(key, inner)
            self._length += len(str(inner))
        if "pattern" in kept and not self._is_affordable(kept["pattern"]):
            del kept["pattern"]
        return kept

    def _is_affordable(self, pattern: str) -> bool:
        try:
            self._patterns.admit(pattern)
        except ValueError:
            return False
        return True


def _is_never_given(value: Any) -> bool:
    return value is False or (isinstance(value, dict) and value.get("readOnly") is True)


def _modern(written: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 says in its own way, as JSON Schema says it since."""
    schema = dict(written)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(flag := schema.get(exclusive), bool):
            del schema[exclusive]
            if flag and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if written.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _with_choices(schema: dict[str, Any]) -> dict[str, Any]:
    """With no choice of exactly one where one admits anything: it would refuse all others."""
    if {} in schema.get("oneOf", []):
        schema.setdefault("anyOf", schema["oneOf"])
        del schema["oneOf"]
    return schema


def _merged(schema: dict[str, Any]) -> dict[str, Any]:
    """With the parts of an `allOf` in one object, where they are objects: forms can show those."""
    parts = schema.get("allOf")
    if not parts or not all("properties" in part for part in parts):
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    objects = [*parts, {"properties": {}, **whole}]
    whole["type"] = "object"
    whole["properties"] = {n: each for part in objects for n, each in part["properties"].items()}
    whole["required"] = sorted({n for part in objects for n in part.get("required", [])})
    return whole
