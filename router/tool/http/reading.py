"""Tools as JSON files declare them: read whole, refused with everything at fault."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.documents.faults import Fault, nearest
from router.documents.yaml_document import Place
from router.tool.http.addresses import Address, read_address
from router.tool.http.complaints import Complaints
from router.tool.http.endpoint import FORM, JSON, Body, Endpoint, Field
from router.tool.http.options import KEYS, Options, read_name, read_options, read_seconds
from router.tool.http.template import Environment, Hole, Template, Unusable, holes
from router.tool.json_schema import ArgumentSchema

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
    options: Options
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

    def _address(self, value: Any) -> Address | None:
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
