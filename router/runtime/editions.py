"""What a tenant has that has documents of its own: the house's files with those laid over them.

A document takes the place of the file of its name, for its tenant alone. It is held to all that a
file is held to, and to a little more, as its author isn't the house's operator: it runs no code,
reaches public addresses and those that the file of tenants names for it, and no variable but its
tenant's own.

Stories are read as they are written, and never again: who leaves, or a flow that is changed, takes
nothing out of use.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from activities.capabilities import Capabilities
from router.directory.persona import Persona, persona_in_text
from router.directory.tenants import TenantEntry
from router.domain.configuration_documents import (
    CORE_RULES,
    ConfigurationDocument,
    DocumentKind,
    path_of,
)
from router.domain.errors import DefinitionError, Fault, Problem
from router.domain.principals import ALL_NAMES, CapabilityKind
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition
from router.flow.loader import FlowFile, examine_all, examine_text, sub_flow_faults
from router.flow.validation.references import FORBIDDEN_REMEDY
from router.formats.yaml_document import Place
from router.runtime.configuration_kinds import ConfigurationKinds, ToolsBySystem
from router.runtime.definitions import flow_folder, vocabulary
from router.settings import Settings
from router.skill.loader import FoundSkill, LoadedSkills, circle_problems, skill_in_text
from router.skill.loader import remarks as skill_remarks
from router.skill.skill import Skill, SkillCatalog
from router.tool.configuration_kind import DeclaredTools, TenantSystem
from router.tool.registry import Registry
from router.understanding.reader import Reader
from router.understanding.triggers.patterns import rivalries

DOCUMENTED = "documents"
"""The registry's group of tools that documents declare."""
MAX_SYSTEMS = 20
"""Of one tenant and kind: every process may keep a session with each."""

_log = logging.getLogger("router.configuration")

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
    systems: Mapping[DocumentKind, Sequence[TenantSystem]] = field(default_factory=dict)
    """By kind, the systems of documents that list tools of their own."""
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


def drafted(
    settings: Settings,
    house: Capabilities,
    documents: Iterable[ConfigurationDocument],
    tenant: str,
    entry: TenantEntry,
    kinds: ConfigurationKinds,
    listed: ToolsBySystem = MappingProxyType({}),
) -> DraftEdition:
    """The tenant's documents laid over what the house has. It takes a while: call it in a thread.

    `entry` is what the house lets the tenant have: a document of another name is refused, and so
    is a flow or a skill that calls a tool which isn't one of `entry.author_tools`, and what leads
    to an address that isn't public and that `entry.origins` doesn't name.
    `kinds` read the documents that aren't the core's. `listed` are the tools that systems of
    documents have listed; of the other systems tools are expected.
    """
    return _Drafting(settings, house, list(documents), tenant, entry, kinds).draft(listed)


