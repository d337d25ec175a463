"""A tool's own rules, which are asked before a person is asked to confirm the call.

A check is an asynchronous function with some of its tool's parameters. It looks, changes
nothing, and raises where the call would come to nothing: the request isn't the caller's, the
balance doesn't reach. It may say what the call is about, where the arguments name it in words
only: whoever confirms the call is shown that. The world may move on before the call, so the tool
keeps its rules too.
"""

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, get_type_hints

from router.domain.errors import Problem
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies, Provider
from router.tool.implementation import Arguments
from router.tool.signature import (
    ParameterReader,
    Signature,
    ToolFunction,
    provider_of,
    source_of,
)

CheckFunction = Callable[..., Coroutine[Any, Any, Localised | None]]


@dataclass(frozen=True)
class Check:
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
        given = self.signature.given(arguments, context, dependencies)
        own = self.signature.arguments.model_fields
        return await self.function(
            **{
                name: value
                for name, value in given.items()
                if name in self.takes or name not in own
            }
        )


def read_check(check: CheckFunction, function: ToolFunction, signature: Signature) -> Check:
    """The check of a tool; raises `DefinitionError` with every problem that it has."""
    reader = _Reader(check, function)
    reader.read()
    own = Signature(signature.arguments, reader.context, reader.injected, signature.result)
    return Check(check, own, tuple(reader.takes))


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
