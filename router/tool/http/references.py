"""References within an OpenAPI document, and schemas with all of theirs written out."""

from collections.abc import Mapping
from typing import Any

from router.documents.faults import Fault
from router.tool.http.wanted import at

DEEPEST = 12
"""Levels of a schema; what lies deeper may be anything, which the server will judge."""
MOST_NODES = 5_000
"""Of one schema, written out: references to references grow faster than any file shows."""

_KEPT = frozenset(
    (
        *("type", "title", "description", "enum", "const", "default", "examples", "format"),
        *("pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"),
        *("exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "required"),
    )
)
_LISTS = ("anyOf", "oneOf", "allOf")


class Unsuitable(Exception):
    """An operation that can't be a tool."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.fault = Fault(what, remedy)


class References:
    """Follows `$ref` within one document; nothing outside it is ever read."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._nodes = 0

    def resolved(self, value: Any) -> dict[str, Any]:
        """The object itself, where `value` refers to one; raises `Unsuitable`."""
        for _ in range(DEEPEST):
            if not isinstance(value, dict):
                return {}
            if "$ref" not in value:
                return value
            value = self._target(value["$ref"])
        raise Unsuitable("its references lead in a circle", "mend the document")

    def schema(self, value: Any) -> dict[str, Any]:
        """A schema as JSON Schema 2020-12, without references; raises `Unsuitable`.

        What a schema refers to within itself may be anything there.
        """
        self._nodes = 0
        return self._written_out(value, ())

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            what = f"it refers to {reference!r:.80}, outside the document"
            raise Unsuitable(what, "bundle the document into one file")
        try:
            return at(self._document, reference[1:])  # type: ignore[arg-type]
        except LookupError:
            raise Unsuitable(f"there is no {reference:.80}", "mend the document") from None

    def _written_out(self, value: Any, above: tuple[str, ...]) -> dict[str, Any]:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise Unsuitable("its schema is too large", "select operations with smaller ones")
        if not isinstance(value, dict) or len(above) >= DEEPEST:
            return {}
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in above:
                return {}
            return self._written_out(self._target(reference), (*above, reference))
        return self._plain(value, (*above, ""))

    def _plain(self, value: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
        schema = {key: inner for key, inner in value.items() if key in _KEPT}
        for key in ("items", "additionalProperties"):
            if isinstance(value.get(key), dict):
                schema[key] = self._written_out(value[key], above)
            elif isinstance(value.get(key), bool):
                schema[key] = value[key]
        if isinstance(properties := value.get("properties"), dict):
            written = {name: self._written_out(each, above) for name, each in properties.items()}
            schema["properties"] = {
                name: written[name] for name, each in properties.items() if not _is_read_only(each)
            }
        for key in _LISTS:
            if isinstance(each_of := value.get(key), list):
                schema[key] = [self._written_out(each, above) for each in each_of]
        return _merged(_modern(schema, value))


def _is_read_only(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("readOnly") is True


def _modern(schema: dict[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What 3.0 says in its own way, as JSON Schema says it since."""
    for bound, exclusive in (
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ):
        if isinstance(flag := schema.get(exclusive), bool):
            del schema[exclusive]
            if flag and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if written.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    if isinstance(required := schema.get("required"), list) and "properties" in schema:
        schema["required"] = [name for name in required if name in schema["properties"]]
    return schema


def _merged(schema: dict[str, Any]) -> dict[str, Any]:
    """With the parts of an `allOf` in one object, where they are objects: forms can show those."""
    parts = schema.get("allOf")
    if not parts or not all("properties" in part for part in parts):
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    objects = [*parts, whole] if "properties" in whole else parts
    whole["type"] = "object"
    whole["properties"] = {n: each for part in objects for n, each in part["properties"].items()}
    whole["required"] = sorted({n for part in objects for n in part.get("required", [])})
    return whole
