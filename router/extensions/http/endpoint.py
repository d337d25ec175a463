"""An endpoint as a file declares it, and the request that a call makes of it. Pure.

The place that a request goes to is text, or the operator's by a variable; only what follows may
have holes, so no argument leads a request elsewhere. Each value is escaped for where it stands.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, unquote_plus, urlencode

from pydantic import JsonValue

from router.domain.errors import (
    ArgumentsToolError,
    Fault,
    FaultyValue,
    PermanentToolError,
    ToolError,
)
from router.domain.locale import Localised
from router.extensions.http.template import (
    Hole,
    Template,
    TemplatePiece,
    Unusable,
    Variable,
    Variables,
    holes,
    joined,
    parse,
    split,
)
from router.formats.origin import Origin, origin_of
from router.outbound.client import OutgoingRequest
from router.tool.context import ToolContext
from router.tool.context_values import CONTEXT_VALUES

BodyTemplate = (
    Template | list["BodyTemplate"] | dict[str, "BodyTemplate"] | int | float | bool | None
)
"""JSON whose texts are templates."""

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_DROPPED = object()
_IN_HEADERS = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}"
"""What stays as it is in a header, with letters, digits and `-._~`; `%` doesn't."""


@dataclass(frozen=True)
class Field:
    """A value of the query, or a header."""

    name: str
    value: Template
    joined: bool = False
    """True where a list is one text with commas, not the name repeated."""


@dataclass(frozen=True)
class Endpoint:
    """Where a tool is, and how its arguments get there."""

    method: str
    origin: Origin
    path: Template
    """Begins with a slash; its own text is percent-encoded already."""
    query: tuple[Field, ...] = ()
    headers: tuple[Field, ...] = ()
    body: BodyTemplate = None
    body_type: str | None = None
    """The media type of the body: JSON or a form; None where there is none."""


FillHole = Callable[[Hole], JsonValue]
"""What stands for a hole; None leaves out whatever the hole stands in."""


def request(
    endpoint: Endpoint, arguments: Mapping[str, JsonValue], context: ToolContext
) -> OutgoingRequest:
    """The request for these arguments.

    Raises `ArgumentsToolError` where one of them fits nowhere, and `PermanentToolError` where
    that is so of what the context knows.
    """

    def value(hole: Hole) -> JsonValue:
        of_context = hole.source == "context"
        return CONTEXT_VALUES[hole.name](context) if of_context else arguments.get(hole.name)

    headers = {f.name: _header(f, value) for f in endpoint.headers if _is_set(f.value, value)}
    content = _content(endpoint, value)
    if content is not None and endpoint.body_type:
        headers = {"Content-Type": endpoint.body_type, **headers}
    given = [each for each in endpoint.query if _is_set(each.value, value)]
    pairs = [(each.name, text) for each in given for text in _texts(each, value)]
    path = "".join(p if isinstance(p, str) else _segment(p, value(p)) for p in endpoint.path)
    target = path + (f"?{urlencode(pairs, quote_via=quote)}" if pairs else "")
    return OutgoingRequest(endpoint.method, endpoint.origin, target, headers, content)


def filled(
    body: BodyTemplate, arguments: Mapping[str, JsonValue], context: ToolContext
) -> JsonValue:
    """JSON with its values, typed where a hole is a whole text; raises as `request`."""

    def value(hole: Hole) -> JsonValue:
        of_context = hole.source == "context"
        return CONTEXT_VALUES[hole.name](context) if of_context else arguments.get(hole.name)

    found = _filled(body, value)
    return None if found is _DROPPED else found  # type: ignore[return-value]


def _is_set(template: Template, value: FillHole) -> bool:
    return all(value(hole) is not None for hole in holes(template))


def _segment(hole: Hole, found: JsonValue) -> str:
    """A value within one segment of the path.

    Slashes are encoded, which every server takes for part of the segment but those that decode
    before they route; what would lead those elsewhere is refused.
    """
    if found is None:
        zh, en = "没有值，而地址里要用它", "has no value, and stands in the address"
        raise _misfit((hole,), Localised(zh=f"{hole} {zh}", en=f"{hole} {en}"))
    text = _text(hole, found)
    steps = text.replace("\\", "/").split("/")
    if not text.strip() or {".", ".."} & {step.strip() for step in steps}:
        zh = f"{hole}：{text[:40]!r} 不能放在地址里"
        en = f"{hole}: {text[:40]!r} can't stand in an address"
        raise _misfit((hole,), Localised(zh=zh, en=en))
    return quote(text, safe="")


def _texts(each: Field, value: FillHole) -> list[str]:
    """The values that a name gets: several for a list, or one with commas."""
    if len(each.value) == 1 and isinstance(hole := each.value[0], Hole):
        found = value(hole)
        if isinstance(found, list):
            texts = [_text(hole, item) for item in found]
            return [",".join(texts)] if each.joined and texts else texts
    return [_joined_text(each.value, value)]


def _joined_text(template: Template, value: FillHole) -> str:
    return "".join(p if isinstance(p, str) else _text(p, value(p)) for p in template)


def _header(each: Field, value: FillHole) -> str:
    """A header's value. What the context knows, such as a Chinese name, is percent-encoded."""

    def escaped(hole: Hole) -> JsonValue:
        found = value(hole)
        return found if hole.source == "argument" else _percent_encoded(found)

    text = ",".join(_texts(each, escaped)).strip()
    if not text.isascii() or not text.isprintable():
        zh = f"{each.name}：{text[:40]!r} 不能放在请求头里，那里只能是一行 ASCII"
        en = f"{each.name}: {text[:40]!r} can't stand in a header, which takes ASCII on one line"
        raise _misfit(each.value, Localised(zh=zh, en=en))
    return text


