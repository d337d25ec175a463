"""The registry of tools, and the files that they are found in."""

import re
import sys
from asyncio import gather
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, JsonValue

from router.domain.errors import (
    DefinitionError,
    MisconfiguredError,
    NotFound,
    PermanentToolError,
    Unavailable,
)
from router.settings import Settings
from router.tool.context import Dependencies, Depends, Provider, provider
from router.tool.registry import Registry
from router.tool.results import ToolFile
from router.tool.tool import Tool, tool
from tests.table import each_row
from tests.unit.tool.samples import ALICE, DAVE, MALLORY, context, greeting, sample_registry

MODULE = '''"""Tools."""

from router.tool.tool import tool


@tool(permission="read")
async def {name}(text: str) -> str:
    """Say."""
    return text
'''


def test_people_see_what_they_may_call() -> None:
    registry = sample_registry()
    assert [t.name for t in registry.visible_to(ALICE)] == ["greet", "reveal", "save"]
    assert [t.name for t in registry.visible_to(DAVE)] == ["adjust", "greet", "reveal", "save"]
    assert registry.visible_to(MALLORY) == registry.visible_to(ALICE)
    assert [c.name for c in registry.capabilities(ALICE)] == ["greet", "reveal", "save"]


def test_flow_files_are_checked_against_the_parameters_that_callers_give() -> None:
    parameters = sample_registry().parameters()
    assert parameters["greet"] == {"guests", "tone"}
    assert parameters["reveal"] == set()


def test_a_name_is_taken_once() -> None:
    registry = sample_registry()

    @tool(permission="read")
    async def save() -> None:
        """Save something else."""

    with pytest.raises(DefinitionError, match=r"name that is taken, in .*samples\.py"):
        registry.add(save)
    registry.add(registry["save"])


def test_a_package_is_discovered_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_tools"
    (package / "deeper").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "deeper" / "__init__.py").touch()
    (package / "one.py").write_text(MODULE.format(name="one"))
    (package / "deeper" / "two.py").write_text(MODULE.format(name="two"))
    (package / "importing.py").write_text('"""Uses another."""\nfrom some_tools.one import one\n')
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry().discover(__import__("some_tools"))
    assert [t.name for t in registry] == ["one", "two"]
    for name in [name for name in sys.modules if name.startswith("some_tools")]:
        del sys.modules[name]


opened: list[str] = []


@provider(unset=lambda settings: "" if settings.rates_url else "ROUTER_RATES_URL")
async def letterhead(word: Annotated[str, Depends(greeting)]) -> AsyncIterator[str]:
    opened.append("letterhead")
    yield f"{word}, from us"
    opened.remove("letterhead")


@provider()
async def letter(head: Annotated[str, Depends(letterhead)]) -> AsyncIterator[list[str]]:
    assert opened == ["letterhead"]
    opened.append("letter")
    yield [head]
    opened.remove("letter")
    assert opened == ["letterhead"]


