"""An endpoint as a file declares it, and the request that a call makes of it. Pure.

Each value is escaped for where it stands: it fills a segment of the path, a value of the query
or of a header, a string of the body, and can't become more than that.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from router.domain.errors import ArgumentsToolError, PermanentToolError, ToolError
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.http.origins import Origin
from router.tool.http.surroundings import CONTEXT
from router.tool.http.template import Hole, Template

Body = Template | list["Body"] | dict[str, "Body"] | int | float | bool | None
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
    body: Body = None
    body_type: str | None = None
    """The media type of the body: JSON or a form; None where there is none."""


@dataclass(frozen=True)
class Request:
    """What is sent."""

    method: str
    origin: Origin
    target: str
    """Path and query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


class _Unset(Exception):
    """A hole that there is no value for: what it stands in is left out."""


Values = Callable[[Hole], JsonValue]


def request(
    endpoint: Endpoint, arguments: Mapping[str, JsonValue], context: ToolContext
) -> Request:
    """The request for these arguments.

    Raises `ArgumentsToolError` where one of them fits nowhere, and `PermanentToolError` where
    that is so of what the context knows.
    """

    def value(hole: Hole) -> JsonValue:
        found = arguments.get(hole.name) if hole.source == "argument" else _known(hole, context)
        if found is None:
            raise _Unset(str(hole))
        return found

    headers = {f.name: _header(f, value) for f in endpoint.headers if _is_set(f.value, value)}
    content = _content(endpoint, value)
    if content is not None and endpoint.body_type:
        headers = {"Content-Type": endpoint.body_type, **headers}
    query = urlencode(_query(endpoint, value), quote_via=quote)
    target = _path(endpoint.path, value) + (f"?{query}" if query else "")
    return Request(endpoint.method, endpoint.origin, target, headers, content)


def _known(hole: Hole, context: ToolContext) -> JsonValue:
    return CONTEXT[hole.name](context)


def _is_set(template: Template, value: Values) -> bool:
    try:
        for piece in template:
            if isinstance(piece, Hole):
                value(piece)
    except _Unset:
        return False
    return True


def _path(template: Template, value: Values) -> str:
    return "".join(p if isinstance(p, str) else _segment(p, value) for p in template)


def _segment(hole: Hole, value: Values) -> str:
    """A value within one segment of the path.

    Slashes are encoded, which every server takes for part of the segment but those that decode
    before they route; what would lead those elsewhere is refused.
    """
    try:
        text = _text(hole, value(hole))
    except _Unset:
        raise _misfit(
            (hole,),
            Localised(
                zh=f"{hole} 没有值，而地址里要用它",
                en=f"{hole} has no value, and stands in the address",
            ),
        ) from None
    steps = text.replace("\\", "/").split("/")
    if not text.strip() or {".", ".."} & {step.strip() for step in steps}:
        raise _misfit(
            (hole,),
            Localised(
                zh=f"{hole}：{text[:40]!r} 不能放在地址里",
                en=f"{hole}: {text[:40]!r} can't stand in an address",
            ),
        )
    return quote(text, safe="")


def _query(endpoint: Endpoint, value: Values) -> list[tuple[str, str]]:
    return [
        (each.name, text)
        for each in endpoint.query
        if _is_set(each.value, value)
        for text in _texts(each, value)
    ]


def _texts(each: Field, value: Values) -> list[str]:
    """The values that a name gets: several for a list, or one with commas."""
    if len(each.value) == 1 and isinstance(hole := each.value[0], Hole):
        found = value(hole)
        if isinstance(found, list):
            texts = [_text(hole, item) for item in found]
            return [",".join(texts)] if each.joined and texts else texts
    return ["".join(p if isinstance(p, str) else _text(p, value(p)) for p in each.value)]


def _header(each: Field, value: Values) -> str:
    """A header's value. What the context knows, such as a Chinese name, is percent-encoded."""

    def escaped(hole: Hole) -> JsonValue:
        found = value(hole)
        return found if hole.source == "argument" else _percent_encoded(found)

    text = ",".join(_texts(each, escaped)).strip()
    if not text.isascii() or not text.isprintable():
        raise _misfit(
            each.value,
            Localised(
                zh=f"{each.name}：{text[:40]!r} 不能放在请求头里，那里只能是一行 ASCII",
                en=f"{each.name}: {text[:40]!r} can't stand in a header, "
                "which takes ASCII on one line",
            ),
        )
    return text


def _percent_encoded(found: JsonValue) -> JsonValue:
    """UTF-8, percent-encoded but for printable ASCII: whoever decodes it has the very value.

    >>> _percent_encoded("王芳 (100%)")
    '%E7%8E%8B%E8%8A%B3 (100%25)'
    """
    if isinstance(found, list):
        return [_percent_encoded(item) for item in found]
    return quote(found, safe=_IN_HEADERS) if isinstance(found, str) else found


def _misfit(template: Template, said: Localised) -> ToolError:
    """The error for what fits nowhere: no other arguments mend it where none is in it."""
    holes = (piece for piece in template if isinstance(piece, Hole))
    by_arguments = any(hole.source == "argument" for hole in holes)
    return ArgumentsToolError(said) if by_arguments else PermanentToolError(said)


def _text(hole: Hole, found: JsonValue) -> str:
    if isinstance(found, list | dict):
        kind = type(found).__name__
        raise _misfit(
            (hole,),
            Localised(
                zh=f"{hole} 是 {kind}，这里只放得下一个值",
                en=f"{hole} is a {kind}, where only one value fits",
            ),
        )
    return found if isinstance(found, str) else json.dumps(found)


def _content(endpoint: Endpoint, value: Values) -> bytes | None:
    if endpoint.body_type is None:
        return None
    body = _filled(endpoint.body, value)
    if body is _DROPPED:
        return None
    if endpoint.body_type == FORM:
        return _form(body)
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _form(body: object) -> bytes:
    fields = body.items() if isinstance(body, dict) else ()
    pairs = [
        (name, one if isinstance(one, str) else json.dumps(one))
        for name, given in fields
        for one in (given if isinstance(given, list) else [given])
    ]
    return urlencode(pairs).encode()


def _filled(body: Body, value: Values) -> object:
    """The body with its values, typed where a hole is a whole text; `_DROPPED` where unset."""
    if isinstance(body, tuple):
        return _filled_text(body, value)
    if isinstance(body, dict):
        found = {name: _filled(inner, value) for name, inner in body.items()}
        return {name: inner for name, inner in found.items() if inner is not _DROPPED}
    if isinstance(body, list):
        return [inner for each in body if (inner := _filled(each, value)) is not _DROPPED]
    return body


def _filled_text(template: Template, value: Values) -> object:
    if not _is_set(template, value):
        return _DROPPED
    if len(template) == 1 and isinstance(hole := template[0], Hole):
        return value(hole)
    return "".join(p if isinstance(p, str) else _text(p, value(p)) for p in template)
