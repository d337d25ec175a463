"""What an operation takes: parameters of path, query and header and its body, as one object."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from router.tool.http.addresses import PATH_SAFE
from router.tool.http.endpoint import FORM, JSON, Body, Field
from router.tool.http.operation import Operation
from router.tool.http.references import References, Unsuitable
from router.tool.http.template import Hole, Template

_PLACES = ("path", "query", "header")
_IGNORED = frozenset(("accept", "content-type", "authorization"))
"""Header parameters that OpenAPI says to ignore."""


@dataclass
class Taken:
    """The arguments of an operation, and where each goes."""

    path: Template = ()
    query: list[Field] = field(default_factory=list)
    headers: list[Field] = field(default_factory=list)
    body: Body = None
    body_type: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {"type": "object", "properties": self.properties, "required": self.required}

    def take(self, name: str, schema: dict[str, Any], *, required: bool) -> Template:
        """Have an argument of this name; gives the template that it fills."""
        self.properties[name] = schema
        if required:
            self.required.append(name)
        return (Hole("argument", name),)


def taken_by(operation: Operation, references: References) -> Taken:
    """What an operation takes; raises `Unsuitable` where that is more than a tool can give."""
    taken = Taken()
    given: dict[tuple[str, str], dict[str, Any]] = {}
    for each in (*operation.shared, *_list(operation.data.get("parameters"))):
        parameter = references.resolved(each)
        given[str(parameter.get("in")), str(parameter.get("name"))] = parameter
    names = [name for _, name in given]
    for (place, name), parameter in given.items():
        argument = name if names.count(name) == 1 else f"{place}_{name}"
        _take_parameter(taken, place, argument, parameter, references)
    taken.path = _path(operation.path, taken, given)
    _take_body(taken, operation, references)
    return taken


def _take_parameter(
    taken: Taken, place: str, argument: str, parameter: dict[str, Any], references: References
) -> None:
    required = parameter.get("required") is True
    name = str(parameter.get("name"))
    if place not in _PLACES or (place == "header" and name.lower() in _IGNORED):
        if required and place == "cookie":
            raise Unsuitable(f"it needs the cookie {name}", "select another operation")
        return
    if "schema" not in parameter and required:
        raise Unsuitable(f"the parameter {name} has no schema", "give it one in the document")
    schema = references.schema(parameter.get("schema"))
    if isinstance(words := parameter.get("description"), str) and "description" not in schema:
        schema["description"] = words
    if schema.get("type") == "object" or (place == "path" and schema.get("type") == "array"):
        if required:
            raise Unsuitable(f"the parameter {name} is no single value", "select another operation")
        return
    hole = taken.take(argument, schema, required=required or place == "path")
    usual = place == "query"
    one = Field(name, hole, joined=parameter.get("explode", usual) is not True)
    if place != "path":
        (taken.query if place == "query" else taken.headers).append(one)


def _path(path: str, taken: Taken, given: dict[tuple[str, str], dict[str, Any]]) -> Template:
    """The path with holes for its parameters."""
    if not path.startswith("/") or {".", ".."} & set(path.split("/")) or {"?", "#"} & set(path):
        raise Unsuitable(
            f"its path {path[:60]!r} is no plain path", "write steps with slashes only"
        )
    pieces: list[str | Hole] = []
    for number, piece in enumerate(re.split(r"\{([^{}]*)\}", path)):
        if number % 2 == 0:
            pieces.append(quote(piece, safe=PATH_SAFE))
            continue
        argument = piece if piece in taken.properties else f"path_{piece}"
        if ("path", piece) not in given or argument not in taken.properties:
            raise Unsuitable(f"{{{piece[:40]}}} of its path is no parameter", "declare it")
        pieces.append(Hole("argument", argument))
    return tuple(piece for piece in pieces if piece != "")


def _take_body(taken: Taken, operation: Operation, references: References) -> None:
    described = references.resolved(operation.data.get("requestBody"))
    content = described.get("content")
    if not isinstance(content, dict) or not content or operation.method in ("GET", "HEAD"):
        return
    kind = next((k for k in (JSON, FORM) if k in content), None)
    required = described.get("required") is True
    if kind is None:
        if required:
            what = f"it takes {', '.join(map(str, content))[:80]}"
            raise Unsuitable(what, "select operations that take JSON or a form")
        return
    schema = references.schema(references.resolved(content[kind]).get("schema"))
    taken.body_type = kind
    inner = schema.get("properties")
    if not inner or taken.properties.keys() & inner.keys():
        taken.body = taken.take("body", schema, required=required)
        return
    needed = schema.get("required", []) if required else []
    taken.body = {
        name: taken.take(name, each, required=name in needed) for name, each in inner.items()
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
