"""What stands behind a tool, arguments checked by a schema, and a tool's own rules.

A check is a function with some of its tool's parameters, asked before a person is
asked to confirm the call. It changes nothing, raises where the call would come to nothing, and may
say what the call is about. The world may move on before the call, so the tool keeps its rules too.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, get_type_hints

from jsonschema.exceptions import ValidationError as SchemaViolation
from jsonschema.protocols import Validator
from pydantic import JsonValue, ValidationError
from referencing.exceptions import Unresolvable

from router.domain.errors import FaultyValue, Problem
from router.domain.locale import Localised
from router.domain.source_lines import name_of, source_of
from router.formats.schema_check import (
    CheckTooCostly,
    check_schema,
    find_errors,
    is_thorough,
    validator_of,
)
from router.tool.context import Dependencies, Provider, ToolContext
from router.tool.results import as_json
from router.tool.signature import ParameterReader, Signature, ToolFunction

Arguments = Mapping[str, JsonValue]


class Implementation(Protocol):
    """How a tool's arguments are checked, and how it is called. Everything else is `Tool`'s."""

    @property
    def kind(self) -> str:
        """What it is a tool of, as lists of tools say it."""

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON Schema of the arguments: an object."""

    @property
    def defaults(self) -> Mapping[str, JsonValue]:
        """What arguments are that nobody gives, by name."""

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """What has to be provided before it can be called."""

    def problems(self, arguments: Arguments) -> list[str]:
        """What is wrong with the arguments, as `field: what`; empty where nothing is."""

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """The result, for arguments without problems. Raises errors of the house."""


@dataclass(frozen=True)
class FunctionImplementation:
    """A function, with the signature that was read from it."""

    signature: Signature
    function: ToolFunction
    kind = "code"

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON Schema of what a caller gives."""
        return self.signature.schema

    @property
    def defaults(self) -> Mapping[str, JsonValue]:
        """Those of the function's parameters."""
        properties: Any = self.parameters.get("properties", {})
        return declared_defaults(properties)

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """What the function's other parameters stand for."""
        return frozenset(self.signature.injected.values())

    def problems(self, arguments: Arguments) -> list[str]:
        """What pydantic says against them."""
        return _problems("arguments", self.signature.arguments.model_validate, dict(arguments))

    def result_problems(self, result: JsonValue) -> list[str]:
        """The same for a result that a front end made, and sent as JSON."""
        return _problems("result", self.signature.result.validate_json, json.dumps(result))

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """Call the function; its result as JSON, with its files kept."""
        async with dependencies.call_scope(self.function, context) as scope:
            result = await scope.call(**await self.signature.given(arguments, scope))
            return await as_json(result, context.keep, self.signature.result)


def _problems(whole: str, validate: Callable[[Any], object], value: object) -> list[str]:
    try:
        validate(value)
    except ValidationError as error:
        return [problem_at(found["loc"], found["msg"], whole) for found in error.errors()]
    return []


def problem_at(place: tuple[int | str, ...], what: str, whole: str = "arguments") -> str:
    """A problem with the argument at this place, as `guests.0.name: what`; or with the `whole`."""
    field = ".".join(str(part)[:40] for part in place) or whole
    return f"{field}: {what}"


_MOST_SHOWN = 20
_SHOWN = 120
"""Characters of a message: it repeats the value that is wrong, however long that is."""


