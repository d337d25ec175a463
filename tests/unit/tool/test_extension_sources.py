"""Sources of tools that extensions add, and what of a stranger's faults reaches the process."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import JsonValue

from router.cli.extensions import omit_faulty_extensions
from router.domain.errors import DefinitionError, Unavailable
from router.extension import Extension
from router.runtime.extensions import Extensions, LoadedExtension
from router.sdk.tool_sources import PolledToolSource, Tool, ToolSource, make_tool
from router.settings import Settings
from router.tool.context import Dependencies
from router.tool.gate import Attempt, admit
from router.tool.kinds import ToolSources
from tests.table import each_row
from tests.unit.tool.samples import ALICE, context, sample_registry
from tests.waiting import HANGS_AFTER_S

SETTINGS = Settings(_env_file=None)
BADGE: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"floor": {"type": "integer"}},
    "required": ["floor"],
}


async def order(arguments: Mapping[str, JsonValue], ctx: Any) -> JsonValue:
    return {"for": ctx.caller.id, **arguments}


def service(name: str, **options: Any) -> Tool:
    about: dict[str, Any] = {"permission": "write", "kind": "catalog", **options}
    return make_tool(name, "Orders a badge.", BADGE, order, **about)


class Catalog(PolledToolSource):
    """Services of a catalogue that a test writes."""

    name = "catalog"
    prefix = "catalog__"
    interval_s = 0
    listed: Sequence[Any] = ()
    failed: asyncio.Event

    async def fetch_tools(self) -> Sequence[Tool]:
        if self.listed == ["down"]:
            self.failed.set()
            raise ConnectionError("refused")
        return self.listed


def catalog(*listed: Any) -> type[Catalog]:
    return type("OwnCatalog", (Catalog,), {"listed": [*listed], "failed": asyncio.Event()})


def source(**members: Any) -> type[ToolSource]:
    return type("Source", (ToolSource,), {"name": "badges", **members})


def extension(sources: Any) -> Extension:
    made = type("Badges", (Extension,), {"name": "badges", "tool_sources": lambda _: sources})
    return made()  # type: ignore[no-any-return]


@pytest.fixture
def tools() -> ToolSources:
    """The sources of the core, of which one has a tool."""
    sources = ToolSources(SETTINGS)
    sources.load()
    sources.registry.replace("code", [sample_registry()["save"]])
    return sources


async def test_a_source_of_an_extension_has_tools_that_are_called_as_all_others(
    tools: ToolSources,
) -> None:
    tools.add_extension(extension([catalog(service("catalog__badge"))]))
    with pytest.raises(Unavailable, match=r"nor is the source of tools catalog"):
        tools.registry["catalog__badge"]
    async with tools.running():
        called = Attempt("catalog__badge", {"floor": 3}, ALICE, key="k", confirmed=True)
        tool = admit(tools.registry, called)
        answer = await tool.call(called.arguments, context(), Dependencies())
    assert answer == {"for": context().caller.id, "floor": 3}
    assert (tool.implementation.kind, tool.outward) == ("catalog", True)


async def test_tools_follow_their_source_and_outlast_it_while_it_is_away(
    tools: ToolSources, caplog: pytest.LogCaptureFixture
) -> None:
    kind = catalog(service("catalog__badge"))
    tools.add_extension(extension([kind]))
    own = tools.each[-1]
    async with tools.running(), asyncio.timeout(20):
        changes = own.changes()
        await anext(changes)
        kind.listed = [service("catalog__key")]
        await anext(changes)
        assert tools.registry.names == {"save", "catalog__key"}
        kind.listed = ["down"]
        for _ in range(2):  # that the second time was reached, the first one is over
            kind.failed.clear()
            await kind.failed.wait()
        assert "catalog__key" in tools.registry
    assert caplog.text.count("ConnectionError: refused") == 1
    assert await tools.look(1) == {"the source of tools catalog": "ConnectionError: refused"}


async def test_the_same_tools_again_are_no_change(tools: ToolSources) -> None:
    kind = catalog(service("catalog__badge"))
    tools.add_extension(extension([kind]))
    changes = tools.each[-1].changes()
    await tools.look(1)
    await anext(changes)
    kind.listed = [service("catalog__badge")]
    await tools.look(1)
    waiting = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    assert not waiting.done()
    kind.listed = [service("catalog__badge", timeout="9s")]
    await tools.look(1)
    await waiting


def loads(*published: Any) -> type[ToolSource]:
    return source(load=lambda self: self.publish(published))


def raises(self: ToolSource) -> None:
    raise RuntimeError("no badge printer")


HOSTILE: list[tuple[Any, str]] = [
    (None, "'NoneType' object is not iterable"),
    (["acme_badges.source"], "'acme_badges.source' is no subclass of ToolSource"),
    ([Extension], "is no subclass of ToolSource"),
    ([type("Nameless", (ToolSource,), {})], "Nameless has the name None"),
    ([source(name="Badges!")], "give it one of up to 40"),
    ([source(name="functions")], "there is a source of tools 'functions' already"),
    ([source(), source()], "there is a source of tools 'badges' already"),
    ([source(prefix="badges")], "has the prefix 'badges': write it like badges__"),
    ([source(prefix=7)], "has the prefix 7"),
    ([type("Bare", (Catalog,), {"prefix": ""})], "has the prefix ''"),
    ([source(prefix="a__"), source(name="b", prefix="a__")], "can't be told from 'a__' of badges"),
    ([type("Idle", (PolledToolSource,), {"name": "i", "prefix": "i__"})], "abstract"),
    ([source(load=raises)], "RuntimeError: no badge printer"),
    ([loads(service("order_badge")), source(name="b", load=raises)], "no badge printer"),
    ([loads("order_badge")], "gave 'order_badge', which is no tool: make it with `make_tool`"),
    ([loads(service("a__b"), service("a__b"))], "the tool a__b has a name that is taken"),
]


@each_row(("sources", "reason"), HOSTILE)
def test_an_extension_with_a_source_that_cannot_be_used_adds_none(
    sources: Any, reason: str
) -> None:
    tools = ToolSources(SETTINGS)
    found = Extensions([LoadedExtension(extension(sources), "acme-badges")])
    assert found.collect(tools.add_extension) == []
    (fault,) = found.failed
    assert reason in fault.reason
    assert not tools.each
    assert not {*tools.registry.names, *tools.registry.prefixes}


def test_a_tool_with_the_name_of_one_that_there_is_leaves_its_source_out(
    tools: ToolSources,
) -> None:
    with pytest.raises(DefinitionError, match="the tool save has a name that is taken"):
        tools.add_extension(extension([loads(service("save"), service("order_badge"))]))
    assert tools.registry.names == {"save"}
    assert not tools.registry["save"].outward


def test_a_source_that_conflicts_with_one_of_the_core_leaves_its_extension_out() -> None:
    found = Extensions([LoadedExtension(extension([source(name="functions")]), "acme-badges")])

    omit_faulty_extensions(found, ToolSources(SETTINGS))

    (fault,) = found.failed
    assert "there is a source of tools 'functions' already" in fault.reason


@each_row(
    ("listed", "reason"),
    [
        (["down"], "ConnectionError: refused"),
        (["order"], "gave 'order', which is no tool"),
        ([service("order_badge")], "begin its name with catalog__"),
        ([service("catalog__a"), service("catalog__a")], "has a name that is taken"),
    ],
)
async def test_what_a_source_fetches_in_vain_leaves_its_tools_as_they_were(
    listed: list[Any], reason: str
) -> None:
    kind, tools = catalog(service("catalog__badge")), ToolSources(SETTINGS)
    tools.add_extension(extension([kind]))
    await tools.look(1)
    kind.listed = listed
    (why,) = (await tools.look(1)).values()
    assert reason in why
    assert tools.registry.names == {"catalog__badge"}


async def hang_at_once(_: ToolSource, *__: Any) -> Any:
    await asyncio.Event().wait()


async def test_a_polled_source_that_hangs_is_given_up() -> None:
    tools = ToolSources(SETTINGS)
    tools.add_extension(extension([type("Slow", (Catalog,), {"fetch_tools": hang_at_once})]))
    (slow,) = tools.each
    # Asked by itself: on a late event loop the time for any source may be over as well.
    away = await slow.look(0.01)
    assert away == {"the source of tools catalog": "it gave no tools within 0.01 s"}


async def test_a_source_that_keeps_to_no_time_is_given_up() -> None:
    tools = ToolSources(SETTINGS)
    tools.add_extension(extension([source(look=hang_at_once)]))
    away = await tools.look(0.01)
    assert away == {"the source of tools badges": "it doesn't answer within 0.02 s"}


def running(*, before: Any = None, after: Any = None) -> Any:
    @asynccontextmanager
    async def run(self: ToolSource) -> AsyncIterator[None]:
        if before:
            await before(0)
        try:
            yield
        finally:
            if after:
                await after(0)

    return run


async def fail(_: float) -> None:
    raise RuntimeError("no badge printer")


async def hang(_: float) -> None:
    await asyncio.Event().wait()


@each_row(
    ("members", "stays"),
    [
        ({"running": running(before=fail)}, False),
        ({"running": running(before=hang)}, False),
        ({"running": lambda _: None}, False),
        ({"running": running(after=fail)}, True),
        ({"running": running(after=hang)}, True),
    ],
)
async def test_a_source_that_cannot_start_or_stop_keeps_nobody_else_from_it(
    members: dict[str, Any], stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.extension.START_WITHIN_S", 0.01)
    monkeypatch.setattr("router.tool.kinds.STOP_WITHIN_S", 0.01)
    tools = ToolSources(SETTINGS)
    bad = type("Bad", (loads(service("order_badge")),), members)
    tools.add_extension(extension([bad, catalog(service("catalog__badge"))]))
    async with tools.running():
        assert "catalog__badge" in tools.registry
        assert ("order_badge" in tools.registry) is stays
    left = {task for task in asyncio.all_tasks() if "catalog" in task.get_name()}
    assert not left or not (await asyncio.wait(left, timeout=HANGS_AFTER_S))[1]


def test_stories_have_stand_ins_for_tools_that_are_not_there_yet(tools: ToolSources) -> None:
    tools.add_extension(extension([catalog()]))
    found = tools.stand_ins(["catalog__badge", "save", "crm__find"])
    ((group, (stand_in,)),) = found.items()
    assert (group, stand_in.name) == ("the source of tools catalog", "catalog__badge")
    assert stand_in.implementation.kind == "catalog"
    assert stand_in.implementation.problems({"anything": 1}) == []


@each_row(
    ("wrong", "said"),
    [
        ({"name": "Order Badge"}, "has a name that models can't call it by"),
        ({"permission": "own"}, "has the permission 'own'"),
        ({"permission": "admin"}, "changes what is others', for everyone"),
        ({"parameters": {"type": "string"}}, "it is of type 'string'; write type: object"),
        ({"parameters": None}, "has parameters that can't be used"),
        ({"call": lambda arguments, ctx: None}, "isn't asynchronous; write `async def`"),
        ({"title": {"en": "Badge"}}, "has the title"),
        ({"timeout": "soon"}, "has the timeout 'soon'"),
        ({"kind": "code"}, "has the kind 'code'"),
    ],
)
def test_what_can_be_no_tool_says_why_with_the_line(wrong: dict[str, Any], said: str) -> None:
    about: dict[str, Any] = {
        "name": "order_badge",
        "description": "Orders a badge.",
        "parameters": BADGE,
        "call": order,
        "permission": "write",
    }
    with pytest.raises(DefinitionError) as refused:
        make_tool(**about | wrong)
    assert said in str(refused.value)
    assert "test_extension_sources.py:" in str(refused.value)
