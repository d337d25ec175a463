"""What each tenant has: which flows, skills and tools, which models, and who the desk is to them.

    acme:
      flows: [leave_*, reimbursement]
      tools: {except: [issue_refund]}
      author_tools: {except: [settle_*]}
      persona: acme.yaml
      models: {router: {model: qwen3-32b}}
      hand_off: {roles: [hr], people: [erin]}
    "*":
      skills: []

A tenant that isn't named has what `"*"` says, and everything where the file doesn't have that.
The file is read anew while the program runs; one that can't be used leaves all as it was.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from router.directory.persona import YAML_WORDING, Persona, load_persona
from router.domain.errors import DefinitionError, Fault, FaultyValue, Problem, nearest
from router.domain.hand_offs import ANSWER_HOURS, HandOffDesk
from router.domain.principals import (
    EVERYTHING,
    CapabilityKind,
    Entitlement,
    NameSelection,
    Principal,
)
from router.formats.origin import origin_of
from router.formats.validation import Complaint, Entry, problems_in, validated
from router.formats.watcher import SECONDS, Stamp, stamp_of
from router.formats.yaml_document import Place, Unreadable, YamlDocument, read_text, read_yaml
from router.isolation.upkeep_threads import run_upkeep
from router.settings import ModelRole, RoleModel
from router.settings.values import HttpOrigin

LARGEST = 512 * 1024
MOST_NODES = 200_000
OTHERS = "*"
"""Stands in the file for every tenant that isn't named."""
KINDS: Mapping[str, CapabilityKind] = {"flows": "flow", "skills": "skill", "tools": "tool"}
_OF_AUTHORS: tuple[tuple[str, CapabilityKind], ...] = (("author_tools", "tool"),)

_log = logging.getLogger("router.tenants")

NamePattern = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[!-~]+$")]


class SelectionOfNames(Entry):
    """Some of what there is, by names or patterns such as `leave_*`."""

    only: list[NamePattern] = ["*"]
    """These; otherwise all."""
    besides: list[NamePattern] = Field([], alias="except")
    """But not these."""

    @property
    def selection(self) -> NameSelection:
        """The same, to be asked."""
        return NameSelection(only=tuple(self.only), besides=tuple(self.besides))


def _listed(written: Any) -> Any:
    return {"only": written} if isinstance(written, list) else written


NamesField = Annotated[
    SelectionOfNames,
    BeforeValidator(_listed, json_schema_input_type=list[NamePattern] | SelectionOfNames),
]
EVERY = SelectionOfNames()


def _reachable(models: Mapping[ModelRole, RoleModel]) -> Mapping[ModelRole, RoleModel]:
    for role, model in models.items():
        if not model.model_fields_set:
            raise FaultyValue(f"{role} says nothing", "write the model's name, as in {model: …}")
    return models


Role = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
UserId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]


class HandOffEntry(Entry):
    """The people to whom the desk hands a conversation over."""

    roles: list[Role] = []
    """Whoever holds one of these roles of the directory."""
    people: list[UserId] = []
    """And these, by user id."""
    answer_hours: Annotated[float, Field(gt=0, le=80)] = ANSWER_HOURS
    """Hours of working time after which they are reminded; after as many more it goes back."""

    @property
    def desk(self) -> HandOffDesk | None:
        """The same, to be asked; None where nobody is named."""
        named = {"roles": frozenset(self.roles), "people": frozenset(self.people)}
        found = HandOffDesk(**named, answer_hours=self.answer_hours)
        return found if self.roles or self.people else None


def _check_origin(written: str) -> str:
    origin_of(written)
    return written


AllowedOrigin = Annotated[HttpOrigin, AfterValidator(_check_origin)]


Origins = Mapping[str, list[AllowedOrigin]]
"""By kind of documents, origins that they may call over http or at private addresses too."""


