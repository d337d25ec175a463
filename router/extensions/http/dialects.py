"""How files of other frameworks write an HTTP tool, read as ours. Pure.

What is meant is plain, or it is no reading: each one is noted, for `tools validate` to tell, and
where a text can be read in two ways it stays as it is and a complaint says what to write.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.domain.errors import Fault
from router.extensions.http.template import ENVIRONMENT
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

TYPES: Mapping[str, str] = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
"""What other languages call the types of JSON Schema."""
DEFAULTS = ("headers", "base_url", "timeout")
BODIED = ("POST", "PUT", "PATCH")
_SCHEMA_KEYS = {"properties", "$ref", "allOf", "anyOf", "oneOf", "$schema", "$defs"}
_DOUBLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")
_DOLLAR = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_SINGLE = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_-]*)\}(?!\})")
_BARE = re.compile(r"(?<=[:\[,])(\s*)(\$?\{{1,2}\s*[A-Za-z_][A-Za-z0-9_-]*\s*\}{1,2})(?=\s*[,}\]])")
_SECONDS = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")


@dataclass
class DialectReading:
    """What was read otherwise than it is written, and what can't be."""

    notes: list[tuple[Place, str]] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)

    def note(self, place: Place, text: str) -> None:
        """Have it told, once, how something at this place was read."""
        if (place, text) not in self.notes:
            self.notes.append((place, text))

    def complain(self, place: Place, what: str, remedy: str) -> None:
        """Have it told what can be read in two ways."""
        self.complaints.append(Complaint(place, Fault(what, remedy)))

    def entries(self, data: Any) -> Iterator[tuple[Place, Any]]:
        """The tools that a file holds, each with its place: one, a list, or `tools` of an object.

        >>> [place for place, _ in DialectReading().entries({"tools": [{}, {}]})]
        [('tools', 0), ('tools', 1)]
        """
        if isinstance(data, list):
            yield from (((number,), each) for number, each in enumerate(data))
            return
        if not isinstance(data, dict) or "tools" not in data or "openapi" in data:
            yield (), data
            return
        tools, defaults = data["tools"], data.get("defaults", {})
        for key in data.keys() - {"tools", "defaults", "$schema"}:
            remedy = "write tools and defaults there, and all else within a tool"
            self.complain((key,), f"there is no {key} beside tools", remedy)
        if not isinstance(tools, list):
            self.complain(("tools",), "tools is no list", 'write "tools": [{"name": …}]')
            return
        if not self._are_defaults(defaults):
            defaults = {}
        for number, each in enumerate(tools):
            yield ("tools", number), self._completed(each, defaults)

    def _are_defaults(self, defaults: Any) -> bool:
        known = f"there are: {', '.join(DEFAULTS)}"
        if not isinstance(defaults, dict):
            self.complain(("defaults",), "defaults is no object", known)
            return False
        for key in defaults.keys() - set(DEFAULTS):
            self.complain(("defaults", key), f"there is no {key} in defaults", known)
        if not isinstance(defaults.get("headers", {}), dict):
            self.complain(("defaults", "headers"), "headers is no object", "write names and values")
            return False
        if not isinstance(defaults.get("base_url", ""), str):
            self.complain(("defaults", "base_url"), "base_url is no text", "write https://…")
            return False
        return True

    def _completed(self, entry: Any, defaults: Mapping[str, Any]) -> Any:
        """The tool with what the file says of all its tools; what it says itself comes first."""
        if not isinstance(entry, dict) or not isinstance(entry.get("endpoint"), dict):
            return entry
        endpoint = dict(entry["endpoint"])
        url = endpoint.get("url")
        if "base_url" in defaults and isinstance(url, str) and url.startswith("/"):
            endpoint["url"] = defaults["base_url"].rstrip("/") + url
        own = endpoint.get("headers")
        if defaults.get("headers") and isinstance(own, dict | None):
            named = {name.lower() for name in own or {}}
            common = {n: v for n, v in defaults["headers"].items() if n.lower() not in named}
            endpoint["headers"] = {**common, **(own or {})}
        if "timeout" in defaults and not {"timeout"} & (entry.keys() | endpoint.keys()):
            endpoint["timeout"] = defaults["timeout"]
        return {**entry, "endpoint": endpoint}

    def read(self, entry: Any, place: Place) -> Any:
        """One tool at its place, as our own files would have it."""
        if not isinstance(entry, dict) or not isinstance(entry.get("endpoint"), dict):
            return entry
        read = dict(entry)
        if "parameters" in read:
            read["parameters"] = self._parameters(read["parameters"], (*place, "parameters"))
        self._timeout(read, place)
        schema = read.get("parameters")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        names = frozenset(properties) if isinstance(properties, dict) else frozenset[str]()
        at = (*place, "endpoint")
        endpoint = dict(read["endpoint"])
        self._timeout(endpoint, at)
        endpoint = self._body(endpoint, (*at, "body"))
        endpoint = _Holes(self, names, _singles(endpoint)).read(endpoint, at)
        read["endpoint"] = self._placed(endpoint, names, at)
        return read

    def _timeout(self, within: dict[str, Any], place: Place) -> None:
        written = within.get("timeout")
        if isinstance(written, str) and _SECONDS.fullmatch(written):
            within["timeout"] = float(written)
            self.note((*place, "timeout"), f'timeout "{written}" is read as {written} seconds')

    def _parameters(self, written: Any, place: Place) -> Any:
        if isinstance(written, list):
            return self._listed(written, place)
        if not isinstance(written, dict):
            return written
        if _SCHEMA_KEYS & written.keys() and not isinstance(written.get("type"), dict):
            return self._schema(written, place)
        if not written or isinstance(written.get("type"), str):
            others = [key for key, value in written.items() if isinstance(value, dict)]
            if others:
                what = f"parameters may be a schema, or a map of {others[0]} and others"
                remedy = 'write {"type": "object", "properties": {…}}'
                self.complain(place, what, remedy)
            return self._schema(written, place)
        if not all(isinstance(each, dict | str) for each in written.values()):
            return written
        named = {
            name: each if isinstance(each, dict) else {"type": each}
            for name, each in written.items()
        }
        self.note(place, "parameters is read as a map of parameters, by name")
        return self._schema({"type": "object", "properties": named}, place, of_map=True)

    def _listed(self, written: list[Any], place: Place) -> Any:
        found: dict[str, Any] = {}
        for number, each in enumerate(written):
            name = each.get("name") if isinstance(each, dict) else None
            if not isinstance(name, str) or not name:
                remedy = 'write {"name": …, "type": …, "description": …, "required": true}'
                self.complain((*place, number), "a parameter has no name", remedy)
            elif name in found:
                self.complain((*place, number), f"{name} comes twice", "keep one of the two")
            else:
                found[name] = {key: value for key, value in each.items() if key != "name"}
        self.note(place, "parameters is read as a list of parameters")
        return self._schema({"type": "object", "properties": found}, place, of_map=True)

    def _schema(self, written: dict[str, Any], place: Place, *, of_map: bool = False) -> Any:
        """A JSON Schema with the types that it has, and what is required as a list."""
        properties, required = written.get("properties"), written.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            return written
        below = place if of_map else (*place, "properties")
        needed, read = list(required), {}
        for name, each in properties.items():
            read[name], needs = self._property(each, (*below, name))
            if needs and name not in needed:
                needed.append(name)
            elif needs is False and name in needed:
                remedy = "leave one of the two out"
                what = f"{name} is required by the list and not by itself"
                self.complain((*below, name), what, remedy)
        return {**written, "properties": read, **({"required": needed} if needed else {})}

    def _property(self, written: Any, place: Place) -> tuple[Any, bool | None]:
        if not isinstance(written, dict):
            return written, None
        read, needed = dict(written), None
        if isinstance(read.get("required"), bool):
            needed = read.pop("required")
            self.note(place, f"required: {str(needed).lower()} is read of {place[-1]} itself")
        kind = read.get("type")
        if isinstance(kind, str) and kind.lower() != kind and kind.lower() in TYPES.values():
            read["type"] = kind.lower()
            self.note(place, f"the type {kind} is read as {kind.lower()}")
        elif isinstance(kind, str) and kind.lower() in TYPES:
            read["type"] = TYPES[kind.lower()]
            self.note(place, f"the type {kind} is read as {read['type']}")
        if isinstance(read.get("items"), dict):
            read["items"], _ = self._property(read["items"], (*place, "items"))
        if isinstance(read.get("properties"), dict):
            read = self._schema(read, place)
        return read, needed

    def _body(self, endpoint: dict[str, Any], place: Place) -> dict[str, Any]:
        """A body that is a text of JSON, as what it says; a hole may stand there without quotes."""
        body = endpoint.get("body")
        if not isinstance(body, str) or body.strip()[:1] not in ("{", "["):
            return endpoint
        try:
            value = json.loads(_BARE.sub(r'\1"\2"', body))
        except (ValueError, RecursionError):
            return endpoint
        if not isinstance(value, dict | list):
            return endpoint
        self.note(place, "body is read as the JSON that its text holds")
        return {**endpoint, "body": value}

    def _placed(
        self, endpoint: dict[str, Any], names: frozenset[str], place: Place
    ) -> dict[str, Any]:
        """Parameters that nothing names go to the query of a GET, else to a JSON body."""
        method = str(endpoint.get("method", "GET")).upper()
        if endpoint.get("query_params") is not None or endpoint.get("body") is not None:
            return endpoint
        used = _singles(endpoint)
        left = {name: f"{{{name}}}" for name in sorted(names) if name not in used}
        key = "query_params" if method in ("GET", "HEAD") else "body" if method in BODIED else None
        if not left or key is None:
            return endpoint
        where = "the query" if key == "query_params" else "a JSON body"
        self.note(place, f"{', '.join(left)} {'goes' if len(left) == 1 else 'go'} to {where}")
        return {**endpoint, key: left}


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _singles(endpoint: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that are named as our files name them."""
    parts = [endpoint.get(key) for key in ("url", "headers", "query_params", "body")]
    return frozenset(
        found[1] for text in _texts(parts) for found in _SINGLE.finditer(_DOLLAR.sub("", text))
    )


@dataclass(frozen=True)
class _Holes:
    """`{{parameter}}`, `${parameter}` and `${VARIABLE}`, read as holes of ours."""

    reading: DialectReading
    names: frozenset[str]
    singles: frozenset[str]
    """What is named by single braces elsewhere: whoever does that knows what double ones are."""

    def read(self, endpoint: dict[str, Any], place: Place) -> dict[str, Any]:
        keys = ("url", "headers", "query_params", "body")
        read = {k: self._value(endpoint[k], (*place, k)) for k in keys if k in endpoint}
        return {**endpoint, **read}

    def _value(self, value: Any, place: Place, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, dict) and depth < _DEEPEST:
            return {k: self._value(each, (*place, k), depth + 1) for k, each in value.items()}
        if isinstance(value, list) and depth < _DEEPEST:
            return [self._value(each, (*place, n), depth + 1) for n, each in enumerate(value)]
        return value

    def _text(self, text: str, place: Place) -> str:
        # What ends up in single braces is no business of the second search any more.
        single = _DOUBLE.sub(lambda found: self._double(found, place), text)
        return _DOLLAR.sub(lambda found: self._dollar(found, text, place), single)

    def _double(self, found: re.Match[str], place: Place) -> str:
        written, name = found[0], found[1]
        if name not in self.names:
            return written
        if name in self.singles:
            what = f"{written} may be the value of {name}, or {{{name}}} itself"
            self.reading.complain(place, what, f"write {{{name}}} for the value")
            return written
        self.reading.note(place, f"{written} is read as {{{name}}}")
        return f"{{{name}}}"

    def _dollar(self, found: re.Match[str], text: str, place: Place) -> str:
        escaped, name = found[1], found[2]
        if escaped:
            return f"${{{name}}}"
        written = found[0]
        variable = name if name.startswith(ENVIRONMENT) else f"{ENVIRONMENT}{name}"
        if name in self.names and name.isupper():
            what = f"{written} may be the parameter {name}, or a variable"
            self.reading.complain(place, what, f"write {{{name}}}, or {{env.{variable}}}")
        elif name in self.names:
            if text != written and "body" in place:
                what = f"{written} may be the value of {name}, or that behind a dollar"
                self.reading.complain(place, what, f"write {{{name}}}, or $${{{name}}}")
            else:
                self.reading.note(place, f"{written} is read as {{{name}}}")
                return f"{{{name}}}"
        elif name.isupper():
            self.reading.note(place, f"{written} is read as {{env.{variable}}}")
            return f"{{env.{variable}}}"
        return written


_DEEPEST = 100
"""Levels of a body: nobody means more, and Python's own stack ends."""
