"""Operations of an OpenAPI 3.0 or 3.1 document as tools.

    {"openapi": "crm.yaml", "server": "https://crm.example.com/v2",
     "operations": ["getCustomer"], "tags": ["orders"],
     "headers": {"Authorization": "Bearer {env.ROUTER_TOOL_CRM_TOKEN}"},
     "tools": {"getCustomer": {"title": {"zh": "客户资料", "en": "A customer"},
                               "labels": {"id": "客户编号"}}}}

Only what is named is offered. What people call operations and their arguments stands under
`tools`, for a document says it in one language.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from router.domain.errors import Fault, FaultyValue, fault_in, nearest
from router.domain.locale import Localised
from router.domain.visible_text import one_line
from router.extensions.http.declaration import (
    METHODS,
    SECONDS,
    Declared,
    EndpointReader,
    OperationWording,
    SelectionEntry,
    callable_name,
    usual_permission,
)
from router.extensions.http.endpoint import (
    FORM,
    JSON,
    PATH_SAFE,
    BodyTemplate,
    Endpoint,
    EndpointAddress,
    Field,
)
from router.extensions.http.selection import AnswerSelection
from router.extensions.http.template import Hole, Template, Variables
from router.formats.references import Dangling, References
from router.formats.schema import SchemaReader
from router.formats.strict_json import ANY_DEPTH, strict_json
from router.formats.validation import Complaint
from router.formats.yaml_document import Place, Unreadable, read_text, read_yaml
from router.tool.implementation import ArgumentSchema
from router.tool.labels import labelled
from router.tool.tool import titled

HOPS = 12
"""References that lead to references, followed for one object."""


class Unsuitable(Exception):
    """An operation that can't be a tool."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.fault = Fault(what, remedy)


