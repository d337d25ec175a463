"""A tool function's signature, read once at import: what a caller gives, what is injected.

Whatever is wrong with it is told at once, and all of it, with what would be right.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from router.domain.errors import DefinitionError, Problem
from router.domain.source_lines import UNREADABLE, name_of, source_of
from router.tool.context import CallScope, Provider, ToolContext, provider_of

ToolFunction = Callable[..., Any]
"""A function of a tool, hook or lookup: `async def`, or one that is called in a thread."""

NO_NAMES = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


class Arguments(BaseModel):
    """What every model of arguments has in common: closed to names that nobody declared."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


@dataclass(frozen=True)
class Signature:
    """What a tool function takes and gives."""

    arguments: type[BaseModel]
    """The parameters that a caller gives, as a model that validates them."""
    context: str | None
    injected: Mapping[str, Provider[Any]]
    result: TypeAdapter[Any]

    @cached_property
    def schema(self) -> dict[str, JsonValue]:
        """The JSON Schema of the arguments. It takes a millisecond and is asked for often."""
        schema = self.arguments.model_json_schema()
        return {key: value for key, value in schema.items() if key not in {"title", "description"}}

    async def given(self, arguments: Mapping[str, JsonValue], scope: CallScope) -> dict[str, Any]:
        """What the function is called with; raises pydantic's error for what doesn't fit."""
        validated = self.arguments.model_validate(dict(arguments))
        given = {name: getattr(validated, name) for name in type(validated).model_fields}
        for name, provider in self.injected.items():
            given[name] = await scope.resolve(provider)
        if self.context is not None:
            given[self.context] = scope.context
        return given


