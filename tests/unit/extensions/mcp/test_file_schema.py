"""What an editor says of a file of MCP servers is what the loader says."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from router.cli.schema import text_of
from router.cli.schemas import written
from router.domain.errors import DefinitionError
from router.extensions.mcp.file import load_servers
from router.extensions.mcp.file_schema import FILE, mcp_schema
from tests.unit.cli.test_schemas import problems

FILES = [*(FILE.parents[1] / "templates").glob("*.json")]


@pytest.mark.slow
def test_what_ships_says_what_the_loader_reads_and_explains_the_keys() -> None:
    assert text_of("mcp") == written(mcp_schema()), "run the module file_schema"
    assert len(re.findall(r'"description": "[^"]{10,}', text_of("mcp"))) >= 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_ships_fits_the_schema_that_it_names(path: Path) -> None:
    data = json.loads(path.read_text())
    assert problems("mcp", data) == []
    assert (path.parent / data["$schema"]).resolve() == FILE


SERVERS: Mapping[str, Any] = {
    "neither command nor address": {"a": {}},
    "both": {"a": {"command": "x", "url": "https://a.example/mcp"}},
    "a key that nobody knows": {"a": {"command": "x", "arg": []}},
    "a key that no tool has": {"a": {"command": "x", "tools": {"t": {"permision": "read"}}}},
    "a name in capitals": {"A": {"command": "x"}},
    "a timeout in words": {"a": {"command": "x", "timeout": "soon"}},
    "no calls": {"a": {"command": "x", "calls": 0}},
    "an address that isn't": {"a": {"url": "a.example"}},
    "a server that is a text": {"a": "x"},
    "within mcpServers": {"mcpServers": {"a": {}}},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SERVERS)
def test_a_file_of_the_wrong_shape_is_refused_by_schema_and_loader(
    case: str, tmp_path: Path
) -> None:
    content = SERVERS[case]
    assert problems("mcp", content)
    (tmp_path / "file.json").write_text(json.dumps(content))
    with pytest.raises(DefinitionError):
        load_servers(tmp_path / "file.json", {})


def test_a_file_of_mcp_servers_of_other_clients_may_name_its_schema(tmp_path: Path) -> None:
    data = {"$schema": "x", "mcpServers": {"a": {"command": "x"}}}
    (tmp_path / "mcp.json").write_text(json.dumps(data))
    assert list(load_servers(tmp_path / "mcp.json", {})) == ["a"]
    assert problems("mcp", data) == []
