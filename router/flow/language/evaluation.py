"""The evaluation of CEL, which counts what each operation costs. Pure.

An operation that may take longer than one step charges the budget first: for a text by its
characters, for a list by its items, for a value by all that it consists of. No operation makes a
value without charging for it, so a budget of steps bounds memory as well as time.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from math import isfinite
from typing import Any

import re2
from pydantic import JsonValue

from router.flow.language.budgets import CHARS_PER_STEP, StepBudget
from router.flow.language.cel_syntax import (
    Call,
    CelVariable,
    Chain,
    Condition,
    Index,
    ListLiteral,
    Literal,
    Logical,
    Macro,
    MapLiteral,
    Member,
    Node,
    Uint,
    Unary,
)
from router.formats.regex import compile_foreign

MAX_VALUE_DEPTH = 100
"""Lists and maps within one another."""
MAX_NUMBER_CHARS = 400
"""Of a text that becomes a number."""
_LARGEST, _SMALLEST, _LARGEST_UINT = 2**63 - 1, -(2**63), 2**64 - 1
_MIXED = "mixes types that don't go together; convert with double(), int() or string()"


def as_json(value: Any, budget: StepBudget, depth: int = 0) -> JsonValue:
    """The value as JSON, keys in order; raises `NoValue` where it is none."""
    budget.charge()
    if depth > MAX_VALUE_DEPTH:
        raise NoValue(f"gives a value that nests more than {MAX_VALUE_DEPTH} levels deep")
    if isinstance(value, Mapping):
        keys = sorted(value, key=str)
        return {str(key): as_json(value[key], budget, depth + 1) for key in keys}
    if isinstance(value, list | tuple):
        return [as_json(inner, budget, depth + 1) for inner in value]
    if isinstance(value, datetime):
        value = value.isoformat()
    elif isinstance(value, timedelta):
        value = f"{value.total_seconds():g}s"
    if isinstance(value, str):
        budget.charge(len(value) // CHARS_PER_STEP)
    elif value is not None and not (isinstance(value, int | float) and isfinite(value)):
        raise NoValue(f"gives {str(value)[:40]}, which can't be recorded as JSON")
    return value  # type: ignore[no-any-return]


class NoValue(Exception):
    """An operation has no value, which `||` and `&&` may do without; the message says why."""


class Evaluator:
    """One evaluation over some variables.

    `call` answers a function that isn't CEL's own. What it raises ends the evaluation: `||` and
    `&&` catch `NoValue` alone.
    """

    def __init__(
        self,
        variables: Mapping[str, Any],
        call: Callable[[str, list[Any]], Any],
        budget: StepBudget,
    ) -> None:
        self._variables = dict(variables)
        self._call = call
        self._budget = budget

    def value(self, node: Node) -> Any:
        """The node's value."""
        self._budget.charge()
        evaluate: Callable[[Evaluator, Any], Any] = _EVALUATED[type(node)]
        return evaluate(self, node)

    def literal(self, node: Literal) -> Any:
        return node.value

    def variable(self, node: CelVariable) -> Any:
        if node.name not in self._variables:
            if node.name in _TYPE_NAMES:
                return node.name
            raise NoValue(f"has no value: there is no variable {node.name!r}")
        return self._variables[node.name]

    def member(self, node: Member) -> Any:
        operand = self.value(node.operand)
        if not isinstance(operand, Mapping):
            raise NoValue(_MIXED)
        if node.tested:
            return node.name in operand
        if node.name not in operand:
            raise NoValue(f"reads {node.name!r}, which is empty; guard it with has()")
        return operand[node.name]

    def index(self, node: Index) -> Any:
        operand, key = self.value(node.operand), self.value(node.key)
        if isinstance(operand, Mapping):
            if not isinstance(key, str | int):
                raise NoValue(_MIXED)
            if key not in operand:
                raise NoValue(f"reads {str(key)[:200]!r}, which is empty; guard it with has()")
            return operand[key]
        if not _is_list(operand) or not _is_integer(key):
            raise NoValue(_MIXED)
        if not 0 <= key < len(operand):
            raise NoValue(f"has no value: there is no item {key} in a list of {len(operand):,}")
        return operand[key]

    def called(self, node: Call) -> Any:
        own = (_FUNCTIONS if node.target is None else _METHODS).get(node.name)
        if node.target is not None:
            values = [self.value(each) for each in (node.target, *node.arguments)]
            if own is None:
                raise NoValue(f"has no value: there is no method {node.name}()")
        else:
            values = [self.value(argument) for argument in node.arguments]
        if own is None:
            return self._call(node.name, values)
        try:
            return own(self._budget, *values)
        except TypeError:
            raise NoValue(f"has no value: {node.name}() doesn't take such values") from None
        except (ValueError, OverflowError) as error:
            raise NoValue(f"has no value: {node.name}() of {str(error)[:200]}") from None

    def macro(self, node: Macro) -> Any:
        target = self.value(node.target)
        if not isinstance(target, Mapping) and not _is_list(target):
            raise NoValue(_MIXED)
        variables = self._variables
        self._variables = {**variables}
        self._budget.charge(len(variables))
        try:
            return _MACROS[node.name](self, node, self._items(node, target))
        finally:
            self._variables = variables

    def _items(self, node: Macro, target: Any) -> Iterator[Any]:
        for item in target:
            self._budget.charge()
            self._variables[node.item] = item
            yield item

    def holds(self, node: Node) -> bool:
        """The value of a condition; anything but true or false is none."""
        value = self.value(node)
        if not isinstance(value, bool):
            raise NoValue(_MIXED)
        return value

    def unary(self, node: Unary) -> Any:
        value = self.value(node.operand)
        self._budget.charge(node.times)
        if node.operator == "!":
            if not isinstance(value, bool):
                raise NoValue(_MIXED)
            return value ^ bool(node.times % 2)
        if isinstance(value, bool | Uint) or not isinstance(value, int | float):
            raise NoValue(_MIXED)
        for _ in range(node.times):
            value = _bounded(-value)
        return value

    def chain(self, node: Chain) -> Any:
        value = self.value(node.first)
        for operator, operand in node.rest:
            value = self._binary(operator, value, self.value(operand))
        return value

    def _binary(self, operator: str, left: Any, right: Any) -> Any:
        self._budget.charge()
        if operator in ("==", "!="):
            return is_equal(left, right, self._budget) is (operator == "==")
        if operator == "in":
            return self._contains(left, right)
        if operator in _COMPARED:
            return _COMPARED[operator](_order(left, right, self._budget))
        return _computed(operator, left, right, self._budget)

    def _contains(self, item: Any, container: Any) -> bool:
        if isinstance(container, Mapping):
            if not isinstance(item, str | int):
                raise NoValue(_MIXED)
            return item in container
        if not _is_list(container):
            raise NoValue(_MIXED)
        return any(is_equal(item, each, self._budget) for each in container)

    def logical(self, node: Logical) -> Any:
        """As CEL has it: one operand may decide although another has no value."""
        decisive, problem = node.operator == "||", None
        for operand in node.operands:
            try:
                if self.holds(operand) is decisive:
                    return decisive
            except NoValue as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return not decisive

    def condition(self, node: Condition) -> Any:
        chosen: Node = node
        while isinstance(chosen, Condition):
            self._budget.charge()
            chosen = chosen.yes if self.holds(chosen.condition) else chosen.no
        return self.value(chosen)

    def list_literal(self, node: ListLiteral) -> Any:
        return [self.value(item) for item in node.items]

    def map_literal(self, node: MapLiteral) -> Any:
        made: dict[Any, Any] = {}
        for key, value in node.entries:
            name = self.value(key)
            if not isinstance(name, str | int):
                raise NoValue("has no value: a key is a text or a whole number")
            made[name] = self.value(value)
        return made

    def all(self, node: Macro, items: Iterator[Any]) -> bool:
        return all(self.holds(node.body) for _ in items)

    def exists(self, node: Macro, items: Iterator[Any]) -> bool:
        return any(self.holds(node.body) for _ in items)

    def exists_one(self, node: Macro, items: Iterator[Any]) -> bool:
        return sum(self.holds(node.body) for _ in items) == 1

    def filter(self, node: Macro, items: Iterator[Any]) -> list[Any]:
        return [item for item in items if self.holds(node.body)]

    def map(self, node: Macro, items: Iterator[Any]) -> list[Any]:
        kept = node.kept
        return [self.value(node.body) for _ in items if kept is None or self.holds(kept)]


