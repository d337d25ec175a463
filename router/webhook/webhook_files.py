"""The files of webhooks, out and in, as YAML or JSON: who is told of what, and who may tell.

    - url: https://erp.example.com/hooks/desk
      secret_env: ERP_WEBHOOK_SECRET
      events: [flow.completed, flow.rejected]
      flows: [purchase_*]
      slots: true

and of those that tell runs what happened, in a file of its own:

    - name: erp
      secret_env: ERP_EVENT_SECRET
      roles: [warehouse]

A file is read at start, like the secrets that it names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from router.domain.errors import (
    DefinitionError,
    Fault,
    FaultyValue,
    MisconfiguredError,
    Problem,
    nearest,
)
from router.domain.principals import DEFAULT_TENANT, RESERVED_ROLES, Principal
from router.domain.webhook_events import EVENTS, WebhookSubscription
from router.formats.origin import Origin, origin_of
from router.formats.strict_json import json_document
from router.formats.validation import (
    Complaint,
    Entry,
    FileWording,
    problems_in,
    said,
    validated,
)
from router.formats.yaml_document import Place, Unreadable, YamlDocument, read_text, read_yaml
from router.outbound.client import OutgoingRequest
from router.outbound.guard import WEBHOOK_ORIGINS, OutboundGuard
from router.settings import Settings
from router.webhook.signature import WebhookSecrets

LARGEST = 256 * 1024
MOST = 100
"""Entries: each has a connection of its own, and is asked for at every change of a run."""
ALL = "*"

WORDING = FileWording(
    unknown="there is no key {key}",
    add="write {key}: …",
    mapping="there is no usable {key}",
    write="write an object of url, secret_env and events",
)

EventPattern = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[!-~]+$")]
EventPatterns = Annotated[
    Annotated[list[EventPattern], Field(min_length=1)] | None,
    said('write names or patterns, as in ["purchase_*"]', "{key} is no list of names"),
]
VariableName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"),
    said("write the name of a variable, as in ERP_SECRET", "{key} names no variable"),
]


def _known_events(names: list[str]) -> list[str]:
    for name in names:
        if name not in (ALL, *EVENTS):
            remedy = nearest(name, EVENTS) or f"there are: {', '.join(EVENTS)}"
            raise FaultyValue(f"there is no event {name[:60]}", remedy)
    return names


class WebhookEntry(Entry):
    """Who is told of what."""

    url: Annotated[
        str, StringConstraints(min_length=1, max_length=2000), said("write https://…/path")
    ]
    """Where it is posted; https, unless `ROUTER_WEBHOOK_ALLOW` has the origin."""
    secret_env: VariableName
    """The variable that holds the secret, `whsec_` and base64; several secrets with blanks."""
    events: Annotated[
        Annotated[list[str], Field(min_length=1)],
        AfterValidator(_known_events),
    ]
    """Which events, or `"*"`."""
    tenants: EventPatterns = None
    """Of which tenants, by id or pattern; otherwise of all."""
    flows: EventPatterns = None
    """Of which flows, by name or pattern; otherwise of all."""
    slots: StrictBool = False
    """Whether it is told what was filled in."""


def _grantable(roles: list[str]) -> list[str]:
    if reserved := sorted({*roles} & RESERVED_ROLES):
        raise FaultyValue(
            f"nobody outside has the role {reserved[0]}", "name one of a flow's event"
        )
    return roles


class EventSourceEntry(Entry):
    """Who may tell runs what happened."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}$"),
        said("write small letters, digits, _ and -, a letter first"),
    ]
    """What it is called in a run's history."""
    secret_env: VariableName
    """The variable that holds the secret that it signs with."""
    roles: Annotated[Annotated[list[EventPattern], Field(min_length=1)], AfterValidator(_grantable)]
    """What the flows' events ask of whoever tells them."""
    tenant: Annotated[str, StringConstraints(min_length=1, max_length=100)] = DEFAULT_TENANT
    """Whose runs."""
    flows: EventPatterns = None
    """Of which flows, by name or pattern; otherwise of all."""


