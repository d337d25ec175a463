"""Operations of an OpenAPI 3.0 or 3.1 document as tools.

    {"openapi": "crm.yaml", "server": "https://crm.example.com/v2",
     "operations": ["getCustomer"], "tags": ["orders"],
     "headers": {"Authorization": "Bearer {env.ROUTER_TOOL_CRM_TOKEN}"},
     "tools": {"getCustomer": {"title": {"zh": "客户资料", "en": "A customer"},
                               "labels": {"id": "客户编号"}}}}

Only what is named is offered: a document's other operations aren't reached. What people call
them, and their arguments, stands under `tools`, for a document says it in one language.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from router.documents.document import Place, Unreadable, read_document, read_text
from router.documents.strict_json import ANY_DEPTH, strict_json
from router.documents.validation import Complaint
from router.domain.errors import Fault, nearest
from router.domain.locale import Localised
from router.tool.http.declaration import (
    SECONDS,
    Declared,
    EndpointReader,
    OperationWording,
    SelectionEntry,
    callable_name,
    title_of,
    usual_permission,
)
from router.tool.http.endpoint import Endpoint, EndpointAddress
from router.tool.http.operations import (
    ApiOperation,
    OpenApiReferences,
    OperationArguments,
    Unsuitable,
    operations_of,
    taken_by,
)
from router.tool.http.response import AnswerSelection
from router.tool.http.template import Environment
from router.tool.implementation import ArgumentSchema
from router.tool.labels import labelled

LARGEST = 4 * 1024 * 1024
MOST_NODES = 200_000
_FIRST_VERSIONS = ("3.0", "3.1")


def is_selection(data: Mapping[str, Any]) -> bool:
    """True where a file selects from an OpenAPI document rather than declaring a tool itself."""
    return "openapi" in data and "endpoint" not in data


def document_path(selecting: Path, entry: SelectionEntry) -> Path:
    """The document's file; it lies beside the file that selects from it, or below."""
    return selecting.parent / entry.openapi


def selected_tools(
    entry: SelectionEntry, place: Place, file: Path, environment: Environment
) -> tuple[list[Declared], list[Complaint]]:
    """The tools that are selected, and why some can't be.

    Raises `Absent` where they need a variable that isn't set.
    """
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
        what = f"{name}, line {unreadable.line}: {unreadable.fault.what}"
        raise Unsuitable(what, unreadable.fault.remedy) from None
    version = str(document.get("openapi", "")) if isinstance(document, dict) else ""
    if not version.startswith(_FIRST_VERSIONS):
        remedy = "convert it, and begin it with openapi: 3.1.0"
        raise Unsuitable(f"{name} is no OpenAPI 3.0 or 3.1 document", remedy)
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
        entry: SelectionEntry,
        place: Place,
        document: dict[str, Any],
        environment: Environment,
    ) -> None:
        self._entry = entry
        self._place = place
        self._document = document
        self._references = OpenApiReferences(document)
        self._written = EndpointReader(place, environment)
        self.complaints = self._written.complaints
        self._server = self._read_server()
        self._headers = self._written.fields("headers", entry.headers)
        self._query = self._written.fields("query_params", entry.query_params)

    def selected(self) -> list[ApiOperation]:
        """The operations that are named, by themselves or by a tag."""
        there, entry = operations_of(self._document, self._references), self._entry
        if not entry.operations and not entry.tags:
            remedy = 'name some, as in "operations": ["getCustomer"] or "tags": ["orders"]'
            self._complain((), "no operation is selected", remedy)
        self._check_named("operations", entry.operations, {each.id for each in there})
        self._check_named("tags", entry.tags, {tag for each in there for tag in each.tags})
        tags = frozenset(entry.tags)
        chosen = [each for each in there if each.id in entry.operations or each.tags & tags]
        ids = sorted(each.id for each in chosen)
        for name in entry.tools.keys() - set(ids):
            remedy = nearest(name, ids) or f"there are: {', '.join(ids[:12]) or 'none'}"
            self._complain(("tools", name), f"no operation {name[:60]} is selected", remedy)
        return chosen

    def declared(self, operation: ApiOperation) -> Declared | None:
        """One operation as a tool; None where complaints say why it can't be one."""
        words = self._entry.tools.get(operation.id, OperationWording())
        try:
            name = callable_name(f"{self._entry.prefix or ''}{operation.name}")
            taken = taken_by(operation, self._references)
            self._check_labels(operation.id, words, taken)
            schema = ArgumentSchema(labelled(taken.schema, words.labels))
        except Unsuitable as unsuitable:
            what = f"{operation.id}: {unsuitable.fault.what}"
            self._complain(("operations",), what, unsuitable.fault.remedy)
            return None
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            self._complain(("operations",), what, remedy or "see json-schema.org")
            return None
        if self.complaints or self._server is None:
            return None
        spoken = (operation.title or "").strip()
        title = Localised(zh=spoken, en=spoken) if spoken else title_of(name)
        items = self._entry.items
        return Declared(
            name=name,
            title=words.title or title,
            description=operation.description or name,
            permission=usual_permission(operation.method),
            schema=schema,
            endpoint=self._endpoint(operation, taken, self._server),
            call=self._entry,
            seconds=self._entry.timeout or SECONDS,
            wanted=AnswerSelection("", items.most, frozenset(items.keep)),
            description_zh=words.description_zh or "",
            from_document=True,
        )

    def _check_labels(
        self, operation: str, words: OperationWording, taken: OperationArguments
    ) -> None:
        for name in words.labels.keys() - taken.properties.keys():
            known = ", ".join(taken.properties) or "none"
            remedy = nearest(name, taken.properties) or f"there are: {known}"
            place = ("tools", operation, "labels", name)
            self._complain(place, f"{operation} takes no {name[:40]}", remedy)

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

    def _read_server(self) -> EndpointAddress | None:
        """Where the operations are: what the selection says, else the document's first server."""
        servers = self._document.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else None
        named = first.get("url") if isinstance(first, dict) else None
        text = self._entry.server or named
        if isinstance(text, str) and text:
            return self._written.address("server", text)
        self._complain(("server",), "there is no server", 'write "server": "https://…"')
        return None

    def _check_named(self, key: str, names: tuple[str, ...], there: set[str]) -> None:
        for number, name in enumerate(names):
            if name not in there:
                known = ", ".join(sorted(there)[:12]) or "none"
                remedy = nearest(name, there) or f"there are: {known}"
                self._complain((key, number), f"the document has no {key[:-1]} {name[:60]}", remedy)

    def _complain(self, place: Place, what: str, remedy: str) -> None:
        self.complaints.append(Complaint((*self._place, *place), Fault(what, remedy)))
