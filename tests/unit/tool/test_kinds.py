"""A kind of tool is one module, which nothing else names."""

import sys
from pathlib import Path

import pytest

from router.settings import Settings
from router.tool import kinds
from router.tool.kinds import ToolSources

MODULE = '''"""Tools that stand on a shelf."""

from router.tool.kinds import ToolSource
from tests.unit.tool.samples import sample_registry


class ShelfSource(ToolSource):
    name = "shelf"
    absent = {"shelf": "ROUTER_TOOL_SHELF"}

    def load(self) -> None:
        self.registry.replace("shelf", [sample_registry()["save"]])

    async def look(self, within: float) -> dict[str, str]:
        return {"upper": "it is too high"}


SOURCE = ShelfSource
'''


async def test_a_kind_needs_a_module_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shelf.py").write_text(MODULE)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    tools = ToolSources(Settings(), [])

    tools.load()

    assert tools.registry.group_of("save") == "shelf"
    assert tools.absent == {"shelf": "ROUTER_TOOL_SHELF"}
    async with tools.running():
        assert await tools.look(1) == {"upper": "it is too high"}
    del sys.modules["router.tool.kinds.shelf"]
