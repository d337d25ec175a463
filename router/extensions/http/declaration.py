"""Tools as JSON files declare them: what may stand in a file, and the endpoint that it makes.

A file's shape is that of the models here; what it means beside that (its holes name parameters,
its path can't climb) is read against the parameters there are. All that is wrong is told at once.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic import Field as Described

from router.domain.errors import Fault, FaultyValue, fault_in, nearest
from router.domain.locale import Localised
from router.domain.principals import EVERYONE
from router.extensions.http.endpoint import (
    FORM,
    JSON,
    BodyTemplate,
    Endpoint,
    EndpointAddress,
    Field,
    read_address,
)
from router.extensions.http.selection import AnswerSelection, is_pointer
from router.extensions.http.template import Hole, Template, Unusable, Variables, holes
from router.formats.validation import Complaint, Entry, said
from router.formats.yaml_document import Place
from router.tool.implementation import ArgumentSchema
from router.tool.labels import LONGEST as LONGEST_LABEL
from router.tool.labels import is_label
from router.tool.tool import ANOTHER, DURATION, RESERVED, TAKEN, Permission, seconds_of, titled

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "HEAD")
SECONDS = 10.0
LONGEST = 300.0
RETRIES = 3

_CALLED = r"[A-Za-z][A-Za-z0-9_-]{0,62}"


def callable_name(name: str) -> str:
    """The name, where models can call a tool by it; raises `ValueError`."""
    if not re.fullmatch(_CALLED, name):
        remedy = "use up to 63 letters, digits, _ and -, a letter first"
        raise FaultyValue(f"{name[:80]!r} is no name that models can call", remedy)
    if name in RESERVED:
        raise FaultyValue(f"the tool {name} {TAKEN}", ANOTHER)
    return name


def _seconds(value: Any) -> Any:
    return seconds_of(value) or value if isinstance(value, str) else value


def _title(written: Any) -> Any:
    """Words in both languages; one text stands for both."""
    title = {"zh": written, "en": written} if isinstance(written, str) else written
    if isinstance(title, dict) and not all(map(str.strip, map(str, title.values()))):
        raise ValueError("it is empty in one language")
    return title


def _answer_place(value: Any) -> Any:
    places = {"": value} if isinstance(value, str) else value
    if value is None:
        return ""
    if not isinstance(places, dict) or not places:
        remedy = 'write a JSON pointer such as "/data/0", or {"name": "/pointer"}'
        raise FaultyValue("result is no place in an answer", remedy)
    for each in places.values():
        if not isinstance(each, str) or not is_pointer(each):
            remedy = "begin it with a slash, as in /data/0/name"
            raise FaultyValue(f"{each!r:.60} is no JSON pointer", remedy)
    return value


def _attribute(text: str) -> str:
    if not re.fullmatch(r"[!#-$&-z|~]{1,200}", text):
        remedy = "write up to 200 letters, digits and signs, without blanks, quotes, % or holes"
        raise FaultyValue(f"{text[:60]!r} is no attribute of a CloudEvent", remedy)
    return text


def _label(text: str) -> str:
    if not is_label(text):
        raise ValueError("it can't be shown")
    return text


def _schema(data: Any) -> ArgumentSchema:
    if not isinstance(data, dict):
        raise FaultyValue("{key} is no object", 'write {"type": "object", "properties": {…}}')
    try:
        return ArgumentSchema(data)
    except ValueError as error:
        what, remedy = fault_in(error, "see json-schema.org")
        raise FaultyValue(f"parameters: {what}", remedy) from None


WordField = Annotated[StrictStr, StringConstraints(pattern=r"\S")]
TextField = Annotated[WordField, said('write "{key}": "…"', "{key} isn't text")]
TextsField = Annotated[
    tuple[Annotated[StrictStr, StringConstraints(min_length=1)], ...],
    said('write "{key}": ["…"]', "{key} is no list of texts"),
]
Flag = Annotated[StrictBool, said("write true or false")]
AtLeastOne = Annotated[StrictInt, Ge(1)]
SecondsField = Annotated[
    Annotated[StrictFloat | StrictInt, Described(gt=0, le=LONGEST)],
    BeforeValidator(
        _seconds,
        json_schema_input_type=Annotated[float, Described(gt=0), Le(LONGEST)]
        | Annotated[str, Described(pattern=f"^{DURATION}$")],
    ),
    said(f'write seconds up to {LONGEST:g}, or a text like "500ms" or "10s"'),
]
Title = Annotated[
    Localised,
    BeforeValidator(_title, json_schema_input_type=WordField | Localised),
    said('write {"zh": "…", "en": "…"}', "title isn't in both languages"),
]
Pointer = Annotated[str, Described(pattern="^(/|$)")]
Filled = Annotated[
    StrictStr | StrictInt | StrictFloat | StrictBool,
    said('write "…", with {parameter} in it', "{key} is no text"),
]
FilledValues = Mapping[str, Filled]


class ItemsEntry(Entry):
    """What is kept of a list."""

    most: Annotated[
        AtLeastOne | None, said('write a number, or {"most": 5}', "items is {value}")
    ] = None
    """How many of its items."""
    keep: TextsField = ()
    """Which keys of each item; otherwise all."""


class CallEntry(Entry):
    """How a tool is called and its result told, however it is declared."""

    confirm: Flag | None = None
    """Ask before a read too."""
    roles: TextsField | None = None
    """Who may call it; otherwise everyone."""
    idempotent: Flag | None = None
    """A second call with its key does nothing; otherwise true for GET, HEAD and PUT."""
    retries: Annotated[
        Annotated[StrictInt, Ge(0)] | None, said("write 0 or more, or null for ever")
    ] = RETRIES
    """How often it is tried again; null for ever; otherwise 3."""
    timeout: SecondsField | None = None
    """Seconds, or a text such as 500ms; otherwise 10 s."""
    items: Annotated[
        ItemsEntry,
        BeforeValidator(
            lambda value: value if isinstance(value, dict) else {"most": value},
            json_schema_input_type=AtLeastOne | ItemsEntry | None,
        ),
    ] = ItemsEntry()
    """Of a list how many, and which keys of each."""
    at_once: Annotated[AtLeastOne | None, said("write 1 or more, or leave it out")] = None
    """How many calls one worker has under way."""

    def is_idempotent(self, method: str) -> bool:
        """Whether a second call is the same as one; of the method where nothing is said."""
        # RFC 9110 makes a second PUT the same as one; whether a second POST is, who knows.
        return method in (*BODILESS, "PUT") if self.idempotent is None else self.idempotent


class EndpointEntry(Entry):
    """Where a call goes, and what is sent."""

    url: TextField
    """https; {parameter} fills a segment of the path."""
    method: Annotated[
        Annotated[StrictStr, StringConstraints(pattern=f"^({'|'.join(METHODS)})$")],
        BeforeValidator(
            lambda written: written.upper() if isinstance(written, str) else written,
            json_schema_input_type=Annotated[
                str, Described(pattern=f"^({'|'.join([*METHODS, *map(str.lower, METHODS)])})$")
            ],
        ),
        said(f"write one of: {', '.join(METHODS)}"),
    ] = "GET"
    """GET, HEAD, POST, PUT, PATCH or DELETE; otherwise GET."""
    headers: FilledValues | None = None
    """By name; {parameter}, {context.user_id} and {env.ROUTER_TOOL_…} are holes."""
    query_params: FilledValues | None = None
    """By name; {parameter}, {context.user_id} and {env.ROUTER_TOOL_…} are holes."""
    body: Any = None
    """JSON, whose texts may have holes."""
    timeout: SecondsField | None = None
    """Seconds, or a text such as 500ms; otherwise 10 s."""


class CloudEventEntry(Entry):
    """The attributes of a CloudEvent; its `id` and `time` are the call's."""

    type: Annotated[TextField, AfterValidator(_attribute)]
    """What happened, as in com.example.order.created."""
    source: Annotated[TextField, AfterValidator(_attribute)]
    """Where, as a URI reference: with the id it is what the event is known by."""
    subject: TextField | None = None
    """What it is about; {parameter} and {context.user_id} are holes."""


