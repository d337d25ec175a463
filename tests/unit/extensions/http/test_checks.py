"""What `doctor` says of declared tools."""

import json
from pathlib import Path

import pytest

from router.cli.checks import configuration
from router.cli.extensions import find_core_tools, omit_faulty_extensions
from router.domain.errors import MisconfiguredError, RouterError
from router.extensions.http.checks import check_declared_tools
from router.extensions.http.settings import HttpSettings
from router.runtime.definitions import load_tools
from router.runtime.extensions import load_configured
from router.settings import Settings


async def test_declared_tools_are_loaded_and_what_lacks_is_named(tmp_path: Path) -> None:
    found = await check_declared_tools(Settings())
    assert found == "get_weather\nnot web_search.json: ROUTER_TOOL_SEARCH_URL isn't set"
    assert "in English" not in await configuration.tools(Settings())
    declared = {"name": "a", "description": "b", "endpoint": {"url": "https://a.example"}}
    (tmp_path / "a.json").write_text(json.dumps(declared))
    said = await configuration.tools(Settings().having(HttpSettings(tools=tmp_path)))
    assert "read in English by all, in part at least: a; give title, description_zh" in said
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(RouterError, match=r"a\.json:1: there is no name"):
        await check_declared_tools(Settings().having(HttpSettings(tools=tmp_path)))


def test_a_faulty_file_keeps_the_process_from_starting_and_no_extension_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.json").write_text("{}")
    settings = Settings().having(HttpSettings(tools=tmp_path))

    with pytest.raises(MisconfiguredError, match=r"a\.json:1: there is no name"):
        load_tools(settings)

    found = load_configured(settings)
    omit_faulty_extensions(found, find_core_tools(settings))
    assert "http" in {each.name for each in found}
