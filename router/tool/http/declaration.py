"""Tools as JSON files declare them: read whole, refused with everything at fault.

What is wrong with a file, gathered while it is read, so that all of it is told at once.

What a file says of a tool beside where it is: who may call it, when it is tried again.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from router.documents.document import Place
from router.domain.errors import Fault, nearest
from router.domain.locale import Localised
from router.domain.principals import EVERYONE
from router.tool.http.endpoint import (
    FORM,
    JSON,
    Body,
    Endpoint,
    EndpointAddress,
    Field,
    read_address,
)
from router.tool.http.response import AnswerSelection, is_pointer
from router.tool.http.template import Environment, Hole, Template, Unusable, holes
from router.tool.implementation import ArgumentSchema
from router.tool.tool import ANOTHER, RESERVED, TAKEN, Permission


class Complaints:
    """Faults with their places."""

    def __init__(self) -> None:
        self.found: list[tuple[Place, Fault]] = []

    def add(self, place: Place, what: str, remedy: str) -> None:
        """Note a fault."""
        self.found.append((place, Fault(what, remedy)))

    def unknown_keys(self, place: Place, data: Mapping[str, Any], known: Collection[str]) -> None:
        """Note every key that nothing reads."""
        for key in data:
            if key not in known:
                remedy = nearest(key, known) or f"there are: {', '.join(known)}"
                self.add((*place, key), f"there is no {key[:40]}", remedy)

    def mapping(self, place: Place, value: Any) -> dict[str, Any]:
        """The value, where it is a mapping; else a fault and an empty one."""
        if isinstance(value, dict):
            return value
        self.add(place, f"{place[-1] if place else 'it'} is no object", 'write {"name": …}')
        return {}

    def text(self, place: Place, value: Any, *, otherwise: str = "") -> str:
        """The value, where it is a text with something in it; None is `otherwise`."""
        if value is None and otherwise:
            return otherwise
        if isinstance(value, str) and value.strip():
            return value
        what = f"there is no {place[-1]}" if value is None else f"{place[-1]} isn't text"
        self.add(place, what, f'write "{place[-1]}": "…"')
        return otherwise

    def texts(self, place: Place, value: Any) -> tuple[str, ...]:
        """The value, where it is a list of texts; None is an empty one."""
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return tuple(value)
        self.add(place, f"{place[-1]} is no list of texts", f'write "{place[-1]}": ["…"]')
        return ()

    def flag(self, place: Place, value: Any, *, otherwise: bool) -> bool:
        """The value, where it is true or false; None is `otherwise`."""
        if value is None or isinstance(value, bool):
            return otherwise if value is None else value
        self.add(place, f"{place[-1]} is {value!r:.40}", "write true or false")
        return otherwise


KEYS = (
    *("title", "examples", "permission", "confirm", "roles", "idempotent", "retries", "timeout"),
    *("result", "items", "at_once"),
)
SECONDS = 10.0
LONGEST = 300.0
RETRIES = 3

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_READS = ("GET", "HEAD")


@dataclass(frozen=True)
class DeclaredOptions:
    """The options of one tool."""

    title: Localised
    examples: tuple[str, ...]
    permission: Permission
    confirm: bool
    roles: frozenset[str]
    idempotent: bool
    retries: int | None
    seconds: float
    at_once: int | None
    wanted: AnswerSelection


def read_options(
    complaints: Complaints, place: Place, data: Mapping[str, Any], name: str, method: str
) -> DeclaredOptions:
    """The options in `data`, with what a method means where nothing is said."""
    permission = _permission(complaints, (*place, "permission"), data.get("permission"), method)
    roles = frozenset(complaints.texts((*place, "roles"), data.get("roles")))
    if permission == "admin" and (not roles or EVERYONE in roles):
        what = "it changes what is others', for everyone"
        complaints.add((*place, "permission"), what, 'name who may, as in "roles": ["hr"]')
    return DeclaredOptions(
        title=read_title(complaints, (*place, "title"), data.get("title"), name),
        examples=complaints.texts((*place, "examples"), data.get("examples")),
        permission=permission,
        confirm=complaints.flag((*place, "confirm"), data.get("confirm"), otherwise=False),
        roles=roles,
        # RFC 9110 makes a second PUT the same as one; whether a second POST is, who knows.
        idempotent=complaints.flag(
            (*place, "idempotent"), data.get("idempotent"), otherwise=method in (*_READS, "PUT")
        ),
        retries=_retries(complaints, (*place, "retries"), data.get("retries", RETRIES)),
        seconds=read_seconds(complaints, (*place, "timeout"), data.get("timeout"), SECONDS),
        at_once=_at_once(complaints, (*place, "at_once"), data.get("at_once")),
        wanted=_wanted(complaints, place, data),
    )


def read_name(complaints: Complaints, place: Place, value: Any) -> str:
    """A tool's name."""
    name = complaints.text(place, value)
    if name and not _NAME.fullmatch(name):
        remedy = "use up to 63 letters, digits, _ and -, a letter first"
        complaints.add(place, f"{name[:80]!r} is no name that models can call", remedy)
    if name in RESERVED:
        complaints.add(place, f"the tool {name} {TAKEN}", ANOTHER)
    return name