class TenantEntry(Entry):
    """What one tenant has; what isn't said is as the house has it."""

    flows: NamesField = EVERY
    """The flows that its people can start, by name or pattern, or `{only: […], except: […]}`."""
    skills: NamesField = EVERY
    """The skills, likewise."""
    tools: NamesField = EVERY
    """The tools, likewise: also those that its flows call."""
    author_tools: NamesField = EVERY
    """The tools that flows and skills of its authors may call, likewise; files may call others."""
    models: Annotated[Mapping[ModelRole, RoleModel], AfterValidator(_reachable)] = {}
    """Other models by role, as `ROUTER_LLM_ROLES` has them."""
    persona: str | None = None
    """The file of who the desk is to them, beside this one; otherwise `ROUTER_PERSONA`."""
    hand_off: HandOffEntry | None = None
    """Who takes what its people want a person for; nobody where it isn't said."""
    origins: Origins = {}
    """Where its documents may send requests besides public https addresses, by the kind of
    documents: `{tools: ["https://crm.acme.internal"], servers: […]}`."""

    @property
    def entitlement(self) -> Entitlement:
        """What there is for its people."""
        found = {kind: getattr(self, kind).selection for kind in KINDS}
        made = Entitlement(**found)
        return EVERYTHING if made == EVERYTHING else made


@dataclass(frozen=True)
class KnownNames:
    """What there is in the house, to tell a misspelt name by; an empty one knows nothing."""

    names: Mapping[CapabilityKind, Collection[str]] = field(default_factory=dict)
    """By kind; one that ends in `*` stands for names that are still to come."""
    needs: Mapping[str, Iterable[tuple[CapabilityKind, str]]] = field(default_factory=dict)
    """By flow, the tools and flows that its states name."""
    document_kinds: Collection[str] = ()
    """The kinds of documents that may have origins."""
    awaiting: Collection[str] = ()
    """Parts of a list, `only` or `except`, whose names documents of tenants may still bring."""

    def faults(self, kind: CapabilityKind, pattern: str) -> Iterator[Fault]:
        """What is wrong with a name or pattern of this kind."""
        known = self.names.get(kind)
        if known is None or any(_meet(pattern, name) for name in known):
            return
        there = ", ".join(sorted(known)[:20]) or "none"
        remedy = nearest(pattern, known) or f"there are: {there}"
        yield Fault(f"no {kind} is called {pattern}", remedy)


def _meet(pattern: str, name: str) -> bool:
    """Whether the pattern has the name, or may have one that begins as `name*` does."""
    if not name.endswith("*"):
        return fnmatchcase(name, pattern)
    begins = name[:-1]
    fixed = pattern.split("*", maxsplit=1)[0].split("?", maxsplit=1)[0].split("[", maxsplit=1)[0]
    return fixed.startswith(begins) or (fixed != pattern and begins.startswith(fixed))


