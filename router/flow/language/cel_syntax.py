"""The syntax of CEL: an expression's source becomes a tree of nodes. Pure.

The parser takes what `cel.compile` takes, except for message literals. Chains of operators and of
members become flat nodes, so that the depth of the tree is the depth of brackets in the source.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol

MAX_NESTING = 40
"""Brackets within one another."""
MAX_PATTERNS = 10
"""Patterns of `matches()` in one expression."""
MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})


class CelWord(Protocol):
    """A token: its kind (string, number, name or mark) and its text."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...


class CelSyntaxError(ValueError):
    """The source is no expression."""


class NotSupported(CelSyntaxError):
    """The source is an expression, and more than is evaluated here."""


class Uint(int):
    """An unsigned integer, which CEL never mixes with signed ones."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written out."""

    value: Any


@dataclass(frozen=True, slots=True)
class CelVariable:
    """The reading of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """`operand.name`, or `has(operand.name)` with `tested`."""

    operand: "Node"
    name: str
    tested: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`."""

    operand: "Node"
    key: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """`name(arguments)`, or `target.name(arguments)`."""

    name: str
    arguments: tuple["Node", ...]
    target: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Macro:
    """`target.name(item, body)`; `kept` is the condition of `map(item, kept, body)`."""

    name: str
    target: "Node"
    item: str
    body: "Node"
    kept: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`, `times` over."""

    operator: str
    times: int
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Chain:
    """`first operator operand operator operand …`, of operators of one precedence."""

    first: "Node"
    rest: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Logical:
    """`operands` joined by `||` or by `&&`."""

    operator: str
    operands: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """`condition ? yes : no`."""

    condition: "Node"
    yes: "Node"
    no: "Node"


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[items]`."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{key: value}`."""

    entries: tuple[tuple["Node", "Node"], ...]


Node = (
    Literal
    | CelVariable
    | Member
    | Index
    | Call
    | Macro
    | Unary
    | Chain
    | Logical
    | Condition
    | ListLiteral
    | MapLiteral
)

_LEVELS = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"<", "<=", ">", ">=", "==", "!=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""The operators between two operands, from those that bind least."""
_CONSTANTS = {"true": True, "false": False, "null": None}
_PAIRS = frozenset({"||", "&&", "<=", ">=", "==", "!="})
_ESCAPE = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\'"`?])|x(?P<x>[0-9a-fA-F]{2})|X(?P<X>[0-9a-fA-F]{2})"""
    r"""|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2})|(?P<unknown>[\s\S]?))"""
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uU]?")
_DOUBLE = re.compile(r"(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)")
_MAX_NUMBER_CHARS = 400


def parse(tokens: Sequence[CelWord]) -> Node:
    """Parse the tokens of a whole expression; raises `CelSyntaxError`."""
    parser = _Parser([*_paired(tokens)])
    node = parser.expression()
    parser.expect_end()
    return node


def patterns_in(tree: Node) -> list[str]:
    """The patterns of all calls of `matches()`, in order, whatever brackets are around them."""
    found, waiting = list[str](), list[Any]([tree])
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting.extend(reversed(each))
        elif is_dataclass(each):
            waiting.extend(getattr(each, field.name) for field in reversed(fields(each)))
        if isinstance(each, Call) and each.target is not None and each.name == "matches":
            found += [one.value for one in each.arguments if isinstance(one, Literal)]
    return found


