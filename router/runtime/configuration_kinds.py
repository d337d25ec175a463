"""The kinds of tenants' configuration documents that extensions add, for one process."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from router.directory.tenants import Origins
from router.domain.configuration_documents import (
    KIND_PATTERN,
    ConfigurationDocument,
    DocumentKind,
    register_kind,
    unregister_kind,
)
from router.domain.errors import DefinitionError, Fault, Problem
from router.domain.source_lines import SourceLine
from router.extension import Extension, ExtensionConflict
from router.outbound.guard import OutboundGuard
from router.runtime.extensions import load_configured, load_omitted
from router.settings import Settings
from router.settings.environment import TOOL_PREFIX
from router.tool.configuration_kind import (
    ConfigurationKind,
    DeclaredTools,
    TenantAccess,
    TenantSystem,
)
from router.tool.tool import Tool

ToolsBySystem = Mapping[str, Sequence[Tool]]
"""The tools that systems have listed, by the prefix of their names."""

FOLLOW_WITHIN_S = 60.0
"""How long a kind may take to follow a tenant's systems. No other document waits longer."""

_NAME = re.compile(KIND_PATTERN)
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
_PREFIX = re.compile(r"[a-z][a-z0-9_-]{0,39}__")
_TENANT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_log = logging.getLogger("router.configuration")


class ConfigurationKinds:
    """The kinds of one process, each with the extension that adds it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._each: dict[DocumentKind, tuple[str, ConfigurationKind]] = {}
        self._listeners: list[Callable[[str], None]] = []
        load_configured(settings).collect(self._add_extension)

    def _add_extension(self, extension: Extension) -> None:
        added = [kind(self._settings, self._notify) for kind in extension.configuration_kinds()]
        self._each |= {kind.name: (extension.name, kind) for kind in added}

    def _notify(self, tenant: str) -> None:
        for listener in self._listeners:
            listener(tenant)

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Have this called with a tenant whose systems list other tools than before."""
        self._listeners.append(listener)

    def __contains__(self, kind: DocumentKind) -> bool:
        return kind in self._each

    @property
    def installed(self) -> frozenset[DocumentKind]:
        """The kinds that installed extensions have, loaded or not."""
        omitted = (_kinds_of(each) for each in load_omitted(self._settings).values())
        return frozenset(self._each).union(*omitted)

    def explain_absence(self, kind: DocumentKind) -> Fault:
        """Return why documents of a kind can't be read here, and what helps."""
        what = f"no extension that is loaded reads documents of the kind {kind}"
        for name, extension in load_omitted(self._settings).items():
            if kind in _kinds_of(extension):
                return Fault(what, f"load the extension {name}, or retire the document")
        return Fault(what, "install the extension that does, or retire the document")

    @property
    def replaceable(self) -> frozenset[str]:
        """The groups of the house's tools that tools of documents may stand in for."""
        return frozenset(group for _, kind in self._each.values() for group in kind.replaces)

    def read(self, document: ConfigurationDocument, tenant: str, origins: Origins) -> DeclaredTools:
        """Return what a document declares.

        Raises:
            DefinitionError: It can't be used, or what its extension makes of it can't.
        """
        owner, kind = self._each[document.kind]
        access, path = self._access(document.kind, tenant, origins), document.path
        try:
            declared = kind.read(Path(path), document.text, access)
            _check_declared(declared)
        except DefinitionError:
            raise
        except Exception as error:
            what = f"the extension {owner} can't read it: {type(error).__name__}: {error}"
            remedy = "correct the document, or the extension"
            raise DefinitionError([Problem(path, 1, what, remedy)]) from error
        tools = [_at(path, tool) for tool in declared.tools]
        return replace(declared, tools=tools)

    def list_tools(self, tenant: str) -> ToolsBySystem:
        """Return the tools that the tenant's systems have listed until now, by the prefix."""
        found: dict[str, Sequence[Tool]] = {}
        for owner, kind in self._each.values():
            try:
                listed = {prefix: [*tools] for prefix, tools in kind.list_tools(tenant).items()}
                _check_listed(listed)
                found |= listed
            except Exception:  # noqa: BLE001 - it may be anybody's code
                _log.exception("extension %s: no tool of %s's %s", owner, tenant, kind.name)
        return found

    def find_absent(self, tenant: str) -> list[str]:
        """Return a sentence on each of the tenant's systems that can't be reached."""
        found: list[str] = []
        for owner, kind in self._each.values():
            try:
                found += map(str, kind.find_absent(tenant))
            except Exception:  # noqa: BLE001 - it may be anybody's code
                _log.exception("extension %s: nothing is known of %s's systems", owner, tenant)
        return found

    async def follow(
        self,
        tenant: str,
        origins: Origins,
        systems: Mapping[DocumentKind, Sequence[TenantSystem]],
    ) -> None:
        """Let exactly these be the tenant's systems, by kind."""
        for name, (owner, kind) in self._each.items():
            try:
                async with asyncio.timeout(FOLLOW_WITHIN_S):
                    await kind.follow(self._access(name, tenant, origins), systems.get(name, ()))
            except Exception:  # noqa: BLE001 - it may be anybody's code
                _log.exception("extension %s can't follow the %s of %s", owner, name, tenant)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep sessions with the systems of all tenants until the block is left."""
        extensions = load_configured(self._settings)
        async with AsyncExitStack() as stack:
            for owner, kind in self._each.values():
                running = extensions.keep_running({owner: _run(kind)})
                await stack.enter_async_context(running)
            yield

    def _access(self, kind: DocumentKind, tenant: str, origins: Origins) -> TenantAccess:
        named_in = f"the tenant's origins.{kind} in the file of ROUTER_TENANTS"
        guard = OutboundGuard(origins.get(kind, ()), named_in)
        return TenantAccess(tenant, variables_of(self._settings, tenant), guard)


def variables_of(settings: Settings, tenant: str) -> dict[str, str]:
    """What a tenant's documents may name: `ROUTER_TOOL_<TENANT>__…`, and no other's secrets."""
    if not _TENANT.fullmatch(tenant):
        return {}
    begins = f"{TOOL_PREFIX}{tenant.upper().replace('-', '_')}__"
    return {n: v for n, v in settings.tool_variables.items() if n.startswith(begins)}


@asynccontextmanager
async def _run(kind: ConfigurationKind) -> AsyncIterator[None]:
    """Enter `running` within the block, so that whatever it raises is the extension's fault."""
    async with kind.running():
        yield


