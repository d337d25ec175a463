"""What a tenant has that has documents of its own: the house's files with those laid over them.

A document takes the place of the file of its name, for its tenant alone. It is held to all that a
file is held to, and to a little more, as its author isn't the house's operator: it runs no code,
reaches addresses that the house's settings let tools reach, and no variable but its tenant's own.

Stories are read as they are written, and never again: who leaves, or a flow that is changed, takes
nothing out of use.

Each process looks for what was activated every few seconds. A tenant's documents count together or
not at all. Where they don't fit, what they were last goes on; a process that begins with such, or
whose house has changed, takes those of them that fit, and says which don't.
"""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from activities.capabilities import Capabilities
from router.directory.persona import Persona, persona_in_text
from router.directory.tenants import LiveTenants, Tenants
from router.domain.circuit import Clock
from router.domain.configuration_documents import (
    ConfigurationDocument,
    DocumentKind,
    DocumentVersion,
    Examined,
    path_of,
)
from router.domain.errors import DefinitionError, Fault, Problem, RouterError
from router.domain.principals import CapabilityKind, Entitlement, Principal
from router.flow.catalog import Catalog, behaviour
from router.flow.definition import FlowDefinition
from router.flow.loader import FlowFile, examine_all, examine_text, sub_flow_faults
from router.formats.watcher import SECONDS
from router.formats.yaml_document import Place
from router.retrieval.index import CapabilityIndex
from router.runtime.definitions import flow_folder, vocabulary
from router.settings import Settings
from router.settings.environment import TOOL_PREFIX
from router.skill.loader import FoundSkill, LoadedSkills, circle_problems, skill_in_text
from router.skill.loader import remarks as skill_remarks
from router.skill.skill import Skill, SkillCatalog
from router.store.store import Store
from router.story.entries import StoryNames
from router.story.loader import story_problems
from router.telemetry.metrics import CONFIGURATION_UNFIT
from router.tool.http.client import OutboundGuard, Sender
from router.tool.kinds.declarations import GROUP as DECLARED
from router.tool.kinds.declarations import tools_in_text
from router.tool.kinds.mcp_servers import MOST_SERVERS, ServerTools, TenantServers
from router.tool.mcp.file import ServerEntry, group_of, prefix_of, servers_in_text
from router.tool.registry import Registry
from router.understanding.reader import Reader
from router.understanding.triggers.patterns import rivalries

DOCUMENTED = "documents"
"""The registry's group of tools that documents declare."""

_TENANT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

T = TypeVar("T")


@dataclass(frozen=True)
class Edition:
    """What one tenant has, where it has documents of its own."""

    capabilities: Capabilities
    reader: Reader
    persona: Persona | None = None
    """Its own, where a document says who the desk is."""


@dataclass(frozen=True)
class DraftEdition:
    """What could be made of a tenant's documents, and all that is wrong with them."""

    capabilities: Capabilities
    persona: Persona | None
    flows: Mapping[str, FlowDefinition]
    """By name, those of documents."""
    servers: Mapping[str, ServerEntry] = field(default_factory=dict)
    """By name, the MCP servers of documents."""
    problems: list[Problem] = field(default_factory=list)
    """Each in a document, or in a file that the documents would break."""
    remarks: list[Problem] = field(default_factory=list)
    """What might be better; it keeps nothing from being used."""

    def edition(self, *, has_model: bool) -> Edition:
        """What people get of it. Raises `DefinitionError` where anything is wrong."""
        if self.problems:
            raise DefinitionError(self.problems)
        offered = self.capabilities
        listed = offered.listed(skills=has_model)
        reader = Reader(offered.flows(), offered.phrases(), listed)
        return Edition(offered, reader, self.persona)


def variables_of(settings: Settings, tenant: str) -> dict[str, str]:
    """What a tenant's documents may name: `ROUTER_TOOL_<TENANT>__…`, and no other's secrets."""
    if not _TENANT.fullmatch(tenant):
        return {}
    begins = f"{TOOL_PREFIX}{tenant.upper().replace('-', '_')}__"
    return {n: v for n, v in settings.tool_variables.items() if n.startswith(begins)}


def drafted(
    settings: Settings,
    house: Capabilities,
    documents: Iterable[ConfigurationDocument],
    tenant: str,
    entitlement: Entitlement,
    found: ServerTools = MappingProxyType({}),
) -> DraftEdition:
    """The tenant's documents laid over what the house has. It takes a while: call it in a thread.

    `entitlement` is what the house lets the tenant have; a document of another name is refused.
    `found` is what the MCP servers of documents have listed; of the others tools are expected.
    """
    return _Drafting(settings, house, list(documents), tenant, entitlement, found).draft()


