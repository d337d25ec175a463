"""Expressions of flow files: CEL over slots, results, requester and now. Pure.

Where one calls a lookup (`language.functions`) whose answer isn't known yet, evaluating it raises
`LookupNeeded`; the machine has it answered, which is recorded, and evaluates anew. Every function
that is neither CEL's nor one of `FUNCTIONS` counts as a lookup then: evaluating never reads which
lookups are deployed, since a run has to replay after one was removed. What would take too long is
refused before it begins, by the lists there are: a replay has no clock. CEL is strict: numbers of
slots are doubles (`slots.days > 3.0`), and maps have no order: never iterate over one.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache, partial
from math import isfinite
from typing import Any, NamedTuple

import cel
from pydantic import JsonValue

from router.domain.errors import Fault, RouterError, nearest
from router.domain.principals import Principal
from router.flow.language.functions import FUNCTIONS, LOOKUPS

Known = Mapping[str, JsonValue]

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
MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
MOST_CHARACTERS = 4_000
"""Of an expression. At some ten times as many CEL's parser overruns its stack: the process dies."""
MOST_STEPS = 100_000
MOST_TEXT = 50_000_000
"""Of an expression with macros: items gone through, and characters put together."""
_SHOWN = 60


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


class Extent(NamedTuple):
    """What the work of an expression grows with, besides the lists that it goes through."""

    nested: int
    """How deep macros stand within macros: each goes through its list for each item outside."""
    macros: int
    joins: int
    """What is put together with `+`, which a macro may do to its own result."""
    written: int
    """The values of the longest list that may stand in it."""
    text: int
    """The characters of the longest text that stands in it."""

    def excess(self, values: list[Any]) -> str:
        """Why it isn't evaluated over such values; empty where it is."""
        if not self.macros:
            return ""
        longest, text = _longest(values)
        longest, text = max(longest, self.written), max(text, self.text)
        steps = longest**self.nested * (self.joins + 1) ** self.macros
        if steps <= MOST_STEPS and steps * text <= MOST_TEXT:
            return ""
        return f"may take {steps:,} steps over lists of {longest:,}; {MOST_STEPS:,} are the most"


@lru_cache(maxsize=4096)
def extent_of(source: str) -> Extent:
    """How far an expression goes, told from its words alone."""
    tokens, within, nested, macros = tokens_of(source), list[bool](), 0, 0
    for place, token in enumerate(tokens):
        if token.kind == "mark" and token.text in OPENING:
            within.append(_at(tokens, place - 1).text in MACROS)
            macros += within[-1]
            nested = max(nested, sum(within))
        elif token.kind == "mark" and token.text in CLOSING and within:
            within.pop()
    marks = [token.text for token in tokens if token.kind == "mark"]
    text = max((len(token.text) for token in tokens if token.kind == "string"), default=1)
    return Extent(nested, macros, marks.count("+"), marks.count(",") + 1, text)


def _longest(values: list[Any]) -> tuple[int, int]:
    """How long the longest list, or map, and the longest text within the values are."""
    longest, text, left = 1, 1, [*values]
    while left:
        value = left.pop()
        if isinstance(value, str):
            text = max(text, len(value))
        elif isinstance(value, dict | list):
            longest = max(longest, len(value))
            left += value.values() if isinstance(value, dict) else value
    return longest, text


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
            f"the expression {source!r} uses {name} for an item, which means something else",
            "choose another name for the item",
        )
    for name in sorted(read - bound - set(known)):
        yield Fault(
            f"the expression {source!r} reads {name}, which isn't there",
            nearest(name, known) or f"it may read {', '.join(sorted(known))}",
        )
    if any(each.member is None for each in member_reads(source, "slots")):
        yield Fault(
            f"the expression {source!r} reads slots without saying which",
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
            f"the expression {source!r} calls {call.name}(), and there is no such {kind}",
            nearest(call.name, known) or f"there are {', '.join(sorted(known))}",
        )
        return
    least, most = known[call.name]
    if not least <= call.arguments <= most:
        given = "1 argument" if call.arguments == 1 else f"{call.arguments} arguments"
        count, named = str(most) if least == most else f"{least} to {most}", FUNCTIONS | LOOKUPS
        count += f": {', '.join(named[call.name].takes)}" if call.name in named else ""
        what = f"the expression {source!r} calls {call.name}() with {given}"
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