def read_seconds(complaints: Complaints, place: Place, value: Any, otherwise: float) -> float:
    """A time limit: a number of seconds, or a text such as "10s"."""
    if value is None:
        return otherwise
    seconds = _seconds(value)
    if 0 < seconds <= LONGEST:
        return seconds
    remedy = f'write seconds up to {LONGEST:g}, or a text like "500ms" or "10s"'
    complaints.add(place, f"{place[-1]} is {value!r:.40}", remedy)
    return otherwise


def _seconds(value: Any) -> float:
    """Zero where it is no duration."""
    if isinstance(value, str) and (found := _DURATION.fullmatch(value)):
        return float(found[1]) * _UNITS[found[2]]
    return float(value) if isinstance(value, int | float) and value is not True else 0.0


def _permission(complaints: Complaints, place: Place, value: Any, method: str) -> Permission:
    usual: Permission = "read" if method in _READS else "write"
    if value is None:
        return usual
    for permission in get_args(Permission):
        if value == permission:
            return permission  # type: ignore[no-any-return]
    complaints.add(place, f"permission is {value!r:.40}", "write read, write or admin")
    return usual


def read_title(complaints: Complaints, place: Place, value: Any, name: str) -> Localised:
    """A title, in both languages or in one for both; made of the name where there is none."""
    words = name.replace("_", " ").replace("-", " ").capitalize()
    if value is None:
        return Localised(zh=words, en=words)
    if isinstance(value, str) and value.strip():
        return Localised(zh=value, en=value)
    fits = isinstance(value, dict) and value.keys() == {"zh", "en"}
    if fits and all(isinstance(each, str) and each.strip() for each in value.values()):
        return Localised(**value)
    complaints.add(place, "title isn't in both languages", 'write {"zh": "…", "en": "…"}')
    return Localised(zh=words, en=words)


def _retries(complaints: Complaints, place: Place, value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is None or whole:
        return int(value) if whole else None
    complaints.add(place, f"retries is {value!r:.40}", "write 0 or more, or null for ever")
    return RETRIES


def _at_once(complaints: Complaints, place: Place, value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value is None or whole:
        return int(value) if whole else None
    complaints.add(place, f"at_once is {value!r:.40}", "write 1 or more, or leave it out")
    return None


def _wanted(complaints: Complaints, place: Place, data: Mapping[str, Any]) -> AnswerSelection:
    return AnswerSelection(
        _places(complaints, (*place, "result"), data.get("result")),
        *_items(complaints, (*place, "items"), data.get("items")),
    )


def _places(complaints: Complaints, place: Place, value: Any) -> str | dict[str, str]:
    places = {"": value} if isinstance(value, str) else value
    if value is None:
        return ""
    if not isinstance(places, dict) or not places:
        remedy = 'write a JSON pointer such as "/data/0", or {"name": "/pointer"}'
        complaints.add(place, "result is no place in an answer", remedy)
        return ""
    for name, pointer in places.items():
        if not isinstance(pointer, str) or not is_pointer(pointer):
            where = place if isinstance(value, str) else (*place, name)
            remedy = "begin it with a slash, as in /data/0/name"
            complaints.add(where, f"{pointer!r:.60} is no JSON pointer", remedy)
    return value  # type: ignore[no-any-return]


def _items(complaints: Complaints, place: Place, value: Any) -> tuple[int | None, frozenset[str]]:
    given = value if isinstance(value, dict) else {"most": value}
    complaints.unknown_keys(place, given, ("most", "keep"))
    most = given.get("most")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        remedy = 'write a number, or {"most": 5, "keep": ["title", "url"]}'
        complaints.add(place, f"items is {most!r:.40}", remedy)
        most = None
    return most, frozenset(complaints.texts((*place, "keep"), given.get("keep")))


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "HEAD")
TOOL_KEYS = ("name", "description", "description_zh", "parameters", "endpoint", *KEYS)
ENDPOINT_KEYS = ("url", "method", "headers", "query_params", "body", "timeout")

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS_ALONE = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("trailer", "upgrade", "expect", "accept-encoding", "proxy-authorization"),
    )
)


