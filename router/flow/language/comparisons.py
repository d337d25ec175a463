"""The texts that expressions and templates compare a value with, found by their words alone. Pure.

A value is known by its path: `slots.kind` is `("slots", "kind")`, and what a list holds is `*`:
`slots.items.all(i, i.kind == 'meal')` compares `("slots", "items", "*", "kind")` with `meal`.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from router.flow.language.cel_syntax import MACROS
from router.flow.language.expressions import TOKEN
from router.formats.regex import compiled
from router.formats.yaml_document import Place

MemberPath = tuple[str, ...]
EACH = "*"
"""What a list holds, in a path."""
_WORDS = frozenset({"and", "else", "for", "if", "in", "is", "not", "or", "set", "with"})
"""Those of expressions and texts that name nothing."""
_FILLED_IN = compiled(r"(?s)\{\{.*?\}\}|\{%.*?%\}")


class ComparedText(NamedTuple):
    """A text with which a value is compared, and where it stands, without its quotes."""

    path: MemberPath
    """Empty where it isn't known to be compared with anything."""
    text: str
    start: int
    end: int


def in_expression(source: str, known: Mapping[str, MemberPath]) -> list[ComparedText]:
    """Every text that is compared with a member of something; `known` are paths of variables.

    >>> [each.text for each in in_expression("slots.kind in ['a', 'b'] && slots.x != 'c'", {})]
    ['a', 'b', 'c']
    """
    return [*_Fragment(source, 0, {**known}).compared()]


def in_template(text: str) -> list[ComparedText]:
    """The same, in what is filled into a text."""
    bound: dict[str, MemberPath] = {}
    return [
        each
        for found in _FILLED_IN.finditer(text)
        for each in _Fragment(found[0][2:-2], found.start() + 2, bound).compared()
    ]


def texts_in_expression(source: str) -> list[ComparedText]:
    """Every text that stands in an expression, whatever it is there for."""
    return [*_texts(source, 0)]


def texts_in_template(text: str) -> list[ComparedText]:
    """The same, in what is filled into a text."""
    return [
        each
        for found in _FILLED_IN.finditer(text)
        for each in _texts(found[0][2:-2], found.start() + 2)
    ]


def handed_on(source: str, known: Mapping[str, MemberPath]) -> list[MemberPath]:
    """Every value that an expression reads as it is: neither compared nor asked whether it's there.

    >>> handed_on("has(slots.kind) && slots.kind == 'a' ? slots.kind : slots.other", {})
    [('slots', 'kind'), ('slots', 'other')]
    """
    return [*_Fragment(source, 0, {**known}).handed_on()]


def outcomes(source: str, path: MemberPath) -> list[ComparedText]:
    """The texts that an expression itself may give: whole, or a way of `… ? … : …`."""
    tokens = [found for found in TOKEN.finditer(source) if found.lastgroup != "skip"]
    words = ["", *(found[0] for found in tokens), ""]
    return [
        each._replace(path=path)
        for number, found in enumerate(tokens, start=1)
        if words[number - 1] in {"", "?", ":"} and words[number + 1] in {"", ":", ")"}
        for each in _texts(found[0], found.start())
    ]


def replaced(source: str, compared: Sequence[ComparedText], text: str) -> str:
    """The source with another text in all these places."""
    for each in sorted(compared, key=lambda one: -one.start):
        source = source[: each.start] + text + source[each.end :]
    return source


def path_of(place: Place) -> MemberPath:
    """The path of the value that a slot, at its place in the file, holds.

    >>> path_of(("slots", "items", "of", "fields", "kind"))
    ('slots', 'items', '*', 'kind')
    """
    within = iter(place[2:])
    steps = (EACH if part == "of" else str(next(within)) for part in within)
    return (*map(str, place[:2]), *steps)


def item_path(place: Place, each: str | None = None) -> Mapping[str, MemberPath]:
    """What `item` is in an expression at a place; `each` is what its state goes through."""
    if each is not None:
        tokens = _Fragment(each, 0, {})
        return {"item": (*tokens.whole, EACH)} if tokens.whole else {}
    fields = [number for number, part in enumerate(place) if part == "fields"]
    return {"item": path_of(place[: fields[-1]])} if fields and place[0] == "slots" else {}


