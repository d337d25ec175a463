"""Tools that JSON files declare: of an HTTP endpoint, an OpenAPI document, or Temporal.

They follow their files: what is edited counts within seconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import JsonValue

from router.domain.errors import (
    DefinitionError,
    Fault,
    MisconfiguredError,
    PermanentToolError,
    Problem,
    TransientToolError,
)
from router.domain.locale import Localised
from router.domain.source_lines import SourceLine
from router.extensions.http.declaration import (
    Declared,
    HttpToolEntry,
    SelectionEntry,
    declared_tool,
)
from router.extensions.http.dialects import DialectReading
from router.extensions.http.endpoint import Endpoint, request
from router.extensions.http.openapi import document_path, is_selection, selected_tools
from router.extensions.http.selection import AnswerSelection
from router.extensions.http.template import Absent, Assumed, Variables
from router.extensions.http.temporal import (
    KIND,
    RPC_SECONDS,
    DeclaredWorkflowTool,
    TemporalToolEntry,
    WorkflowImplementation,
    declared_workflow_tool,
)
from router.formats.keepable import keepable
from router.formats.strict_json import json_document
from router.formats.validation import Complaint, problems_in, validated
from router.formats.yaml_document import Place, Unreadable, read_text
from router.outbound.client import Sender, Unreached
from router.outbound.response import Redaction, failure_of, value_of
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, SchemaImplementation
from router.tool.tool import Tool, ToolOptions

AnyEntry = SelectionEntry | HttpToolEntry | TemporalToolEntry
KEY_HEADER = "Idempotency-Key"
_PRINTABLE = "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"


@dataclass(frozen=True)
class HttpImplementation(SchemaImplementation):
    """Checks arguments by the declared schema, sends them, and selects from the answer."""

    endpoint: Endpoint
    wanted: AnswerSelection
    seconds: float
    writes: bool
    repeatable: bool
    """True where a second call with the same key does nothing more."""
    sender: Sender
    redaction: Redaction
    kind: str
    """`openapi` for an operation of a document, else `http`."""

    async def call(self, arguments: Arguments, context: ToolContext, _: Dependencies) -> JsonValue:
        """What the server answers, as far as it is wanted.

        Raises:
            ArgumentsToolError: an argument fits nowhere, or the server says so.
            TransientToolError: the server is busy, broken or gone.
            PermanentToolError: it refuses, or the request can't be made of what it needs.
            UnusableResult: it has done what it was asked for, and its answer can't be used.
        """
        made = request(self.endpoint, self.schema.given(arguments), context)
        if context.key:
            key = quote(context.key, safe=_PRINTABLE)
            made = replace(made, headers={KEY_HEADER: key, **made.headers})
        try:
            received = await self.sender.send(made, self.seconds)
        except Unreached as error:
            if self.writes and not self.repeatable:
                done = Localised(zh=f"{error.said.zh}，什么也没做", en=f"{error}; nothing was done")
                raise PermanentToolError(done) from None
            raise TransientToolError(error.said) from None
        if not received.fine:
            raise failure_of(received, str(made.origin), self.redaction)
        return self.redaction.value(keepable(self.wanted.of(value_of(received))))


LARGEST = 256 * 1024
SCHEMA = "$schema"
"""A key for editors, which says nothing to us."""
_ADDRESSES = (("url",), ("server",))
"""The keys of addresses: of an endpoint, and of an OpenAPI document's operations."""


@dataclass
class LoadedTools:
    """The tools of a folder, the files they come from, and which aren't there and why."""

    tools: list[Tool] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """By file, the variable that isn't set."""
    notes: list[str] = field(default_factory=list)
    """What was read otherwise than it is written, each with its file and line."""


