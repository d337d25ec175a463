"""Expressions of flow files: CEL over slots, results, requester and now. Pure.

An expression never reaches into the world. Where it calls a lookup (`router.flow.lookups`)
whose answer isn't known yet, evaluating it raises `LookupNeeded`; the machine has the lookup
answered and evaluates anew. So `manager(manager(requester))` takes three evaluations, and the
answers, once recorded, make every replay give the same value.

CEL is strict about types: numbers of slots are doubles (`slots.days > 3.0`; comparing with an
integer works, adding one doesn't), and its maps have no order: never iterate over one.
"""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import lru_cache, partial
from math import isfinite
from typing import Any

import cel
from pydantic import JsonValue

from router.documents.faults import Fault
from router.domain.errors import RouterError
from router.domain.principals import Principal
from router.flow import expression_faults
from router.flow.expression_names import all_read, member_reads, members_read
from router.flow.functions import FUNCTIONS
from router.flow.lookups import LOOKUPS


class ExpressionError(RouterError):
    """An expression has no value; the message names it, why, and what to do."""


class LookupNeeded(Exception):
    """An expression can't go on before `name(*arguments)` is looked up.

    The answer belongs under `key` in the `known` of the next evaluation.
    """

    def __init__(self, name: str, arguments: list[JsonValue]) -> None:
        self.name = name
        self.arguments = arguments
        self.key = lookup_key(name, arguments)
        super().__init__(self.key)


def lookup_key(name: str, arguments: list[JsonValue]) -> str:
    """The one way to write this call of a lookup.

    >>> lookup_key("workdays", ["2026-11-23", "2026-11-25", "", ""])
    'workdays("2026-11-23","2026-11-25","","")'
    """
    written = json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{name}({written[1:-1]})"


PRIVATE = {"away", "hours"}
"""What the directory knows of a person and no expression reads."""


def person(principal: Principal) -> dict[str, JsonValue]:
    """A principal as the map that expressions and texts read.

    Roles are ordered: a set's order differs between processes, and would make the key of
    `manager(requester)` differ on replay. When somebody is at work is for lookups to know.
    """
    return {**principal.model_dump(mode="json", exclude=PRIVATE), "roles": sorted(principal.roles)}


def evaluate(
    source: str, scope: Mapping[str, JsonValue], known: Mapping[str, JsonValue]
) -> JsonValue:
    """The value of an expression, as JSON: moments and durations are written as text.

    `scope` holds its variables, empty slots left out; `known` the answers to lookups, by
    `LookupNeeded.key`. Raises `LookupNeeded` for the first lookup that isn't known, and
    `ExpressionError` where there is no value.

    >>> evaluate("slots.days > 3.0", {"slots": {"days": 5.0}}, {})
    True
    """
    program = compiled(source)
    evaluation = _Evaluation(source, known)
    variables = {name: _plain(_read_of(source, name, value)) for name, value in scope.items()}
    context = cel.Context(variables=variables, functions=evaluation.functions())
    try:
        value = program.execute(context)
    except Exception as problem:
        raise evaluation.stopped or _explained(source, problem) from problem
    if evaluation.stopped:
        raise evaluation.stopped
    return _as_json(source, value)


def slots_read(source: str) -> frozenset[str]:
    """The slots that the expression reads: `x` for `slots.x` and `slots["x"]`."""
    return members_read(source, "slots")


def slots_guarded(source: str) -> frozenset[str]:
    """The slots that the expression asks `has(slots.x)` about."""
    return frozenset(
        read.member for read in member_reads(source, "slots") if read.member and read.guarded
    )


def slots_needed(source: str) -> frozenset[str]:
    """The slots without which the expression has no value."""
    return slots_read(source) - slots_guarded(source)