class OpenApiReferences:
    """Follows `$ref` within one document; nothing outside it is ever read."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._references = References(document)

    def resolved(self, value: Any) -> dict[str, Any]:
        """The object itself, where `value` refers to one; raises `Unsuitable`."""
        for _ in range(HOPS):
            if not isinstance(value, dict):
                return {}
            if "$ref" not in value:
                return value
            value = self._target(value["$ref"])
        raise Unsuitable("its references lead in a circle", "mend the document")

    def schema(self, value: Any) -> dict[str, Any]:
        """A schema written out; raises `Unsuitable`."""
        try:
            return SchemaReader(self._references).read(value)
        except FaultyValue as error:
            raise Unsuitable(*error.fault) from None

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            what = f"it refers to {reference!r:.80}, outside the document"
            raise Unsuitable(what, "bundle the document into one file")
        try:
            return self._references.target(reference)
        except Dangling:
            raise Unsuitable(f"there is no {reference:.80}", "mend the document") from None


MOST_DESCRIBED = 1000
"""Characters of a description: every model call carries it."""


@dataclass(frozen=True)
class ApiOperation:
    """One operation: a method of a path."""

    id: str
    method: str
    path: str
    data: Mapping[str, Any]
    shared: list[Any]
    """Parameters that all operations of the path have."""

    @property
    def tags(self) -> frozenset[str]:
        """What it is filed under."""
        return frozenset(map(str, _list(self.data.get("tags"))))

    @property
    def title(self) -> str:
        """Its summary; empty where it has none."""
        summary = self.data.get("summary")
        return one_line(summary, 80) if isinstance(summary, str) else ""

    @property
    def description(self) -> str:
        """What it does, for models and people."""
        texts = (self.data.get("summary"), self.data.get("description"))
        said = dict.fromkeys(text.strip() for text in texts if isinstance(text, str))
        return "\n".join(filter(None, said))[:MOST_DESCRIBED]


def operations_of(
    document: Mapping[str, Any], references: OpenApiReferences
) -> Iterator[ApiOperation]:
    """Every operation; one without an id is named after its method and path."""
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, dict) else {}).items():
        try:
            found = references.resolved(item)
        except Unsuitable:
            continue  # nothing in it can be selected; whoever names one is told so
        shared = _list(found.get("parameters"))
        for method in METHODS:
            data = found.get(method.lower())
            if isinstance(data, dict):
                id_ = data.get("operationId")
                usual = re.sub("[{}]", "", f"{method.lower()}{path}".replace("/", "_"))
                name = id_ if isinstance(id_, str) and id_ else usual
                yield ApiOperation(name, method, str(path), data, shared)


_PLACES = ("path", "query", "header")
_IGNORED = frozenset(("accept", "content-type", "authorization"))
"""Header parameters that OpenAPI says to ignore."""


@dataclass
class OperationArguments:
    """The arguments of an operation, and where each goes."""

    path: Template = ()
    query: list[Field] = field(default_factory=list)
    headers: list[Field] = field(default_factory=list)
    body: BodyTemplate = None
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


def taken_by(operation: ApiOperation, references: OpenApiReferences) -> OperationArguments:
    """What an operation takes; raises `Unsuitable` where that is more than a tool can give."""
    taken = OperationArguments()
    given: dict[tuple[str, str], dict[str, Any]] = {}
    for each in (*operation.shared, *_list(operation.data.get("parameters"))):
        parameter = references.resolved(each)
        given[str(parameter.get("in")), str(parameter.get("name"))] = parameter
    names = [name for _, name in given]
    for (place, name), parameter in given.items():
        schema = _parameter_schema(place, name, parameter, references)
        if schema is None:
            continue
        argument = name if names.count(name) == 1 else f"{place}_{name}"
        required = place == "path" or parameter.get("required") is True
        hole = taken.take(argument, schema, required=required)
        one = Field(name, hole, joined=parameter.get("explode", place == "query") is not True)
        if place != "path":
            (taken.query if place == "query" else taken.headers).append(one)
    taken.path = _path(operation.path, taken, given)
    _take_body(taken, operation, references)
    return taken


def _parameter_schema(
    place: str, name: str, parameter: dict[str, Any], references: OpenApiReferences
) -> dict[str, Any] | None:
    """Of a parameter that is given; None for one that is left out."""
    required = parameter.get("required") is True
    if place not in _PLACES or (place == "header" and name.lower() in _IGNORED):
        if required and place == "cookie":
            raise Unsuitable(f"it needs the cookie {name}", "select another operation")
        return None
    if "schema" not in parameter and required:
        raise Unsuitable(f"the parameter {name} has no schema", "give it one in the document")
    schema = references.schema(parameter.get("schema"))
    if isinstance(words := parameter.get("description"), str) and "description" not in schema:
        schema["description"] = words
    if schema.get("type") == "object" or (place == "path" and schema.get("type") == "array"):
        if required:
            raise Unsuitable(f"the parameter {name} is no single value", "select another operation")
        return None
    return schema


def _path(
    path: str, taken: OperationArguments, given: dict[tuple[str, str], dict[str, Any]]
) -> Template:
    """The path with holes for its parameters."""
    if not path.startswith("/") or {".", ".."} & set(path.split("/")) or {"?", "#"} & set(path):
        what = f"its path {path[:60]!r} is no plain path"
        raise Unsuitable(what, "write steps with slashes only")
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


def _take_body(
    taken: OperationArguments, operation: ApiOperation, references: OpenApiReferences
) -> None:
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


LARGEST = 4 * 1024 * 1024
MOST_NODES = 200_000
MOST_IN_JSON = 5_000_000
_FIRST_VERSIONS = ("3.0", "3.1")


def is_selection(data: Mapping[str, Any]) -> bool:
    """True where a file selects from an OpenAPI document rather than declaring a tool itself."""
    return "openapi" in data and "endpoint" not in data


def document_path(selecting: Path, entry: SelectionEntry) -> Path:
    """The document's file; it lies beside the file that selects from it, or below."""
    return selecting.parent / entry.openapi


def selected_tools(
    entry: SelectionEntry, place: Place, file: Path, environment: Variables
) -> tuple[list[Declared], list[Complaint]]:
    """The tools that are selected, and why some can't be; raises `Absent`."""
    try:
        document = _document(entry.openapi, file)
    except Unsuitable as unsuitable:
        return [], [Complaint((*place, "openapi"), unsuitable.fault)]
    reading = _Selection(entry, place, document, environment)
    found = [reading.declared(operation) for operation in reading.selected()]
    return [each for each in found if each is not None], reading.complaints


def _document(name: str, file: Path) -> dict[str, Any]:
    path = file.parent / name
    if not path.resolve().is_relative_to(file.parent.resolve()):
        raise Unsuitable(f"{name} lies outside this folder", "put the document beside this file")
    try:
        document = _parsed(read_text(path, LARGEST, "leave out what isn't used"), path)
    except Unreadable as unreadable:
        what, remedy = unreadable.fault
        raise Unsuitable(f"{name}, line {unreadable.line}: {what}", remedy) from None
    version = str(document.get("openapi", "")) if isinstance(document, dict) else ""
    if not version.startswith(_FIRST_VERSIONS):
        remedy = "convert it, and begin it with openapi: 3.1.0"
        raise Unsuitable(f"{name} is no OpenAPI 3.0 or 3.1 document", remedy)
    return document  # type: ignore[no-any-return]