def evaluate(source: str, scope: Known, known: Known) -> JsonValue:
    """The value of an expression, as JSON: moments and durations are written as text.

    `scope` holds its variables, empty slots left out; `known` the answers to lookups. Raises
    `LookupNeeded` for the first that isn't known, `ExpressionError` where there is no value.

    >>> evaluate("slots.days > 3.0", {"slots": {"days": 5.0}}, {})
    True
    """
    program = compiled(source)
    evaluation = _Evaluation(source, known)
    # As much of each as it reads: all that a run knows is a lot to convert.
    read = {name: all_read(source, name) for name in scope}
    variables = {name: _plain(value, read[name]) for name, value in scope.items()}
    if excess := extent_of(source).excess([variables, dict(known)]):
        raise _failure(source, excess)
    context = cel.Context(variables=variables, functions=evaluation.functions())
    try:
        value = _as_json(source, program.execute(context))
    except ExpressionError:
        raise
    except Exception as problem:
        raise evaluation.stopped or _explained(source, problem) from problem
    if evaluation.stopped:
        raise evaluation.stopped
    return value


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


def problems_of(source: str, variables: Collection[str]) -> list[Fault]:
    """What is wrong with an expression that may read `variables`; slots needn't exist."""
    try:
        program = compiled(source)
    except ExpressionError as error:
        return [Fault(str(error), "see https://cel.dev for the syntax")]
    excess = extent_of(source).excess([])
    return [
        *(
            [Fault(f"the expression {source!r} {excess}", "let a tool work it out")]
            if excess
            else []
        ),
        *_wrong_reads(source, set(program.variables()), variables),
        *(fault for call in calls(source) for fault in _wrong_call(source, call)),
    ]


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
    if len(source) > MOST_CHARACTERS:
        why = f"has {len(source):,} characters; {MOST_CHARACTERS:,} are the most"
        raise _failure(f"{source[:_SHOWN]}…", why)
    try:
        return cel.compile(source)
    except ValueError as error:
        raise _failure(source, syntax(str(error))) from None


class _Evaluation:
    """One evaluation's functions, and what stopped it.

    Functions never raise: CEL logs and rewraps whatever they raise, and `||` forgets it. They
    note the first reason to stop and answer null; what is computed from that is thrown away.
    """

    def __init__(self, source: str, known: Known) -> None:
        self.source = source
        self.known = known
        self.stopped: LookupNeeded | ExpressionError | None = None

    def functions(self) -> dict[str, Callable[..., JsonValue]]:
        """Everything that the expression may call, by name."""
        answering = dict.fromkeys(lookups_called(self.source), self._look_up)
        answering |= dict.fromkeys(FUNCTIONS, self._compute)
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
        needed = LookupNeeded(name, arguments)
        if needed.key not in self.known:
            raise needed
        return self.known[needed.key]


def _explained(source: str, problem: Exception) -> ExpressionError:
    if isinstance(problem, KeyError):
        return _failure(source, f"reads {problem}, which is empty; guard it with has()")
    if isinstance(problem, TypeError):
        remedy = "convert with double(), int() or string()"
        return _failure(source, f"mixes types that don't go together; {remedy}")
    return _failure(source, f"has no value: {str(problem).split('. Check ')[0]}")


def _plain(value: Any, only: Collection[str] | None = None) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(inner) for k, inner in value.items() if only is None or k in only}
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
    finite = not isinstance(value, float) or isfinite(value)
    if value is None or (isinstance(value, str | int | float) and finite):
        return value
    raise _failure(source, f"gives {value!r}, which can't be recorded as JSON")