def load_http_tools(place: Path, variables: Mapping[str, str], sender: Sender) -> LoadedTools:
    """The tools of a folder's `*.json` files, or of one file.

    A tool that needs a variable which isn't set is absent, and everything else as it is. Raises
    `MisconfiguredError` where there is no such folder, `DefinitionError` with every problem.
    """
    if not place.exists():
        raise MisconfiguredError(f"ROUTER_HTTP_TOOLS={place} isn't there: name a folder or a file")
    loaded, problems = LoadedTools(), list[Problem]()
    for path in sorted(place.glob("*.json")) if place.is_dir() else [place]:
        try:
            text = read_text(path, LARGEST, _FEWER)
            _File(path, variables, sender).load(text, loaded)
        except Unreadable as bad:
            problems.append(Problem(str(path), bad.line, *bad.fault))
        except DefinitionError as error:
            problems += error.problems
    problems += _named_twice(loaded.tools)
    if problems:
        raise DefinitionError(problems)
    return loaded


def tools_in_text(
    path: Path, text: str, variables: Mapping[str, str], sender: Sender
) -> LoadedTools:
    """The tools that a text declares which stands in no file; `path` is what is said of it.

    There is no OpenAPI document beside it to select from. Raises `DefinitionError`, also for a
    variable that isn't set.
    """
    if len(text.encode()) > LARGEST:
        raise DefinitionError([Problem(str(path), 1, f"it is over {LARGEST // 1024} KiB", _FEWER)])
    loaded = LoadedTools()
    _File(path, variables, sender, alone=True).load(text, loaded)
    problems = [*_named_twice(loaded.tools)]
    for variable in loaded.absent.values():
        known = ", ".join(sorted(variables)) or "none"
        remedy = f"set it where the router runs, or name another; there are: {known}"
        problems.append(Problem(str(path), 1, f"{variable} isn't set for it", remedy))
    if problems:
        raise DefinitionError(problems)
    return loaded


_FEWER = "declare fewer tools in one file"


def _named_twice(tools: Iterable[Tool]) -> Iterator[Problem]:
    known: dict[str, Tool] = {}
    for tool in tools:
        other = known.setdefault(tool.name, tool)
        if other is not tool:
            what = f"the tool {tool.name} is in {other.source.file}:{other.source.line} already"
            yield Problem(*tool.source, what, "rename one of the two")