def _percent_encoded(found: JsonValue) -> JsonValue:
    """UTF-8, percent-encoded but for printable ASCII: whoever decodes it has the very value."""
    if isinstance(found, list):
        return [_percent_encoded(item) for item in found]
    return quote(found, safe=_IN_HEADERS) if isinstance(found, str) else found


def _misfit(template: Template, said: Localised) -> ToolError:
    """The error for what fits nowhere: no other arguments mend it where none is in it."""
    by_arguments = any(hole.source == "argument" for hole in holes(template))
    return ArgumentsToolError(said) if by_arguments else PermanentToolError(said)


def _text(hole: Hole, found: JsonValue) -> str:
    if isinstance(found, list | dict):
        kind = type(found).__name__
        zh = f"{hole} 是 {kind}，这里只放得下一个值"
        en = f"{hole} is a {kind}, where only one value fits"
        raise _misfit((hole,), Localised(zh=zh, en=en))
    return found if isinstance(found, str) else json.dumps(found)


def _content(endpoint: Endpoint, value: FillHole) -> bytes | None:
    body = _DROPPED if endpoint.body_type is None else _filled(endpoint.body, value)
    if body is _DROPPED:
        return None
    if endpoint.body_type != FORM:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    pairs = [
        (name, one if isinstance(one, str) else json.dumps(one))
        for name, given in (body.items() if isinstance(body, dict) else ())
        for one in (given if isinstance(given, list) else [given])
    ]
    return urlencode(pairs).encode()


def _filled(body: BodyTemplate, value: FillHole) -> object:
    """The body with its values, typed where a hole is a whole text; `_DROPPED` where unset."""
    if isinstance(body, tuple):
        if not _is_set(body, value):
            return _DROPPED
        if len(body) == 1 and isinstance(hole := body[0], Hole):
            return value(hole)
        return _joined_text(body, value)
    if isinstance(body, dict):
        found = {name: _filled(inner, value) for name, inner in body.items()}
        return {name: inner for name, inner in found.items() if inner is not _DROPPED}
    if isinstance(body, list):
        return [inner for each in body if (inner := _filled(each, value)) is not _DROPPED]
    return body


_BEGINNING = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/?#\\]*)(.*)", re.DOTALL)
PATH_SAFE = "/:@!$&'()*+,;=~-._%"
"""What a path has as it is. A percent sign too: a file writes its paths encoded."""


@dataclass(frozen=True)
class EndpointAddress:
    """An origin, a path and what the query says already."""

    origin: Origin
    path: Template
    query: tuple[Field, ...] = field(default=())


def read_address(text: str, environment: Variables) -> EndpointAddress:
    """The address; raises `Unusable` with everything wrong, or `Absent`."""
    beginning, rest = _parted(parse(text), environment)
    faults: list[Fault] = []
    origin = None
    try:
        origin = origin_of(beginning)
    except FaultyValue as error:
        what, remedy = error.fault
        faults.append(Fault(f"the address can't be used: {what}", remedy))
    path, *queries = split(rest, "?")
    steps = [unquote(s[0]) for s in split(path, "/") if len(s) == 1 and isinstance(s[0], str)]
    if {".", ".."} & set(steps):
        faults.append(Fault("the path has a step . or ..", "write the path that is meant"))
    if len(queries) > 1 or any(len(split(part, "#")) > 1 for part in (path, *queries)):
        what = "the address has a # or a second ?"
        faults.append(Fault(what, "write %23 or %3F where one is text"))
    fields = [_field(part) for part in split(queries[0], "&")] if queries else []
    faults += [each for each in fields if isinstance(each, Fault)]
    if faults or origin is None:
        raise Unusable(faults)
    query = tuple(each for each in fields if isinstance(each, Field) and each.name)
    encoded = tuple(quote(p, safe=PATH_SAFE) if isinstance(p, str) else p for p in path)
    return EndpointAddress(origin, encoded or ("/",), query)


def _parted(pieces: Iterable[TemplatePiece], environment: Variables) -> tuple[str, Template]:
    """What stands before the path, where a variable is text, and the rest, where it is data."""
    beginning = ""
    rest: list[str | Hole] = []
    for piece in pieces:
        known = environment.value(piece) if isinstance(piece, Variable) else piece
        found = _BEGINNING.fullmatch(beginning)
        if found and found[2]:
            rest.append(quote(str(known), safe="") if isinstance(piece, Variable) else known)
        elif isinstance(known, Hole):
            what = f"{known} stands where the host is"
            remedy = "write scheme, host and port out, or name them by {env.ROUTER_TOOL_…}"
            raise Unusable([Fault(what, remedy)])
        else:
            beginning += known
    found = _BEGINNING.fullmatch(beginning)
    if not found:
        return beginning, ()
    path = found[2]
    if path.endswith("/") and rest and isinstance(rest[0], str) and rest[0].startswith("/"):
        path = path[:-1]  # the variable ends with a slash, and what follows begins with one
    return found[1], joined((path, *rest))


def _field(part: Template) -> Field | Fault:
    """One `name=value` of a query."""
    name, *values = split(part, "=")
    if holes(name):
        return Fault("the name of a query parameter has a hole", "write the name out")
    value: list[str | Hole] = []
    for number, piece in enumerate(values):
        value += (["="] if number else []) + list(piece)
    decoded = (unquote_plus(p) if isinstance(p, str) else p for p in value)
    return Field(unquote_plus(str(name[0])) if name else "", joined(tuple(decoded)))
