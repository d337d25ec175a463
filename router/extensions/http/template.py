"""Texts with holes: `{city}` for an argument, `{context.user_id}`, `{env.ROUTER_TOOL_KEY}`.

A value is put into a hole once, and never read for holes itself. `{{` and `}}` are braces. What
comes from the context the model never sees.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from router.domain.errors import Fault, nearest
from router.tool.context_values import CONTEXT_VALUES

ENVIRONMENT = "ROUTER_TOOL_"
"""How the variables begin that a file may name; nothing else of the environment can be reached."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"env\.([A-Za-z0-9_]*)(?::-(.*))?")


@dataclass(frozen=True)
class Hole:
    """A place for a value."""

    source: Literal["argument", "context"]
    name: str

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.source == "argument" else f"{{context.{self.name}}}"


Template = tuple[str | Hole, ...]
"""Text and holes in turn; what stood for variables is text already."""


@dataclass(frozen=True)
class Variable:
    """A variable of the environment, before it is looked up."""

    name: str
    default: str | None


TemplatePiece = str | Hole | Variable


class Unusable(ValueError):
    """A text that is no template, with everything wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


class Absent(Exception):
    """A variable that isn't set and has no default: what needs it isn't there."""

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self.variable = variable


def parse(text: str) -> tuple[TemplatePiece, ...]:
    """The pieces of a text; raises `Unusable`."""
    pieces: list[TemplatePiece] = []
    faults: list[Fault] = []
    for found in _PIECE.finditer(text):
        piece = _text(found[0]) if found[1] is None else _hole(found[1])
        (faults if isinstance(piece, Fault) else pieces).append(piece)  # type: ignore[arg-type]
    if faults:
        raise Unusable(faults)
    return tuple(pieces)


def _text(written: str) -> str | Fault:
    if written in "{}":
        return Fault(f"a lone {written}", f"write {written * 2} for a brace that is text")
    return written[0] if written in ("{{", "}}") else written


def _hole(inside: str) -> TemplatePiece | Fault:
    if found := _VARIABLE.fullmatch(inside):
        if found[1].startswith(ENVIRONMENT) and found[1] != ENVIRONMENT:
            return Variable(found[1], found[2])
        remedy = f"name one that begins with {ENVIRONMENT}, so that a file can't reach other"
        return Fault(f"the variable {found[1]!r} isn't for tools", f"{remedy} secrets")
    name = inside.removeprefix("context.")
    if name != inside:
        remedy = nearest(name, CONTEXT_VALUES) or f"there are: {', '.join(CONTEXT_VALUES)}"
        unknown = Fault(f"there is no {inside[:48]}", remedy)
        return Hole("context", name) if name in CONTEXT_VALUES else unknown
    if not _ARGUMENT.fullmatch(inside):
        remedy = "write {parameter}, {context.…} or {env.ROUTER_TOOL_…}"
        return Fault(f"{{{inside[:40]}}} names nothing", remedy)
    return Hole("argument", inside)


class Variables:
    """The variables of tools, and which values were used: those are never shown."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.used: set[str] = set()

    def value(self, variable: Variable) -> str:
        """What the variable stands for; raises `Absent`."""
        value = self._variables.get(variable.name)
        if value:
            self.used.add(value)
            return value
        if variable.default is None:
            raise Absent(variable.name)
        return variable.default

    def template(self, text: str) -> Template:
        """The text as a template; raises `Unusable` or `Absent`."""
        return joined(
            self.value(piece) if isinstance(piece, Variable) else piece for piece in parse(text)
        )


class Assumed(Variables):
    """The same, with something in place of each variable that isn't set: to look at the form."""

    def value(self, variable: Variable) -> str:
        """What the variable stands for, or would."""
        try:
            return super().value(variable)
        except Absent:
            return "unset"


def joined(pieces: Iterator[str | Hole] | Template) -> Template:
    """The pieces, with neighbouring texts made one and empty ones left out."""
    parts: list[str | Hole] = []
    for piece in pieces:
        if isinstance(piece, str) and parts and isinstance(parts[-1], str):
            parts[-1] += piece
        elif piece != "":
            parts.append(piece)
    return tuple(parts)


def split(template: Template, separator: str) -> list[Template]:
    """The template in parts, cut where `separator` stands in its text."""
    parts: list[list[str | Hole]] = [[]]
    for piece in template:
        if isinstance(piece, Hole):
            parts[-1].append(piece)
            continue
        first, *others = piece.split(separator)
        parts[-1].append(first)
        parts += [[other] for other in others]
    return [joined(tuple(part)) for part in parts]


def holes(template: Template) -> list[Hole]:
    """The holes in it."""
    return [piece for piece in template if isinstance(piece, Hole)]