@dataclass(frozen=True)
class WebhookConsumer:
    """Who is told of what, where, and the secret that it knows us by."""

    subscription: WebhookSubscription
    origin: Origin
    target: str
    secrets: WebhookSecrets

    def request(self, headers: Mapping[str, str], body: str) -> OutgoingRequest:
        """What is sent."""
        sent = {"Content-Type": "application/json", **headers}
        return OutgoingRequest("POST", self.origin, self.target, sent, body.encode())


@dataclass(frozen=True)
class EventSource:
    """Who may tell runs what happened."""

    name: str
    secrets: WebhookSecrets
    roles: frozenset[str]
    tenant: str
    flows: tuple[str, ...] | None = None

    @property
    def principal(self) -> Principal:
        """Who it is in the run's history: no user id has a colon."""
        name = f"source:{self.name}"
        return Principal(id=name, name=self.name, tenant=self.tenant, roles=self.roles)

    def may_tell(self, flow: str) -> bool:
        """True of runs of this flow."""
        return self.flows is None or any(fnmatchcase(flow, each) for each in self.flows)


@dataclass(frozen=True)
class OtherSystems:
    """Other systems that are told what happens, and those that may tell runs what happened."""

    told: Sequence[WebhookConsumer] = ()
    telling: Sequence[EventSource] = ()

    @property
    def subscriptions(self) -> list[WebhookSubscription]:
        """What is wanted by those that are told."""
        return [each.subscription for each in self.told]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of `ROUTER_WEBHOOKS` and `ROUTER_EVENT_SOURCES`; raises as `load_webhooks`."""
        told, telling = list[WebhookConsumer](), list[EventSource]()
        if settings.webhooks is not None:
            guard = OutboundGuard(settings.webhook_allow, WEBHOOK_ORIGINS)
            told = load_webhooks(settings.webhooks, settings.environment, guard)
        if settings.event_sources is not None:
            telling = load_event_sources(settings.event_sources, settings.environment)
        return cls(told, telling)


def load_webhooks(
    path: Path, variables: Mapping[str, str], guard: OutboundGuard
) -> list[WebhookConsumer]:
    """Who is told of what, by the file; `DefinitionError` has every problem, each at its line."""
    reading = _Reading(path, WebhookEntry, variables)
    found = reading.read(lambda entry, place: _consumer(reading, entry, place, guard))
    reading.raise_if_wrong()
    return found


def load_event_sources(path: Path, variables: Mapping[str, str]) -> list[EventSource]:
    """Who may tell runs what happened, by the file; raises as `load_webhooks`."""
    reading = _Reading(path, EventSourceEntry, variables)
    found = reading.read(lambda entry, place: _source(reading, entry, place))
    reading.raise_if_wrong()
    return found


AnyEntry = TypeVar("AnyEntry", bound=WebhookEntry | EventSourceEntry)
Made = TypeVar("Made")


class _Reading(Generic[AnyEntry]):
    """One reading of a file."""

    def __init__(self, path: Path, kind: type[AnyEntry], variables: Mapping[str, str]) -> None:
        self._path = path
        self._kind = kind
        self._variables = variables
        self._document = YamlDocument()
        self.complaints: list[Complaint] = []
        self._named: dict[tuple[str, str], int] = {}

    def read(self, make: Callable[[AnyEntry, Place], Made | None]) -> list[Made]:
        """What can be made of the file's entries."""
        found: list[Made] = []
        for place, written in self._entries():
            reading = validated(self._kind, written, place, WORDING)
            self.complaints += reading.complaints
            if reading.value is None:
                continue
            made = make(reading.value, place)
            found += [made] if made is not None else []
        return found

    def _entries(self) -> list[tuple[Place, Any]]:
        if not self._path.is_file():
            raise MisconfiguredError(f"{self._path} isn't there: name a file that can be read")
        try:
            text = read_text(self._path, LARGEST, "name fewer")
            is_json = self._path.suffix == ".json"
            self._document = json_document(text) if is_json else read_yaml(text)
        except Unreadable as bad:
            raise DefinitionError([Problem(str(self._path), bad.line, *bad.fault)]) from None
        data = self._document.data
        if not isinstance(data, list):
            keys = ", ".join(n for n, f in self._kind.model_fields.items() if f.is_required())
            self.complain((), "it is no list", f"write a list, each with {keys}")
            return []
        if len(data) > MOST:
            self.complain((), f"it has {len(data)} entries", f"{MOST} is the most")
            return []
        return [((number,), each) for number, each in enumerate(data)]

    def complain(self, place: Place, what: str, remedy: str) -> None:
        """Note what is wrong at a place."""
        self.complaints.append(Complaint(place, Fault(what, remedy)))

    def once(self, place: Place, key: str, value: str) -> None:
        """Complain where another entry has it already; of `value` nothing is told."""
        line = self._named.setdefault((key, value), self._document.line((*place, key)))
        if line != self._document.line((*place, key)):
            what = f"the {key} is that of line {line} already"
            self.complain((*place, key), what, "make one entry of the two, or name another")

    def secrets(self, place: Place, variable: str) -> WebhookSecrets | None:
        """Those that the variable holds; None, and a complaint, where they can't be used."""
        value = self._variables.get(variable)
        if not value:
            remedy = "set it to whsec_ and the base64 of 32 bytes: `openssl rand -base64 32`"
            self.complain((*place, "secret_env"), f"the variable {variable} isn't set", remedy)
            return None
        try:
            return WebhookSecrets.read(value)
        except FaultyValue as error:
            what, remedy = error.fault
            self.complain((*place, "secret_env"), f"the variable {variable} {what}", remedy)
            return None

    def raise_if_wrong(self) -> None:
        """Raise `DefinitionError` with all that is wrong."""
        problems = problems_in(str(self._path), self._document, self.complaints)
        if problems:
            raise DefinitionError(problems)