class _Drafting:
    """One tenant's documents being read."""

    def __init__(
        self,
        settings: Settings,
        house: Capabilities,
        documents: Sequence[ConfigurationDocument],
        tenant: str,
        entitlement: Entitlement,
        found: ServerTools,
    ) -> None:
        self.settings = settings
        self.guard = OutboundGuard(settings.http_allow)
        self.found = found
        self.house = house
        self.documents = documents
        self.entitlement = entitlement
        self.variables = variables_of(settings, tenant)
        self.problems: list[Problem] = []
        self.remarks: list[Problem] = []

    def draft(self) -> DraftEdition:
        registry = self._registry()
        servers = self._servers(registry)
        skills = self._skills(registry)
        catalog, files = self._catalog(registry)
        persona = next(iter(self._each("personas", persona_in_text)), None)
        return DraftEdition(
            Capabilities(catalog, skills, registry),
            persona,
            {name: file.definition for name, file in files.items()},
            servers,
            list(dict.fromkeys(self.problems)),
            list(dict.fromkeys(self.remarks)),
        )

    def _each(self, kind: DocumentKind, read: Callable[[Path, str], T]) -> list[T]:
        """What can be made of each document of the kind; of the others, what is wrong."""
        found = []
        for each in self.documents:
            if each.kind != kind:
                continue
            try:
                found.append(read(Path(each.path), each.text))
            except DefinitionError as error:
                self.problems += error.problems
        return found

    def _covered(self, kind: CapabilityKind, name: str, file: str, line: int = 1) -> bool:
        if self.entitlement.covers(kind, name):
            return True
        what = f"the house gives this tenant no {kind} {name}"
        remedy = "choose a name that the file of tenants allows it, or have that name it"
        self.problems.append(Problem(file, line, what, remedy))
        return False

    def _registry(self) -> Registry:
        sender = Sender(self.guard)
        loaded = self._each(
            "tools", lambda path, text: tools_in_text(path, text, self.variables, sender)
        )
        declared = (tool for each in loaded for tool in each.tools)
        tools = [tool for tool in declared if self._covered("tool", tool.name, *tool.source)]
        try:
            return self.house.registry.overlaid(tools, DOCUMENTED, over={DECLARED})
        except DefinitionError as error:
            self.problems += error.problems
            return self.house.registry.overlaid([], DOCUMENTED)

    def _servers(self, registry: Registry) -> dict[str, ServerEntry]:
        """The MCP servers of documents; the registry has their tools from then on, or expects them.

        A server's name is its tools' as well: it is taken where the house has one of that name.
        """
        servers: dict[str, ServerEntry] = {}
        for path, entries in self._each("servers", self._entries_in):
            for name, entry in entries.items():
                if prefix_of(name) in registry.prefixes:
                    what = f"there is an MCP server {name} already"
                    self.problems.append(Problem(path, 1, what, "give this one another name"))
                elif self._may_have_some(name) or self._covered(
                    "tool", f"{prefix_of(name)}*", path
                ):
                    servers[name] = entry
                    registry.expect(group_of(name), prefix_of(name))
        if len(servers) > MOST_SERVERS:
            what = f"a tenant has at most {MOST_SERVERS} MCP servers, not {len(servers)}"
            self.problems.append(Problem(path, 1, what, "leave some out, or offer them as one"))
        for name in servers.keys() & self.found.keys():
            try:
                registry.replace(group_of(name), self.found[name])
            except DefinitionError as error:
                _log.error("no tool of the MCP server %s can be taken in: %s", name, error)
        return servers

    def _may_have_some(self, server: str) -> bool:
        """True where the house names tools of such a server, which only itself knows."""
        return any(each.startswith(prefix_of(server)) for each in self.entitlement.tools.only)

    def _entries_in(self, path: Path, text: str) -> tuple[str, dict[str, ServerEntry]]:
        return str(path), servers_in_text(path, text, self.variables, self.guard)

    def _skills(self, registry: Registry) -> SkillCatalog:
        found = self._each("skills", skill_in_text)
        own = {one.skill.name: one for one in found}
        for one in found:
            self._covered("skill", one.skill.name, str(one.file), one.lines.get("name", 1))
        files = [_of_file(skill) for skill in self.house.skills if skill.name not in own]
        self.problems += circle_problems([*files, *found])
        loaded = LoadedSkills(found)
        names = registry.names | set(self.house.catalog.flows)
        names |= {each.name for each in self.documents if each.kind == "flows"}
        others = {one.skill.name for one in files}
        self.remarks += loaded.flaws
        self.remarks += skill_remarks(loaded, names, registry.prefixes, others)
        return SkillCatalog(one.skill for one in [*files, *found])

    def _catalog(self, registry: Registry) -> tuple[Catalog, dict[str, FlowFile]]:
        known = vocabulary(registry)
        files: dict[str, FlowFile] = {}
        for file in self._each("flows", lambda path, text: examine_text(path, text, known)):
            name = file.definition.flow
            self.problems += file.problems
            self.remarks += file.remarks()
            if not file.problems and self._covered("flow", name, str(file.path)):
                files[name] = file
        own = {name: file.definition for name, file in files.items()}
        merged = {**self.house.catalog.flows, **own}
        faulty = {each.name for each in self.documents if each.kind == "flows"} - own.keys()
        for flow in merged.values():
            for place, fault in sub_flow_faults(flow, merged, faulty):
                own_file = files.get(flow.flow)
                self.problems.append(_said_of(flow, own_file, place, fault))
        self.problems += self._broken_by_tools(registry, own)
        self._note_rivalries(merged, files)
        return Catalog(merged.values()), files

    def _broken_by_tools(
        self, registry: Registry, own: Mapping[str, FlowDefinition]
    ) -> Iterator[Problem]:
        """Flows in files that call a tool which a document declares otherwise."""
        before = self.house.registry.parameters()
        if all(before.get(n, p) == p for n, p in registry.parameters().items()):
            return
        folder = [flow_folder(self.settings)]
        _, anyway = examine_all(folder, vocabulary(self.house.registry))
        _, now = examine_all(folder, vocabulary(registry))
        for problem in now:
            if problem not in anyway and Path(problem.file).stem not in own:
                name = path_of("flows", Path(problem.file).stem)
                yield Problem(name, problem.line, problem.what, problem.remedy)

    def _note_rivalries(
        self, merged: Mapping[str, FlowDefinition], files: Mapping[str, FlowFile]
    ) -> None:
        """Sentences that a document's flow takes from another, or loses to one."""
        for rivalry in rivalries(merged.values()) if files else ():
            if files.keys() & {rivalry.flow, rivalry.by}:
                told = self.problems if rivalry.kind == "taken" else self.remarks
                flow = merged[rivalry.flow]
                place, *fault = rivalry.told(flow)
                told.append(_said_of(flow, files.get(flow.flow), place, Fault(*fault)))


