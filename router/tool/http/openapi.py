"""Operations of an OpenAPI 3.0 or 3.1 document as tools.

What people call the operations of an OpenAPI document, which says it in one language.

"tools": {"getCustomer": {"title": {"zh": "客户资料", "en": "A customer"},
                          "description_zh": "查客户的地址和联系人。",
                          "labels": {"id": "客户编号"}}}

    {"openapi": "crm.yaml", "server": "https://crm.example.com/v2",
     "operations": ["getCustomer"], "tags": ["orders"],
     "headers": {"Authorization": "Bearer {env.ROUTER_TOOL_CRM_TOKEN}"}}

Only what is named is offered: a document's other operations aren't reached.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from router.documents.document import Place, Unreadable, read_document, read_text
from router.documents.strict_json import ANY_DEPTH, strict_json
from router.domain.errors import Fault, nearest
from router.domain.locale import Localised
from router.tool.http.declaration import (
    KEYS,
    Complaints,
    Declared,
    read_fields,
    read_name,
    read_options,
    read_schema,
    read_title,
)
from router.tool.http.endpoint import Endpoint, EndpointAddress, Field, read_address
from router.tool.http.operations import (
    ApiOperation,
    OperationArguments,
    References,
    Unsuitable,
    operations_of,
    taken_by,
)
from router.tool.http.template import Environment, Unusable
from router.tool.labels import LONGEST, is_label, labelled

WORDING_KEYS = ("title", "description_zh", "labels")


@dataclass(frozen=True)
class Wording:
    """The words for one operation; what isn't said is as the document has it."""

    title: Localised | None = None
    description_zh: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By argument, what a Chinese form calls it."""


def read_wordings(
    complaints: Complaints, place: Place, value: Any, there: Collection[str]
) -> dict[str, Wording]:
    """The words by operation; each has to be one that is selected."""
    found: dict[str, Wording] = {}
    for name, given in (complaints.mapping(place, value) if value is not None else {}).items():
        here = (*place, name)
        if name not in there:
            remedy = nearest(name, there) or f"there are: {', '.join(sorted(there)[:12]) or 'none'}"
            complaints.add(here, f"no operation {name[:60]} is selected", remedy)
            continue
        found[name] = _wording(complaints, here, complaints.mapping(here, given))
    return found


def _wording(complaints: Complaints, place: Place, data: Mapping[str, Any]) -> Wording:
    complaints.unknown_keys(place, data, WORDING_KEYS)
    title, about = data.get("title"), data.get("description_zh")
    at_title, at_about = (*place, "title"), (*place, "description_zh")
    return Wording(
        title=None if title is None else read_title(complaints, at_title, title, ""),
        description_zh="" if about is None else complaints.text(at_about, about),
        labels=_labels(complaints, (*place, "labels"), data.get("labels")),
    )


def _labels(complaints: Complaints, place: Place, value: Any) -> dict[str, str]:
    given = {} if value is None else complaints.mapping(place, value)
    for name, label in given.items():
        if not is_label(label):
            what = f"the label of {name[:40]} can't be shown"
            complaints.add((*place, name), what, f"write up to {LONGEST} characters, on one line")
    return {name: label for name, label in given.items() if is_label(label)}


LARGEST = 4 * 1024 * 1024
MOST_NODES = 200_000
SELECTION_KEYS = (
    *("openapi", "server", "operations", "tags", "prefix", "headers", "query_params", "tools"),
    *(key for key in KEYS if key not in ("title", "examples", "permission", "result")),
)
_FIRST_VERSIONS = ("3.0", "3.1")


def is_selection(data: Mapping[str, Any]) -> bool:
    """True where a file selects from an OpenAPI document rather than declaring a tool itself."""
    return "openapi" in data and "endpoint" not in data


def document_path(selecting: Path, data: Mapping[str, Any]) -> Path:
    """The document's file; it lies beside the file that selects from it, or below."""
    return selecting.parent / str(data.get("openapi"))


def read_selection(
    complaints: Complaints,
    place: Place,
    data: Mapping[str, Any],
    file: Path,
    environment: Environment,
) -> Iterator[Declared]:
    """The tools that are selected; none where complaints say why there can't be any.

    Raises `Absent` where they need a variable that isn't set.
    """
    complaints.unknown_keys(place, data, SELECTION_KEYS)
    document = _document(complaints, (*place, "openapi"), data, file)
    if document is None:
        return
    reading = _Selection(complaints, place, data, document, environment)
    for operation in reading.selected():
        declared = reading.declared(operation)
        if declared is not None:
            yield declared


def _document(
    complaints: Complaints, place: Place, data: Mapping[str, Any], file: Path
) -> dict[str, Any] | None:
    name = complaints.text(place, data.get("openapi"))
    path = document_path(file, data)
    if not name:
        return None
    if not path.resolve().is_relative_to(file.parent.resolve()):
        complaints.add(
            place, f"{name} lies outside this folder", "put the document beside this file"
        )
        return None
    try:
        document = _parsed(read_text(path, LARGEST, "leave out what isn't used"), path)
    except Unreadable as unreadable:
        what = f"{name}, line {unreadable.line}: {unreadable.fault.what}"
        complaints.add(place, what, unreadable.fault.remedy)
        return None
    version = str(document.get("openapi", "")) if isinstance(document, dict) else ""
    if not version.startswith(_FIRST_VERSIONS):
        what = f"{name} is no OpenAPI 3.0 or 3.1 document"
        complaints.add(place, what, "convert it, and begin it with openapi: 3.1.0")
        return None
    return document  # type: ignore[no-any-return]