class DeclaredToolEntry(CallEntry):
    """A tool of one's own words, whatever stands behind it."""

    name: Annotated[
        TextField,
        AfterValidator(callable_name),
        Described(json_schema_extra={"pattern": f"^{_CALLED}$"}),
    ]
    """What models and flows call it by."""
    description: TextField
    """What it does, for models and in English."""
    description_zh: TextField | None = None
    """The same for people addressed in Chinese."""
    parameters: (
        Annotated[ArgumentSchema, PlainValidator(_schema, json_schema_input_type=dict[str, Any])]
        | None
    ) = None
    """JSON Schema of its arguments; x-zh is what a Chinese form calls one."""
    title: Title | None = None
    """Its name for people, in both languages or in one for both."""
    examples: TextsField | None = None
    """What people say who mean it, in both languages."""
    permission: Annotated[Permission | None, said("write read, write or admin")] = None
    """Otherwise read for GET and HEAD, else write, which asks first."""
    result: Annotated[
        Pointer | Mapping[str, Pointer],
        BeforeValidator(
            _answer_place,
            json_schema_input_type=Pointer
            | Annotated[Mapping[str, Pointer], Described(min_length=1)],
        ),
    ] = ""
    """A JSON pointer into the answer, or several by name."""

    @field_validator("permission")
    @classmethod
    def _admins_are_named(cls, permission: Permission | None, info: ValidationInfo) -> Any:
        roles = info.data.get("roles") or ()
        if permission == "admin" and (not roles or EVERYONE in roles):
            remedy = 'name who may, as in "roles": ["hr"]'
            raise FaultyValue("it changes what is others', for everyone", remedy)
        return permission


