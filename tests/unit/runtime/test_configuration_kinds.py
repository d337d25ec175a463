"""Kinds of documents that a stranger's extension adds, and what of its faults reaches others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from activities.capabilities import Capabilities
from router.directory.tenants import KnownNames, TenantEntry, Tenants
from router.domain.configuration_documents import (
    DocumentKind,
    document_kinds,
    path_of,
    unregister_kind,
)
from router.domain.errors import Unavailable
from router.extension import Extension
from router.runtime import configuration_kinds
from router.runtime.configuration_kinds import ConfigurationKinds, register_configuration_kinds
from router.runtime.editions import MAX_SYSTEMS
from router.runtime.extensions import Extensions, LoadedExtension
from router.sdk.configuration_kinds import (
    ConfigurationKind,
    DeclaredTools,
    TenantAccess,
    TenantSystem,
    Tool,
    make_tool,
)
from router.settings import Settings
from tests.table import each_row
from tests.unit.runtime.documents import Desk, calling, overtime, said
from tests.unit.runtime.editions import house, settings
from tests.waiting import HANGS_AFTER_S

__all__ = ["house", "settings"]

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


def badge_tool(name: str) -> Tool:
    async def order(arguments: Mapping[str, Any], _: Any) -> Any:
        return {**arguments}

    return make_tool(name, "Orders a badge.", CITY, order, permission="write", kind="badges")


class Badges(ConfigurationKind):
    """Documents with a name of a tool on each line, or of a system that ends in `__`."""

    name = "badges"
    suffix = ".txt"

    def __init__(self, settings: Settings, notify: Callable[[str], None]) -> None:
        super().__init__(settings, notify)
        self.listed: dict[str, Sequence[Tool]] = {}
        self.followed: list[tuple[str, list[str]]] = []
        self.access: TenantAccess

    def read(self, path: Path, text: str, access: TenantAccess) -> DeclaredTools:
        self.access = access
        names = text.split()
        return DeclaredTools(
            [badge_tool(name) for name in names if not name.endswith("__")],
            [TenantSystem(name, f"the printer {name}") for name in names if name.endswith("__")],
        )

    def list_tools(self, tenant: str) -> Mapping[str, Sequence[Tool]]:
        return self.listed

    async def follow(self, access: TenantAccess, systems: Sequence[TenantSystem]) -> None:
        self.followed.append((access.tenant, [each.prefix for each in systems]))

    def find_absent(self, tenant: str) -> Sequence[str]:
        return [f"a printer of {tenant} isn't there"]


def kind(**members: Any) -> Any:
    return type("Kind", (Badges,), members)


def extension(*kinds: Any, name: str = "badges") -> Extension:
    members = {"name": name, "configuration_kinds": lambda _: kinds}
    return type("Badges", (Extension,), members)()  # type: ignore[no-any-return]


Loading = Callable[..., ConfigurationKinds]


@pytest.fixture
def load(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loading]:
    """Makes the kinds of a process in which these extensions are installed, loaded or left out."""

    def made(*extensions: Extension, omitted: Sequence[Extension] = ()) -> ConfigurationKinds:
        found = Extensions([LoadedExtension(each, "acme-badges") for each in extensions])
        left_out = {each.name: each for each in omitted}
        monkeypatch.setattr(configuration_kinds, "load_configured", lambda _: found)
        monkeypatch.setattr(configuration_kinds, "load_omitted", lambda _: left_out)
        found.collect(register_configuration_kinds)
        return ConfigurationKinds(settings)

    yield made
    unregister_kind("badges")


def badges_of(kinds: ConfigurationKinds) -> Any:
    return kinds._each["badges"][1]


@pytest.fixture
def desk(settings: Settings, house: Capabilities) -> Callable[[ConfigurationKinds], Desk]:
    def of(kinds: ConfigurationKinds) -> Desk:
        return Desk(settings, house, kinds)

    return of


Opening = Callable[[ConfigurationKinds], Desk]


def test_a_document_s_tool_is_its_tenant_s_and_its_flows_call_it(
    load: Loading, desk: Opening, house: Capabilities
) -> None:
    at = desk(load(extension(Badges)))

    draft = at(
        ("badges", "front-door", "order_badge"), ("flows", "overtime", calling("order_badge"))
    )

    assert said(draft.problems) == ""
    assert "order_badge" in draft.capabilities.registry
    assert "order_badge" not in house.registry
    assert path_of("badges", "front-door") == "badges/front-door.txt"


def test_a_document_uses_its_tenant_s_variables_and_origins_alone(
    load: Loading, desk: Opening, monkeypatch: pytest.MonkeyPatch, house: Capabilities
) -> None:
    monkeypatch.setenv("ROUTER_TOOL_ACME__KEY", "secret")
    monkeypatch.setenv("ROUTER_TOOL_KEY", "the deployment's")
    kinds, inner = load(extension(Badges)), "http://10.0.0.7:9000"
    at = Desk(Settings(_env_file=None), house, kinds)

    at(("badges", "a", "order_badge"), entry=TenantEntry(origins={"badges": [inner]}))
    access = badges_of(kinds).access

    assert access.tenant == "acme"
    assert access.guard.fault_of(inner) is None
    assert "origins.badges" in str(access.guard.fault_of("http://10.0.0.8:9000"))


def test_a_flow_calls_what_a_system_is_yet_to_list_and_what_it_has_listed(
    load: Loading, desk: Opening
) -> None:
    kinds = load(extension(Badges))
    documents = ("badges", "a", "printer__"), ("flows", "overtime", calling("printer__print"))

    waiting = desk(kinds)(*documents)
    badges_of(kinds).listed = {"printer__": [badge_tool("printer__print")]}
    listed = desk(kinds)(*documents, listed=kinds.list_tools("acme"))

    assert said(waiting.problems) == said(listed.problems) == ""
    with pytest.raises(Unavailable, match="nor is the printer printer__"):
        waiting.capabilities.registry["printer__print"]
    assert "printer__print" in listed.capabilities.registry
    assert [each.prefix for each in listed.systems["badges"]] == ["printer__"]


@each_row(
    ("members", "reason"),
    [
        ({"name": "Badges"}, "has the name 'Badges'"),
        ({"name": None}, "has the name None"),
        ({"name": "../etc"}, "has the name '../etc'"),
        ({"name": "flows"}, "there is a kind of documents 'flows' already"),
        ({"suffix": "/../x"}, "the suffix '/../x'"),
        ({"suffix": ""}, "the suffix ''"),
        ({"suffix": 7}, "the suffix 7"),
    ],
)
def test_a_kind_that_cannot_be_one_leaves_its_extension_out(
    members: dict[str, Any], reason: str
) -> None:
    found = Extensions([LoadedExtension(extension(kind(**members)), "acme-badges")])

    assert found.collect(register_configuration_kinds) == []

    (fault,) = found.failed
    assert reason in fault.reason
    assert fault.traceback == ""
    assert "badges" not in document_kinds()


@each_row("kinds", [(object(),), (Tool,), (Badges, "badges")])
def test_what_is_no_kind_leaves_its_extension_out_with_all_its_kinds(kinds: Any) -> None:
    found = Extensions([LoadedExtension(extension(*kinds), "acme-badges")])

    found.collect(register_configuration_kinds)

    (fault,) = found.failed
    assert "is no subclass of ConfigurationKind: derive it from that" in fault.reason
    assert "badges" not in document_kinds()


def test_of_two_extensions_with_one_kind_the_second_is_left_out(load: Loading) -> None:
    both = [extension(Badges), extension(Badges, name="doors")]
    found = Extensions([LoadedExtension(each, "acme-badges") for each in both])
    load(both[0])

    found.collect(register_configuration_kinds)

    (fault,) = found.failed
    assert (fault.name, fault.reason.endswith("kind of documents 'badges' already")) == (
        "doors",
        True,
    )


def gives(made: Any) -> Callable[..., Any]:
    return lambda *_: made


def declares(tools: Any = (), systems: Any = ()) -> Callable[..., Any]:
    return gives(DeclaredTools(tools, systems))


def raises(error: BaseException) -> Callable[..., Any]:
    def read(*_: Any) -> Any:
        raise error

    return read


NUMBER: Any = 7
HOSTILE: dict[str, tuple[Any, str]] = {
    "it raises": (raises(KeyError("x")), "the extension badges can't read it: KeyError"),
    "it goes on without end": (raises(RecursionError("deep")), "RecursionError: deep"),
    "it gives nothing": (gives(None), "it gave None, which is no DeclaredTools"),
    "it gives text": (gives("tools"), "it gave 'tools', which is no DeclaredTools"),
    "a tool is none": (declares(["order"]), "'order', which is no tool"),
    "its tools can't be counted": (declares(7), "TypeError"),
    "a system is none": (declares((), ["x__"]), "'x__', which is no TenantSystem"),
    "a prefix is empty": (declares((), [TenantSystem("", "it")]), "the prefix ''"),
    "a prefix has no end": (declares((), [TenantSystem("a", "it")]), "the prefix 'a'"),
    "a prefix is no text": (declares((), [TenantSystem(NUMBER, "it")]), "TypeError"),
    "a tool of the code's name": (
        declares([badge_tool("get_leave_balance")]),
        "has a name that is taken",
    ),
    "a tool twice": (
        declares([badge_tool("a"), badge_tool("a")]),
        "has a name that is taken",
    ),
    "a system within another's names": (
        declares((), [TenantSystem("a__", "one"), TenantSystem("a__b__", "two")]),
        "give two another name",
    ),
    "systems without end": (
        declares((), [TenantSystem(f"a{n}__", "it") for n in range(MAX_SYSTEMS + 1)]),
        "at most 20 systems in its badges",
    ),
}


@each_row(("read", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_what_an_extension_makes_of_a_document_in_vain_is_a_problem_of_that(
    load: Loading, desk: Opening, read: Any, reason: str
) -> None:
    draft = desk(load(extension(kind(read=read))))(("badges", "a", "x"), ("flows", "o", "flow: ["))

    assert reason in said(draft.problems)
    assert {each.file for each in draft.problems} == {"badges/a.txt", "flows/o.yaml"}


def test_documents_of_an_extension_that_is_left_out_are_named_with_it(
    load: Loading, desk: Opening
) -> None:
    at = desk(load(omitted=[extension(Badges)]))

    draft = at(("badges", "a", "order_badge"), ("flows", "overtime", overtime()))

    (problem,) = draft.problems
    assert str(problem) == (
        "badges/a:1: no extension that is loaded reads documents of the kind badges; "
        "load the extension badges, or retire the document"
    )
    assert "overtime" in draft.flows


def test_documents_of_an_extension_that_nobody_has_are_named(load: Loading, desk: Opening) -> None:
    (problem,) = desk(load())(("badges", "a", "order_badge")).problems
    assert "install the extension that does, or retire the document" in str(problem)


async def test_one_kind_s_faults_are_logged_and_keep_nothing_from_the_others(
    load: Loading, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def running(_: Any) -> AsyncIterator[None]:
        raise RuntimeError("no printer")
        yield

    async def fail(*_: Any) -> None:
        raise RuntimeError("no paper")

    broken = raises(RuntimeError("no ink"))
    faults = {"follow": fail, "list_tools": broken, "find_absent": broken, "running": running}
    doors = kind(name="doors", **faults)
    kinds = load(extension(doors, name="doors"), extension(Badges))
    try:
        systems: Mapping[DocumentKind, Sequence[TenantSystem]] = {
            "badges": [TenantSystem("a__", "it")]
        }
        await kinds.follow("acme", {}, systems)
        async with kinds.running():
            await asyncio.sleep(0)
        assert kinds.list_tools("acme") == {}
        assert kinds.find_absent("acme") == ["a printer of acme isn't there"]
        assert badges_of(kinds).followed == [("acme", ["a__"])]
    finally:
        unregister_kind("doors")
    assert all(f"no {what}" in caplog.text for what in ("printer", "paper", "ink"))


@each_row(
    "listed",
    [
        None,
        {"printer__": None},
        {"printer__": ["print"]},
        {"printer__": [badge_tool("get_leave_balance_2")]},
        {"printer__": [badge_tool("printer__a"), badge_tool("other__b")]},
    ],
)
def test_what_a_system_lists_that_is_no_tool_of_its_own_is_passed_over_and_logged(
    load: Loading, caplog: pytest.LogCaptureFixture, listed: Any
) -> None:
    kinds = load(extension(Badges))
    badges_of(kinds).listed = listed

    assert kinds.list_tools("acme") == {}

    assert "extension badges: no tool of acme's badges" in caplog.text


async def test_a_kind_that_hangs_keeps_no_other_waiting(
    load: Loading, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(configuration_kinds, "FOLLOW_WITHIN_S", 0.01)
    kinds = load(extension(kind(follow=hang)))

    async with asyncio.timeout(HANGS_AFTER_S):
        await kinds.follow("acme", {}, {})

    assert "extension badges can't follow the badges of acme" in caplog.text


async def test_what_is_no_context_manager_is_logged_and_nothing_else(
    load: Loading, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = load(extension(kind(running=raises(RuntimeError("no power")))))

    async with kinds.running():
        await asyncio.sleep(0)

    assert "no power" in caplog.text


def test_origins_of_a_kind_that_nobody_has_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "tenants.yaml"
    file.write_text("acme:\n  origins:\n    bagdes: ['http://10.0.0.7']\n", "utf-8")

    problems = Tenants.load(file, None).misfits(KnownNames(document_kinds={"badges", "tools"}))

    assert ":3: no extension here has documents of the kind 'bagdes'; did you mean badges" in said(
        problems
    )
