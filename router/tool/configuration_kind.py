"""Kinds of tenants' configuration documents that extensions add, and that tools come from.

A tenant's documents are kept in the database and hold for that tenant alone. Flows, skills, stories
and personas are the core's. A kind of an extension declares tools, or systems that list tools.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from router.outbound.guard import OutboundGuard
from router.settings import Settings
from router.tool.tool import Tool


@dataclass(frozen=True)
class TenantAccess:
    """What the documents of one tenant may use: their author isn't the deployment's operator."""

    tenant: str
    variables: Mapping[str, str]
    """The variables that a document may name: those that begin with `ROUTER_TOOL_<TENANT>__`."""
    guard: OutboundGuard
    """Where a tool may send requests: public https addresses, and the origins that
    `ROUTER_TENANTS` names for this kind. Pass it to whatever connects to another system."""


@dataclass(frozen=True)
class TenantSystem:
    """A system that lists tools of its own, such as an MCP server. Derive yours from it."""

    prefix: str
    """What the names of its tools begin with, such as `crm__`. Flows may name such tools before
    the system has listed them."""
    group: str
    """What messages call it, such as "the MCP server crm"."""


@dataclass(frozen=True)
class DeclaredTools:
    """What one document declares."""

    tools: Sequence[Tool] = ()
    """Tools that are known at once. Each is called through the same gate as all others."""
    systems: Sequence[TenantSystem] = ()


class ConfigurationKind(ABC):
    """A kind of documents. An instance is created in every process that has tools.

    Override `read`. A kind whose documents declare systems overrides the others as well.
    """

    name: ClassVar[str]
    """As paths have it, such as `tools` in `PUT /v1/configuration/tools/weather`: lower-case
    letters, digits and `_`. Unique among all kinds."""
    suffix: ClassVar[str] = ".json"
    """What the names of files end with in a folder of documents: `tools/weather.json`."""

    replaces: ClassVar[Collection[str]] = ()
    """The groups of the deployment's own tools, such as those of a `ToolSource`, that a tool of a
    document may stand in for, for its tenant, by having the name of one."""

    def __init__(self, settings: Settings, notify: Callable[[str], None]) -> None:
        """Create the kind for one process.

        Args:
            settings: The settings of the process.
            notify: Tells the process that the systems of a tenant list other tools than before.
                Call it in the event loop, with the tenant.
        """
        self.settings = settings
        self.notify = notify

    @abstractmethod
    def read(self, path: Path, text: str, access: TenantAccess) -> DeclaredTools:
        """Return what a document declares. It is called in a thread: do no I/O.

        Args:
            path: Where the document stands in a folder of documents, for what is said of it.
            text: The document, of at most 256 KiB.
            access: What the document may use.

        Raises:
            DefinitionError: The document can't be used, with every problem in it. Any other
                exception becomes a problem of its first line.
        """

    def list_tools(self, tenant: str) -> Mapping[str, Sequence[Tool]]:  # noqa: ARG002 - for others
        """Return the tools that the tenant's systems have listed until now, by the prefix."""
        return {}

    async def follow(  # noqa: B027 - a kind without systems has none to follow
        self, access: TenantAccess, systems: Sequence[TenantSystem]
    ) -> None:
        """Let exactly these be the tenant's systems: connect to new ones, leave others.

        It is called once the documents hold, and for an empty sequence once none does any more.
        """

    def find_absent(self, tenant: str) -> Sequence[str]:  # noqa: ARG002 - for others
        """Return a sentence on each of the tenant's systems that can't be reached."""
        return ()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep sessions with the systems until the block is left, when the process stops."""
        yield