def _consumer(
    reading: _Reading[WebhookEntry], entry: WebhookEntry, place: Place, guard: OutboundGuard
) -> WebhookConsumer | None:
    here = (*place, "url")
    secrets = reading.secrets(place, entry.secret_env)
    reading.once(place, "url", entry.url)
    if fault := guard.fault_of(entry.url):
        reading.complain(here, *fault)
    if "#" in entry.url:
        reading.complain(here, "the address has a #", "leave out what follows it")
    if secrets is None or fault:
        return None
    events = EVENTS if ALL in entry.events else entry.events
    subscription = WebhookSubscription(
        url=entry.url,
        events=frozenset(events),
        tenants=tuple(entry.tenants) if entry.tenants else None,
        flows=tuple(entry.flows) if entry.flows else None,
        slots=entry.slots,
    )
    return WebhookConsumer(subscription, origin_of(entry.url), _target(entry.url), secrets)


def _target(url: str) -> str:
    behind = url.split("://", 1)[1]
    at = min((behind.index(mark) for mark in "/?" if mark in behind), default=len(behind))
    target = behind[at:]
    return target if target.startswith("/") else f"/{target}"


def _source(
    reading: _Reading[EventSourceEntry], entry: EventSourceEntry, place: Place
) -> EventSource | None:
    secrets = reading.secrets(place, entry.secret_env)
    reading.once(place, "name", entry.name)
    if secrets is None:
        return None
    for value in secrets.values:  # else either could speak as the other
        reading.once(place, "secret_env", value)
    flows = tuple(entry.flows) if entry.flows else None
    return EventSource(entry.name, secrets, frozenset(entry.roles), entry.tenant, flows)