class TestDependencies:
    @pytest.fixture
    def dependencies(self) -> Dependencies:
        dependencies = Dependencies()
        dependencies.provide(greeting, "hello")
        return dependencies

    async def test_an_override_lasts_for_its_block(self, dependencies: Dependencies) -> None:
        with dependencies.override(greeting, "hi"):
            assert await dependencies.resolve(greeting) == "hi"
        assert await dependencies.resolve(greeting) == "hello"

    async def test_what_is_missing_is_noticed_at_start(self) -> None:
        registry = sample_registry()
        other: Provider[int] = Provider("other")
        with pytest.raises(MisconfiguredError, match="greeting"):
            Dependencies().require(registry.providers())
        with pytest.raises(MisconfiguredError, match=r"(?s)greeting.*other"):
            Dependencies().require([greeting, other])
        with pytest.raises(MisconfiguredError, match="greeting"):
            await Dependencies().resolve(greeting)
        with pytest.raises(MisconfiguredError, match=r"'letter', which is made of greeting"):
            Dependencies().require([letter])

    async def test_what_is_provided_is_made_and_let_go_once(
        self, dependencies: Dependencies
    ) -> None:
        async with dependencies:
            dependencies.require([letter])
            assert opened == []
            first, second = await gather(*(dependencies.resolve(letter) for _ in range(2)))
            assert first == ["hello, from us"]
            assert first is second
            assert opened == ["letterhead", "letter"]
        assert opened == []

    async def test_what_could_not_be_made_is_made_when_it_is_next_needed(self) -> None:
        tries = []

        @provider()
        async def line() -> AsyncIterator[str]:
            tries.append(1)
            if len(tries) == 1:
                raise OSError("engaged")
            yield "free"

        dependencies = Dependencies()
        with pytest.raises(OSError, match="engaged"):
            await dependencies.resolve(line)
        assert await dependencies.resolve(line) == "free"

    def test_a_provider_takes_only_what_is_provided(self) -> None:
        with pytest.raises(DefinitionError, match="mend takes 'tools', which nobody gives it"):

            @provider()
            async def mend(tools: str) -> AsyncIterator[str]:
                yield tools

    def test_it_says_which_setting_is_missing_for_a_tool(self, tmp_path: Path) -> None:
        @tool(permission="read")
        async def head(letter: Annotated[list[str], Depends(letter)]) -> str:
            """The letterhead."""
            return letter[0]

        registry = Registry()
        registry.add(head)
        assert registry.providers() == {greeting, letterhead, letter}
        assert registry.lacking(Settings()) == {letterhead: "ROUTER_RATES_URL"}
        assert registry.lacking(Settings(rates_url="https://rates.example")) == {}
        for missing in registry.lacking(Settings()):
            registry.withhold(missing)
        assert registry.offered() == []


class TestGroups:
    @staticmethod
    def named(name: str, description: str = "Says.") -> Tool:
        return replace(sample_registry()["greet"], name=name, description=description)

    def test_a_group_is_replaced_as_a_whole(self) -> None:
        registry = sample_registry()
        registry.replace("crm", [self.named("one"), self.named("two")])
        registry.replace("crm", [self.named("two", "New."), self.named("three")])
        assert registry.names >= {"greet", "two", "three"}
        assert "one" not in registry
        assert registry["two"].description == "New."
        assert [registry.group_of(name) for name in ("two", "greet")] == ["crm", "code"]

    def test_a_name_of_another_group_is_refused_and_nothing_changes(self) -> None:
        registry = sample_registry()
        registry.replace("crm", [self.named("one")])
        before = list(registry)
        with pytest.raises(DefinitionError) as refused:
            registry.replace("erp", [self.named("new"), self.named("one"), self.named("greet")])
        taken = [p.what.split(" has")[0] for p in refused.value.problems]
        assert taken == ["the tool one", "the tool greet"]
        assert list(registry) == before
        with pytest.raises(DefinitionError, match="name that is taken"):
            Registry().replace("crm", [self.named("one"), self.named("one", "Other.")])

    def test_whoever_goes_through_the_tools_is_not_stopped_by_a_change(self) -> None:
        registry = sample_registry()
        seen = []
        for each in registry:
            seen.append(each.name)
            registry.replace("crm", [self.named(f"new{len(seen)}")])
        assert seen == [each.name for each in sample_registry()]


def test_a_tool_that_may_yet_come_is_away_and_not_unknown_and_a_flow_may_call_it() -> None:
    registry = sample_registry()
    registry.expect("crm", "crm__")
    assert registry.parameters()["crm__*"] == frozenset()
    with pytest.raises(Unavailable, match="crm__find isn't there yet"):
        registry["crm__find"]
    with pytest.raises(NotFound):
        registry["cms__find"]
    registry.replace("crm", [])
    with pytest.raises(NotFound):
        registry["crm__find"]