_EVALUATED: dict[type, Callable[[Evaluator, Any], Any]] = {
    Literal: Evaluator.literal,
    CelVariable: Evaluator.variable,
    Member: Evaluator.member,
    Index: Evaluator.index,
    Call: Evaluator.called,
    Macro: Evaluator.macro,
    Unary: Evaluator.unary,
    Chain: Evaluator.chain,
    Logical: Evaluator.logical,
    Condition: Evaluator.condition,
    ListLiteral: Evaluator.list_literal,
    MapLiteral: Evaluator.map_literal,
}
_MACROS: dict[str, Callable[[Evaluator, Macro, Iterator[Any]], Any]] = {
    "all": Evaluator.all,
    "exists": Evaluator.exists,
    "exists_one": Evaluator.exists_one,
    "filter": Evaluator.filter,
    "map": Evaluator.map,
}


def is_equal(left: Any, right: Any, budget: StepBudget, depth: int = 0) -> bool:
    """Compare two values as CEL does: numbers across their types, anything else within its own."""
    budget.charge()
    if depth > MAX_VALUE_DEPTH:
        raise NoValue(f"compares values that nest more than {MAX_VALUE_DEPTH} levels deep")
    if isinstance(left, str) and isinstance(right, str):
        budget.charge(min(len(left), len(right)) // CHARS_PER_STEP)
        return left == right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return len(left) == len(right) and all(
            key in right and is_equal(value, right[key], budget, depth + 1)
            for key, value in left.items()
        )
    if _is_list(left) and _is_list(right):
        return len(left) == len(right) and all(
            is_equal(one, other, budget, depth + 1) for one, other in zip(left, right, strict=True)
        )
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _order(left: Any, right: Any, budget: StepBudget) -> int:
    """Less than, equal to or more than zero, as left is to right; 2 where a number is none."""
    if isinstance(left, str | bytes) and type(left) is type(right):
        budget.charge(min(len(left), len(right)) // CHARS_PER_STEP)
    elif not (_is_number(left) and _is_number(right)) and not (
        isinstance(left, bool | datetime | timedelta) and type(left) is type(right)
    ):
        raise NoValue(_MIXED)
    if left == right:
        return 0
    return -1 if left < right else 1 if left > right else 2


_COMPARED: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order == -1,
    "<=": lambda order: order in (-1, 0),
    ">": lambda order: order == 1,
    ">=": lambda order: order in (0, 1),
}


def _computed(operator: str, left: Any, right: Any, budget: StepBudget) -> Any:
    if _is_number(left) and type(left) is type(right):
        return _arithmetic(operator, left, right)
    if operator == "+" and isinstance(left, str | bytes) and type(left) is type(right):
        budget.charge((len(left) + len(right)) // CHARS_PER_STEP)
        return left[:0].join((left, right))  # type: ignore[arg-type]
    if operator == "+" and _is_list(left) and _is_list(right):
        budget.charge(len(left) + len(right))
        return [*left, *right]
    if operator in "+-" and isinstance(right, timedelta | datetime):
        return _moved(operator, left, right)
    raise NoValue(_MIXED)


def _moved(operator: str, left: Any, right: Any) -> Any:
    later = operator == "+"
    try:
        if isinstance(left, datetime | timedelta) and isinstance(right, timedelta):
            return left + right if later else left - right
        if isinstance(left, timedelta) and later:
            return right + left
        if isinstance(left, datetime) and isinstance(right, datetime) and not later:
            return left - right
    except OverflowError:
        raise NoValue("has no value: there is no such moment or duration") from None
    raise NoValue(_MIXED)


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return _float_arithmetic(operator, left, right)
    left, right = _bounded(left), _bounded(right)
    if operator in "/%" and right == 0:
        what = "division" if operator == "/" else "modulo"
        raise NoValue(f"has no value: {what} by zero in CEL expression")
    if operator in "/%":
        # Towards zero, and the remainder has the sign of what is divided.
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        result = whole if operator == "/" else left - right * whole
    else:
        result = left + right if operator == "+" else left - right
        result = left * right if operator == "*" else result
    return _bounded(Uint(result) if isinstance(left, Uint) else result)


def _float_arithmetic(operator: str, left: float, right: float) -> float:
    if operator == "%":
        raise NoValue(_MIXED)
    if operator == "/" and right == 0:
        return left * float("inf") if left and left == left else float("nan")  # noqa: PLR0124
    if operator == "/":
        return left / right
    if operator == "*":
        return left * right
    return left + right if operator == "+" else left - right


def _bounded(number: Any) -> Any:
    """The number, where it is one of 64 bits."""
    if isinstance(number, float):
        return number
    least, most = (0, _LARGEST_UINT) if isinstance(number, Uint) else (_SMALLEST, _LARGEST)
    if not least <= number <= most:
        raise NoValue("has no value: the number is too large")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


# CEL's own functions and methods. Each charges for what takes longer than a step, and raises
# `TypeError` for values that it doesn't take.

_TYPE_NAMES = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map"})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+|inf|infinity|nan)", re.IGNORECASE
)
_UNITS_US = {"h": 3.6e9, "m": 6e7, "s": 1e6, "ms": 1e3, "us": 1.0, "µs": 1.0, "ns": 1e-3}
_DURATION = re.compile(r"(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(h|ms|us|µs|ns|m|s)")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def _wanted(value: Any, *types: type) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError


def _size(budget: StepBudget, value: Any) -> int:
    budget.charge()
    if not isinstance(value, Mapping):
        _wanted(value, str, bytes, list, tuple)
    return len(value)


def _find(budget: StepBudget, text: Any, part: Any) -> bool:
    _wanted(text, str)
    _wanted(part, str)
    # Searching for a short text may compare all of it at each place; for a longer one it is linear.
    budget.charge_text(len(text) * min(1 + len(part) // 8, 16))
    return part in text


def _starts(budget: StepBudget, text: Any, part: Any) -> bool:
    _wanted(text, str)
    _wanted(part, str)
    budget.charge_text(len(part))
    return bool(text.startswith(part))


def _ends(budget: StepBudget, text: Any, part: Any) -> bool:
    _wanted(text, str)
    _wanted(part, str)
    budget.charge_text(len(part))
    return bool(text.endswith(part))


def _matches(budget: StepBudget, text: Any, pattern: str) -> bool:
    _wanted(text, str)
    ready = _pattern(pattern)
    # Where RE2's automaton is too large, a search takes the program times the text.
    budget.charge(1 + len(text) * (1 + ready.programsize // _INSTRUCTIONS_PER_STEP))
    return ready.search(text) is not None


_INSTRUCTIONS_PER_STEP = 256
"""Of a pattern's program that a character is matched with, which takes at most 4 ns for each."""


@lru_cache(maxsize=256)
def _pattern(source: str) -> Any:
    try:
        return compile_foreign(source)
    except re2.error:
        raise NoValue(f"has no value: it matches {source[:40]!r}, which isn't taken") from None


def _to_int(budget: StepBudget, value: Any) -> int:
    _wanted(value, int, float, str)
    if isinstance(value, str):
        _check_number(budget, value, _INTEGER)
    result = int(value)
    return int(_bounded(int(result)))


def _to_uint(budget: StepBudget, value: Any) -> Uint:
    _wanted(value, int, float, str)
    if isinstance(value, str):
        _check_number(budget, value, _INTEGER)
    return Uint(_bounded(Uint(int(value))))


def _to_double(budget: StepBudget, value: Any) -> float:
    _wanted(value, int, float, str)
    if isinstance(value, str):
        _check_number(budget, value, _FLOAT)
    return float(value)


def _check_number(budget: StepBudget, text: str, form: re.Pattern[str]) -> None:
    budget.charge_text(len(text))
    if len(text) > MAX_NUMBER_CHARS or not form.fullmatch(text):
        raise ValueError(f"{text[:40]!r}, which is no number")


def _to_string(budget: StepBudget, value: Any) -> str:
    _wanted(value, int, float, str, bytes, datetime, timedelta)
    if isinstance(value, str | bytes):
        budget.charge_text(len(value))
        return value if isinstance(value, str) else value.decode()
    if isinstance(value, float):
        return _written(value)
    if isinstance(value, timedelta):
        return _duration_text(value)
    return value.isoformat() if isinstance(value, datetime) else str(_bounded(value))


def _written(number: float) -> str:
    if not isfinite(number):
        return str(number).replace("nan", "NaN")
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _duration_text(duration: timedelta) -> str:
    microseconds = abs(duration // timedelta(microseconds=1))
    sign, seconds = ("-" if duration < timedelta() else ""), microseconds // 1_000_000
    fraction = f"{microseconds % 1_000_000:06}".rstrip("0")
    hours, minutes = seconds // 3600, seconds // 60 % 60
    written = f"{hours}h" if hours else ""
    written += f"{minutes}m" if minutes or hours else ""
    return f"{sign}{written}{seconds % 60}{'.' if fraction else ''}{fraction}s"


def _to_bytes(budget: StepBudget, value: Any) -> bytes:
    _wanted(value, str, bytes)
    budget.charge_text(len(value))
    return value.encode() if isinstance(value, str) else bytes(value)


def _to_moment(budget: StepBudget, value: Any) -> datetime:
    budget.charge()
    _wanted(value, str, datetime)
    if isinstance(value, datetime):
        return value
    found = _MOMENT.fullmatch(value) if len(value) <= MAX_NUMBER_CHARS else None
    if found is None:
        raise ValueError(f"{value[:40]!r}, which is no moment such as 2026-11-18T09:00:00+08:00")
    day, time, fraction, zone = found.groups()
    return datetime.fromisoformat(f"{day}T{time}{(fraction or '.0')[:7]:0<7}{zone.upper()}")


def _to_duration(budget: StepBudget, value: Any) -> timedelta:
    budget.charge()
    _wanted(value, str, timedelta)
    if isinstance(value, timedelta):
        return value
    written = value.lstrip("+-")
    parts = _DURATION.findall(written) if len(value) <= MAX_NUMBER_CHARS else []
    if written != "0" and (not parts or "".join(map("".join, parts)) != written):
        raise ValueError(f"{value[:40]!r}, which is no duration such as 1h30m")
    total = sum(float(number) * _UNITS_US[unit] for number, unit in parts)
    return timedelta(microseconds=-total if value.startswith("-") else total)


def _type_of(budget: StepBudget, value: Any) -> str:
    budget.charge()
    if value is None:
        return "null_type"
    if isinstance(value, Mapping):
        return "map"
    names = {bool: "bool", Uint: "uint", int: "int", float: "double", str: "string", bytes: "bytes"}
    moments = {datetime: "google.protobuf.Timestamp", timedelta: "google.protobuf.Duration"}
    return (names | moments).get(type(value), "list")


def _moment_part(read: Callable[[datetime], int], budget: StepBudget, value: Any) -> int:
    budget.charge()
    _wanted(value, datetime)
    return read(value)


def _time_part(
    read: Callable[[datetime], int], unit: timedelta, budget: StepBudget, value: Any
) -> int:
    budget.charge()
    _wanted(value, datetime, timedelta)
    if isinstance(value, datetime):
        return read(value)
    whole: int = abs(value) // unit
    return -whole if value < timedelta() else whole


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "string": _to_string,
    "bytes": _to_bytes,
    "timestamp": _to_moment,
    "duration": _to_duration,
    "type": _type_of,
    "dyn": lambda _, value: value,
}
_METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "contains": _find,
    "startsWith": _starts,
    "endsWith": _ends,
    "matches": _matches,
    "getFullYear": partial(_moment_part, lambda moment: moment.year),
    "getMonth": partial(_moment_part, lambda moment: moment.month - 1),
    "getDate": partial(_moment_part, lambda moment: moment.day),
    "getDayOfMonth": partial(_moment_part, lambda moment: moment.day - 1),
    "getDayOfWeek": partial(_moment_part, lambda moment: moment.isoweekday() % 7),
    "getDayOfYear": partial(_moment_part, lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": partial(_time_part, lambda moment: moment.hour, timedelta(hours=1)),
    "getMinutes": partial(_time_part, lambda moment: moment.minute, timedelta(minutes=1)),
    "getSeconds": partial(_time_part, lambda moment: moment.second, timedelta(seconds=1)),
}