def _parsed(text: str, path: Path) -> Any:
    """The document's data: JSON by its own reader, which is fifty times faster than YAML's."""
    if path.suffix != ".json":
        return read_yaml(text, MOST_NODES).data
    try:
        return strict_json(text, ANY_DEPTH, unique=False, most=MOST_IN_JSON)
    except json.JSONDecodeError as error:
        raise Unreadable(error.lineno, Fault(f"it isn't JSON: {error.msg}", "mend it")) from None
    except ValueError as error:
        raise Unreadable(1, Fault(f"it isn't JSON: {error}", "mend it")) from None


class _Selection:
    """One reading of a selection."""

    def __init__(
        self, entry: SelectionEntry, place: Place, document: dict[str, Any], environment: Variables
    ) -> None:
        self._entry = entry
        self._document = document
        self._references = OpenApiReferences(document)
        self._written = EndpointReader(place, environment)
        self.complaints = self._written.complaints
        self._server = self._read_server()
        self._headers = self._written.fields("headers", entry.headers)
        self._query = self._written.fields("query_params", entry.query_params)

    def selected(self) -> list[ApiOperation]:
        """The operations that are named, by themselves or by a tag."""
        there, entry = list(operations_of(self._document, self._references)), self._entry
        if not entry.operations and not entry.tags:
            remedy = 'name some, as in "operations": ["getCustomer"] or "tags": ["orders"]'
            self._complain((), "no operation is selected", remedy)
        self._check_named("operations", entry.operations, {each.id for each in there})
        self._check_named("tags", entry.tags, {tag for each in there for tag in each.tags})
        tags = frozenset(entry.tags)
        chosen = [each for each in there if each.id in entry.operations or each.tags & tags]
        ids = sorted(each.id for each in chosen)
        for name in entry.tools.keys() - set(ids):
            remedy = _known(name, ids[:12], ids)
            self._complain(("tools", name), f"no operation {name[:60]} is selected", remedy)
        return chosen

    def declared(self, operation: ApiOperation) -> Declared | None:
        """One operation as a tool; None where complaints say why it can't be one."""
        entry, server = self._entry, self._server
        words = entry.tools.get(operation.id, OperationWording())
        try:
            safe = re.sub(r"[^A-Za-z0-9_-]+", "_", operation.id).strip("_")
            name = callable_name(f"{entry.prefix or ''}{safe}")
            taken = taken_by(operation, self._references)
            for label in words.labels.keys() - taken.properties.keys():
                place = ("tools", operation.id, "labels", label)
                remedy = _known(label, taken.properties, taken.properties)
                self._complain(place, f"{operation.id} takes no {label[:40]}", remedy)
            schema = ArgumentSchema(labelled(taken.schema, words.labels), is_read=True)
        except Unsuitable as unsuitable:
            what = f"{operation.id}: {unsuitable.fault.what}"
            self._complain(("operations",), what, unsuitable.fault.remedy)
            return None
        except ValueError as error:
            self._complain(("operations",), *fault_in(error, "see json-schema.org"))
            return None
        if self.complaints or server is None:
            return None
        title, base = operation.title, "".join(map(str, server.path)).rstrip("/")
        return Declared(
            name=name,
            title=words.title or (Localised(zh=title, en=title) if title else titled(name)),
            description=operation.description or name,
            permission=usual_permission(operation.method),
            schema=schema,
            endpoint=Endpoint(
                *(operation.method, server.origin, (base, *taken.path)),
                (*server.query, *self._query, *taken.query),
                (*self._headers, *taken.headers),
                *(taken.body, taken.body_type),
            ),
            call=entry,
            seconds=entry.timeout or SECONDS,
            wanted=AnswerSelection("", entry.items.most, frozenset(entry.items.keep)),
            description_zh=words.description_zh or "",
            kind="openapi",
        )

    def _read_server(self) -> EndpointAddress | None:
        """Where the operations are: what the selection says, else the document's first server."""
        first = next(iter(_list(self._document.get("servers"))), None)
        text = self._entry.server or (first.get("url") if isinstance(first, dict) else None)
        if isinstance(text, str) and text:
            return self._written.address("server", text)
        self._complain(("server",), "there is no server", 'write "server": "https://…"')
        return None

    def _check_named(self, key: str, names: tuple[str, ...], there: set[str]) -> None:
        for number, name in enumerate(names):
            if name not in there:
                what = f"the document has no {key[:-1]} {name[:60]}"
                self._complain((key, number), what, _known(name, sorted(there)[:12], there))

    def _complain(self, place: Place, what: str, remedy: str) -> None:
        self._written.complain(place, Fault(what, remedy))


def _known(name: str, shown: Iterable[str], there: Collection[str]) -> str:
    """Which of those there are may be meant; else those that are shown."""
    return nearest(name, there) or f"there are: {', '.join(shown) or 'none'}"