@dataclass(frozen=True)
class Declared:
    """A tool as it is declared."""

    name: str
    description: str
    schema: ArgumentSchema
    endpoint: Endpoint
    options: DeclaredOptions
    description_zh: str = ""
    from_document: bool = False
    """True for an operation of an OpenAPI document."""


def read_declared(
    complaints: Complaints, place: Place, data: Mapping[str, Any], environment: Environment
) -> Declared | None:
    """The tool that is declared in `data`; None where complaints say why it can't be one.

    Raises `Absent` where it needs a variable that isn't set.
    """
    before = len(complaints.found)
    complaints.unknown_keys(place, data, TOOL_KEYS)
    name = read_name(complaints, (*place, "name"), data.get("name"))
    description = complaints.text((*place, "description"), data.get("description"))
    in_chinese = data.get("description_zh")
    if in_chinese is not None:
        in_chinese = complaints.text((*place, "description_zh"), in_chinese)
    schema = read_schema(complaints, (*place, "parameters"), data.get("parameters", {}))
    at_endpoint = (*place, "endpoint")
    written = complaints.mapping(at_endpoint, data.get("endpoint"))
    endpoint = _Endpoint(complaints, at_endpoint, environment, schema).read(written)
    given = {"timeout": written.get("timeout"), **data}
    read_seconds(complaints, (*at_endpoint, "timeout"), written.get("timeout"), 1)
    options = read_options(complaints, place, given, name, endpoint.method if endpoint else "GET")
    if len(complaints.found) > before or schema is None or endpoint is None:
        return None
    return Declared(name, description, schema, endpoint, options, in_chinese or "")


def read_schema(complaints: Complaints, place: Place, value: Any) -> ArgumentSchema | None:
    """The schema of the arguments."""
    try:
        return ArgumentSchema(complaints.mapping(place, value))
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        complaints.add(place, f"parameters: {what}", remedy or "see json-schema.org")
        return None


def read_fields(
    complaints: Complaints, place: Place, key: str, value: Any, environment: Environment
) -> tuple[Field, ...]:
    """Headers or query parameters that stand beside no parameters of their own."""
    return tuple(_Endpoint(complaints, place, environment, _TAKES_NOTHING).fields(key, value))


_TAKES_NOTHING = ArgumentSchema({})


