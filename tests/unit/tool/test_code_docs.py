"""The code tool in docs/tools.md."""

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from router.tool.context import Dependencies, ToolContext
from router.tool.results import ToolFile
from router.tool.tool import tool
from tests.unit.tool.samples import context

PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()
SECTION = PAGE.partition("## Code")[2].partition("\n## ")[0]


async def test_the_example_is_a_tool_that_can_be_called() -> None:
    example = re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)
    assert example is not None
    assert len(example[1].splitlines()) < 10
    names: dict[str, Any] = {
        "tool": tool,
        "Annotated": Annotated,
        "Field": Field,
        "ToolContext": ToolContext,
    }
    exec(compile(example[1], "docs/tools.md", "exec"), names)
    made = names["find_rooms"]
    assert made.implementation.problems({"seats": 0}) != []
    assert len(await made.call({"seats": 30}, context(), Dependencies())) == 2


async def test_the_example_that_makes_a_file_gives_what_the_page_says() -> None:
    (example,) = re.findall(r"```python\n(@tool[^`]*ToolFile[^`]*)```", SECTION)
    shape = re.search(r"```json\n(\{\"file\".*?)```", SECTION, re.DOTALL)
    assert shape is not None
    names: dict[str, Any] = {"tool": tool, "ToolContext": ToolContext, "ToolFile": ToolFile}
    exec(compile(example, "docs/tools.md", "exec"), names)
    kept: dict[str, ToolFile] = {}

    async def keep(files: Mapping[str, ToolFile]) -> None:
        kept.update(files)

    arguments = {"rooms": ["A1"]}
    found: Any = await names["export_seats"].call(arguments, context(keep=keep), Dependencies())
    (id_,) = kept
    assert found == json.loads(shape[1].replace("…", id_))


@pytest.mark.parametrize("option", list(inspect.signature(tool).parameters))
def test_every_option_is_described(option: str) -> None:
    assert f"`{option}`" in SECTION