@dataclass(frozen=True)
class Tenants:
    """Every tenant's entry as the file has it, and the personas, read and checked.

    >>> Tenants().entitlement("acme").covers("flow", "leave_request")
    True
    """

    entries: Mapping[str, TenantEntry] = field(default_factory=dict)
    personas: Mapping[str, Persona] = field(default_factory=dict)
    """By tenant, those that have one of their own."""
    persona: Persona | None = None
    """The house's."""
    files: tuple[Path, ...] = ()
    """What all this stands in."""
    lines: Mapping[Place, int] = field(default_factory=dict)

    def entry(self, tenant: str) -> TenantEntry:
        """What is said of the tenant."""
        return self.entries.get(tenant) or self.entries.get(OTHERS) or _NOTHING_SAID

    def entitlement(self, tenant: str) -> Entitlement:
        """What there is for its people."""
        return self.entry(tenant).entitlement

    def author_tools(self, tenant: str) -> NameSelection:
        """Return the tools that flows and skills of its authors may call."""
        return self.entry(tenant).author_tools.selection

    def persona_of(self, tenant: str) -> Persona | None:
        """Who the desk is to its people; None where nobody has said."""
        named = tenant if tenant in self.entries else OTHERS
        return self.personas.get(named) or self.persona

    def hand_off_desk(self, tenant: str) -> HandOffDesk | None:
        """Who takes what its people want a person for; None where nobody has been named."""
        said = self.entry(tenant).hand_off
        return said.desk if said else None

    def origins(self, tenant: str) -> Origins:
        """Return the origins that the tenant's documents may call by name."""
        return self.entry(tenant).origins

    def model_of(self, tenant: str, role: ModelRole) -> RoleModel | None:
        """The model of its own for a role; None where the house's does it."""
        return self.entry(tenant).models.get(role)

    @property
    def all_personas(self) -> list[Persona | None]:
        """Everyone that the desk is to somebody, each once."""
        of_others = self.persona_of(OTHERS)
        found = [of_others, *(self.persona_of(name) for name in self.entries)]
        return [one for n, one in enumerate(found) if one not in found[:n]]

    def misfits(self, known: KnownNames) -> list[Problem]:
        """Names that there aren't, and what needs something that isn't there for the tenant.

        Those are none that documents may still bring: `awaited` has them.
        """
        unknown = (one for one in self._unknown(known) if one[0][-1] not in known.awaiting)
        lacking = (
            complaint
            for tenant, entry in self.entries.items()
            for complaint in (
                *_without_documents(tenant, entry, known),
                *_incomplete(tenant, entry, known),
            )
        )
        return self._problems([*unknown, *lacking])

    def awaited(self, known: KnownNames) -> list[Problem]:
        """Names that there aren't, and that documents may still bring; or they are misspelt."""
        unknown = self._unknown(known)
        return self._problems(one for one in unknown if one[0][-1] in known.awaiting)

    def _unknown(self, known: KnownNames) -> Iterator[Complaint]:
        for tenant, entry in self.entries.items():
            yield from _unknown(tenant, entry, known)

    def _problems(self, complaints: Iterable[Complaint]) -> list[Problem]:
        found = [Problem(str(self.files[-1]), self._line(at), *fault) for at, fault in complaints]
        return sorted(found, key=lambda problem: problem.line)

    def _line(self, place: Place) -> int:
        return YamlDocument(lines=dict(self.lines)).line(place)

    @classmethod
    def load(cls, tenants: Path | None, persona: Path | None) -> Self:
        """What the two files say, if they are set; `DefinitionError` has every problem."""
        problems, house, files = list[Problem](), None, list[Path]()
        if persona is not None:
            files.append(persona)
            house = _persona(persona, problems)
        if tenants is None:
            if problems:
                raise DefinitionError(problems)
            return cls(persona=house, files=tuple(files))
        entries, document = _entries(tenants, problems)
        personas = dict[str, Persona]()
        for name, entry in entries.items():
            if entry.persona is not None:
                path = tenants.parent / entry.persona
                files.append(path)
                own = _persona(path, problems)
                personas |= {name: own} if own else {}
        if problems:
            raise DefinitionError(problems)
        return cls(entries, personas, house, (*files, tenants), document.lines)


_NOTHING_SAID = TenantEntry()


def _persona(path: Path, problems: list[Problem]) -> Persona | None:
    try:
        return load_persona(path)
    except DefinitionError as error:
        problems += [each for each in error.problems if each not in problems]
        return None


def _entries(path: Path, problems: list[Problem]) -> tuple[dict[str, TenantEntry], YamlDocument]:
    try:
        document = read_yaml(read_text(path, LARGEST, "name fewer tenants"), MOST_NODES)
    except Unreadable as bad:
        problems.append(Problem(str(path), bad.line, *bad.fault))
        return {}, YamlDocument()
    data, complaints = document.data, list[Complaint]()
    if not isinstance(data, dict) or not data:
        fault = Fault("it names no tenant", "write a tenant's id, and below it flows: […]")
        complaints.append(Complaint((), fault))
        data = {}
    entries = {}
    for name, written in data.items():
        # A tenant of whom nothing is said has everything, and is none of the others.
        reading = validated(TenantEntry, {} if written is None else written, (name,), YAML_WORDING)
        complaints += reading.complaints
        if reading.value is not None:
            entries[name] = reading.value
    problems += problems_in(str(path), document, complaints)
    return entries, document


def _unknown(tenant: str, entry: TenantEntry, known: KnownNames) -> Iterator[Complaint]:
    for key, kind in (*KINDS.items(), *_OF_AUTHORS):
        names: SelectionOfNames = getattr(entry, key)
        for part, patterns in (("only", names.only), ("except", names.besides)):
            for pattern in patterns:
                for fault in known.faults(kind, pattern) if pattern != "*" else ():
                    yield Complaint((tenant, key, part), fault)


