"""Documents laid over what the house has: what they may say, and what becomes of it."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from router.directory.tenants import (
    LiveTenants,
    SelectionOfNames,
    TenantEntry,
    Tenants,
)
from router.domain.configuration_documents import (
    Activation,
    ConfigurationDocument,
    DocumentKind,
    DocumentVersion,
    HeldVersion,
    digest_of,
)
from router.domain.errors import DefinitionError, Unavailable
from router.flow.catalog import Catalog
from router.retrieval.index import CapabilityIndex
from router.runtime.configuration_kinds import ConfigurationKinds, ToolsBySystem, variables_of
from router.runtime.definitions import load_capabilities
from router.runtime.editions import DraftEdition
from router.runtime.tenant_configuration import Configuration, HouseConfiguration
from router.settings import Settings
from router.understanding.reader import Reader
from tests.fakes.clock import Clock
from tests.table import each_row
from tests.unit.runtime.documents import PERSONA, SKILL, SOUND, Desk, calling, overtime, said
from tests.unit.runtime.editions import desk, house, settings

__all__ = ["desk", "house", "settings"]


BOMB = [(0, "x, x"), *((n, f"*a{n - 1}, *a{n - 1}") for n in range(1, 40))]


def test_documents_of_every_kind_stand_beside_the_files(desk: Desk) -> None:
    draft = desk(*((kind, name, text) for kind, (name, text) in SOUND.items()))
    assert said(draft.problems) == ""
    edition = draft.edition(has_model=True)
    there = {(each.kind, each.name) for each in edition.capabilities.everything()}
    assert {("flow", "overtime"), ("flow", "leave_request"), ("skill", "travel-tips")} <= there
    assert edition.persona is not None
    assert edition.persona.name.en == "Bridge"
    assert "overtime" not in desk.house.catalog.flows


def test_a_document_takes_the_place_of_the_file_of_its_name(desk: Desk) -> None:
    draft = desk(("flows", "leave_request", _leave()))
    assert said(draft.problems) == ""
    flow = draft.capabilities.catalog.get("leave_request")
    assert flow is not None
    assert flow.title.en == "Leave"


def _leave() -> str:
    text = overtime(9, patterns="['^leave of absence$']").replace(
        "flow: overtime", "flow: leave_request"
    )
    return text.replace('en: "Overtime"}', 'en: "Leave"}').replace(
        'examples: ["log overtime", "我要报加班"]', 'examples: ["leave of absence"]'
    )


REFUSED: dict[str, tuple[list[tuple[DocumentKind, str, str]], str]] = {
    "another-name": ([("flows", "extra", overtime())], "flows/extra.yaml:2"),
    "unknown-tool": (
        [("flows", "overtime", calling("no_tool"))],
        "no_tool",
    ),
    "no-yaml": ([("flows", "overtime", "flow: [")], "flows/overtime.yaml"),
    "empty": ([("flows", "overtime", "")], "flows/overtime.yaml:1"),
    "yaml-bomb": (
        [("flows", "overtime", "".join(f"a{n}: &a{n} [{ref}]\n" for n, ref in BOMB))],
        "flows/overtime.yaml",
    ),
    "a-sentence-taken-from-another-flow": (
        [("flows", "overtime", overtime().replace("我要报加班", "我要请年假"))],
        "starts leave_request",
    ),
    "skill-of-another-name": ([("skills", "other", SKILL)], "skills/other/SKILL.md"),
    "skill-that-links-to-a-file": (
        [("skills", "travel-tips", SKILL.replace("description:", "descripton:"))],
        "skills/travel-tips/SKILL.md",
    ),
    "persona-with-another-key": ([("personas", "desk", PERSONA + "code: x\n")], "personas/desk"),
}


@pytest.mark.slow
@each_row(("documents", "why"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_at_its_place(
    desk: Desk, documents: list[tuple[DocumentKind, str, str]], why: str
) -> None:
    draft = desk(*documents)
    assert why in said(draft.problems)
    with pytest.raises(DefinitionError):
        draft.edition(has_model=False)


def test_the_house_says_which_names_a_tenant_may_have(desk: Desk) -> None:
    only_leave = TenantEntry(flows=SelectionOfNames(only=["leave_*"]))
    draft = desk(("flows", "overtime", overtime()), entry=only_leave)
    assert "the house gives this tenant no flow overtime" in said(draft.problems)


def test_skills_of_documents_have_no_files_and_so_no_scripts(desk: Desk) -> None:
    skill = desk(("skills", "travel-tips", SKILL)).capabilities.skills.get("travel-tips")
    assert skill is not None
    assert skill.files == ()
    assert not skill.works_on_folder_by("run_skill_script")


def test_a_tenant_s_documents_name_its_own_variables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROUTER_TOOL_ACME__KEY", "ROUTER_TOOL_ACME_X__KEY", "ROUTER_TOOL_KEY"):
        monkeypatch.setenv(name, "secret")
    settings = Settings(_env_file=None)
    assert variables_of(settings, "acme") == {"ROUTER_TOOL_ACME__KEY": "secret"}
    assert variables_of(settings, "acme-x") == {"ROUTER_TOOL_ACME_X__KEY": "secret"}
    assert variables_of(settings, "ACME") == variables_of(settings, "acme_x") == {}


def test_another_persona_or_skill_of_a_document_is_nobody_else_s(desk: Desk) -> None:
    assert desk(("personas", "desk", PERSONA)).persona is not None
    assert desk().persona is None


@dataclass(frozen=True)
class Troubled(HouseConfiguration):
    """A house in which nothing can be made of what some tenants have."""

    trouble: dict[str, Exception] = field(default_factory=dict)

    def draft(
        self,
        tenant: str,
        documents: Iterable[ConfigurationDocument],
        listed: ToolsBySystem = MappingProxyType({}),
    ) -> DraftEdition:
        if error := self.trouble.get(tenant):
            raise error
        return super().draft(tenant, documents, listed)


class Kept:
    """What holds in the database, as the configuration asks for it."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], DocumentVersion] = {}
        self.written = 0

    def hold(self, tenant: str, text: str, name: str = "overtime") -> None:
        self.written += 1
        self.documents[tenant, name] = DocumentVersion(
            tenant=tenant,
            kind="flows",
            name=name,
            text=text,
            version=self.written,
            digest=digest_of(text),
            author="olga",
            written_at=datetime.now(UTC),
        )

    async def mark(self, *, at: datetime) -> int:
        return self.written

    async def holding(self, *, at: datetime) -> list[HeldVersion]:
        return [
            HeldVersion(activation=_at_once(each), document=each)
            for each in self.documents.values()
        ]

    async def activations(self, tenant: str, kind: str, name: str) -> list[Activation]:
        return [_at_once(self.documents[tenant, name])]


