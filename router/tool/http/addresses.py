"""The address of an endpoint as a file writes it, in parts.

The place that a request goes to is text, or the operator's by a variable; only what follows
may have holes. So no argument leads a request elsewhere, however it is written.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, unquote_plus

from router.documents.faults import Fault
from router.tool.http.endpoint import Field
from router.tool.http.origins import Origin, origin_of
from router.tool.http.template import (
    Environment,
    Hole,
    Piece,
    Template,
    Unusable,
    Variable,
    joined,
    parse,
    split,
)

_BEGINNING = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/?#\\]*)(.*)", re.DOTALL)
PATH_SAFE = "/:@!$&'()*+,;=~-._%"
"""What a path has as it is. A percent sign too: a file writes its paths encoded."""


@dataclass(frozen=True)
class Address:
    """An origin, a path and what the query says already."""

    origin: Origin
    path: Template
    query: tuple[Field, ...] = field(default=())


def read_address(text: str, environment: Environment) -> Address:
    """The address; raises `Unusable` with everything wrong, or `Absent`."""
    beginning, rest = _parted(parse(text), environment)
    faults: list[Fault] = []
    origin = None
    try:
        origin = origin_of(beginning)
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        faults.append(Fault(f"the address can't be used: {what}", remedy))
    path, *queries = split(rest, "?")
    faults += _path_faults(path)
    if len(queries) > 1 or any(len(split(part, "#")) > 1 for part in (path, *queries)):
        what = "the address has a # or a second ?"
        faults.append(Fault(what, "write %23 or %3F where one is text"))
    fields = [_field(part) for part in split(queries[0], "&")] if queries else []
    faults += [each for each in fields if isinstance(each, Fault)]
    if faults or origin is None:
        raise Unusable(faults)
    query = tuple(each for each in fields if isinstance(each, Field) and each.name)
    return Address(origin, _encoded(path) or ("/",), query)


def _parted(pieces: Iterable[Piece], environment: Environment) -> tuple[str, Template]:
    """What stands before the path, and the rest.

    A variable is text in the one, such as a server's address, and data in the other.
    """
    beginning = ""
    rest: list[str | Hole] = []
    for piece in pieces:
        found = _BEGINNING.fullmatch(beginning)
        if found and found[2]:
            rest.append(_as_data(piece, environment))
        elif isinstance(piece, Hole):
            what = f"{piece} stands where the host is"
            remedy = "write scheme, host and port out, or name them by {env.ROUTER_TOOL_…}"
            raise Unusable([Fault(what, remedy)])
        else:
            beginning += environment.value(piece) if isinstance(piece, Variable) else piece
    found = _BEGINNING.fullmatch(beginning)
    if not found:
        return beginning, ()
    path = found[2]
    if path.endswith("/") and rest and isinstance(rest[0], str) and rest[0].startswith("/"):
        path = path[:-1]  # the variable ends with a slash, and what follows begins with one
    return found[1], joined((path, *rest))


def _as_data(piece: Piece, environment: Environment) -> str | Hole:
    if isinstance(piece, Variable):
        return quote(environment.value(piece), safe="")
    return piece


def _path_faults(path: Template) -> list[Fault]:
    steps = [unquote(s[0]) for s in split(path, "/") if len(s) == 1 and isinstance(s[0], str)]
    if {".", ".."} & set(steps):
        return [Fault("the path has a step . or ..", "write the path that is meant")]
    return []


def _encoded(path: Template) -> Template:
    return tuple(quote(p, safe=PATH_SAFE) if isinstance(p, str) else p for p in path)


def _field(part: Template) -> Field | Fault:
    """One `name=value` of a query."""
    name, *values = split(part, "=")
    if any(isinstance(piece, Hole) for piece in name):
        return Fault("the name of a query parameter has a hole", "write the name out")
    value: list[str | Hole] = []
    for number, piece in enumerate(values):
        value += (["="] if number else []) + list(piece)
    decoded = (unquote_plus(p) if isinstance(p, str) else p for p in value)
    return Field(unquote_plus(str(name[0])) if name else "", joined(tuple(decoded)))