def _said_of(flow: FlowDefinition, file: FlowFile | None, place: Place, fault: Fault) -> Problem:
    """What is wrong with the flow; its line is known where it stands in a document."""
    if file is not None:
        return file.problem(place, *fault)
    return Problem(path_of("flows", flow.flow), 1, *fault)


def _of_file(skill: Skill) -> FoundSkill:
    return FoundSkill(skill, {}, [], Path(path_of("skills", skill.name)), 1, {})


_log = logging.getLogger("router.configuration")

Documents = tuple[DocumentVersion, ...]


@dataclass(frozen=True)
class HouseConfiguration:
    """What the house has from its files, and what is to have tenants' own beside that."""

    settings: Settings
    offered: Capabilities
    reader: Reader
    index: CapabilityIndex
    tenants: LiveTenants
    has_model: bool
    people: Callable[[str], Iterable[Principal]] = lambda _: ()
    """Who a tenant's people are, whom its stories name."""

    def draft(
        self,
        tenant: str,
        documents: Iterable[ConfigurationDocument],
        found: ServerTools = MappingProxyType({}),
    ) -> DraftEdition:
        """The documents laid over the files; in this thread."""
        entitlement = self.tenants.now.entitlement(tenant)
        return drafted(self.settings, self.offered, documents, tenant, entitlement, found)


@dataclass(frozen=True)
class _Made:
    """What a tenant has, and after how many changes of the house it was laid over that."""

    edition: Edition
    index: CapabilityIndex
    house_changes: int
    servers: Mapping[str, ServerEntry]


FIRST_WAIT, LONGEST_WAIT = SECONDS, 120.0


