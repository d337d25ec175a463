"""Conditions of process engines, in JUEL or FEEL, as the expressions of a flow.

Only what surely means the same is translated: comparisons of fields with values, joined by and, or
and not. Of anything else nothing is made up.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from router.extensions.importers.beginning import slot_name
from router.formats.regex import compiled

_TOKEN = re.compile(
    r"""\s*(?: (?P<string> "[^"\\]*" | '[^'\\]*' )
             | (?P<number> \d+(?:\.\d+)? )
             | (?P<name>   [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)* )
             | (?P<mark>   == | != | >= | <= | && | \|\| | [<>=!()] ) )""",
    re.VERBOSE,
)
_EQUALS = compiled(r"""\.equals\(\s*("[^"]*"|'[^']*')\s*\)""")
_WORDS = {"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
_WORDS |= {"lt": "<", "le": "<=", "=": "=="}
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">="})
MOST_CHARACTERS = 500
MOST_DEPTH = 20


class Untranslated(Exception):
    """An expression that isn't surely understood."""


class Comparison(NamedTuple):
    """A field that is compared with a value: what an approval's way out is told by."""

    field: str
    value: bool | str


class _Word(NamedTuple):
    kind: str
    text: str


def bare(expression: str) -> str:
    """The expression without what its language puts around it.

    >>> bare("${ amount > 3 }"), bare("=amount > 3")
    ('amount > 3', 'amount > 3')
    """
    plain = expression.strip()
    if plain[:2] in {"${", "#{"} and plain.endswith("}"):
        plain = plain[2:-1]
    elif plain.startswith("=") and not plain.startswith("=="):
        plain = plain[1:]
    plain = str(_EQUALS.sub(r" == \1", plain))
    return plain.strip()


def compared(expression: str) -> Comparison | None:
    """The one field that the condition is about, and its value; None where it says more.

    >>> compared("${!approved}"), compared('=decision = "reject"')
    (Comparison(field='approved', value=False), Comparison(field='decision', value='reject'))
    """
    try:
        words = _words(expression)
    except Untranslated:
        return None
    said = [(word.kind, word.text) for word in words if word.text not in {"(", ")"}]
    match said:
        case [("name", name)]:
            return Comparison(name, True)
        case [("mark", "!"), ("name", name)]:
            return Comparison(name, False)
        case [("name", name), ("mark", "==" | "!=" as mark), ("name", "true" | "false" as value)]:
            return Comparison(name, (value == "true") == (mark == "=="))
        case [("name", name), ("mark", "=="), ("string", value)]:
            return Comparison(name, value[1:-1])
    return None


def are_opposite(one: str, other: str) -> bool:
    """True where of two conditions surely exactly one holds."""
    first, second = compared(one), compared(other)
    if first is None or second is None or first.field != second.field:
        return False
    both_known = isinstance(first.value, bool) and isinstance(second.value, bool)
    return both_known and first.value != second.value


def translated(expression: str, slots: Mapping[str, Mapping[str, Any]]) -> str:
    """The condition as a flow has it, where every field in it is one of these slots.

    >>> translated("${amount > 1000 && urgent}", {"amount": {"type": "integer"},
    ...     "urgent": {"type": "boolean"}})
    'slots.amount > 1000 && slots.urgent'

    Raises:
        Untranslated: it isn't surely the same in the words of a flow.
    """
    reading = _Reading(_words(expression), slots)
    found = reading.either(0)
    if reading.words:
        raise Untranslated(expression)
    return found


def _words(expression: str) -> list[_Word]:
    plain = bare(expression)
    if not plain or len(plain) > MOST_CHARACTERS:
        raise Untranslated(expression)
    found, at = [], 0
    while at < len(plain):
        match = _TOKEN.match(plain, at)
        if match is None or match.lastgroup is None:
            raise Untranslated(expression)
        text = match[match.lastgroup]
        is_mark = match.lastgroup == "mark" or text in _WORDS
        found.append(_Word("mark" if is_mark else match.lastgroup, _WORDS.get(text, text)))
        at = match.end()
    return found


class _Reading:
    def __init__(self, words: list[_Word], slots: Mapping[str, Mapping[str, Any]]) -> None:
        self.words = words
        self._slots = slots

    def _takes(self, mark: str) -> bool:
        if self.words and self.words[0] == ("mark", mark):
            self.words.pop(0)
            return True
        return False

    def either(self, depth: int) -> str:
        parts = [self._each(depth)]
        while self._takes("||"):
            parts.append(self._each(depth))
        return " || ".join(parts)

    def _each(self, depth: int) -> str:
        parts = [self._one(depth)]
        while self._takes("&&"):
            parts.append(self._one(depth))
        return " && ".join(parts)

    def _one(self, depth: int) -> str:
        if depth > MOST_DEPTH or not self.words:
            raise Untranslated
        if self._takes("!"):
            return f"!{self._one(depth + 1)}"
        if self._takes("("):
            inner = self.either(depth + 1)
            if not self._takes(")"):
                raise Untranslated
            return f"({inner})"
        return self._comparison()

    def _comparison(self) -> str:
        left = self.words.pop(0)
        found = slot_name(left.text) if left.kind == "name" else ""
        slot = self._slots.get(found)
        if slot is None or "." in left.text:
            raise Untranslated
        name, kind = f"slots.{found}", str(slot.get("type"))
        mark = self.words[0].text if self.words and self.words[0].kind == "mark" else ""
        if mark not in _COMPARES:
            if kind != "boolean":
                raise Untranslated
            return name
        self.words.pop(0)
        if not self.words:
            raise Untranslated
        right = self.words.pop(0)
        if mark not in {"==", "!="} and kind not in {"integer", "number"}:
            raise Untranslated
        # Compared with itself as a truth value it would have to stand in brackets after a not.
        return (
            f"({name} {mark} {_value(kind, slot, right)})"
            if kind == "boolean"
            else (f"{name} {mark} {_value(kind, slot, right)}")
        )


def _value(kind: str, slot: Mapping[str, Any], word: _Word) -> str:
    written = word.text
    match kind, word.kind:
        case "boolean", "name" if written in {"true", "false"}:
            return written
        case "integer", "number" if "." not in written:
            return written
        case "number", "number":
            return written if "." in written else f"{written}.0"
        case "text", "string":
            return f"'{written[1:-1]}'" if "'" not in written[1:-1] else written
        case "choice", "string" if written[1:-1] in slot.get("choices", {}):
            return f"'{written[1:-1]}'"
    raise Untranslated
