"""The flows that each tenant has, and what they may name, for authors to work with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from router.api.dependencies import DocumentChecks
from router.extensions.authoring.author_jobs import RuleSources
from router.extensions.authoring.drafts import FlowText
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary
from router.runtime.definitions import flow_folder
from router.settings import Settings
from router.tool.tool import Tool

STORIES = "tests"
"""The folder beside flow files in which the stories of each stand in a file of its name."""

EVALUATION_SETS = ("tests/*.jsonl", "../bench/requests.jsonl", "../docs/examples/requests.jsonl")
"""Labelled lines, from the folder of flows: beside its stories, and in the project's checkout."""


@dataclass(frozen=True)
class FlowTexts:
    """What is loaded now, and the house's files as they are on the disk."""

    settings: Settings
    configuration: DocumentChecks

    def flows(self, tenant: str) -> Mapping[str, FlowDefinition]:
        """All that the tenant has, by name."""
        entitlement = self.configuration.tenants.now.entitlement(tenant)
        catalog = self.configuration.offered.of(tenant).catalog
        return {flow.flow: flow for flow in catalog if entitlement.covers("flow", flow.flow)}

    def vocabulary(self, tenant: str) -> Vocabulary:
        """What the tenant's flows may name that stands elsewhere."""
        return self.configuration.vocabulary(tenant)

    def tools(self, tenant: str) -> Sequence[Tool]:
        """The tools that flows of the tenant's authors may call, by name."""
        tenants = self.configuration.tenants
        entitlement, allowed = tenants.now.entitlement(tenant), tenants.author_tools(tenant)
        registry = self.configuration.offered.of(tenant).registry
        names = (n for n in sorted(registry.names) if entitlement.covers("tool", n))
        return [registry[name] for name in names if allowed.has(name)]

    def rule_sources(self, tenant: str) -> RuleSources:
        """Return what the tenant's messages are read by."""
        offered = self.configuration.offered.of(tenant)
        return RuleSources(offered.flows(), offered.phrases(), offered.listed())

    def labelled(self) -> Sequence[str]:
        """The sentences of the evaluation sets that stand beside the house's flows."""
        folder = flow_folder(self.settings)
        beside = folder if folder.is_dir() else folder.parent
        files = sorted(file for where in EVALUATION_SETS for file in beside.glob(where))
        return [text for file in files for text in _texts_in(file)]

    def in_file(self, flow: str) -> FlowText | None:
        """What the house's file of the flow says, and the stories beside it; None without one."""
        folder = flow_folder(self.settings)
        path = folder / f"{flow}.yaml" if folder.is_dir() else folder
        if path.stem != flow or not path.is_file():
            return None
        return FlowText(_read(path), _read(path.parent / STORIES / path.name))


class _LabelledText(BaseModel):
    """The sentence of a labelled line; what it should lead to isn't read here."""

    text: str


def _texts_in(file: Path) -> Iterator[str]:
    """The texts of labelled lines; what is no such line is passed over: `eval` tells of those."""
    for line in file.read_bytes().splitlines():
        with suppress(ValidationError):
            yield _LabelledText.model_validate_json(line).text


def _read(path: Path) -> str:
    """The file's text with its line breaks as they are; empty where it isn't there."""
    return path.read_bytes().decode(errors="replace") if path.is_file() else ""