class _Pace:
    """Which tenants are to be looked at again though nobody has written anything for them.

    At once the first time, and then later each time: what fails may go on failing, and an MCP
    server may list other tools without end.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        self._last: dict[str, tuple[float, float]] = {}
        """By tenant, when it was asked for, and how long it had to wait."""

    def ask(self, tenant: str) -> None:
        """Have it looked at again."""
        if tenant not in self._due:
            now = self._clock()
            at, waited = self._last.get(tenant, (-LONGEST_WAIT, 0.0))
            calm = now - at > waited + LONGEST_WAIT
            wait = 0.0 if calm else min(max(2 * waited, FIRST_WAIT), LONGEST_WAIT)
            self._due[tenant], self._last[tenant] = now + wait, (now, wait)

    @property
    def due(self) -> set[str]:
        """Those whose time has come."""
        now = self._clock()
        return {tenant for tenant, at in self._due.items() if at <= now}

    def done(self, tenant: str) -> None:
        """It was looked at."""
        self._due.pop(tenant, None)


class Configuration:
    """Keeps what tenants have as their documents have it by now."""

    def __init__(
        self, house: HouseConfiguration, store: Store, clock: Clock = time.monotonic
    ) -> None:
        self._house = house
        self._kept = store.configuration
        self._versions = store.flow_versions
        self._mark: int | None = None
        self._tenants: Tenants | None = None
        self._documents: dict[str, Documents] = {}
        self._editions: dict[str, _Made] = {}
        self._house_changes = 0
        self._again = _Pace(clock)
        self._complaints: dict[str, str] = {}
        self._working = asyncio.Lock()
        self._servers = TenantServers(house.settings.http_allow, self._note_tools)
        self._news = asyncio.Event()

    def _note_tools(self, tenant: str) -> None:
        """That a server of the tenant's has listed other tools than before."""
        self._again.ask(tenant)
        self._news.set()

    @property
    def ever_held(self) -> bool:
        """Whether a document has held here by now, of any tenant, even if it was retired since."""
        return bool(self._mark)

    @property
    def unfit(self) -> Mapping[str, str]:
        """By tenant, what keeps its documents from being taken up as they are now.

        An MCP server that isn't there is said too, by the process that misses it.
        """
        said = dict(self._complaints)
        for tenant in self._documents:
            if away := self._servers.away(tenant):
                said[tenant] = "; ".join([*filter(None, [said.get(tenant)]), *away])
        return said

    async def refresh(self) -> bool:
        """Take up what was activated since the last time; True where something was."""
        async with self._working:
            again = self._again.due
            mark, tenants = await self._kept.mark(), self._house.tenants.now
            others = tenants is not self._tenants
            if mark == self._mark and not others and not again:
                return False
            found = defaultdict[str, list[DocumentVersion]](list)
            for each in await self._kept.active():
                found[each.tenant].append(each)
            now = {tenant: tuple(documents) for tenant, documents in found.items()}
            changed = again | {
                t for t in now.keys() | self._documents if now.get(t) != self._documents.get(t)
            }
            self._house_changes += others
            try:
                await self._take_up(now.keys() | changed if others else changed, now)
            except BaseException:
                for tenant in again:
                    self._again.ask(tenant)
                raise
            # Only now: where that was broken off, the next look finds the same again.
            self._documents, self._mark, self._tenants = now, mark, tenants
            return bool(changed)

    async def renew(self) -> None:
        """Lay all documents anew over what the house has, which has changed."""
        async with self._working:
            self._house_changes += 1
            await self._take_up(self._documents.keys(), self._documents)

    async def _take_up(self, tenants: Iterable[str], documents: Mapping[str, Documents]) -> None:
        editions = dict(self._editions)
        for tenant in sorted(tenants):
            told = self._complaints.get(tenant)
            self._again.done(tenant)
            try:
                made = await self._made(tenant, documents.get(tenant, ()), editions.get(tenant))
            except Exception as error:  # noqa: BLE001 - one tenant's trouble is no other's
                self._again.ask(tenant)
                self._note_failure(tenant, error, told)
                continue
            if made is not None:
                editions[tenant] = made
            else:
                editions.pop(tenant, None)
        # Nothing waits from here on: whoever comes next finds all of it.
        self._editions = editions
        house, whole = self._house, {t: made.edition for t, made in editions.items()}
        house.offered.give({t: one.capabilities for t, one in whole.items()})
        house.offered.registry.give({t: one.capabilities.registry for t, one in whole.items()})
        house.reader.give({t: one.reader for t, one in whole.items()})
        house.index.give({t: made.index for t, made in editions.items()})
        house.tenants.give({t: one.persona for t, one in whole.items() if one.persona})
        CONFIGURATION_UNFIT.set(len(self._complaints))
        for tenant in tenants:
            made_now = editions.get(tenant)
            await self._servers.follow(tenant, made_now.servers if made_now else {})

    async def _made(self, tenant: str, documents: Documents, before: _Made | None) -> _Made | None:
        if not documents:
            self._complaints.pop(tenant, None)
            return None
        house_changes = self._house_changes
        # What was laid over another house is no choice: it has that house's files in it as well.
        keeps = before is not None and before.house_changes == house_changes
        listed = self._servers.tools(tenant)
        draft = await asyncio.to_thread(self._house.draft, tenant, documents, listed)
        self._complain(tenant, draft.problems, keeps=keeps)
        if draft.problems and keeps:
            return before
        while draft.problems and documents:
            files = {problem.file for problem in draft.problems}
            fitting = tuple(each for each in documents if each.path not in files)
            # What breaks only files stands in some document: without all of them nothing is broken.
            documents = fitting if len(fitting) < len(documents) else ()
            draft = await asyncio.to_thread(self._house.draft, tenant, documents, listed)
        if not documents:
            return None
        edition = await asyncio.to_thread(draft.edition, has_model=self._house.has_model)
        index = self._house.index.beside()
        await index.update(edition.capabilities.everything())
        _log.info("%s has %d documents of its own", tenant, len(documents))
        return _Made(edition, index, house_changes, draft.servers)

    def _note_failure(self, tenant: str, error: Exception, told: str | None) -> None:
        """That the tenant's documents couldn't be taken up; logged where it wasn't `told` yet."""
        why = str(error) if isinstance(error, RouterError) else f"{type(error).__name__} (see log)"
        said = f"they can't be taken up, and are tried again: {why}"
        self._complaints[tenant] = said
        if said != told:
            _log.error("the documents of %s stay as they were: %s", tenant, said, exc_info=error)

    def _complain(self, tenant: str, problems: Sequence[Problem], *, keeps: bool) -> None:
        said = str(DefinitionError(list(problems)))
        if problems and self._complaints.get(tenant) != said:
            state = "stay as they were" if keeps else "are used as far as they fit"
            _log.error("the documents of %s %s: %s", tenant, state, said)
        self._complaints.pop(tenant, None)
        if problems:
            self._complaints[tenant] = said

    async def examine(
        self, tenant: str, kind: DocumentKind, name: str, text: str | None
    ) -> Examined:
        """Whether the tenant's document may be this; None: whether it may be taken out of use.

        Raises:
            DefinitionError: with every problem that the tenant would have by it and hasn't now,
                and all that are in the document itself.
        """
        mark = await self._kept.mark(tenant)
        held = await self._kept.active(tenant)
        others = [each for each in held if (each.kind, each.name) != (kind, name)]
        new = [ConfigurationDocument(kind=kind, name=name, text=text)] if text is not None else []
        listed = self._servers.tools(tenant)
        draft = await asyncio.to_thread(self._house.draft, tenant, [*others, *new], listed)
        path, problems = path_of(kind, name), draft.problems
        if kind == "stories" and text is not None:
            people = [person.id for person in self._house.people(tenant)]
            there = draft.capabilities
            names = StoryNames(people, there.registry.names, there.catalog.flows)
            problems = [*problems, *story_problems(path, text, names)]
        if problems:
            now = (await asyncio.to_thread(self._house.draft, tenant, held, listed)).problems
            problems = [each for each in problems if each.file == path or each not in now]
        if problems:
            raise DefinitionError(problems)
        remarks = [each for each in draft.remarks if each.file == path]
        flow = draft.flows.get(name) if kind == "flows" else None
        if flow is None:
            return Examined(mark, remarks)
        does = behaviour(flow)
        known = await self._versions.known(name, flow.version)
        if known not in {None, does}:
            what = f"{name} does something else than version {flow.version} of its file did"
            remedy = f"raise version to {flow.version + 1}: runs under way keep theirs"
            raise DefinitionError([Problem(path, 1, what, remedy)])
        return Examined(mark, remarks, flow.version, does)

    async def kept_up(self) -> None:
        """Take up what is activated, here or in another process, until cancelled.

        Meanwhile there is a session with each MCP server of tenants' documents.
        """
        async with self._servers.running():
            await self._followed()

    async def _followed(self) -> None:
        away = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self._news.wait()
            self._news.clear()
            try:
                await self.refresh()
            except RouterError as error:
                if not away:
                    _log.warning("documents stay as they were for now: %s", error)
                away = True
            except Exception:  # noqa: BLE001 - to stop looking would be a silence
                _log.exception("documents stay as they were")
            else:
                away = False