CSV = ToolFile("../days.csv", "text/csv", b"type,days\nannual,5\n\xff")


class Report(BaseModel):
    total: int
    file: ToolFile


@dataclass
class Plain:
    file: ToolFile


class Shelf:
    """Keeps files, or fails to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.kept: dict[str, ToolFile] = {}
        self.error = error

    async def __call__(self, files: Mapping[str, ToolFile]) -> None:
        if self.error:
            raise self.error
        self.kept |= files


def giving(kind: Any, value: Any) -> Tool:
    async def give() -> Any:
        """Give it."""
        return value

    give.__annotations__["return"] = kind
    return tool(permission="read")(give)


async def result(made: Tool, keep: Shelf) -> Any:
    return await made.call({}, context(keep=keep), Dependencies())


async def test_a_file_is_kept_once_and_mentioned_in_one_shape() -> None:
    shelf = Shelf()
    found, again = await result(giving(list[ToolFile], [CSV, CSV]), shelf)
    ((id_, kept),) = shelf.kept.items()
    assert re.fullmatch("[0-9a-z]{24}", id_)
    assert kept is CSV
    about = {"id": id_, "name": "days.csv", "type": "text/csv", "size": 20}
    assert found == again == {"file": {**about, "url": f"/v1/files/{id_}"}}


@each_row(
    ("kind", "value", "at"),
    [
        (ToolFile, CSV, lambda found: found),
        (dict[str, ToolFile], {"a": CSV}, lambda found: found["a"]),
        (dict[str, ToolFile | int], {"n": 1, "a": CSV}, lambda found: found["a"]),
        (Report, Report(total=1, file=CSV), lambda found: found["file"]),
        (Plain, Plain(CSV), lambda found: found["file"]),
        (ToolFile | None, CSV, lambda found: found),
        (str | ToolFile, CSV, lambda found: found),
        (list[ToolFile] | ToolFile, [CSV], lambda found: found[0]),
        (Any, {"deep": [{"er": CSV}]}, lambda found: found["deep"][0]["er"]),
        (dict[str, Any], {"in": Report(total=1, file=CSV)}, lambda found: found["in"]["file"]),
    ],
)
async def test_a_file_may_stand_anywhere(kind: Any, value: Any, at: Callable[[Any], Any]) -> None:
    shelf = Shelf()
    found = at(await result(giving(kind, value), shelf))["file"]
    assert list(shelf.kept) == [found["id"]]


async def test_a_union_without_its_file_is_what_it_is() -> None:
    shelf = Shelf()
    assert await result(giving(str | ToolFile, "none"), shelf) == "none"
    assert await result(giving(ToolFile | None, None), shelf) is None
    assert shelf.kept == {}


@each_row(
    ("said", "content", "type_"),
    [
        ("text/csv", b"%PDF-1.7", "application/pdf"),
        ("image/png", b"<svg/>", "image/png"),
        ("", b"\x00", "application/octet-stream"),
        ("nonsense\r\nX: y", b"\x00", "application/octet-stream"),
    ],
)
async def test_its_type_is_what_bytes_or_tool_say(said: str, content: bytes, type_: str) -> None:
    found = await result(giving(ToolFile, ToolFile("a", said, content)), Shelf())
    assert found["file"]["type"] == type_


async def test_a_store_that_fails_or_is_not_there_fails_the_call() -> None:
    with pytest.raises(PermanentToolError, match="full"):
        await result(giving(ToolFile, CSV), Shelf(PermanentToolError("full")))
    with pytest.raises(PermanentToolError, match=r"nobody keeps files here: \.\./days\.csv"):
        await giving(ToolFile, CSV).call({}, context(), Dependencies())


@each_row("content", ["text", bytearray(b"x"), None])
def test_a_file_is_made_of_bytes(content: JsonValue) -> None:
    with pytest.raises(ValueError, match="valid bytes"):
        ToolFile("a", "b", content)  # type: ignore[arg-type]
