"""What an expression reads and calls, found in its tokens.

The CEL library names the variables and functions of a compiled program but not the slots
behind `slots.`, nor how many arguments a call has; both can be read off the tokens of an
expression that is known to compile.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

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


class Token(NamedTuple):
    """One word of an expression; `kind` is string, number, name or mark."""

    kind: str
    text: str


class MemberRead(NamedTuple):
    """One place that reads a variable; `member` is None where it is read whole."""

    member: str | None
    guarded: bool


class Called(NamedTuple):
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

    Kept for the next time: a step asks it of every check, and a flow has the same ones for ever.

    >>> list(member_reads("has(slots.end) && slots['start'] > 'slots.x'", "slots"))
    [MemberRead(member='end', guarded=True), MemberRead(member='start', guarded=False)]
    """
    return tuple(_member_reads(source, variable))


def _member_reads(source: str, variable: str) -> Iterator[MemberRead]:
    tokens = tokens_of(source)
    for place, token in enumerate(tokens):
        if token == ("name", variable) and _at(tokens, place - 1).text != ".":
            guarded = [t.text for t in tokens[max(0, place - 2) : place]] == ["has", "("]
            yield MemberRead(_member(tokens, place + 1), guarded)


@lru_cache(maxsize=4096)
def members_read(source: str, variable: str) -> frozenset[str]:
    """The names `x` of everything that an expression reads as `variable.x`."""
    return frozenset(r.member for r in member_reads(source, variable) if r.member)


@lru_cache(maxsize=4096)
def all_read(source: str, variable: str) -> frozenset[str] | None:
    """As `members_read`; None where the variable is read otherwise than by the names of members.

    >>> all_read("size(slots.items) > 1", "slots"), all_read("size(slots) > 1", "slots")
    (frozenset({'items'}), None)
    """
    read = {each.member for each in member_reads(source, variable)}
    return None if None in read else frozenset(name for name in read if name)


def calls(source: str) -> Iterator[Called]:
    """Every call of a function, method or macro, in order.

    >>> list(calls("manager(manager(requester))"))[0]
    Called(name='manager', method=False, arguments=1)
    """
    tokens = tokens_of(source)
    for place, token in enumerate(tokens):
        if token.kind == "name" and _at(tokens, place + 1).text == "(":
            method = _at(tokens, place - 1).text == "."
            yield Called(token.text, method, _count_arguments(tokens, place + 1))


def texts_given(source: str, function: str) -> list[str]:
    """The texts that stand as a function's only argument, in order.

    >>> texts_given("role('hr') + role(slots.team)", "role")
    ['hr']
    """
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
    """True for a string literal that means what it says."""
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
