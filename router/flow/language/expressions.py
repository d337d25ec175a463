"""Expressions of flow files: CEL over slots, results, requester and now. Pure.

Where one calls a lookup (`language.functions`) whose answer isn't known yet, evaluating it raises
`LookupNeeded`; the machine has it answered, which is recorded, and evaluates anew. Every function
that is neither CEL's nor one of `FUNCTIONS` counts as a lookup then: evaluating never reads which
lookups are deployed, since a run has to replay after one was removed. Evaluating counts its steps
(`language.evaluation`) and ends when they exceed the budget: a replay has no clock. CEL is strict:
numbers of slots are doubles (`slots.days > 3.0`), and maps have no order: never iterate over one.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

import cel
from pydantic import JsonValue

from router.domain.errors import Fault, RouterError, nearest
from router.domain.principals import Principal
from router.flow.language.budgets import BudgetExceeded, StepBudget
from router.flow.language.cel_syntax import (
    MACROS,
    CelSyntaxError,
    Node,
    NotSupported,
    parse,
    patterns_in,
)
from router.flow.language.evaluation import Evaluator, NoValue, as_json
from router.flow.language.functions import FUNCTIONS, LOOKUPS
from router.formats.regex import refused

KnownValues = Mapping[str, JsonValue]

TOKEN = re.compile(
    r"""
    (?P<skip>   \s+ | //[^\n]* )
  | (?P<string> [bB]?[rR][bB]? (?: \"{3}.*?\"{3} | '{3}.*?'{3} | "[^"]*" | '[^']*' )
              | [bB]? (?: \"{3}(?:\\.|.)*?\"{3} | '{3}(?:\\.|.)*?'{3}
                        | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' ) )
  | (?P<number> \d[\w.]* (?: (?<=[eE])[+-]\d+ )? )
  | (?P<name>   [A-Za-z_]\w* )
  | (?P<mark>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
OPENING = frozenset("([{")
CLOSING = frozenset(")]}")
MOST_CHARACTERS = 4_000
"""Of an expression. At some ten times as many CEL's parser overruns its stack: the process dies."""
MAX_FAULTS = 10
"""Of one expression: each quotes it."""
_SHOWN = 60
_MAX_QUOTED_CHARS = 200
_MAX_REASON_CHARS = 1_000


class Token(NamedTuple):
    """One word of an expression; `kind` is string, number, name or mark."""

    kind: str
    text: str


class MemberRead(NamedTuple):
    """One place that reads a variable; `member` is None where it is read whole."""

    member: str | None
    guarded: bool


class FunctionCallRead(NamedTuple):
    """One call, as a method of something or not, with its number of arguments."""

    name: str
    method: bool
    arguments: int


NOTHING = Token("mark", "")


def tokens_of(source: str) -> list[Token]:
    """The expression's tokens, without white space and comments."""
    found = (Token(str(m.lastgroup), m.group()) for m in TOKEN.finditer(source))
    return [token for token in found if token.kind != "skip"]


@lru_cache(maxsize=4096)
def member_reads(source: str, variable: str) -> tuple[MemberRead, ...]:
    """Every reading of a variable, in order; words within string literals don't count.

    >>> list(member_reads("has(slots.end) && slots['start'] > 'slots.x'", "slots"))
    [MemberRead(member='end', guarded=True), MemberRead(member='start', guarded=False)]
    """
    tokens = tokens_of(source)
    return tuple(
        MemberRead(
            _member(tokens, place + 1),
            guarded=[t.text for t in tokens[max(0, place - 2) : place]] == ["has", "("],
        )
        for place, token in enumerate(tokens)
        if token == ("name", variable) and _at(tokens, place - 1).text != "."
    )


@lru_cache(maxsize=4096)
def members_read(source: str, variable: str) -> frozenset[str]:
    """The names `x` of everything that an expression reads as `variable.x`."""
    return frozenset(r.member for r in member_reads(source, variable) if r.member)


@lru_cache(maxsize=4096)
def all_read(source: str, variable: str) -> frozenset[str] | None:
    """As `members_read`; None where the variable is read otherwise than by the names of members."""
    read = {each.member for each in member_reads(source, variable)}
    return None if None in read else frozenset(name for name in read if name)


def calls(source: str) -> Iterator[FunctionCallRead]:
    """Every call of a function, method or macro, in order."""
    tokens = tokens_of(source)
    for place, token in enumerate(tokens):
        if token.kind == "name" and _at(tokens, place + 1).text == "(":
            method = _at(tokens, place - 1).text == "."
            yield FunctionCallRead(token.text, method, _count_arguments(tokens, place + 1))


@lru_cache(maxsize=4096)
def lookups_called(source: str) -> frozenset[str]:
    """The names of the lookups that an expression calls, deployed or not.

    >>> sorted(lookups_called("size(role('hr')) > fee_of(amount(slots.price))"))
    ['fee_of', 'role']
    """
    called = {call.name for call in calls(source) if not call.method}
    return frozenset(called - BUILT_IN.keys() - FUNCTIONS.keys())


def texts_given(source: str, function: str) -> list[str]:
    """The texts that stand as a function's only argument, in order."""
    tokens = tokens_of(source)
    return [
        inner.text.strip("rRbB").strip("\"'")
        for place, token in enumerate(tokens)
        for inner in [_at(tokens, place + 2)]
        if token == ("name", function)
        and [_at(tokens, place + step).text for step in (1, 3)] == ["(", ")"]
        and _is_plain_string(inner)
    ]


def binders(source: str) -> set[str]:
    """The names that macros bind: `i` in `slots.items.map(i, i.amount)`."""
    tokens = tokens_of(source)
    return {
        _at(tokens, place + 2).text
        for place, token in enumerate(tokens)
        if token.text in MACROS
        and _at(tokens, place - 1).text == "."
        and _at(tokens, place + 1).text == "("
        and _at(tokens, place + 3).text == ","
    }


def _at(tokens: list[Token], place: int) -> Token:
    return tokens[place] if 0 <= place < len(tokens) else NOTHING


def _member(tokens: list[Token], place: int) -> str | None:
    """The name read by the `.x` or `["x"]` that starts at `place`; None for anything else."""
    opening, inner, after = (_at(tokens, place + step) for step in range(3))
    if opening.text == "." and inner.kind == "name" and after.text != "(":
        return inner.text
    if opening.text == "[" and after.text == "]" and _is_plain_string(inner):
        return inner.text.strip("rRbB").strip("\"'")
    return None


def _is_plain_string(token: Token) -> bool:
    return token.kind == "string" and "\\" not in token.text


def _count_arguments(tokens: list[Token], opening: int) -> int:
    """How many arguments stand between the bracket at `opening` and the one that closes it."""
    depth, commas = 0, 0
    for place in range(opening, len(tokens)):
        text = tokens[place].text if tokens[place].kind == "mark" else ""
        depth += (text in OPENING and text != "") - (text in CLOSING and text != "")
        commas += text == "," and depth == 1
        if depth == 0:
            return 0 if place == opening + 1 else commas + 1
    return commas + 1


POSITION = re.compile(r"<input>:(\d+):(\d+): (.*?)(?: expecting .*)?$", re.MULTILINE)
Arity = tuple[int, int]
"""The least and the most arguments."""

BUILT_IN: dict[str, Arity] = {
    **dict.fromkeys(["has", "int", "uint", "double", "string", "bytes"], (1, 1)),
    **dict.fromkeys(["type", "dyn", "size", "timestamp", "duration"], (1, 1)),
}
"""CEL's own functions."""
METHODS: dict[str, Arity] = {
    **dict.fromkeys(["contains", "startsWith", "endsWith", "matches"], (1, 1)),
    **dict.fromkeys(
        ["size", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek"], (0, 0)
    ),
    **dict.fromkeys(["getDayOfYear", "getHours", "getMinutes", "getSeconds"], (0, 0)),
    **dict.fromkeys(MACROS, (2, 2)),
}
"""CEL's own methods and macros; what they are called on doesn't count."""


def syntax(message: str) -> str:
    """The first complaint of CEL's parser, without the list of all it would have liked."""
    found = POSITION.search(message)
    if not found:
        return "can't be read as CEL"
    _, column, what = found.groups()
    return f"can't be read as CEL: column {column}: {what.removeprefix('Syntax error: ')}"


def _wrong_reads(source: str, read: set[str], known: Collection[str]) -> Iterator[Fault]:
    bound = binders(source)
    for name in sorted(bound & set(known)):
        yield Fault(
            f"the expression {_quoted(source)} uses {name} for an item, which means something else",
            "choose another name for the item",
        )
    for name in sorted(read - bound - set(known)):
        yield Fault(
            f"the expression {_quoted(source)} reads {name}, which isn't there",
            nearest(name, known) or f"it may read {', '.join(sorted(known))}",
        )
    if any(each.member is None for each in member_reads(source, "slots")):
        yield Fault(
            f"the expression {_quoted(source)} reads slots without saying which",
            'read each by its name: slots.start or slots["start"]',
        )


def _wrong_call(source: str, call: FunctionCallRead) -> Iterator[Fault]:
    known = METHODS
    if not call.method:
        ours = {name: (len(function.takes),) * 2 for name, function in FUNCTIONS.items()}
        looked = {name: (lookup.least, len(lookup.takes)) for name, lookup in LOOKUPS.items()}
        known = BUILT_IN | ours | looked
    if call.name not in known:
        kind = "method" if call.method else "function"
        yield Fault(
            f"the expression {_quoted(source)} calls {call.name}(), and there is no such {kind}",
            nearest(call.name, known) or f"there are {', '.join(sorted(known))}",
        )
        return
    least, most = known[call.name]
    if not least <= call.arguments <= most:
        given = "1 argument" if call.arguments == 1 else f"{call.arguments} arguments"
        count, named = str(most) if least == most else f"{least} to {most}", FUNCTIONS | LOOKUPS
        count += f": {', '.join(named[call.name].takes)}" if call.name in named else ""
        what = f"the expression {_quoted(source)} calls {call.name}() with {given}"
        yield Fault(what, f"it takes {count}")


class ExpressionError(RouterError):
    """An expression has no value; the message names it, why, and what to do."""


class LookupNeeded(Exception):
    """`name(*arguments)` has to be looked up; the answer belongs under `key` of what is `known`."""

    def __init__(self, name: str, arguments: list[JsonValue]) -> None:
        self.name = name
        self.arguments = arguments
        self.key = lookup_key(name, arguments)
        super().__init__(self.key)


def lookup_key(name: str, arguments: list[JsonValue]) -> str:
    """The one way to write this call of a lookup: `workdays("2026-11-23","2026-11-25","","")`."""
    written = json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{name}({written[1:-1]})"


PRIVATE = {"away", "hours", "entitlement"}
"""What the directory knows of a person and no expression reads."""


def person(principal: Principal) -> dict[str, JsonValue]:
    """A principal as the map that expressions and texts read.

    Roles are ordered: a set's order differs between processes, and so would keys of lookups.
    """
    return {**principal.model_dump(mode="json", exclude=PRIVATE), "roles": sorted(principal.roles)}


def evaluate(
    source: str, scope: KnownValues, known: KnownValues, within: StepBudget | None = None
) -> JsonValue:
    """The value of an expression, as JSON: moments and durations are written as text.

    `scope` holds its variables, empty slots left out; `known` the answers to lookups; `within` is
    the budget of the turn. Raises `LookupNeeded` for the first lookup that isn't known,
    `ExpressionError` where there is no value, or where finding it takes too many steps.

    >>> evaluate("slots.days > 3.0", {"slots": {"days": 5.0}}, {})
    True
    """
    node, budget = compiled(source), StepBudget(within=within)
    variables = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in scope.items()
    }
    calls = _Calls(source, known, budget)
    try:
        return as_json(Evaluator(variables, calls.answer, budget).value(node), budget)
    except (NoValue, BudgetExceeded) as problem:
        raise _failure(source, str(problem)) from None


def slots_read(source: str) -> frozenset[str]:
    """The slots that the expression reads: `x` for `slots.x` and `slots["x"]`."""
    return members_read(source, "slots")


def slots_guarded(source: str) -> frozenset[str]:
    """The slots that the expression asks `has(slots.x)` about."""
    return _guarded(source, "slots")


def slots_needed(source: str) -> frozenset[str]:
    """The slots without which the expression has no value."""
    return needed(source, "slots")


def needed(source: str, variable: str) -> frozenset[str]:
    """The members of a variable without which the expression has no value."""
    return members_read(source, variable) - _guarded(source, variable)


def _guarded(source: str, variable: str) -> frozenset[str]:
    return frozenset(r.member for r in member_reads(source, variable) if r.member and r.guarded)


def problems_of(
    source: str, variables: Collection[str], within: StepBudget | None = None
) -> list[Fault]:
    """What is wrong with an expression that may read `variables`; slots needn't exist.

    An expression that exceeds its budget whatever it reads is told apart by evaluating it over
    nothing, `within` the budget of the file's examination.
    """
    try:
        compiled(source)
        program = _program(source)
    except ExpressionError as error:
        return [Fault(str(error), "see https://cel.dev for the syntax")]
    faults = chain(
        _excess(source, within or StepBudget()),
        _wrong_reads(source, set(program.variables()), variables),
        (fault for call in calls(source) for fault in _wrong_call(source, call)),
    )
    return [*islice(faults, MAX_FAULTS)]


def _excess(source: str, within: StepBudget) -> Iterator[Fault]:
    budget = StepBudget(within=within)
    try:
        evaluator = Evaluator({}, _Calls(source, {}, budget).answer, budget)
        as_json(evaluator.value(compiled(source)), budget)
    except BudgetExceeded as excess:
        yield Fault(f"the expression {_quoted(source)} {excess}", "let a tool work it out")
    except (NoValue, LookupNeeded, ExpressionError):
        return  # it depends on what it reads


def compiles(source: str) -> bool:
    """True where the expression is CEL, whatever it reads and calls."""
    try:
        compiled(source)
        _program(source)
    except ExpressionError:
        return False
    return True


@lru_cache(maxsize=2048)
def compiled(source: str) -> Node:
    """The parsed expression, kept for the next time; `ExpressionError` where it isn't CEL."""
    if len(source) > MOST_CHARACTERS:
        why = f"has {len(source):,} characters; {MOST_CHARACTERS:,} are the most"
        raise _failure(f"{source[:_SHOWN]}…", why)
    try:
        node = parse(tokens_of(source))
    except NotSupported as error:
        raise _failure(source, f"can't be read as CEL: {error}") from None
    except CelSyntaxError as error:
        _program(source)
        raise _failure(source, f"can't be read as CEL: {error}") from None
    for pattern in patterns_in(node):
        if fault := refused(pattern):
            why = f"matches {pattern[:_SHOWN]!r}, which {fault.what}; {fault.remedy}"
            raise _failure(source, why)
    return node


@lru_cache(maxsize=2048)
def _program(source: str) -> cel.Program:
    """The standard's own reading of an expression, which says best what is wrong with one."""
    try:
        return cel.compile(source)
    except ValueError as error:
        raise _failure(source, syntax(str(error))) from None


class _Calls:
    """Answers the functions that an expression calls: ours, and lookups."""

    def __init__(self, source: str, known: KnownValues, budget: StepBudget) -> None:
        self._source = source
        self._known = known
        self._budget = budget

    def answer(self, name: str, values: list[Any]) -> JsonValue:
        """What a function answers; a lookup that nobody has answered raises `LookupNeeded`."""
        before = self._budget.steps
        arguments = [as_json(value, self._budget) for value in values]
        if name in FUNCTIONS:
            self._budget.charge(_STEPS_OF_A_FUNCTION * (self._budget.steps - before))
            return self._compute(name, arguments)
        needed = LookupNeeded(name, arguments)
        if needed.key not in self._known:
            raise needed
        return self._known[needed.key]

    def _compute(self, name: str, arguments: list[JsonValue]) -> JsonValue:
        try:
            return FUNCTIONS[name].call(*arguments)
        except (ValueError, TypeError) as error:
            raise _failure(self._source, f"has no value: {error}") from None


_STEPS_OF_A_FUNCTION = 5
"""For each value that one of ours is given: an amount of money is read in so many."""


def _quoted(source: str) -> str:
    shown = source if len(source) <= _MAX_QUOTED_CHARS else f"{source[:_SHOWN]}…"
    return repr(shown)


def _failure(source: str, why: str) -> ExpressionError:
    return ExpressionError(f"the expression {_quoted(source)} {why[:_MAX_REASON_CHARS]}")