def problems_of(source: str, variables: Collection[str]) -> list[Fault]:
    """What is wrong with an expression that may read `variables`; none where it is sound.

    Says so of syntax, unknown variables and functions, wrong numbers of arguments, and
    `slots` read otherwise than by name. Whether the slots exist is for the caller to see.
    """
    try:
        program = compiled(source)
    except ExpressionError as error:
        return [Fault(str(error), "see https://cel.dev for the syntax")]
    return expression_faults.faults(source, program.variables(), variables)


def compiles(source: str) -> bool:
    """True where the expression is CEL, whatever it reads and calls."""
    try:
        compiled(source)
    except ExpressionError:
        return False
    return True


@lru_cache(maxsize=2048)
def compiled(source: str) -> cel.Program:
    """The compiled program, kept for the next time; `ExpressionError` where it isn't CEL."""
    try:
        return cel.compile(source)
    except ValueError as error:
        raise _failure(source, expression_faults.syntax(str(error))) from None


class _Evaluation:
    """One evaluation's functions, and what stopped it.

    Functions never raise: CEL logs and rewraps whatever they raise, and `||` forgets it. They
    note the first reason to stop and answer null; what is computed from that is thrown away.
    """

    def __init__(self, source: str, known: Mapping[str, JsonValue]) -> None:
        self.source = source
        self.known = known
        self.stopped: LookupNeeded | ExpressionError | None = None

    def functions(self) -> dict[str, Callable[..., JsonValue]]:
        """Everything that the expression may call, by name."""
        answering = dict.fromkeys(FUNCTIONS, self._compute) | dict.fromkeys(LOOKUPS, self._look_up)
        return {name: self._noting(partial(f, name)) for name, f in answering.items()}

    def _noting(self, answer: Callable[[list[JsonValue]], JsonValue]) -> Callable[..., JsonValue]:
        def call(*arguments: Any) -> JsonValue:
            try:
                return answer([_as_json(self.source, argument) for argument in arguments])
            except (LookupNeeded, ExpressionError) as reason:
                self.stopped = self.stopped or reason
            return None

        return call

    def _compute(self, name: str, arguments: list[JsonValue]) -> JsonValue:
        try:
            return FUNCTIONS[name].call(*arguments)
        except (ValueError, TypeError) as error:
            raise _failure(self.source, f"has no value: {error}") from None

    def _look_up(self, name: str, arguments: list[JsonValue]) -> JsonValue:
        needed = LookupNeeded(name, LOOKUPS[name].filled_up(arguments))
        if needed.key not in self.known:
            raise needed
        return self.known[needed.key]


def _explained(source: str, problem: Exception) -> ExpressionError:
    """The library's error as a sentence that says what to do."""
    if isinstance(problem, KeyError):
        return _failure(source, f"reads {problem}, which is empty; guard it with has()")
    if isinstance(problem, TypeError):
        return _failure(
            source, "mixes types that don't go together; convert with double(), int() or string()"
        )
    return _failure(source, f"has no value: {str(problem).split('. Check ')[0]}")


def _read_of(source: str, variable: str, value: JsonValue) -> JsonValue:
    """As much of a variable as the expression reads: all that a run knows is a lot to convert."""
    read = all_read(source, variable) if isinstance(value, dict) else None
    if read is None or not isinstance(value, dict):
        return value
    return {name: value[name] for name in read if name in value}


def _plain(value: Any) -> Any:
    """The value in types that CEL takes, `now` as the text that it is recorded as."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _failure(source: str, why: str) -> ExpressionError:
    return ExpressionError(f"the expression {source!r} {why}")


def _as_json(source: str, value: Any) -> JsonValue:
    """The value as JSON, keys in order: CEL's maps come in an order that differs each time."""
    if isinstance(value, dict):
        return {str(key): _as_json(source, value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list):
        return [_as_json(source, inner) for inner in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    if value is None or isinstance(value, str | int) or _is_finite(value):
        return value  # type: ignore[no-any-return]
    raise _failure(source, f"gives {value!r}, which can't be recorded as JSON")


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)
