"""What stands behind a tool, arguments checked by a schema, and a tool's own rules.

A check is an asynchronous function with some of its tool's parameters, asked before a person is
asked to confirm the call. It looks, changes nothing, and raises where the call would come to
nothing. It may say what the call is about, where the arguments name it in words only: whoever
confirms the call is shown that. The world may move on before the call, so the tool keeps its rules
too.
"""

import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, get_type_hints

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import ValidationError as SchemaViolation
from pydantic import JsonValue, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from router.domain.errors import Problem
from router.domain.locale import Localised
from router.tool.context import Dependencies, Provider, ToolContext, provider_of
from router.tool.results import as_json
from router.tool.signature import ParameterReader, Signature, ToolFunction, source_of

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
    """An asynchronous function, with the signature that was read from it."""

    signature: Signature
    function: ToolFunction
    kind = "code"

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON Schema of the parameters that a caller gives."""
        return self.signature.schema

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """What the function's other parameters stand for."""
        return frozenset(self.signature.injected.values())

    def problems(self, arguments: Arguments) -> list[str]:
        """What pydantic says against them."""
        try:
            self.signature.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            return [problem_at(found["loc"], found["msg"]) for found in error.errors()]
        return []

    def result_problems(self, result: JsonValue) -> list[str]:
        """What is wrong with a result that was made elsewhere, as `field: what`.

        A front end makes the calls of some tools, and answers with JSON.
        """
        try:
            self.signature.result.validate_json(json.dumps(result))
        except ValidationError as error:
            return [problem_at(found["loc"], found["msg"], "result") for found in error.errors()]
        return []

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """Call the function; its result as JSON, with its files kept."""
        given = await self.signature.given(arguments, context, dependencies)
        result = await self.function(**given)
        return await as_json(result, context.keep, self.signature.result)


def problem_at(place: tuple[int | str, ...], what: str, whole: str = "arguments") -> str:
    """A problem with the argument at this place; with none, with the `whole`.

    >>> problem_at(("guests", 0, "name"), "is too long")
    'guests.0.name: is too long'
    """
    field = ".".join(str(part)[:40] for part in place) or whole
    return f"{field}: {what}"


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


def _said(error: SchemaViolation | SchemaError) -> str:
    return error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}…"


CheckFunction = Callable[..., Coroutine[Any, Any, Localised | None]]


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
        """Return where the call may be made, with arguments that fit its schema: what it is about.

        Raises what the function raises: `ArgumentsToolError` where other arguments would do,
        `PermanentToolError` where none would.
        """
        given = await self.signature.given(arguments, context, dependencies)
        own = self.signature.arguments.model_fields
        return await self.function(
            **{
                name: value
                for name, value in given.items()
                if name in self.takes or name not in own
            }
        )


def read_check(check: CheckFunction, function: ToolFunction, signature: Signature) -> ToolCheck:
    """The check of a tool; raises `DefinitionError` with every problem that it has."""
    reader = _Reader(check, function)
    reader.read()
    own = Signature(signature.arguments, reader.context, reader.injected, signature.result)
    return ToolCheck(check, own, tuple(reader.takes))


class _Reader(ParameterReader):
    """Reads a check, beside the tool that it is of."""

    def __init__(self, check: CheckFunction, tool: ToolFunction) -> None:
        super().__init__(check)
        self._tool = tool
        self.takes: list[str] = []

    def read(self) -> None:
        if not inspect.iscoroutinefunction(self.function):
            self.wrong("isn't asynchronous", "write `async def`, and name that function")
            self.raise_if_wrong()
        if self.read_parameters().get("return", ...) not in (type(None), Localised):
            what = "doesn't say that it gives nothing, or a text"
            remedy = (
                "annotate it with `-> None` or `-> Localised`, and raise what it has against it"
            )
            self.wrong(what, remedy)
        self.raise_if_wrong()

    def problem(self, what: str, remedy: str) -> Problem:
        """A problem with the check, which is named with its tool."""
        named = getattr(self.function, "__name__", repr(self.function))
        at = self.function if inspect.isfunction(self.function) else self._tool
        about = f"the check {named} of the tool {self._tool.__name__} {what}"
        return Problem(*source_of(at), about, remedy)

    def take_own(self, parameter: inspect.Parameter, hint: Any) -> None:  # noqa: ARG002
        """A parameter of the tool's, of the same type; what `Field` says of it may be left out."""
        name = parameter.name
        theirs, mine = get_type_hints(self._tool), get_type_hints(self.function)
        own = [
            n
            for n, hinted in get_type_hints(self._tool, include_extras=True).items()
            if n != "return" and hinted is not ToolContext and provider_of(hinted) is None
        ]
        if name not in own:
            what = f"has a parameter {name!r}, which the tool doesn't have"
            self.wrong(what, f"it may take {', '.join(own) or 'none of its own'}")
        elif theirs[name] != mine[name]:
            what = f"takes {name!r} as {_shown(mine[name])}, the tool as {_shown(theirs[name])}"
            self.wrong(what, "write the tool's type")
        else:
            self.takes.append(name)


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
