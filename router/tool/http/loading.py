"""Files and folders of declared tools into tools.

loaded = load_http_tools(folder, variables, Sender(Guard(allowed)))
registry.replace("http", loaded.tools)
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from router.documents.faults import Fault
from router.documents.text_file import read_text
from router.documents.yaml_document import Document, Unreadable, read_document
from router.domain.errors import DefinitionError, MisconfiguredError, Problem
from router.tool.http.answers import Redaction
from router.tool.http.complaints import Complaints
from router.tool.http.implementation import HttpImplementation
from router.tool.http.openapi import document_path, is_selection, read_selection
from router.tool.http.reading import Declared, read_declared
from router.tool.http.sending import Sender
from router.tool.http.template import Absent, Assumed, Environment
from router.tool.signature import Source
from router.tool.tool import Options as ToolOptions
from router.tool.tool import Tool

LARGEST = 256 * 1024
SCHEMA = "$schema"
"""A key for editors, which says nothing to us."""
_ADDRESSES = ("url", "server")
"""The keys of addresses: of an endpoint, and of an OpenAPI document's operations."""


@dataclass
class Loaded:
    """The tools of a folder, the files they come from, and which aren't there and why."""

    tools: list[Tool] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """By file, the variable that isn't set."""


def load_http_tools(place: Path, variables: Mapping[str, str], sender: Sender) -> Loaded:
    """The tools of a folder's `*.json` files, or of one file.

    A tool that needs a variable which isn't set is absent, and everything else as it is.

    Raises:
        MisconfiguredError: there is no such folder.
        DefinitionError: with every problem of every file.
    """
    if not place.exists():
        raise MisconfiguredError(f"ROUTER_HTTP_TOOLS={place} isn't there: name a folder or a file")
    loaded, problems = Loaded(), list[Problem]()
    for path in sorted(place.glob("*.json")) if place.is_dir() else [place]:
        try:
            _File(path, variables, sender).load(loaded)
        except DefinitionError as error:
            problems += error.problems
    problems += _twice(loaded.tools)
    if problems:
        raise DefinitionError(problems)
    return loaded


class _File:
    """One reading of one file."""

    def __init__(self, path: Path, variables: Mapping[str, str], sender: Sender) -> None:
        self.path = path
        self.variables = variables
        self.environment = Environment(variables)
        self.sender = sender
        self.complaints = Complaints()

    def load(self, into: Loaded) -> None:
        """Add what the file declares; raises `DefinitionError`."""
        document = self._document()
        if isinstance(document.data, dict) and "paths" in document.data:
            return  # an OpenAPI document, which another file here selects from
        into.files.append(self.path)
        several = isinstance(document.data, list)
        entries = document.data if several else [document.data]
        found: list[Declared] = []
        for number, data in enumerate(entries):
            place = (number,) if several else ()
            try:
                found += self._declared(place, data, into, self.environment)
            except Absent as absent:
                into.absent[str(self.path)] = absent.variable
                self._check_form(place, data)
        for declared in found:
            self._check_origin(declared)
        self._raise_if_wrong(document)
        into.tools += [self._tool(each, document) for each in found]

    def _document(self) -> Document:
        try:
            return read_json(read_text(self.path, LARGEST, "declare fewer tools in one file"))
        except Unreadable as unreadable:
            fault = unreadable.fault
            problem = Problem(str(self.path), unreadable.line, fault.what, fault.remedy)
            raise DefinitionError([problem]) from None

    def _check_form(self, place: tuple[int, ...], data: Any) -> None:
        """Complain of whatever is wrong with it, now that a variable keeps it from being read."""
        before = len(self.complaints.found)
        list(self._declared(place, data, Loaded(), Assumed(self.variables)))
        # What an address comes to depends on the variable; all else doesn't.
        self.complaints.found[before:] = [
            (at, fault)
            for at, fault in self.complaints.found[before:]
            if not at or at[-1] not in _ADDRESSES
        ]

    def _declared(
        self, place: tuple[int, ...], data: Any, into: Loaded, environment: Environment
    ) -> Iterator[Declared]:
        if not isinstance(data, dict):
            self.complaints.mapping(place, data)
            return
        data = {key: value for key, value in data.items() if key != SCHEMA}
        if is_selection(data):
            into.files.append(document_path(self.path, data))
            yield from read_selection(self.complaints, place, data, self.path, environment)
            return
        declared = read_declared(self.complaints, place, data, environment)
        if declared is not None:
            yield declared

    def _check_origin(self, declared: Declared) -> None:
        objection = self.sender.guard.objection(declared.endpoint.origin)
        if objection:
            what, _, remedy = objection.partition("; ")
            self.complaints.add(("endpoint", "url"), f"{declared.name}: {what}", remedy)

    def _raise_if_wrong(self, document: Document) -> None:
        found = [*document.faults, *((document.line(p), f) for p, f in self.complaints.found)]
        if found:
            ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
            raise DefinitionError(
                [Problem(str(self.path), n, f.what, f.remedy) for n, f in ordered]
            )

    def _tool(self, declared: Declared, document: Document) -> Tool:
        options = declared.options
        return Tool(
            name=declared.name,
            title=options.title,
            description=declared.description,
            examples=options.examples,
            permission=options.permission,
            roles=options.roles,
            confirm=options.confirm,
            idempotent=options.idempotent,
            timeout=timedelta(seconds=options.seconds),
            retries=options.retries,
            options=ToolOptions(at_once=options.at_once),
            implementation=HttpImplementation(
                schema=declared.schema,
                endpoint=declared.endpoint,
                wanted=options.wanted,
                seconds=options.seconds,
                writes=options.permission != "read",
                repeatable=options.idempotent,
                sender=self.sender,
                redaction=Redaction(self.environment.used),
                from_document=declared.from_document,
            ),
            source=Source(str(self.path), _line_of(declared.name, document)),
            description_zh=declared.description_zh,
        )


def read_json(text: str) -> Document:
    """JSON with its lines; raises `Unreadable`.

    Every JSON is YAML, whose reader knows lines and sees a key that comes twice; but what
    counts is what JSON says.
    """
    # Tabs are no part of any JSON text, but YAML won't be indented with them.
    unread, document = None, Document()
    try:
        document = read_document(text.replace("\t", " "))
    except Unreadable as unreadable:
        unread = unreadable
        if "isn't YAML" not in unread.fault.what:
            raise
    try:
        data = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        fault = Fault(f"this isn't JSON: {error.msg}", "look at commas, quotes and brackets here")
        raise Unreadable(error.lineno, fault) from None
    except RecursionError:
        raise Unreadable(1, Fault("it is nested too deep", "flatten it")) from None
    except ValueError as error:
        raise Unreadable(1, Fault(f"this isn't JSON: {error}", "write a number")) from None
    if unread is not None:
        raise unread
    return replace(document, data=data)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def _line_of(name: str, document: Document) -> int:
    entries = document.data if isinstance(document.data, list) else []
    for number, data in enumerate(entries):
        if isinstance(data, dict) and data.get("name") == name:
            return document.line((number,))
    return 1


def _twice(tools: list[Tool]) -> Iterator[Problem]:
    known: dict[str, Tool] = {}
    for tool in tools:
        other = known.setdefault(tool.name, tool)
        if other is not tool:
            what = f"the tool {tool.name} is in {other.source.file}:{other.source.line} already"
            yield Problem(*tool.source, what, "rename one of the two")
