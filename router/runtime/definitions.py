"""What the settings' files define: flows, skills, tools and prompts, read and checked."""

import logging
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import ModuleType

from activities.capabilities import Capabilities
from router.directory.tenants import KnownNames, LiveTenants, Tenants
from router.documents.document_type import document_types
from router.domain.configuration_documents import DocumentKind
from router.domain.documents import OTHER
from router.domain.errors import DefinitionError, MisconfiguredError, Problem
from router.domain.principals import ALL_NAMES, CapabilityKind, NameSelection
from router.flow.catalog import Catalog, behaviour
from router.flow.definition import FlowDefinition
from router.flow.loader import FlowFile, Vocabulary, load_flows, read_flow, sub_flow_problems
from router.runtime.configuration_kinds import register_configuration_kinds
from router.runtime.extensions import (
    import_formats,
    import_packages,
    load_configured,
    register_understanding,
)
from router.settings import Settings
from router.settings.project import check_package, find_project
from router.settings.sample import (
    SAMPLE_CODE,
    SAMPLE_ROOT,
    enable_sample_imports,
    sample_folder,
)
from router.skill.loader import LoadedSkills, WatchedSkills, remarks
from router.skill.skill import SkillCatalog
from router.store.flow_runs import FlowVersions
from router.tool.kinds import ToolSources
from router.tool.registry import Registry

_log = logging.getLogger("router.flows")

CORE_PACKAGES = ("activities.builtin",)
SAMPLE_PACKAGES = (
    "company.tools",
    "company.hooks",
    "company.lookups",
    "company.papers",
)
"""The packages of the sample company, which a deployment has that names none."""


def load_catalog(settings: Settings, registry: Registry) -> Catalog:
    """The flows of the settings' folder, checked against what there is that they may name."""
    return load_flows(flow_folder(settings), vocabulary(registry))


def vocabulary(registry: Registry, author_tools: NameSelection = ALL_NAMES) -> Vocabulary:
    """What flow files may name beside these tools: the types of documents, each with its fields.

    What an author writes may call those of `author_tools` alone.
    """
    types = {name: frozenset(kind.fields) for name, kind in document_types().items()}
    known = Vocabulary.of(
        registry.parameters(),
        {**types, OTHER: frozenset()},
        approved=frozenset(tool.name for tool in registry if tool.options.approval),
        made_by=frozenset(
            (tool.name, argument, mark.tool, mark.field)
            for tool in registry
            for argument, mark in tool.made_by.items()
        ),
        reads=frozenset(tool.name for tool in registry if not tool.writes),
    )
    return known._replace(usable=author_tools)


def sample_persona() -> Path | None:
    """Who the desk is to the sample company's people; None where that was deleted."""
    file = sample_folder(SAMPLE_CODE) / "persona.yaml"
    return file if file.is_file() else None


def tenants_of(settings: Settings) -> LiveTenants:
    """What each tenant has, as the files say it; `DefinitionError` with every problem."""
    return LiveTenants(lambda: Tenants.load(settings.tenants, settings.persona))


def names_in(
    offered: Capabilities, kinds: Collection[DocumentKind] = (), *, documented: bool = False
) -> KnownNames:
    """What the file of tenants may name: all that there is, in documents of any tenant too.

    In a house that is `documented` a name may be of a document that was retired, or isn't fit now.
    """
    to_come = [f"{prefix}*" for prefix in offered.registry.prefixes]
    every = offered.every()
    names: dict[CapabilityKind, Iterable[str]] = {
        "flow": [name for one in every for name in one.catalog.flows],
        "skill": [skill.name for one in every for skill in one.skills],
        "tool": [*(name for one in every for name in one.registry.names), *to_come],
    }
    needs = {flow.flow: flow.needs for flow in offered.catalog}
    awaiting = ("only", "except") if documented else ()
    known = {kind: frozenset(each) for kind, each in names.items()}
    return KnownNames(known, needs, kinds, awaiting)


def flow_folder(settings: Settings) -> Path:
    """The folder of flow files: the settings', which has to be there, or the project's own."""
    if settings.flows is not None and not settings.flows.exists():
        raise MisconfiguredError(
            f"{settings.describe('flows')} is no folder here: name one that has flow files in it"
        )
    return settings.flows or sample_folder("flows")


async def check_versions(
    settings: Settings, catalog: Catalog, versions: FlowVersions, *, editing: bool
) -> None:
    """Hold every flow to what its version first did here; else `DefinitionError`.

    While its author is `editing`, a change is only warned of, once, and holds from now on.
    """
    changed = await _changed_under_version(settings, catalog, versions, editing=editing)
    if changed:
        raise DefinitionError(list(changed.values()))


