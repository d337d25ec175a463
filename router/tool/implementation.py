"""What stands behind a tool: a function of ours, somebody's HTTP endpoint, a server's tool."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import JsonValue, ValidationError

from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies, Provider
from router.tool.files import as_json
from router.tool.signature import Signature, ToolFunction

Arguments = Mapping[str, JsonValue]


class Implementation(Protocol):
    """How a tool's arguments are checked, and how it is called. Everything else is `Tool`'s."""

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
        result = await self.function(**self.signature.given(arguments, context, dependencies))
        return await as_json(result, context.keep, self.signature.result)


def problem_at(place: tuple[int | str, ...], what: str, whole: str = "arguments") -> str:
    """A problem with the argument at this place; with none, with the `whole`.

    >>> problem_at(("guests", 0, "name"), "is too long")
    'guests.0.name: is too long'
    """
    field = ".".join(str(part)[:40] for part in place) or whole
    return f"{field}: {what}"