def _at_once(version: DocumentVersion) -> Activation:
    named = version.model_dump(include={"tenant", "kind", "name", "version"})
    return Activation(**named, activated_by="olga", activated_at=version.written_at)


class Process:
    """One process, which follows what holds."""

    def __init__(self, settings: Settings) -> None:
        self.kept = Kept()
        self.offered = load_capabilities(settings)
        self.house = Troubled(
            settings,
            self.offered,
            Reader(self.offered.flows(), self.offered.phrases(), self.offered.listed(skills=False)),
            CapabilityIndex(None),
            LiveTenants(Tenants),
            has_model=False,
            kinds=ConfigurationKinds(settings),
        )
        store: Any = SimpleNamespace(configuration=self.kept, flow_versions=None)
        self.clock = Clock()
        self.configuration = Configuration(self.house, store, self.clock)

    def flows_of(self, tenant: str) -> set[str]:
        return {*self.offered.of(tenant).catalog.flows}


@pytest.fixture
def process(settings: Settings) -> Process:
    return Process(settings)


@pytest.mark.slow
@pytest.mark.parametrize("error", [Unavailable("no encoder"), KeyError("x")], ids=type)
async def test_what_could_not_be_taken_up_once_is_tried_again_and_keeps_no_other_tenant(
    process: Process, error: Exception
) -> None:
    for tenant in ("acme", "globex"):
        process.kept.hold(tenant, overtime())
    process.house.trouble["acme"] = error
    assert await process.configuration.refresh()
    assert "overtime" in process.flows_of("globex")
    assert "overtime" not in process.flows_of("acme")
    assert [*process.configuration.unfit] == ["acme"]
    process.house.trouble.clear()
    assert await process.configuration.refresh()
    assert "overtime" in process.flows_of("acme")
    assert process.configuration.unfit == {}
    assert not await process.configuration.refresh()