class HttpToolEntry(DeclaredToolEntry):
    """A tool that one endpoint stands behind."""

    endpoint: EndpointEntry
    """Where a call goes, and what is sent."""
    cloudevent: CloudEventEntry | None = None
    """What is sent is a CloudEvent, in HTTP's binary mode; its id is the call's key."""


_UNSHOWN = "the label of {key} can't be shown"


class OperationWording(Entry):
    """The words for one operation of a document; what isn't said is as the document has it."""

    title: Title | None = None
    """Its name for people."""
    description_zh: TextField | None = None
    """What people addressed in Chinese read."""
    labels: Mapping[
        str,
        Annotated[
            StrictStr,
            AfterValidator(_label),
            said(f"write up to {LONGEST_LABEL} characters, on one line", _UNSHOWN),
        ],
    ] = {}
    """By argument, what a Chinese form calls it."""


class SelectionEntry(CallEntry):
    """Operations that are selected from an OpenAPI document."""

    openapi: TextField
    """The document beside this file, YAML or JSON."""
    server: TextField | None = None
    """Otherwise the document's first."""
    operations: TextsField = ()
    """Their operationId."""
    tags: TextsField = ()
    """All operations that have one of them."""
    prefix: str | None = None
    """Put before every operationId."""
    headers: FilledValues | None = None
    """By name; {context.user_id} and {env.ROUTER_TOOL_…} are holes."""
    query_params: FilledValues | None = None
    """By name; {context.user_id} and {env.ROUTER_TOOL_…} are holes."""
    tools: Mapping[str, OperationWording] = {}
    """Words for people, by operationId."""


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
    title: Localised
    description: str
    permission: Permission
    schema: ArgumentSchema
    endpoint: Endpoint
    call: CallEntry
    seconds: float
    wanted: AnswerSelection
    examples: tuple[str, ...] = ()
    description_zh: str = ""
    kind: str = "http"


def usual_permission(method: str) -> Permission:
    """Of a tool whose declaration doesn't say."""
    return "read" if method in BODILESS else "write"