def _parsed(text: str, path: Path) -> Any:
    """The document's data: JSON by its own reader, which is fifty times faster than YAML's."""
    if path.suffix != ".json":
        return read_document(text, MOST_NODES).data
    try:
        return strict_json(text, ANY_DEPTH, unique=False)
    except json.JSONDecodeError as error:
        raise Unreadable(error.lineno, Fault(f"it isn't JSON: {error.msg}", "mend it")) from None
    except ValueError as error:
        raise Unreadable(1, Fault(f"it isn't JSON: {error}", "mend it")) from None


class _Selection:
    """One reading of a selection."""

    def __init__(
        self,
        complaints: Complaints,
        place: Place,
        data: Mapping[str, Any],
        document: dict[str, Any],
        environment: Environment,
    ) -> None:
        self._complaints = complaints
        self._place = place
        self._data = data
        self._environment = environment
        self._document = document
        self._references = References(document)
        self._server = self._read_server()
        self._headers = self._fields("headers")
        self._query = self._fields("query_params")
        self._prefix = str(data.get("prefix") or "")
        self._wordings: dict[str, Wording] = {}

    def selected(self) -> list[ApiOperation]:
        """The operations that are named, by themselves or by a tag."""
        there = operations_of(self._document, self._references)
        names = self._complaints.texts((*self._place, "operations"), self._data.get("operations"))
        tags = self._complaints.texts((*self._place, "tags"), self._data.get("tags"))
        if not names and not tags:
            remedy = 'name some, as in "operations": ["getCustomer"] or "tags": ["orders"]'
            self._complaints.add(self._place, "no operation is selected", remedy)
        self._check_named("operations", names, {each.id for each in there})
        self._check_named("tags", tags, {tag for each in there for tag in each.tags})
        chosen = [each for each in there if each.id in names or each.tags & set(tags)]
        at_tools, ids = (*self._place, "tools"), {each.id for each in chosen}
        self._wordings = read_wordings(self._complaints, at_tools, self._data.get("tools"), ids)
        return chosen

    def declared(self, operation: ApiOperation) -> Declared | None:
        """One operation as a tool."""
        before = len(self._complaints.found)
        at_operation = (*self._place, "operations")
        name = read_name(self._complaints, at_operation, f"{self._prefix}{operation.name}")
        try:
            taken = taken_by(operation, self._references)
        except Unsuitable as unsuitable:
            what = f"{operation.id}: {unsuitable.fault.what}"
            self._complaints.add(at_operation, what, unsuitable.fault.remedy)
            return None
        words = self._wordings.get(operation.id, Wording())
        self._check_labels(operation.id, words, taken)
        labelled_schema = labelled(taken.schema, words.labels)
        schema = read_schema(self._complaints, at_operation, labelled_schema)
        data = {**self._data, "title": operation.title}
        if words.title is not None:
            data["title"] = words.title.model_dump()
        options = read_options(self._complaints, self._place, data, name, operation.method)
        if len(self._complaints.found) > before or schema is None or self._server is None:
            return None
        endpoint = self._endpoint(operation, taken, self._server)
        description = operation.description or name
        return Declared(
            *(name, description, schema, endpoint, options),
            description_zh=words.description_zh,
            from_document=True,
        )

    def _check_labels(self, operation: str, words: Wording, taken: OperationArguments) -> None:
        for name in words.labels.keys() - taken.properties.keys():
            known = ", ".join(taken.properties) or "none"
            remedy = nearest(name, taken.properties) or f"there are: {known}"
            place = (*self._place, "tools", operation, "labels", name)
            self._complaints.add(place, f"{operation} takes no {name[:40]}", remedy)

    def _endpoint(
        self, operation: ApiOperation, taken: OperationArguments, server: EndpointAddress
    ) -> Endpoint:
        base = "".join(str(piece) for piece in server.path).rstrip("/")
        return Endpoint(
            method=operation.method,
            origin=server.origin,
            path=(base, *taken.path),
            query=(*server.query, *self._query, *taken.query),
            headers=(*self._headers, *taken.headers),
            body=taken.body,
            body_type=taken.body_type,
        )

    def _fields(self, key: str) -> tuple[Field, ...]:
        return read_fields(
            self._complaints, self._place, key, self._data.get(key), self._environment
        )

    def _read_server(self) -> EndpointAddress | None:
        """Where the operations are: what the selection says, else the document's first server."""
        place = (*self._place, "server")
        servers = self._document.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else None
        named = first.get("url") if isinstance(first, dict) else None
        text = self._data.get("server", named)
        if not isinstance(text, str) or not text:
            self._complaints.add(place, "there is no server", 'write "server": "https://…"')
            return None
        try:
            return read_address(text, self._environment)
        except Unusable as unusable:
            self._complaints.found += [(place, fault) for fault in unusable.faults]
            return None

    def _check_named(self, key: str, names: tuple[str, ...], there: set[str]) -> None:
        for number, name in enumerate(names):
            if name not in there:
                known = ", ".join(sorted(there)[:12]) or "none"
                remedy = nearest(name, there) or f"there are: {known}"
                what = f"the document has no {key[:-1]} {name[:60]}"
                self._complaints.add((*self._place, key, number), what, remedy)