def _check_listed(listed: Mapping[str, Sequence[Tool]]) -> None:
    """Raise `ValueError` if a system has listed what isn't a tool, or not one of its own."""
    for prefix, tools in listed.items():
        for tool in tools:
            if not isinstance(tool, Tool) or not tool.name.startswith(prefix):
                raise ValueError(f"{tool!r:.80} is no tool whose name begins with {prefix}")


def _at(path: str, tool: Tool) -> Tool:
    """Return a tool with the document as its source, if it names another one."""
    here = tool.source.file == path
    return tool if here else replace(tool, source=SourceLine(path, 1))


def _kinds_of(omitted: Extension) -> frozenset[DocumentKind]:
    """Return the names of the kinds of an extension that isn't loaded, if it can say them."""
    with suppress(Exception):  # `extensions` says why it isn't loaded
        return frozenset(each.name for each in omitted.configuration_kinds())
    return frozenset()


def register_configuration_kinds(extension: Extension) -> None:
    """Register the kinds of documents of an extension, all of them or none.

    Raises:
        ExtensionConflict: One has the name of another one, or can't be used.
    """
    added: list[DocumentKind] = []
    try:
        for kind in extension.configuration_kinds():
            _check_kind(kind)
            register_kind(kind.name, kind.suffix, extension.name)
            added.append(kind.name)
    except TypeError as error:
        for name in added:
            unregister_kind(name)
        raise ExtensionConflict(f"its kinds of documents can't be used: {error}") from error


def _check_kind(kind: object) -> None:
    if not isinstance(kind, type) or not issubclass(kind, ConfigurationKind):
        raise TypeError(f"{kind!r:.80} is no subclass of ConfigurationKind: derive it from that")
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TypeError(
            f"{kind.__name__} has the name {name!r:.80}: give it one of up to 40 lower-case "
            "letters, digits and _"
        )
    if not isinstance(kind.suffix, str) or not _SUFFIX.fullmatch(kind.suffix):
        raise TypeError(f"{name} has the suffix {kind.suffix!r:.80}: write it like .json")


def _check_declared(declared: object) -> None:
    """Raise `TypeError` or `ValueError` if this is nothing that a document can declare."""
    if not isinstance(declared, DeclaredTools):
        raise TypeError(f"it gave {declared!r:.80}, which is no DeclaredTools")
    for tool in declared.tools:
        if not isinstance(tool, Tool):
            raise TypeError(f"it gave {tool!r:.80}, which is no tool")
    for system in declared.systems:
        if not isinstance(system, TenantSystem):
            raise TypeError(f"it gave {system!r:.80}, which is no TenantSystem")
        if not _PREFIX.fullmatch(system.prefix):
            raise ValueError(f"a system has the prefix {system.prefix!r:.80}: write it like crm__")