def _without_documents(tenant: str, entry: TenantEntry, known: KnownNames) -> Iterator[Complaint]:
    """Origins of a kind of documents that no extension has."""
    for kind in entry.origins if known.document_kinds else ():
        if kind not in known.document_kinds:
            what = f"no extension here has documents of the kind {kind!r:.60}"
            there = f"there are: {', '.join(sorted(known.document_kinds))}"
            remedy = nearest(kind, known.document_kinds) or there
            yield Complaint((tenant, "origins", kind), Fault(what, remedy))


def _incomplete(tenant: str, entry: TenantEntry, known: KnownNames) -> Iterator[Complaint]:
    """Flows of the tenant that could not be gone through: what they call isn't there for it."""
    mine = entry.entitlement
    for flow, needs in known.needs.items():
        lacking = [(k, n) for k, n in needs if not mine.covers(k, n)]
        if not mine.covers("flow", flow):
            continue
        for kind, name in dict.fromkeys(lacking):
            what = f"the flow {flow} needs the {kind} {name}, which {tenant} doesn't have"
            remedy = f"add {name} to {kind}s, or take {flow} out of flows"
            yield Complaint((tenant, f"{kind}s"), Fault(what, remedy))


class LiveTenants:
    """The tenants, following their files; what can't be used is logged once, and all stays."""

    def __init__(self, load: Callable[[], Tenants]) -> None:
        """Load them for the first time; raises what `load` raises."""
        self._load = load
        self.now = load()
        self._seen: Stamp = stamp_of(self.now.files)
        self._known: Callable[[], KnownNames] = KnownNames
        self._personas: Mapping[str, Persona] = {}

    def check(self, known: Callable[[], KnownNames]) -> None:
        """Hold them to what there is, now (raises `DefinitionError`) and whenever they change."""
        self._known = known
        self._fitting(self.now, known())

    def _fitting(self, found: Tenants, known: KnownNames) -> Tenants:
        if problems := found.misfits(known):
            raise DefinitionError(problems)
        for problem in found.awaited(known):
            _log.warning("%s; until a document brings it, the name stands for nothing", problem)
        return found

    def refresh(self) -> bool:
        """Read them anew where a file has changed; True where they are others now. Blocks."""
        seen = stamp_of(self.now.files)
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            # A document is refused until its name is allowed: what gives a name may come first.
            known = self._known()
            known = replace(known, awaiting={"only", *known.awaiting})
            found = self._fitting(self._load(), known)
        except DefinitionError as error:
            _log.error("the tenants and personas stay as they were: %s", error)
            return False
        self.now, self._seen = found, stamp_of(found.files)
        return True

    async def kept_up(self, changed: Callable[[], None]) -> None:
        """Follow the files until cancelled; call `changed` after each change."""
        while self.now.files:
            await asyncio.sleep(SECONDS)
            try:
                if await run_upkeep(self.refresh):
                    changed()
                    _log.info("the tenants and personas have changed")
            except Exception:  # noqa: BLE001 - to stop following would be a silence
                _log.exception("the tenants and personas stay as they were")

    def persona_of(self, tenant: str) -> Persona | None:
        """Who the desk is to people of this tenant; None where nobody has said."""
        return self._personas.get(tenant) or self.now.persona_of(tenant)

    def author_tools(self, tenant: str) -> NameSelection:
        """Return the tools that flows and skills of its authors may call now."""
        return self.now.author_tools(tenant)

    def hand_off_desk(self, tenant: str) -> HandOffDesk | None:
        """Who takes what people of this tenant want a person for; None where nobody does."""
        return self.now.hand_off_desk(tenant)

    def give(self, personas: Mapping[str, Persona]) -> None:
        """Let the desk be these to the people of these tenants, whatever the files say."""
        self._personas = personas

    @property
    def all_personas(self) -> list[Persona | None]:
        """Everyone that it is to somebody, each once."""
        found = self.now.all_personas
        own = [one for one in self._personas.values() if one not in found]
        return [*found, *own]

    def entitled(self, person: Principal) -> Principal:
        """The person, with what there is for their tenant."""
        mine = self.now.entitlement(person.tenant)
        return person if mine == person.entitlement else person.having(mine)