class _Drafting:
    """One tenant's documents being read."""

    def __init__(
        self,
        settings: Settings,
        house: Capabilities,
        documents: Sequence[ConfigurationDocument],
        tenant: str,
        entry: TenantEntry,
        kinds: ConfigurationKinds,
    ) -> None:
        self.settings = settings
        self.tenant = tenant
        self.origins = entry.origins
        self.kinds = kinds
        self.house = house
        self.documents = documents
        self.entitlement = entry.entitlement
        self.author_tools = entry.author_tools.selection
        self.problems: list[Problem] = []
        self.remarks: list[Problem] = []

    def draft(self, listed: ToolsBySystem) -> DraftEdition:
        declared = self._declared()
        registry = self._registry(declared)
        systems = self._systems(declared, registry, listed)
        skills = self._skills(registry)
        catalog, files = self._catalog(registry)
        persona = next(iter(self._each("personas", persona_in_text)), None)
        return DraftEdition(
            Capabilities(catalog, skills, registry),
            persona,
            {name: file.definition for name, file in files.items()},
            systems,
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

    def _declared(self) -> list[tuple[ConfigurationDocument, DeclaredTools]]:
        """Return what each document declares that an extension reads."""
        found = []
        for each in self.documents:
            if each.kind in CORE_RULES:
                continue
            if each.kind not in self.kinds:
                self.problems.append(Problem(each.path, 1, *self.kinds.explain_absence(each.kind)))
                continue
            try:
                found.append((each, self.kinds.read(each, self.tenant, self.origins)))
            except DefinitionError as error:
                self.problems += error.problems
        return found

    def _registry(
        self, declared: Iterable[tuple[ConfigurationDocument, DeclaredTools]]
    ) -> Registry:
        all_tools = (tool for _, each in declared for tool in each.tools)
        tools = [tool for tool in all_tools if self._covered("tool", tool.name, *tool.source)]
        try:
            return self.house.registry.overlaid(tools, DOCUMENTED, over=self.kinds.replaceable)
        except DefinitionError as error:
            self.problems += error.problems
            return self.house.registry.overlaid([], DOCUMENTED)

    def _systems(
        self,
        declared: Iterable[tuple[ConfigurationDocument, DeclaredTools]],
        registry: Registry,
        listed: ToolsBySystem,
    ) -> dict[DocumentKind, list[TenantSystem]]:
        """Return the systems that have tools; the registry has those from then on, or expects them.

        What the tools' names begin with is taken where the house has such tools.
        """
        systems: dict[DocumentKind, list[TenantSystem]] = {}
        for document, each in declared:
            for system in each.systems:
                if self._fits(system, document.path, registry):
                    registry.expect(system.group, system.prefix)
                    systems.setdefault(document.kind, []).append(system)
                    self._check_count(systems[document.kind], document)
        for system in chain.from_iterable(systems.values()):
            try:
                if system.prefix in listed:
                    registry.replace(system.group, listed[system.prefix])
            except DefinitionError as error:
                _log.error("no tool of %s can be taken in: %s", system.group, error)
        return systems

    def _fits(self, system: TenantSystem, path: str, registry: Registry) -> bool:
        prefix = system.prefix
        if any(p.startswith(prefix) or prefix.startswith(p) for p in registry.prefixes):
            what = f"there are tools already whose names begin with {prefix}"
            remedy = f"give {system.group} another name"
            self.problems.append(Problem(path, 1, what, remedy))
            return False
        # The house names tools of such a system, which only itself knows, or gives all of them.
        named = any(each.startswith(prefix) for each in self.entitlement.tools.only)
        return named or self._covered("tool", f"{prefix}*", path)

    def _check_count(
        self, systems: Sequence[TenantSystem], document: ConfigurationDocument
    ) -> None:
        if len(systems) == MAX_SYSTEMS + 1:
            what = f"a tenant has at most {MAX_SYSTEMS} systems in its {document.kind}"
            remedy = "leave some out, or offer them as one"
            self.problems.append(Problem(document.path, 1, what, remedy))

    def _skills(self, registry: Registry) -> SkillCatalog:
        found = self._each("skills", skill_in_text)
        own = {one.skill.name: one for one in found}
        for one in found:
            self._covered("skill", one.skill.name, str(one.file), one.lines.get("name", 1))
            self._note_forbidden(one)
        files = [_of_file(skill) for skill in self.house.skills if skill.name not in own]
        self.problems += circle_problems([*files, *found])
        loaded = LoadedSkills(found)
        names = registry.names | set(self.house.catalog.flows)
        names |= {each.name for each in self.documents if each.kind == "flows"}
        others = {one.skill.name for one in files}
        self.remarks += loaded.flaws
        self.remarks += skill_remarks(loaded, names, registry.prefixes, others)
        return SkillCatalog(one.skill for one in [*files, *found])

    def _note_forbidden(self, found: FoundSkill) -> None:
        """Note the tools that a skill may call and that authors can't use."""
        if self.author_tools == ALL_NAMES:
            return
        file, line = str(found.file), found.lines.get("allowed-tools", 1)
        allowed = found.skill.allowed_tools
        if allowed is None:
            what = "the skill may call every tool, and authors of this tenant can't use all"
            self.problems.append(Problem(file, line, what, "name its allowed-tools"))
        for tool in sorted(allowed or ()):
            if not self.author_tools.has(tool):
                what = f"authors of this tenant can't use the tool {tool}"
                self.problems.append(Problem(file, line, what, FORBIDDEN_REMEDY))

    def _catalog(self, registry: Registry) -> tuple[Catalog, dict[str, FlowFile]]:
        known = vocabulary(registry, self.author_tools)
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