class _Endpoint:
    """One reading of an endpoint, against the parameters that there are."""

    def __init__(
        self,
        complaints: Complaints,
        place: Place,
        environment: Environment,
        schema: ArgumentSchema | None,
    ) -> None:
        self._complaints = complaints
        self._place = place
        self._environment = environment
        self._schema = schema.schema if schema else None
        self._used: set[str] = set()

    def read(self, data: Mapping[str, Any]) -> Endpoint | None:
        """The endpoint; None where it has no address that can be used."""
        self._complaints.unknown_keys(self._place, data, ENDPOINT_KEYS)
        method = self._method(data.get("method", "GET"))
        address = self._address(data.get("url"))
        headers = self.fields("headers", data.get("headers"))
        query = self.fields("query_params", data.get("query_params"))
        body_type = self._body_type(data, method, headers)
        body = self._body((*self._place, "body"), data.get("body")) if body_type else None
        self._check_form(body, body_type)
        self._check_unused()
        if address is None:
            return None
        headers = [each for each in headers if each.name.lower() != "content-type"]
        fields = (*address.query, *query)
        return Endpoint(
            method, address.origin, address.path, fields, tuple(headers), body, body_type
        )

    def _method(self, value: Any) -> str:
        method = str(value).upper()
        if method not in METHODS:
            remedy = f"write one of: {', '.join(METHODS)}"
            self._wrong("method", f"method is {value!r:.40}", remedy)
        return method

    def _address(self, value: Any) -> EndpointAddress | None:
        place = (*self._place, "url")
        text = self._complaints.text(place, value)
        if not text:
            return None
        try:
            address = read_address(text.strip(), self._environment)
        except Unusable as unusable:
            self._complaints.found += [(place, fault) for fault in unusable.faults]
            return None
        for hole in holes(address.path):
            self._check_hole(place, hole, in_path=True)
        for each in address.query:
            self._check_holes(place, each.value)
        return address

    def fields(self, key: str, value: Any) -> list[Field]:
        """What stands under a key by name: headers, or parameters of the query."""
        place = (*self._place, key)
        data = {} if value is None else self._complaints.mapping(place, value)
        found = (self._field((*place, name), name, each) for name, each in data.items())
        fields = [each for each in found if each is not None]
        if key == "headers":
            self._check_headers(place, fields)
        return fields

    def _field(self, place: Place, name: str, value: Any) -> Field | None:
        if isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, str | int | float):
            self._complaints.add(place, f"{name} is no text", 'write "…", with {parameter} in it')
            return None
        template = self._template(place, str(value))
        return None if template is None else Field(name, template)

    def _check_headers(self, place: Place, fields: list[Field]) -> None:
        for each in fields:
            here = (*place, each.name)
            if not _HEADER.fullmatch(each.name):
                what = f"{each.name!r:.40} is no name of a header"
                self._complaints.add(here, what, "write letters, digits and hyphens")
            elif each.name.lower() in _OURS_ALONE:
                what = f"the header {each.name} isn't a file's to set"
                self._complaints.add(here, what, "leave it out; it follows from the request")
            literal = "".join(piece for piece in each.value if isinstance(piece, str))
            if not literal.isascii() or not literal.isprintable():
                what = f"{each.name} has characters that no header takes"
                self._complaints.add(here, what, "write ASCII, on one line")

    def _body_type(self, data: Mapping[str, Any], method: str, headers: list[Field]) -> str | None:
        if data.get("body") is None:
            return None
        if method in BODILESS:
            self._wrong("body", f"{method} has a body", 'use query_params, or "method": "POST"')
        written = [h.value for h in headers if h.name.lower() == "content-type"]
        kind = str(written[0][0]).partition(";")[0].strip().lower() if written else JSON
        if kind != FORM and not re.fullmatch(r"application/([\w.+-]+\+)?json", kind):
            what = f"the body would be {kind!r:.60}"
            self._wrong("headers", what, f"send {JSON} or {FORM}")
        return kind

    def _check_form(self, body: Body, body_type: str | None) -> None:
        if body_type == FORM and not isinstance(body, dict):
            self._wrong("body", "the body is no form", "write an object of names and values")

    def _body(self, place: Place, value: Any) -> Body:
        if isinstance(value, str):
            return self._template(place, value) or ()
        if isinstance(value, list):
            return [self._body((*place, n), each) for n, each in enumerate(value)]
        if isinstance(value, dict):
            for name in value:
                if re.search(r"\{[^{}]+\}", name):
                    what, remedy = f"the key {name!r:.40} has a hole", "put holes into values only"
                    self._complaints.add((*place, name), what, remedy)
            return {name: self._body((*place, name), each) for name, each in value.items()}
        return value  # type: ignore[no-any-return]

    def _template(self, place: Place, text: str) -> Template | None:
        try:
            template = self._environment.template(text)
        except Unusable as unusable:
            self._complaints.found += [(place, fault) for fault in unusable.faults]
            return None
        self._check_holes(place, template)
        return template

    def _check_holes(self, place: Place, template: Template) -> None:
        for hole in holes(template):
            self._check_hole(place, hole, in_path=False)

    def _check_hole(self, place: Place, hole: Hole, *, in_path: bool) -> None:
        """A hole of an argument names a parameter; one in the path a value that is always there."""
        if hole.source != "argument" or self._schema is None:
            return
        self._used.add(hole.name)
        properties = self._properties
        if hole.name not in properties:
            remedy = nearest(hole.name, properties) or "declare it in parameters"
            self._complaints.add(place, f"there is no parameter {hole.name}", remedy)
        elif in_path:
            for fault in self._path_faults(hole, properties[hole.name]):
                self._complaints.found.append((place, fault))

    def _path_faults(self, hole: Hole, schema: Any) -> Iterator[Fault]:
        required = (self._schema or {}).get("required")
        if not isinstance(required, list) or hole.name not in required:
            yield Fault(f"{hole} stands in the path and may be left out", "make it required")
        if isinstance(schema, dict) and schema.get("type") in ("array", "object"):
            yield Fault(f"{hole} stands in the path and is no single value", "make it a string")

    def _check_unused(self) -> None:
        for name in self._properties:
            if self._schema is not None and name not in self._used:
                place = (*self._place[:-1], "parameters", "properties", name)
                remedy = f"put {{{name}}} into url, query_params, headers or body"
                self._complaints.add(place, f"the parameter {name} is used nowhere", remedy)

    @property
    def _properties(self) -> dict[str, Any]:
        declared = (self._schema or {}).get("properties")
        return declared if isinstance(declared, dict) else {}

    def _wrong(self, key: str, what: str, remedy: str) -> None:
        self._complaints.add((*self._place, key), what, remedy)