def _paired(tokens: Sequence[CelWord]) -> list[tuple[str, str]]:
    """The tokens as kind and text, the two marks of an operator as one."""
    found: list[tuple[str, str]] = []
    for token in tokens:
        if found and token.kind == "mark" and found[-1][0] == "mark":
            both = found[-1][1] + token.text
            if both in _PAIRS:
                found[-1] = ("mark", both)
                continue
        found.append((token.kind, token.text))
    return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self._patterns = 0

    def expect_end(self) -> None:
        if self._place < len(self._tokens):
            raise CelSyntaxError(f"{self._text!r} stands where nothing may follow")

    @property
    def _kind(self) -> str:
        return self._tokens[self._place][0] if self._place < len(self._tokens) else ""

    @property
    def _text(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        text = self._text
        self._place += 1
        return text

    def _is(self, text: str) -> bool:
        return self._text == text and self._kind in ("mark", "name")

    def _accept(self, text: str) -> bool:
        found = self._is(text)
        self._place += found
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise CelSyntaxError(f"{text!r} is missing before {self._text or 'the end'!r}")

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise NotSupported(f"it nests more than {MAX_NESTING} levels deep")
        node, branches = self._binary(0), list[tuple[Node, Node]]()
        while self._accept("?"):
            branches.append((node, self.expression()))
            self._expect(":")
            node = self._binary(0)
        self._depth -= 1
        for condition, yes in reversed(branches):
            node = Condition(condition, yes, node)
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        first, rest = self._binary(level + 1), list[tuple[str, Node]]()
        while self._text in _LEVELS[level] and self._kind in ("mark", "name"):
            operator = self._take()
            rest.append((operator, self._binary(level + 1)))
        if not rest:
            return first
        if rest[0][0] in ("||", "&&"):
            return Logical(rest[0][0], (first, *(operand for _, operand in rest)))
        return Chain(first, tuple(rest))

    def _unary(self) -> Node:
        operator, times = self._text, 0
        while operator in ("!", "-") and self._kind == "mark" and self._text == operator:
            self._place += 1
            times += 1
        if operator == "-" and times and self._kind == "number":
            return self._negative(times)
        operand = self._postfix(self._primary())
        return Unary(operator, times, operand) if times else operand

    def _negative(self, times: int) -> Node:
        """A negative number: `-9223372036854775808` is one, and its opposite isn't."""
        literal = Literal(_number(f"-{self._take()}"))
        operand = self._postfix(literal)
        return Unary("-", times - 1, operand) if times > 1 else operand

    def _postfix(self, node: Node) -> Node:
        while True:
            if self._accept("."):
                node = self._member(node)
            elif self._accept("["):
                node = Index(node, self.expression())
                self._expect("]")
            else:
                return node

    def _member(self, operand: Node) -> Node:
        if self._kind != "name":
            raise CelSyntaxError(f"a name is missing after '.', before {self._text!r}")
        name = self._take()
        if not self._accept("("):
            return Member(operand, name)
        if name in MACROS and self._kind == "name" and self._follows(","):
            return self._macro(operand, name)
        arguments = self._listed(")")
        if name == "matches":
            self._check_pattern(arguments)
        return Call(name, arguments, operand)

    def _follows(self, text: str) -> bool:
        after = self._place + 1
        return after < len(self._tokens) and self._tokens[after] == ("mark", text)

    def _macro(self, target: Node, name: str) -> Node:
        item = self._take()
        self._expect(",")
        written = self._listed(")")
        if len(written) == 1:
            return Macro(name, target, item, written[0])
        if name == "map" and len(written) == 2:  # noqa: PLR2004 - map(item, condition, body)
            return Macro(name, target, item, written[1], written[0])
        raise CelSyntaxError(f"{name}() takes the name of an item and an expression")

    def _check_pattern(self, arguments: tuple[Node, ...]) -> None:
        """A pattern is written out: it is compiled once, and what it costs is known on loading."""
        literal = arguments[0] if len(arguments) == 1 else None
        if not isinstance(literal, Literal) or not isinstance(literal.value, str):
            raise NotSupported("matches() takes one pattern, written out as a text")
        self._patterns += 1
        if self._patterns > MAX_PATTERNS:
            raise NotSupported(f"it has more than {MAX_PATTERNS} patterns")

    def _listed(self, closing: str) -> tuple[Node, ...]:
        found = list[Node]()
        while not self._accept(closing):
            found.append(self.expression())
            if not self._is(closing):
                self._expect(",")
        return tuple(found)

    def _primary(self) -> Node:
        kind, text = self._kind, self._take()
        if kind == "string":
            return Literal(string_value(text))
        if kind == "number":
            return Literal(_number(text))
        if kind == "name":
            return self._named(text)
        return self._bracketed(text)

    def _named(self, name: str) -> Node:
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        if not self._accept("("):
            return CelVariable(name)
        arguments = self._listed(")")
        if name != "has":
            return Call(name, arguments)
        if len(arguments) != 1 or not isinstance(arguments[0], Member):
            raise CelSyntaxError("has() takes a member, as in has(slots.end)")
        return Member(arguments[0].operand, arguments[0].name, tested=True)

    def _bracketed(self, opening: str) -> Node:
        if opening == "(":
            node = self.expression()
            self._expect(")")
            return node
        if opening == "[":
            return ListLiteral(self._listed("]"))
        if opening == "{":
            return MapLiteral(self._entries())
        if opening == "." and self._kind == "number":
            return Literal(_number(f"0.{self._take()}"))
        raise CelSyntaxError(f"a value is missing before {opening or 'the end'!r}")

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        found = list[tuple[Node, Node]]()
        while not self._accept("}"):
            key = self.expression()
            self._expect(":")
            found.append((key, self.expression()))
            if not self._is("}"):
                self._expect(",")
        return tuple(found)


def _number(text: str) -> int | float:
    written = text.removeprefix("-")
    if len(written) > _MAX_NUMBER_CHARS:
        raise CelSyntaxError(f"the number {written[:20]}… is too long")
    if _DOUBLE.fullmatch(written):
        return float(text)
    if not _INTEGER.fullmatch(written):
        raise CelSyntaxError(f"{text!r} is no number")
    unsigned = written[-1] in "uU" and text[0] != "-"
    digits = written.rstrip("uU") if unsigned else written
    if digits[-1] in "uU":
        raise CelSyntaxError(f"{text!r} is no number")
    value = int(digits, 16) if digits[:2].lower() == "0x" else int(digits)
    value = -value if text[0] == "-" else value
    if not (value < 2**64 if unsigned else -(2**63) <= value < 2**63):
        raise CelSyntaxError(f"the number {text} is too large")
    return Uint(value) if unsigned else value


def string_value(text: str) -> str | bytes:
    """Read the literal of a text or of bytes, given with its quotes."""
    start = next(place for place, char in enumerate(text) if char in "\"'")
    prefix, quoted = text[:start].lower(), text[start:]
    long = quoted[:3] in ('"""', "'''") and len(quoted) > 5  # noqa: PLR2004 - two quotes of three
    inner = quoted[3:-3] if long else quoted[1:-1]
    if "b" not in prefix:
        return inner if "r" in prefix else _ESCAPE.sub(_character, inner)
    if "r" in prefix:
        return inner.encode()
    return b"".join(_bytes(inner))


def _bytes(inner: str) -> list[bytes]:
    """Read a literal of bytes, in which an escape such as xff is a byte and no character."""
    found, end = list[bytes](), 0
    for escape in _ESCAPE.finditer(inner):
        found.append(inner[end : escape.start()].encode())
        byte = escape["x"] or escape["X"]
        if byte or escape["octal"]:
            found.append(bytes([int(byte, 16) if byte else int(escape["octal"], 8)]))
        else:
            found.append(_character(escape).encode("utf-8", "surrogatepass"))
        end = escape.end()
    return [*found, inner[end:].encode()]


def _character(escape: re.Match[str]) -> str:
    if plain := escape["plain"]:
        return _PLAIN.get(plain, plain)
    if octal := escape["octal"]:
        return chr(int(octal, 8))
    if escape["unknown"] is not None:
        raise CelSyntaxError(f"{escape[0]!r} is no escape; write a backslash as two")
    code = int(escape["x"] or escape["X"] or escape["u"] or escape["U"], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - what Unicode has
        raise CelSyntaxError(f"{escape[0]!r} is no character")
    return chr(code)