class ParameterReader:
    """Goes through a function's parameters; what is wrong is collected, and raised all at once."""

    kind = "tool"
    """What the function is to be, as it is told."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.context: str | None = None
        self.injected: dict[str, Provider[Any]] = {}
        self._problems: list[Problem] = []

    def wrong(self, what: str, remedy: str) -> None:
        """Note a problem with the function."""
        self._problems.append(self.problem(what, remedy))

    def problem(self, what: str, remedy: str) -> Problem:
        """A problem as it is told, with the place that it is at."""
        return problem_of(self.function, what, remedy, self.kind)

    def raise_if_wrong(self) -> None:
        """Raise `DefinitionError` with all that was noted, if anything was."""
        if self._problems:
            raise DefinitionError(self._problems)

    def check_called(self) -> None:
        """Raise `DefinitionError` unless it is a function that returns its result."""
        if not inspect.isfunction(self.function):
            kind = "a class" if inspect.isclass(self.function) else "no function"
            self.wrong(f"is {kind}", "write a function, `async def` or `def`")
            self.raise_if_wrong()
        if inspect.isgeneratorfunction(self.function) or inspect.isasyncgenfunction(self.function):
            self.wrong("yields", "return the whole result")

    def read_parameters(self) -> dict[str, Any]:
        """Take in every parameter; the annotations, that of the result under `return`."""
        try:
            hints = get_type_hints(self.function, include_extras=True)
        except UNREADABLE as error:
            self.wrong(f"has an annotation that can't be read: {error}", "import what it names")
            self.raise_if_wrong()
            raise
        for parameter in inspect.signature(self.function).parameters.values():
            self._take(parameter, hints.get(parameter.name))
        return hints

    def take_own(self, parameter: inspect.Parameter, hint: Any) -> None:
        """Take in a parameter of the call."""
        raise NotImplementedError

    def _take(self, parameter: inspect.Parameter, hint: Any) -> None:
        name = parameter.name
        if parameter.kind in NO_NAMES:
            remedy = "declare each parameter by itself, without * or /"
            self.wrong(f"takes {parameter}, which can't be given by name", remedy)
        elif (provider := self._provider(parameter, hint)) is not None:
            self.injected[name] = provider
        elif name in {"self", "cls"} and hint is None:
            self.wrong("is a method", "write it outside of the class")
        elif hint is None:
            remedy = f"write its type, as in `{name}: str`"
            self.wrong(f"has a parameter {name!r} without an annotation", remedy)
        elif hint is ToolContext:
            if self.context is not None:
                self.wrong("asks for its context twice", f"leave out the parameter {name!r}")
            self.context = name
        elif _mentions_context(hint):
            what = f"has a parameter {name!r} that is made of ToolContext and isn't one"
            self.wrong(what, f"write `{name}: ToolContext`: there always is one")
        else:
            self.take_own(parameter, hint)

    def _provider(self, parameter: inspect.Parameter, hint: Any) -> Provider[Any] | None:
        try:
            return provider_of(hint, parameter.default, source_of(self.function))
        except DefinitionError as error:
            self._problems += error.problems
            return Provider(parameter.name)


class _Reader(ParameterReader):
    def __init__(self, function: Callable[..., Any], description: str) -> None:
        super().__init__(function)
        self.fields: dict[str, Any] = {}
        self._description = description

    def read(self) -> Signature:
        self.check_called()
        if not self._description and not inspect.getdoc(self.function):
            self.wrong("has no docstring", "say in one what it does: people and models read it")
        hints = self.read_parameters()
        if "return" not in hints:
            remedy = "annotate its result, with None if there is none"
            self.wrong("doesn't say what it gives", remedy)
        self.raise_if_wrong()
        try:
            arguments = create_model(self.function.__name__, __base__=Arguments, **self.fields)
            result = TypeAdapter[Any](hints["return"])
            signature = Signature(arguments, self.context, self.injected, result)
            assert signature.schema  # noqa: S101 - built now, so that what has none fails at import
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            first = str(error).partition("\n")[0]
            what = f"has a type that JSON can't carry: {first}"
            remedy = "use models, TypedDicts, Literals, lists, dicts and plain values"
            if "typing_extensions.TypedDict" in first:
                what = "has a TypedDict of `typing`, which Python 3.11 doesn't say enough about"
                remedy = "write `from typing_extensions import TypedDict`"
            self.wrong(what, remedy)
            self.raise_if_wrong()
            raise
        self._check_defaults(arguments)
        self.raise_if_wrong()
        return signature

    def take_own(self, parameter: inspect.Parameter, hint: Any) -> None:
        name, default = parameter.name, parameter.default
        if name.startswith("_") or hasattr(BaseModel, name):
            what = f"has a parameter named {name!r}, a name that pydantic keeps for itself"
            self.wrong(what, "give it another name")
        self.fields[name] = (hint, ... if default is inspect.Parameter.empty else default)

    def _check_defaults(self, arguments: type[BaseModel]) -> None:
        """A default is given to the function as it is: nobody converts it on the way."""
        validator, blank = arguments.__pydantic_validator__, arguments.model_construct()
        for name, field in arguments.model_fields.items():
            if field.is_required():
                continue
            default = field.get_default(call_default_factory=True, validated_data={})
            try:
                validator.validate_assignment(blank, name, default, strict=True)
            except ValidationError as error:
                what = f"has the default {name}={default!r:.60}: {error.errors()[0]['msg']}"
                self.wrong(what, "write a value of the parameter's own type, or leave it out")


def read_signature(function: Callable[..., Any], description: str = "") -> Signature:
    """The signature of a tool function; raises `DefinitionError` with every problem it has.

    It has to have a docstring, unless the tool has a `description`.
    """
    return _Reader(function, description).read()


def problem_of(function: Any, what: str, remedy: str, kind: str = "tool") -> Problem:
    """A problem with a function that is to be a tool, or whatever `kind`, at its first line."""
    return Problem(*source_of(function), f"the {kind} {name_of(function)} {what}", remedy)


def _mentions_context(hint: Any) -> bool:
    """True for `ToolContext`, and for what is made of it: optional, annotated, a list of it."""
    return hint is ToolContext or any(map(_mentions_context, get_args(hint)))