class _File:
    """One reading of one file."""

    def __init__(
        self, path: Path, variables: Mapping[str, str], sender: Sender, *, alone: bool = False
    ) -> None:
        """`alone` is one that has no documents beside it."""
        self.path = path
        self.alone = alone
        self.variables = variables
        self.environment = Variables(variables)
        self.sender = sender
        self.complaints: list[Complaint] = []
        self.dialect = DialectReading()

    def load(self, text: str, into: LoadedTools) -> None:
        """Add what the file's text declares; raises `DefinitionError`."""
        try:
            document = json_document(text)
        except Unreadable as bad:
            raise DefinitionError([Problem(str(self.path), bad.line, *bad.fault)]) from None
        if isinstance(document.data, dict) and "paths" in document.data and not self.alone:
            return  # an OpenAPI document, which another file here selects from
        into.files.append(self.path)
        found: list[tuple[Place, Declared | DeclaredWorkflowTool]] = []
        for place, data in self.dialect.entries(document.data):
            found += [(place, each) for each in self._entry(place, data, into)]
        self.complaints += self.dialect.complaints
        for declared in [each for _, each in found if isinstance(each, Declared)]:
            if fault := self.sender.guard.fault(declared.endpoint.origin):
                named = Fault(f"{declared.name}: {fault.what}", fault.remedy)
                self.complaints.append(Complaint(("endpoint", "url"), named))
        problems = problems_in(str(self.path), document, self.complaints)
        if problems:
            raise DefinitionError(problems)
        into.tools += [self._tool(each, document.line(place)) for place, each in found]
        into.notes += [
            f"{self.path}:{document.line(place)}: {note}" for place, note in self.dialect.notes
        ]

    def _entry(
        self, place: Place, data: Any, into: LoadedTools
    ) -> list[Declared | DeclaredWorkflowTool]:
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if key != SCHEMA}
        selects = isinstance(data, dict) and is_selection(data)
        if selects and self.alone:
            fault = Fault("there is no OpenAPI document beside it", "declare each tool by itself")
            self.complaints.append(Complaint((*place, "openapi"), fault))
            return []
        tells = isinstance(data, dict) and KIND in data
        if tells and self.alone:
            fault = Fault("a document of a tenant reaches no workflows", "declare it in a file")
            self.complaints.append(Complaint((*place, KIND), fault))
            return []
        data = data if selects or tells else self.dialect.read(data, place)
        model: type[AnyEntry] = SelectionEntry if selects else HttpToolEntry
        model = TemporalToolEntry if tells else model
        reading = validated(model, data, place)
        self.complaints += reading.complaints
        if reading.value is None:
            return []
        if isinstance(reading.value, SelectionEntry):
            into.files.append(document_path(self.path, reading.value))
        try:
            found, complaints = self._declared(reading.value, place, self.environment)
        except Absent as absent:
            into.absent[str(self.path)] = absent.variable
            _, complaints = self._declared(reading.value, place, Assumed(self.variables))
            # What an address comes to depends on the variable; all else doesn't.
            complaints = [each for each in complaints if each.place[-1:] not in _ADDRESSES]
            found = []
        self.complaints += complaints
        return found

    def _declared(
        self, entry: AnyEntry, place: Place, environment: Variables
    ) -> tuple[list[Any], list[Complaint]]:
        if isinstance(entry, SelectionEntry):
            return selected_tools(entry, place, self.path, environment)
        if isinstance(entry, TemporalToolEntry):
            return declared_workflow_tool(entry, place, environment)
        return declared_tool(entry, place, environment)

    def _tool(self, declared: Declared | DeclaredWorkflowTool, line: int) -> Tool:
        if isinstance(declared, DeclaredWorkflowTool):
            return _workflow_tool(declared, SourceLine(str(self.path), line))
        call = declared.call
        repeatable = call.is_idempotent(declared.endpoint.method)
        return Tool(
            name=declared.name,
            title=declared.title,
            description=declared.description,
            examples=declared.examples,
            permission=declared.permission,
            roles=frozenset(call.roles or ()),
            confirm=bool(call.confirm),
            idempotent=repeatable,
            timeout=timedelta(seconds=declared.seconds),
            retries=call.retries,
            options=ToolOptions(at_once=call.at_once, system=str(declared.endpoint.origin)),
            implementation=HttpImplementation(
                schema=declared.schema,
                endpoint=declared.endpoint,
                wanted=declared.wanted,
                seconds=declared.seconds,
                writes=declared.permission != "read",
                repeatable=repeatable,
                sender=self.sender,
                redaction=Redaction(self.environment.used),
                kind=declared.kind,
            ),
            source=SourceLine(str(self.path), line),
            description_zh=declared.description_zh,
        )


def _workflow_tool(declared: DeclaredWorkflowTool, source: SourceLine) -> Tool:
    entry = declared.entry
    return Tool(
        name=declared.name,
        title=declared.title,
        description=entry.description,
        examples=entry.examples or (),
        permission=declared.permission,
        roles=frozenset(entry.roles or ()),
        confirm=bool(entry.confirm),
        idempotent=True,
        # An operation has its time; who asks for it waits a little longer.
        timeout=timedelta(seconds=declared.seconds + RPC_SECONDS),
        retries=entry.retries,
        options=ToolOptions(at_once=entry.at_once, system=declared.system),
        implementation=WorkflowImplementation(
            schema=declared.schema,
            target=declared.target,
            input=declared.input,
            wanted=declared.wanted,
            seconds=declared.seconds,
            writes=declared.permission != "read",
        ),
        source=source,
        description_zh=entry.description_zh or "",
    )