class ArgumentSchema:
    """The schema of a tool's arguments: an object, closed to names that it doesn't declare.

    References are followed within the schema only, never fetched. Raises `ValueError` where it
    is no schema of an object. One that a `SchemaReader` wrote `is_read`, and sound by itself.
    """

    def __init__(self, schema: Mapping[str, JsonValue], *, is_read: bool = False) -> None:
        if schema.get("type", "object") != "object":
            raise FaultyValue(f"it is of type {schema['type']!r}", "write type: object")
        if not is_read:
            check_schema(schema)
        written: Any = schema
        declared = written.get("properties", {}).items()
        # Of any value is what is said to be just there, and what is needed and not described.
        properties = {n: {} if each is True else each for n, each in declared if each is not False}
        properties |= {n: {} for n in written.get("required", []) if n not in properties}
        self.schema: dict[str, JsonValue] = {"type": "object", **schema, "properties": properties}
        self.defaults = self._fitting(declared_defaults(properties))
        # What there is a default for need not be given, whatever else is written.
        if given := self.defaults.keys() & set(written.get("required", [])):
            self.schema["required"] = [n for n in written["required"] if n not in given]

    def problems(self, arguments: Mapping[str, JsonValue]) -> list[str]:
        """What is wrong with the arguments, as `field: what`; empty where nothing is.

        Raises `CheckTooCostly` if that isn't known within a `QUICK` budget.
        """
        declared = self.schema["properties"]
        names = declared if isinstance(declared, dict) else {}
        is_open = self.schema.get("additionalProperties", False) is not False
        unknown = [] if is_open else sorted(set(arguments) - set(names))
        try:
            first = find_errors(self._validator, dict(arguments), _MOST_SHOWN)
            found = sorted(first, key=lambda e: e.json_path)
        except (Unresolvable, RecursionError, CheckTooCostly) as error:
            if isinstance(error, CheckTooCostly) and not is_thorough():
                raise
            return [problem_at((), f"they can't be checked: {str(error)[:_SHOWN]}")]
        return [
            *(problem_at((), f"{name[:40]!r} isn't known here") for name in unknown),
            *(problem_at(tuple(error.absolute_path), _said(error)) for error in found),
        ]

    def given(self, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The arguments with the defaults of those that aren't given.

        Those left empty in a form aren't: what is null and may be left out.
        """
        required = self.schema.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        given = {n: v for n, v in arguments.items() if v is not None or n in needed}
        return {**self.defaults, **given}

    def _fitting(self, defaults: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Those of the defaults that fit the schema; none if that can't be checked."""
        try:
            wrong = find_errors(self._validator, dict(defaults))
        except (Unresolvable, RecursionError, CheckTooCostly):
            return {}
        at_fault = {next(iter(error.absolute_path), None) for error in wrong}
        return {name: value for name, value in defaults.items() if name not in at_fault}

    @cached_property
    def _validator(self) -> Validator:
        return validator_of(self.schema)


def declared_defaults(properties: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What the arguments are that nobody gives, by name; null is as good as none."""
    said = {n: each["default"] for n, each in properties.items() if "default" in _mapping(each)}
    return {name: value for name, value in said.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _said(error: SchemaViolation) -> str:
    return error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}…"


@dataclass(frozen=True)
class SchemaImplementation:
    """What stands elsewhere: arguments are checked by a schema, and all it needs is there."""

    schema: ArgumentSchema

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The schema as it is declared."""
        return self.schema.schema

    @property
    def defaults(self) -> Mapping[str, JsonValue]:
        """Those of the schema that fit it."""
        return self.schema.defaults

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """None."""
        return frozenset()

    def problems(self, arguments: Arguments) -> list[str]:
        """What the schema says against them; null is as good as left out, where that may be."""
        return self.schema.problems(self.schema.given(arguments))


CheckFunction = Callable[..., Any]
"""A function that raises or returns a `Localised` or `None`: `async def` or `def`."""


@dataclass(frozen=True)
class ToolCheck:
    """A check function, and what it is called with: `takes` of its tool's own parameters."""

    function: CheckFunction
    signature: Signature
    """The tool's arguments, with the context and what is provided as the check has them."""
    takes: tuple[str, ...]

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """What has to be provided before it can be asked."""
        return frozenset(self.signature.injected.values())

    async def __call__(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> Localised | None:
        """What the call is about; raises where it may not be made, with arguments that fit."""
        async with dependencies.call_scope(self.function, context) as scope:
            given = await self.signature.given(arguments, scope)
            for name in self.signature.arguments.model_fields.keys() - self.takes:
                del given[name]
            about: Localised | None = await scope.call(**given)
            return about


def read_check(check: CheckFunction, function: ToolFunction, signature: Signature) -> ToolCheck:
    """The check of a tool; raises `DefinitionError` with every problem that it has."""
    reader = _Reader(check, function, [*signature.arguments.model_fields])
    reader.read()
    own = Signature(signature.arguments, reader.context, reader.injected, signature.result)
    return ToolCheck(check, own, tuple(reader.takes))


class _Reader(ParameterReader):
    def __init__(self, check: CheckFunction, tool: ToolFunction, own: Sequence[str]) -> None:
        super().__init__(check)
        self._tool = tool
        self._own = own
        self.takes: list[str] = []

    def read(self) -> None:
        self.check_called()
        if self.read_parameters().get("return", ...) not in (type(None), Localised):
            remedy = "annotate it with `-> None` or `-> Localised`, and raise what it has against"
            self.wrong("doesn't say that it gives nothing, or a text", f"{remedy} it")
        self.raise_if_wrong()

    def problem(self, what: str, remedy: str) -> Problem:
        at = self.function if inspect.isfunction(self.function) else self._tool
        about = f"the check {name_of(self.function)} of the tool {self._tool.__name__} {what}"
        return Problem(*source_of(at), about, remedy)

    def take_own(self, parameter: inspect.Parameter, hint: Any) -> None:  # noqa: ARG002
        name = parameter.name
        theirs, mine = get_type_hints(self._tool), get_type_hints(self.function)
        if name not in self._own:
            what = f"has a parameter {name!r}, which the tool doesn't have"
            self.wrong(what, f"it may take {', '.join(self._own) or 'none of its own'}")
        elif theirs[name] != mine[name]:
            what = f"takes {name!r} as {_shown(mine[name])}, the tool as {_shown(theirs[name])}"
            self.wrong(what, "write the tool's type")
        else:
            self.takes.append(name)


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