def declared_tool(
    entry: HttpToolEntry, place: Place, environment: Variables
) -> tuple[list[Declared], list[Complaint]]:
    """The tool that is declared; none where complaints say why it can't be one. Raises `Absent`."""
    schema = entry.parameters or ArgumentSchema({})
    reading = EndpointReader((*place, "endpoint"), environment, schema)
    if entry.cloudevent is not None:
        reading.complaints += _event_complaints(entry, place)
    endpoint = reading.read(_as_event(entry.endpoint, entry.cloudevent))
    if reading.complaints or endpoint is None:
        return [], reading.complaints
    declared = Declared(
        name=entry.name,
        title=entry.title or titled(entry.name),
        description=entry.description,
        permission=entry.permission or usual_permission(endpoint.method),
        schema=schema,
        endpoint=endpoint,
        call=entry,
        seconds=entry.timeout or entry.endpoint.timeout or SECONDS,
        wanted=AnswerSelection(entry.result, entry.items.most, frozenset(entry.items.keep)),
        examples=entry.examples or (),
        description_zh=entry.description_zh or "",
    )
    return [declared], []


def _as_event(endpoint: EndpointEntry, event: CloudEventEntry | None) -> EndpointEntry:
    """The endpoint with an event's attributes as headers, as HTTP's binary mode has them."""
    if event is None:
        return endpoint
    subject = {"ce-subject": event.subject} if event.subject else {}
    attributes: dict[str, Any] = {
        "ce-specversion": "1.0",
        "ce-type": event.type,
        "ce-source": event.source,
        # The same on every retry: who has had it knows it by its source and this.
        "ce-id": "{context.idempotency_key}",
        "ce-time": "{context.now}",
        **subject,
    }
    return endpoint.replace(headers={**(endpoint.headers or {}), **attributes})


def _event_complaints(entry: HttpToolEntry, place: Place) -> Iterator[Complaint]:
    if entry.endpoint.method != "POST":
        fault = Fault(f"a CloudEvent is sent by {entry.endpoint.method}", 'write "method": "POST"')
        yield Complaint((*place, "endpoint", "method"), fault)
    if entry.permission == "read":
        fault = Fault("a CloudEvent is a read, and so has no id", "leave permission out")
        yield Complaint((*place, "permission"), fault)
    for name in entry.endpoint.headers or {}:
        if name.lower().startswith("ce-"):
            fault = Fault(f"the header {name} is the CloudEvent's", "leave it out")
            yield Complaint((*place, "endpoint", "headers", name), fault)


