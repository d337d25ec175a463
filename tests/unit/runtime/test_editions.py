"""Documents laid over what the house has: what they may say, and what becomes of it."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from activities.capabilities import Capabilities
from router.directory.tenants import (
    LiveTenants,
    OriginsEntry,
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
from router.runtime.definitions import load_capabilities
from router.runtime.editions import DraftEdition, drafted, variables_of
from router.runtime.tenant_configuration import Configuration, HouseConfiguration
from router.settings import Settings
from router.tool.kinds.mcp_servers import ServerTools
from router.understanding.reader import Reader
from tests.fakes.clock import Clock
from tests.table import each_row
from tests.unit.runtime.documents import PERSONA, SKILL, SOUND, overtime, server, weather


@pytest.fixture(scope="module")
def settings() -> Settings:
    return Settings(_env_file=None)


@pytest.fixture(scope="module")
def house(settings: Settings) -> Capabilities:
    return load_capabilities(settings)


BOMB = [(0, "x, x"), *((n, f"*a{n - 1}, *a{n - 1}") for n in range(1, 40))]


def calling(tool: str) -> str:
    """The flow, which looks outside once overtime is agreed to."""
    look = f"{{call: {tool}, with: {{city: \"'x'\"}}, save: sky, next: noted, on_error: noted}}"
    states = f"approved: look\n    rejected: turned_down\n  look: {look}\n"
    return overtime().replace("approved: noted\n    rejected: turned_down\n", states)


class Desk:
    """Lays documents of the tenant acme over the shipped files."""

    def __init__(self, settings: Settings, house: Capabilities) -> None:
        self.settings = settings
        self.house = house

    def __call__(
        self,
        *documents: tuple[DocumentKind, str, str],
        entry: TenantEntry | None = None,
        tenant: str = "acme",
    ) -> DraftEdition:
        made = [ConfigurationDocument(kind=k, name=n, text=t) for k, n, t in documents]
        return drafted(self.settings, self.house, made, tenant, entry or TenantEntry())


@pytest.fixture
def desk(settings: Settings, house: Capabilities) -> Desk:
    return Desk(settings, house)


def said(problems: Iterable[object]) -> str:
    return "\n".join(map(str, problems))


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
    draft = desk(("tools", "weather", weather()), ("flows", "leave_request", _leave()))
    assert said(draft.problems) == ""
    registry = draft.capabilities.registry
    assert registry["get_weather"].description == "Get the weather of a city."
    assert desk.house.registry["get_weather"].description != "Get the weather of a city."
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


def servers(count: int) -> str:
    each = {"url": "https://crm.example.com/mcp"}
    return json.dumps({f"crm{n}": each for n in range(count)})


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
    "code-s-name": (
        [("tools", "t", weather(name="get_leave_balance"))],
        "has a name that is taken",
    ),
    "openapi": (
        [("tools", "t", '{"openapi": "x.yaml", "operations": {}}')],
        "there is no OpenAPI document beside it",
    ),
    "private-address": ([("tools", "t", weather("https://10.0.0.1/{city}"))], "isn't public"),
    "plain-http": ([("tools", "t", weather("http://example.com/{city}"))], "isn't https"),
    "the-house-s-secret": (
        [("tools", "t", weather("https://example.com/{env.ROUTER_TOOL_SECRET}/{city}"))],
        "ROUTER_TOOL_SECRET isn't set",
    ),
    "no-json": ([("tools", "t", "{")], "tools/t.json"),
    "skill-of-another-name": ([("skills", "other", SKILL)], "skills/other/SKILL.md"),
    "skill-that-links-to-a-file": (
        [("skills", "travel-tips", SKILL.replace("description:", "descripton:"))],
        "skills/travel-tips/SKILL.md",
    ),
    "persona-with-another-key": ([("personas", "desk", PERSONA + "code: x\n")], "personas/desk"),
    "a-program": (
        [("servers", "crm", '{"crm": {"command": "sh"}}')],
        "servers/crm.json:1: no program is started for a document",
    ),
    "a-server-at-a-private-address": (
        [("servers", "crm", server(url="https://10.0.0.1/mcp"))],
        "10.0.0.1, which isn't public",
    ),
    "a-server-over-plain-http": (
        [("servers", "crm", server(url="http://crm.example.com/mcp"))],
        "servers/crm.json:3: http://crm.example.com isn't https",
    ),
    "a-server-with-a-password": (
        [("servers", "crm", server(url="https://me:secret@crm.example.com/mcp"))],
        "it has a name or password before the host",
    ),
    "a-server-with-the-house-s-secret": (
        [("servers", "crm", server(headers={"Authorization": "{env.ROUTER_TOOL_SECRET}"}))],
        "ROUTER_TOOL_SECRET isn't set",
    ),
    "two-of-one-server": (
        [("servers", "a", server()), ("servers", "b", server())],
        "there is an MCP server crm already",
    ),
    "servers-without-end": (
        [("servers", "many", servers(21))],
        "a tenant has at most 20 MCP servers, not 21",
    ),
    "a-key-that-servers-have-not": ([("servers", "crm", server(user="x"))], "there is no key user"),
    "two-of-one-tool": ([("tools", "a", weather()), ("tools", "b", weather())], "get_weather"),
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


def test_a_flow_may_call_the_tool_of_a_document_for_as_long_as_that_is_there(desk: Desk) -> None:
    flow, tool = calling("look_outside"), weather(name="look_outside")
    assert said(desk(("flows", "overtime", flow), ("tools", "w", tool)).problems) == ""
    assert "look_outside" in said(desk(("flows", "overtime", flow)).problems)


def test_a_flow_may_call_what_an_mcp_server_of_a_document_is_yet_to_list(desk: Desk) -> None:
    flow = calling("crm__find")
    known = desk(("flows", "overtime", flow), ("servers", "crm", server()))
    assert known.problems == []
    assert "crm__" in known.capabilities.registry.prefixes
    assert "crm__find" in said(desk(("flows", "overtime", flow)).problems)


@each_row(
    ("tools", "fits"),
    [(["*"], True), (["crm__*"], True), (["crm__find"], True), (["get_leave_balance"], False)],
)
def test_a_tenant_has_the_servers_whose_tools_the_house_gives_it(
    desk: Desk, tools: list[str], *, fits: bool
) -> None:
    entry = TenantEntry(tools=SelectionOfNames(only=tools))
    draft = desk(("servers", "crm", server()), entry=entry)
    assert (draft.problems == []) is fits
    assert ("gives this tenant no tool crm__*" in said(draft.problems)) is not fits


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


INTERNAL = "http://10.0.0.7:9000"


@each_row(
    ("origins", "tool_fits", "server_fits"),
    [
        # The deployment's own tools go there, and that opens nothing to a tenant's.
        (OriginsEntry(), False, False),
        (OriginsEntry(tools=[INTERNAL]), True, False),
        (OriginsEntry(servers=[INTERNAL]), False, True),
        (OriginsEntry(tools=["http://10.0.0.7:9001"]), False, False),
    ],
)
def test_a_tenant_s_documents_reach_only_what_its_entry_names_for_that_purpose(
    house: Capabilities, origins: OriginsEntry, *, tool_fits: bool, server_fits: bool
) -> None:
    desk = Desk(Settings(_env_file=None, http_allow=[INTERNAL], webhook_allow=[INTERNAL]), house)
    entry = TenantEntry(origins=origins)

    tool = desk(("tools", "w", weather(f"{INTERNAL}/{{city}}", name="look")), entry=entry)
    crm = desk(("servers", "crm", server(url=f"{INTERNAL}/mcp")), entry=entry)

    assert (tool.problems == []) is tool_fits
    assert tool_fits or "origins.tools in the file of ROUTER_TENANTS" in said(tool.problems)
    assert (crm.problems == []) is server_fits
    assert server_fits or "origins.servers in the file of ROUTER_TENANTS" in said(crm.problems)


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
        found: ServerTools = MappingProxyType({}),
    ) -> DraftEdition:
        if error := self.trouble.get(tenant):
            raise error
        return super().draft(tenant, documents, found)


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


FEW = TenantEntry.model_validate({"author_tools": {"except": ["get_weather", "crm__refund"]}})
NOT_ALLOWED = "authors of this tenant can't use the tool get_weather"


def test_authors_call_no_tool_kept_from_them_while_its_server_is_away(desk: Desk) -> None:
    crm: tuple[DocumentKind, str, str] = ("servers", "crm", server())
    refund = desk(crm, ("flows", "overtime", calling("crm__refund")), entry=FEW)
    assert "authors of this tenant can't use the tool crm__refund" in said(refund.problems)
    assert not desk(crm, ("flows", "overtime", calling("crm__look_up")), entry=FEW).problems


def skill_with(tools: str) -> str:
    return SKILL.replace("---\nSay", f"allowed-tools: {tools}\n---\nSay")


@each_row(
    ("document", "problem"),
    [
        (("flows", "overtime", calling("get_weather")), NOT_ALLOWED),
        (("flows", "overtime", overtime()), ""),
        (("skills", "travel-tips", SKILL), "the skill may call every tool"),
        (("skills", "travel-tips", skill_with("get_weather")), NOT_ALLOWED),
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
