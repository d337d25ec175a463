"""A tool's own rules, which are asked before a person is asked to confirm the call.

A check is an asynchronous function with some of its tool's parameters. It looks, changes
nothing, and raises where the call would come to nothing: the request isn't the caller's, the
balance doesn't reach. The world may move on before the call, so the tool keeps its rules too.
"""

import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from router.domain.errors import DefinitionError, Problem
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies, Provider
from router.tool.implementation import Arguments
from router.tool.signature import (
    NO_NAMES,
    Signature,
    ToolFunction,
    mentions_context,
    partly_context,
    provider_of,
    source_of,
)

CheckFunction = Callable[..., Coroutine[Any, Any, None]]


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
    ) -> None:
        """Return where the call may be made, with arguments that fit its schema.

        Raises what the function raises: `ArgumentsToolError` where other arguments would do,
        `PermanentToolError` where none would.
        """
        given = self.signature.given(arguments, context, dependencies)
        own = self.signature.arguments.model_fields
        await self.function(
            **{
                name: value
                for name, value in given.items()
                if name in self.takes or name not in own
            }
        )


def read_check(check: CheckFunction, function: ToolFunction, signature: Signature) -> Check:
    """The check of a tool; raises `DefinitionError` with every problem that it has."""
    reader = _Reader(check, function)
    problems = [*reader.problems()]
    if problems:
        raise DefinitionError(problems)
    own = Signature(signature.arguments, reader.context, reader.injected, signature.result)
    return Check(check, own, tuple(reader.takes))


class _Reader:
    """Goes through a check once, beside the tool that it is of."""

    def __init__(self, check: CheckFunction, function: ToolFunction) -> None:
        self._check = check
        self._function = function
        self.context: str | None = None
        self.injected: dict[str, Provider[Any]] = {}
        self.takes: list[str] = []

    def problems(self) -> Iterator[Problem]:
        if not inspect.iscoroutinefunction(self._check):
            yield self._problem("isn't asynchronous", "write `async def`, and name that function")
            return
        try:
            hints = get_type_hints(self._check, include_extras=True)
        except NameError as error:
            what = f"has an annotation that can't be read: {error}"
            yield self._problem(what, "import what it names")
            return
        for parameter in inspect.signature(self._check).parameters.values():
            yield from self._take(parameter, hints.get(parameter.name))
        if hints.get("return", ...) is not type(None):
            what = "doesn't say that it gives nothing"
            yield self._problem(what, "annotate it with `-> None`, and raise what it has to say")

    def _take(self, parameter: inspect.Parameter, hint: Any) -> Iterator[Problem]:
        name = parameter.name
        if parameter.kind in NO_NAMES:
            what = f"takes {parameter}, which can't be given by name"
            yield self._problem(what, "declare each parameter by itself, without * or /")
        elif hint is None:
            what = f"has a parameter {name!r} without an annotation"
            yield self._problem(what, f"write its type, as in `{name}: str`")
        elif hint is ToolContext and self.context is not None:
            yield self._problem("asks for its context twice", f"leave out the parameter {name!r}")
        elif hint is ToolContext:
            self.context = name
        elif (provider := provider_of(hint)) is not None:
            self.injected[name] = provider
        elif mentions_context(hint):
            yield self._problem(*partly_context(name))
        else:
            yield from self._take_own(name)

    def _take_own(self, name: str) -> Iterator[Problem]:
        """A parameter of the tool's, of the same type; what `Field` says of it may be left out."""
        theirs, mine = get_type_hints(self._function), get_type_hints(self._check)
        own = [
            n
            for n, hint in get_type_hints(self._function, include_extras=True).items()
            if n != "return" and hint is not ToolContext and provider_of(hint) is None
        ]
        if name not in own:
            what = f"has a parameter {name!r}, which the tool doesn't have"
            yield self._problem(what, f"it may take {', '.join(own) or 'none of its own'}")
        elif theirs[name] != mine[name]:
            what = f"takes {name!r} as {_shown(mine[name])}, the tool as {_shown(theirs[name])}"
            yield self._problem(what, "write the tool's type")
        else:
            self.takes.append(name)

    def _problem(self, what: str, remedy: str) -> Problem:
        named = getattr(self._check, "__name__", repr(self._check))
        at = self._check if inspect.isfunction(self._check) else self._function
        about = f"the check {named} of the tool {self._function.__name__} {what}"
        return Problem(*source_of(at), about, remedy)


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