class EndpointReader:
    """One reading of an endpoint, which stands at `place`, against the parameters there are."""

    def __init__(
        self, place: Place, environment: Variables, schema: ArgumentSchema | None = None
    ) -> None:
        self.complaints: list[Complaint] = []
        self._place = place
        self._environment = environment
        self._schema: dict[str, Any] = schema.schema if schema else {}
        declared = self._schema.get("properties")
        self._properties = declared if isinstance(declared, dict) else {}
        self._used: set[str] = set()

    def complain(self, place: Place, *faults: Fault) -> None:
        """Note what is wrong at a place within the endpoint."""
        self.complaints += [Complaint((*self._place, *place), fault) for fault in faults]

    def read(self, entry: EndpointEntry) -> Endpoint | None:
        """The endpoint; None where it has no address that can be used."""
        address = self.address("url", entry.url)
        if address is not None:
            self._check_holes(("url",), address.path, in_path=True)
            for each in address.query:
                self._check_holes(("url",), each.value)
        headers = self.fields("headers", entry.headers)
        query = self.fields("query_params", entry.query_params)
        kind = self._body_type(entry, headers)
        body = self.body(("body",), entry.body) if kind else None
        if kind == FORM and not isinstance(body, dict):
            fault = Fault("the body is no form", "write an object of names and values")
            self.complain(("body",), fault)
        if address is None:
            return None  # what its path would have used isn't known
        self.complain_unused("url, query_params, headers or body")
        sent = tuple(each for each in headers if each.name.lower() != "content-type")
        fields = (*address.query, *query)
        return Endpoint(entry.method, address.origin, address.path, fields, sent, body, kind)

    def complain_unused(self, where: str) -> None:
        """Note parameters that no hole names, which may stand in one of these places."""
        for name in [n for n in self._properties if n not in self._used]:
            place = (*self._place[:-1], "parameters", "properties", name)
            remedy = f"put {{{name}}} into {where}"
            fault = Fault(f"the parameter {name} is used nowhere", remedy)
            self.complaints.append(Complaint(place, fault))

    def address(self, key: str, text: str) -> EndpointAddress | None:
        """The address that is written under a key."""
        try:
            return read_address(text.strip(), self._environment)
        except Unusable as unusable:
            self.complain((key,), *unusable.faults)
            return None

    def fields(self, key: str, values: FilledValues | None) -> list[Field]:
        """What stands under a key by name: headers, or parameters of the query."""
        fields = []
        for name, value in (values or {}).items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            template = self.template((key, name), text)
            if template is not None:
                fields.append(Field(name, template))
                if key == "headers":
                    self.complain((key, name), *_header_faults(name, template))
        return fields

    def _body_type(self, entry: EndpointEntry, headers: list[Field]) -> str | None:
        if entry.body is None:
            return None
        if entry.method in BODILESS:
            remedy = 'use query_params, or "method": "POST"'
            self.complain(("body",), Fault(f"{entry.method} has a body", remedy))
        written = [h.value for h in headers if h.name.lower() == "content-type"]
        kind = str(written[0][0]).partition(";")[0].strip().lower() if written else JSON
        if kind != FORM and not re.fullmatch(r"application/([\w.+-]+\+)?json", kind):
            fault = Fault(f"the body would be {kind!r:.60}", f"send {JSON} or {FORM}")
            self.complain(("headers",), fault)
        return kind

    def body(self, place: Place, value: Any) -> BodyTemplate:
        """JSON whose texts may have holes, below a place."""
        if isinstance(value, str):
            return self.template(place, value) or ()
        if isinstance(value, list):
            return [self.body((*place, n), each) for n, each in enumerate(value)]
        if isinstance(value, dict):
            for name in value:
                if re.search(r"\{[^{}]+\}", name):
                    fault = Fault(f"the key {name!r:.40} has a hole", "put holes into values only")
                    self.complain((*place, name), fault)
            return {name: self.body((*place, name), each) for name, each in value.items()}
        return value  # type: ignore[no-any-return]

    def template(self, place: Place, text: str) -> Template | None:
        """A text that may have holes."""
        try:
            template = self._environment.template(text)
        except Unusable as unusable:
            self.complain(place, *unusable.faults)
            return None
        self._check_holes(place, template)
        return template

    def _check_holes(self, place: Place, template: Template, *, in_path: bool = False) -> None:
        """A hole of an argument names a parameter; one in the path a value that is always there."""
        for hole in holes(template):
            if hole.source != "argument":
                continue
            self._used.add(hole.name)
            if hole.name not in self._properties:
                remedy = nearest(hole.name, self._properties) or "declare it in parameters"
                self.complain(place, Fault(f"there is no parameter {hole.name}", remedy))
            elif in_path:
                self.complain(place, *self._path_faults(hole))

    def _path_faults(self, hole: Hole) -> Iterator[Fault]:
        required, schema = self._schema.get("required"), self._properties[hole.name]
        if not isinstance(required, list) or hole.name not in required:
            yield Fault(f"{hole} stands in the path and may be left out", "make it required")
        if isinstance(schema, dict) and schema.get("type") in ("array", "object"):
            yield Fault(f"{hole} stands in the path and is no single value", "make it a string")


def _header_faults(name: str, value: Template) -> Iterator[Fault]:
    if not _HEADER.fullmatch(name):
        yield Fault(f"{name!r:.40} is no name of a header", "write letters, digits and hyphens")
    elif name.lower() in _OURS_ALONE:
        remedy = "leave it out; it follows from the request"
        yield Fault(f"the header {name} isn't a file's to set", remedy)
    literal = "".join(piece for piece in value if isinstance(piece, str))
    if not literal.isascii() or not literal.isprintable():
        yield Fault(f"{name} has characters that no header takes", "write ASCII, on one line")
