"""What docs/tools.md says of MCP servers is so."""

import json
import re
import sys
from pathlib import Path

import pytest

from router.cli.mcp import ALWAYS
from router.tool.mcp.file import ServerEntry, ToolEntry, load_servers
from router.tool.mcp.tools import EXTRAS
from tests.integration.tool.mcp.conftest import house_of

TEXT = (Path(__file__).parents[4] / "docs" / "tools.md").read_text(encoding="utf-8")
PAGE = TEXT[TEXT.index("\n## MCP\n") :]
SNIPPETS = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


def test_adding_a_server_takes_ten_lines_at_most() -> None:
    assert len(SNIPPETS[0].splitlines()) <= 10


async def test_the_example_works(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("Buy tea", encoding="utf-8")
    file = tmp_path / "servers.json"
    shown = SNIPPETS[0].replace(".venv/bin/python", sys.executable)
    file.write_text(shown.replace('"notes"', f'"{tmp_path / "notes"}"'), encoding="utf-8")
    servers = load_servers(file, {"WIKI_TOKEN": "hush"})
    assert servers["wiki"].headers == {"Authorization": "Bearer hush"}
    async with house_of(files=servers["files"]) as house:
        await house.has("files")
        read = await house.call("files__file_read", path="plan.md")
    assert isinstance(read, dict)
    assert read["text"] == "Buy tea"


def test_the_desk_is_added_to_another_client_as_shown(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text(SNIPPETS[1], encoding="utf-8")
    assert load_servers(file, {})["desk"].args == ("mcp", "--user", "alice")
    assert list(json.loads(SNIPPETS[1])) == ["mcpServers"]


@pytest.mark.parametrize("model", [ServerEntry, ToolEntry])
def test_every_key_of_the_file_is_described(model: type) -> None:
    keys = {field.alias or name for name, field in model.model_fields.items()}  # type: ignore[attr-defined]
    assert {key for key in keys if not re.search(rf"`{key}`", PAGE)} == set()


@pytest.mark.parametrize("name", [*(e.name for e in EXTRAS), *(tool.name for tool in ALWAYS)])
def test_every_tool_that_is_there_by_itself_is_named(name: str) -> None:
    assert re.search(rf"`(…__)?{name}`", PAGE)
