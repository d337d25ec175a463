"""Lookups: what expressions of flow files may ask of the world, answered by functions of a project.

    @lookup("the number of the person's desk, or null")
    async def desk_of(tenant: str, person: JsonValue, *, db: Annotated[Db, Depends(get_db)]) -> str:
        return await db.desk(tenant, person)

A flow file then writes `desk_of(requester)`. The answer is recorded with the run.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from pydantic import JsonValue, ValidationError

from router.domain.errors import DefinitionError, Problem
from router.domain.source_lines import UNREADABLE, source_of
from router.flow.language.functions import LOOKUPS, Lookup, declare
from router.tool.context import CallScope, Provider, provider_of
from router.tool.signature import problem_of

Answerer = TypeVar("Answerer", bound=Callable[..., Any])


@dataclass(frozen=True)
class DeclaredLookup:
    """The function that answers a lookup, and what its marked parameters stand for."""

    function: Callable[..., Any]
    needs: Mapping[str, Provider[Any]]

    async def answer(self, tenant: str, arguments: list[JsonValue], scope: CallScope) -> JsonValue:
        """Return what the function answers."""
        given = {name: await scope.resolve(each) for name, each in self.needs.items()}
        answer: JsonValue = await scope.call(tenant, *arguments, **given)
        return answer


DECLARED_LOOKUPS: dict[str, DeclaredLookup] = {}
"""The lookups of projects, by name."""


def lookup(answers: str) -> Callable[[Answerer], Answerer]:
    """Let flow files call a function, under its own name.

    Its first parameter is the tenant. Those after it are what an expression passes, with defaults
    if an expression may leave them out; those marked `Depends` are filled in. The function can be
    called as before. One with the name of a lookup of the router answers in its place.

    Args:
        answers: What it answers, as JSON, for authors of flows.

    Raises:
        DefinitionError: The function can't be a lookup; says why, and what would be right.

    Example:
        >>> @lookup("the floor that the person works on")
        ... async def floor_of(tenant: str, person: JsonValue) -> JsonValue:
        ...     return 3
    """
    if not isinstance(answers, str):
        what, remedy = "doesn't say what it answers", 'write @lookup("the number of the desk")'
        raise DefinitionError([problem_of(answers, what, remedy, "lookup")])

    def decorate(function: Answerer) -> Answerer:
        needs, takes = _parameters(function)
        name = function.__name__
        if (known := DECLARED_LOOKUPS.get(name)) and _is_same(known.function, function):
            LOOKUPS.pop(name, None)  # the module was reloaded
        try:
            defaults = tuple(each.default for each in takes if each.default is not each.empty)
            names = tuple(each.name for each in takes)
            declare(Lookup(name=name, takes=names, answers=answers, defaults=defaults))
        except ValidationError:
            remedy = "write defaults of JSON: text, numbers, lists, null"
            raise _wrong(function, "has a default that isn't JSON", remedy) from None
        except ValueError:
            remedy = "call it something else"
            raise _wrong(function, "has a name that means something else", remedy) from None
        DECLARED_LOOKUPS[name] = DeclaredLookup(function, needs)
        return function

    return decorate


def _is_same(known: Any, function: Any) -> bool:
    return bool(
        (known.__module__, known.__qualname__) == (function.__module__, function.__qualname__)
    )


def _parameters(
    function: Callable[..., Any],
) -> tuple[dict[str, Provider[Any]], list[inspect.Parameter]]:
    """Return what the marked parameters stand for, and those that an expression passes."""
    if not inspect.isfunction(function):
        raise _wrong(function, "is no function", "decorate a function, `async def` or `def`")
    try:
        hints = get_type_hints(function, include_extras=True)
    except UNREADABLE as error:
        what = f"has an annotation that can't be read: {error}"
        raise _wrong(function, what, "import what it names") from None
    at, needs, taken = source_of(function), dict[str, Provider[Any]](), []
    for parameter in inspect.signature(function).parameters.values():
        needed = provider_of(hints.get(parameter.name), parameter.default, at)
        if needed is not None:
            needs[parameter.name] = needed
        elif parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            remedy = "declare each parameter by itself, without * or /, and mark others Depends"
            raise _wrong(function, f"takes {parameter}, which no expression passes", remedy)
        else:
            taken.append(parameter)
    if any(each.takes_context for each in needs.values()):
        what = "depends on a ToolContext, which there is none of in a lookup"
        raise _wrong(function, what, "pass the person to it instead: desk_of(requester)")
    if not taken:
        remedy = "give it a first parameter `tenant: str`, and then what expressions pass"
        raise _wrong(function, "takes no tenant", remedy)
    return needs, taken[1:]


def _wrong(function: Any, what: str, remedy: str) -> DefinitionError:
    problem: Problem = problem_of(function, what, remedy, "lookup")
    return DefinitionError([problem])
