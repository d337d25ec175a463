import sys
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError, MisconfiguredError, NotFound
from router.tool.dependencies import Dependencies, Provider
from router.tool.registry import Registry
from router.tool.tool import tool
from tests.unit.tool.samples import ALICE, DAVE, MALLORY, greeting, sample_registry

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


def test_a_tool_is_found_by_its_name() -> None:
    registry = sample_registry()

    assert registry["save"].name == "save"
    assert "save" in registry
    with pytest.raises(NotFound, match="'nope'"):
        registry["nope"]


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


class TestDependencies:
    def test_what_was_provided_is_resolved(self) -> None:
        dependencies = Dependencies()
        dependencies.provide(greeting, "hello")

        assert dependencies.resolve(greeting) == "hello"

    def test_an_override_lasts_for_its_block(self) -> None:
        dependencies = Dependencies()
        dependencies.provide(greeting, "hello")

        with dependencies.override(greeting, "hi"):
            assert dependencies.resolve(greeting) == "hi"
        assert dependencies.resolve(greeting) == "hello"

    def test_what_is_missing_is_noticed_at_start(self) -> None:
        registry = sample_registry()
        other: Provider[int] = Provider("other")

        with pytest.raises(MisconfiguredError, match="greeting"):
            Dependencies().require(registry.providers())
        with pytest.raises(MisconfiguredError, match=r"(?s)greeting.*other"):
            Dependencies().require([greeting, other])
        with pytest.raises(MisconfiguredError, match="greeting"):
            Dependencies().resolve(greeting)