async def test_what_was_broken_off_is_found_again(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.kept.hold("acme", overtime())
    with monkeypatch.context() as patched:
        patched.setattr(process.house.tenants, "give", _broken)
        with pytest.raises(Unavailable):
            await process.configuration.refresh()
    assert await process.configuration.refresh()
    assert "overtime" in process.flows_of("acme")
    assert not await process.configuration.refresh()


def _broken(_: object) -> None:
    raise Unavailable("broken off")


async def test_failing_again_and_again_is_logged_once(
    process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    process.kept.hold("acme", overtime())
    process.house.trouble["acme"] = Unavailable("no encoder")
    for _ in range(3):
        await process.configuration.refresh()
        process.clock.now += 1000
    (said,) = (r.message for r in caplog.records if "no encoder" in r.message)
    assert said.startswith("the documents of acme stay as they were: they can't be taken up")


async def test_what_goes_on_failing_is_tried_later_each_time(process: Process) -> None:
    process.kept.hold("acme", overtime())
    process.house.trouble["acme"] = Unavailable("no encoder")
    tried = []
    for _ in range(400):
        if await process.configuration.refresh():
            tried.append(process.clock.now - 1000)
        process.clock.now += 1
    waits = [after - before for before, after in itertools.pairwise(tried)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 120, 120]
    process.house.trouble.clear()
    process.kept.hold("acme", overtime(2))
    assert await process.configuration.refresh()
    assert "overtime" in process.flows_of("acme")


@pytest.mark.slow
async def test_documents_that_do_not_fit_a_changed_house_are_laid_over_it_without_them(
    process: Process,
) -> None:
    process.kept.hold("acme", overtime())
    process.kept.hold("acme", _of_leave(), "of_leave")
    await process.configuration.refresh()
    assert {"overtime", "of_leave", "leave_request"} <= process.flows_of("acme")
    left = (flow for flow in process.offered.catalog if flow.flow != "leave_request")
    process.offered.catalog = Catalog(left)
    await process.configuration.renew()
    assert "overtime" in process.flows_of("acme")
    assert not {"of_leave", "leave_request"} & process.flows_of("acme")
    assert "leave_request" in process.configuration.unfit["acme"]


@pytest.mark.slow
async def test_documents_that_do_not_fit_leave_those_before_them_in_a_house_that_is_the_same(
    process: Process,
) -> None:
    process.kept.hold("acme", overtime())
    await process.configuration.refresh()
    process.kept.hold("acme", overtime(2).replace("next: agree", "next: nowhere"))
    await process.configuration.refresh()
    held = process.offered.of("acme").catalog.get("overtime")
    assert held is not None
    assert held.version == 1
    assert "nowhere" in process.configuration.unfit["acme"]


def _of_leave() -> str:
    """A flow that starts the house's flow of leave."""
    text = overtime(patterns="['^of leave$']").replace("flow: overtime", "flow: of_leave")
    text = text.replace('examples: ["log overtime", "我要报加班"]', 'examples: ["of leave"]')
    leave = "off: {flow: leave_request, detached: true, next: gather}"
    return text.replace("start: gather\nstates:", f"start: off\nstates:\n  {leave}")


FEW = TenantEntry.model_validate({"author_tools": {"except": ["calculate"]}})
NOT_ALLOWED = "authors of this tenant can't use the tool calculate"


def skill_with(tools: str) -> str:
    return SKILL.replace("---\nSay", f"allowed-tools: {tools}\n---\nSay")


@each_row(
    ("document", "problem"),
    [
        (("flows", "overtime", calling("calculate", "expression")), NOT_ALLOWED),
        (("flows", "overtime", overtime()), ""),
        (("skills", "travel-tips", SKILL), "the skill may call every tool"),
        (("skills", "travel-tips", skill_with("calculate")), NOT_ALLOWED),
        (("skills", "travel-tips", skill_with("get_my_trips")), ""),
    ],
)
def test_authors_call_the_tools_that_their_tenant_allows_them(
    desk: Desk, document: tuple[DocumentKind, str, str], problem: str
) -> None:
    found = said(desk(document, entry=FEW).problems)
    assert problem in found
    assert bool(found) == bool(problem)
    assert NOT_ALLOWED not in said(desk(document).problems)