class _Fragment:
    """The tokens of an expression, or of one that is filled into a text; `bound` are its names."""

    def __init__(self, source: str, offset: int, bound: dict[str, MemberPath]) -> None:
        self._tokens = [t for t in TOKEN.finditer(source) if t.lastgroup != "skip"]
        self._offset, self._bound = offset, bound

    @property
    def whole(self) -> MemberPath:
        """The path of what it reads, where it is nothing else."""
        path, after = self._chain(0)
        return path if after == len(self._tokens) else ()

    def compared(self) -> Iterator[ComparedText]:
        for path, at, after in self._read():
            for place, within in [*self._behind(after), *self._before(at)]:
                yield from self._text(place, (*path, *within))

    def handed_on(self) -> Iterator[MemberPath]:
        for path, at, after in self._read():
            is_guard = (self._word(at - 2), self._word(at - 1)) == ("has", "(")
            is_list = self._word(after) == "." and self._word(after + 1) in MACROS
            compared = [*self._behind(after), *self._before(at)]
            if not is_guard and not is_list and not compared and self._word(after) != "(":
                yield path

    def _read(self) -> Iterator[tuple[MemberPath, int, int]]:
        """The path of every value that is read, and between which tokens it is."""
        at = 0
        while at < len(self._tokens):
            token = self._tokens[at]
            is_word = token[0] in _WORDS or self._word(at - 1) == "."
            if token.lastgroup != "name" or is_word:
                at += 1
            elif self._is_set(at):
                self._set(at)
                at += 2
            else:
                path, after = self._chain(at)
                self._bind(at, path, after)
                yield self._whole(path), at, after
                at = after

    def _whole(self, path: MemberPath) -> MemberPath:
        return (*self._bound.get(path[0], path[:1]), *path[1:])

    def _is_set(self, at: int) -> bool:
        """Whether a text gives the name there to a value."""
        first = next((word for token in self._tokens if (word := token[0]) != "-"), "")
        begins = self._word(at - 1) == first and first in {"set", "with"}
        goes_on = first == "with" and self._word(at - 1) == ","
        is_given = self._word(at + 1) == "=" != self._word(at + 2)
        return is_given and (begins or goes_on)

    def _set(self, at: int) -> None:
        """Remember what the name stands for, where that is a value as it is."""
        name = self._word(at)
        path, after = self._chain(at + 2)
        self._bound.pop(name, None)
        if self._word(after) in {"", ",", "-"} and path[0].isidentifier():
            self._bound[name] = self._whole(path)

    def _chain(self, at: int) -> tuple[MemberPath, int]:
        """The members that are read from there, and what comes behind them."""
        path: MemberPath = (self._word(at),)
        at += 1
        while True:
            inner = self._word(at + 1)
            if self._word(at) == "." and inner.isidentifier() and self._word(at + 2) != "(":
                path, at = (*path, inner), at + 2
            elif self._word(at) == "[" and self._word(at + 2) == "]" and inner:
                literal = next((each.text for each in _texts(inner, 0)), EACH)
                path, at = (*path, literal), at + 3
            else:
                return path, at

    def _bind(self, at: int, path: MemberPath, after: int) -> None:
        """Remember what the name of a macro, or of a loop, stands for."""
        whole = (*self._whole(path), EACH)
        if self._word(after) == "." and self._word(after + 1) in MACROS:
            self._bound[self._word(after + 3)] = whole
        elif self._word(at - 1) == "in" and self._word(at - 3) == "for":
            self._bound[self._word(at - 2)] = whole

    def _behind(self, at: int) -> Iterator[tuple[int, MemberPath]]:
        """Where texts stand with which what ends there is compared."""
        if self._word(at) + self._word(at + 1) in {"==", "!="}:
            yield at + 2, ()
        at += self._word(at) == "not"
        if self._word(at) == "in" and self._word(at + 1) in {"[", "("}:
            at += 2
            while at < len(self._tokens) and self._word(at) not in {"]", ")"}:
                yield at, ()
                at += 1

    def _before(self, at: int) -> Iterator[tuple[int, MemberPath]]:
        if self._word(at - 2) + self._word(at - 1) in {"==", "!="}:
            yield at - 3, ()
        if self._word(at - 1) == "in":
            yield at - 2 - (self._word(at - 2) == "not"), (EACH,)

    def _text(self, at: int, path: MemberPath) -> Iterator[ComparedText]:
        word = self._word(at)
        for each in _texts(word, self._tokens[at].start() + self._offset if word else 0):
            yield each._replace(path=path)

    def _word(self, at: int) -> str:
        return self._tokens[at][0] if 0 <= at < len(self._tokens) else ""


_QUOTED = re.compile(r"""(?s)([rR]?)(\"{3}|'{3}|"|')(.*)\2\Z""")
_ESCAPED = re.compile(
    r"(?s)\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)
_MEANT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _texts(source: str, offset: int) -> Iterator[ComparedText]:
    """The texts in quotes, with what is escaped in them read."""
    for token in TOKEN.finditer(source):
        found = _QUOTED.match(token[0]) if token.lastgroup == "string" else None
        if found is not None:
            start, end = (token.start() + offset + at for at in found.span(3))
            text = found[3] if found[1] else _ESCAPED.sub(_unescaped, found[3])
            yield ComparedText((), text, start, end)


def _unescaped(found: re.Match[str]) -> str:
    code, octal, sign = found[1] or found[2] or found[3], found[4], found[5]
    if sign is not None:
        return _MEANT.get(sign, sign)
    number = int(code, 16) if code else int(octal, 8)
    return chr(number) if number <= sys.maxunicode else found[0]
