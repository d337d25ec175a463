"""Arguments checked against a JSON Schema that somebody else wrote."""

from collections.abc import Mapping
from functools import cached_property

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from router.tool.implementation import problem_at

_SHOWN = 120
"""Characters of a message: it repeats the value that is wrong, however long that is."""


class ArgumentSchema:
    """The schema of a tool's arguments: an object, closed to names that it doesn't declare.

    References are followed within the schema only, never fetched. Raises `ValueError` where it
    is no schema of an object.

    >>> schema = ArgumentSchema({"type": "object", "properties": {"days": {"type": "integer"}}})
    >>> schema.problems({"days": "many", "hours": 3})
    ["arguments: 'hours' isn't known here", "days: 'many' is not of type 'integer'"]
    """

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        if schema.get("type", "object") != "object":
            raise ValueError(f"it is of type {schema['type']!r}; write type: object")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"it is no JSON Schema: {_said(error)}") from None
        self.schema: dict[str, JsonValue] = {"type": "object", "properties": {}, **schema}

    def problems(self, arguments: Mapping[str, JsonValue]) -> list[str]:
        """What is wrong with the arguments, as `field: what`; empty where nothing is."""
        declared = self.schema["properties"]
        names = declared if isinstance(declared, dict) else {}
        unknown = [] if self._is_open else sorted(set(arguments) - set(names))
        try:
            found = sorted(self._validator.iter_errors(dict(arguments)), key=lambda e: e.json_path)
        except (Unresolvable, RecursionError) as error:
            return [problem_at((), f"they can't be checked: {str(error)[:_SHOWN]}")]
        return [
            *(problem_at((), f"{name[:40]!r} isn't known here") for name in unknown),
            *(problem_at(tuple(error.absolute_path), _said(error)) for error in found),
        ]

    def given(self, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The arguments, less those left empty in a form: what is null and may be left out."""
        required = self.schema.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        return {n: v for n, v in arguments.items() if v is not None or n in needed}

    @property
    def _is_open(self) -> bool:
        return self.schema.get("additionalProperties", False) is not False

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(
            self.schema,
            format_checker=Draft202012Validator.FORMAT_CHECKER,
            registry=Registry(),
        )


def _said(error: ValidationError | SchemaError) -> str:
    return error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}…"
