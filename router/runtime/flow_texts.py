"""The flows that each tenant has, and what they may name, for authors to work with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from activities.capabilities import Capabilities
from router.directory.tenants import LiveTenants
from router.domain.flow_drafts import FlowText
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary
from router.runtime.definitions import flow_folder, vocabulary
from router.settings import Settings
from router.tool.tool import Tool

STORIES = "tests"
"""The folder beside flow files in which the stories of each stand in a file of its name."""


@dataclass(frozen=True)
class LiveFlowTexts:
    """What is loaded now, and the house's files as they are on the disk."""

    settings: Settings
    offered: Capabilities
    tenants: LiveTenants

    def flows(self, tenant: str) -> Mapping[str, FlowDefinition]:
        """All that the tenant has, by name."""
        entitlement = self.tenants.now.entitlement(tenant)
        catalog = self.offered.of(tenant).catalog
        return {flow.flow: flow for flow in catalog if entitlement.covers("flow", flow.flow)}

    def vocabulary(self, tenant: str) -> Vocabulary:
        """What the tenant's flows may name that stands elsewhere."""
        return vocabulary(self.offered.of(tenant).registry)

    def tools(self, tenant: str) -> Sequence[Tool]:
        """The tools that the tenant's flows may call, by name."""
        entitlement = self.tenants.now.entitlement(tenant)
        registry = self.offered.of(tenant).registry
        return [registry[n] for n in sorted(registry.names) if entitlement.covers("tool", n)]

    def in_file(self, flow: str) -> FlowText | None:
        """What the house's file of the flow says, and the stories beside it; None without one."""
        folder = flow_folder(self.settings)
        path = folder / f"{flow}.yaml" if folder.is_dir() else folder
        if path.stem != flow or not path.is_file():
            return None
        return FlowText(_read(path), _read(path.parent / STORIES / path.name))


def _read(path: Path) -> str:
    """The file's text with its line breaks as they are; empty where it isn't there."""
    return path.read_bytes().decode(errors="replace") if path.is_file() else ""