async def taken_up(
    settings: Settings,
    current: Catalog,
    files: Iterable[FlowFile],
    versions: FlowVersions,
    *,
    editing: bool,
) -> Catalog:
    """The flows of these files; unless `editing`, one changed under its version stays `current`.

    Raises `DefinitionError` where flows that start each other don't fit.
    """
    flows = {file.path: file.definition for file in files}
    _fit(flows)
    changed = await _changed_under_version(settings, flows.values(), versions, editing=editing)
    for problem in changed.values():
        _log.error("the flow stays as it was: %s", problem)
    kept = {
        path: current.get(flow.flow) if flow.flow in changed else flow
        for path, flow in flows.items()
    }
    flows = {path: flow for path, flow in kept.items() if flow is not None}
    _fit(flows)
    return Catalog(flows.values())


def _fit(flows: Mapping[Path, FlowDefinition]) -> None:
    problems = list(sub_flow_problems(flows))
    if problems:
        raise DefinitionError(problems)


async def _changed_under_version(
    settings: Settings, flows: Iterable[FlowDefinition], versions: FlowVersions, *, editing: bool
) -> dict[str, Problem]:
    """By name, the flows that do something else than their version did; none for an author."""
    changed = {}
    for flow in flows:
        now = behaviour(flow)
        if await versions.keep(flow.flow, flow.version, now) == now:
            continue
        problem = read_flow(flow_folder(settings) / f"{flow.flow}.yaml").problem(
            ("version",),
            f"{flow.flow} does something else than version {flow.version} did when it was first "
            "run",
            f"raise version to {flow.version + 1} (runs of version {flow.version} keep theirs), or "
            "bring back what it was",
        )
        if editing:
            await versions.replace(flow.flow, flow.version, now)
            _log.warning("%s", problem)
        else:
            changed[flow.flow] = problem
    return changed


def load_capabilities(
    settings: Settings,
    registry: Registry | None = None,
    skills: SkillCatalog | None = None,
    catalog: Catalog | None = None,
) -> Capabilities:
    """Everything that can be done here: flows, skills and tools, loaded where none are given."""
    registry = load_registry(settings) if registry is None else registry
    for provider in registry.lacking(settings):
        registry.withhold(provider)
    skills = skill_folders(settings).load().catalog if skills is None else skills
    catalog = load_catalog(settings, registry) if catalog is None else catalog
    return Capabilities(catalog, skills, registry)


def skill_folders(settings: Settings) -> WatchedSkills:
    """The skills of the settings' folder, to be loaded; raises `MisconfiguredError` without one."""
    folder = settings.skills or sample_folder("skills")
    if not folder.is_dir():
        raise MisconfiguredError(
            f"{settings.describe('skills')} is no folder: name one that has skill folders in it"
        )
    return WatchedSkills(folder)


def skill_remarks(settings: Settings, loaded: LoadedSkills) -> list[Problem]:
    """What might be better about these skills, given the tools and flows there are."""
    registry = load_registry(settings)
    names = registry.names | {flow.flow for flow in load_catalog(settings, registry)}
    return list(remarks(loaded, names, registry.prefixes))


def load_registry(settings: Settings) -> Registry:
    """Every tool of the packages that there are, and those that files declare.

    The types of documents that stand in those packages are known from then on.
    """
    return load_tools(settings).registry


def load_tools(settings: Settings) -> ToolSources:
    """The same, with where they come from."""
    sources = load_core_tools(settings)
    load_configured(settings).collect(sources.add_extension)
    load_configured(settings).collect(register_configuration_kinds)
    register_understanding(settings)
    return sources


def load_core_tools(settings: Settings) -> ToolSources:
    """The same without the sources of extensions."""
    document_types()  # the shipped ones first: their names are taken
    sources = ToolSources(settings, load_packages(settings))
    sources.load()
    return sources


def format_packages(settings: Settings) -> list[str]:
    """Return the packages with file formats that the configured extensions have."""
    return [*chain.from_iterable(load_configured(settings).collect(import_formats))]


def load_packages(settings: Settings) -> list[ModuleType]:
    """Import the packages with tools, hooks, lookups and document types."""
    chosen = settings.packages
    project = find_project()
    if project is not None:
        project.enable_imports()
        if project.folder != SAMPLE_ROOT:
            for name in chosen or ():
                check_package(name, project.folder, project.distribution)
    has_sample = chosen is None and enable_sample_imports()
    optional = SAMPLE_PACKAGES if has_sample else ()
    names = [*CORE_PACKAGES, *(name for name in optional if find_spec(name))]
    extensions = load_configured(settings)
    found = [_import(name) for name in (*names, *sorted(chosen or ()))]
    return [*found, *chain.from_iterable(extensions.collect(import_packages))]


def _import(package: str) -> ModuleType:
    try:
        found = import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{package}.".startswith(f"{error.name}."):
            raise
        raise MisconfiguredError(
            f"ROUTER_PACKAGES: there is no package {package!r}; "
            "run this in the project's folder, or install the package"
        ) from None
    if not hasattr(found, "__path__"):
        raise MisconfiguredError(
            f"ROUTER_PACKAGES: {package!r} is a module; name the package that it is in"
        )
    return found
