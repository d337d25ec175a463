"""What docs/tools.md says of declared tools is so."""

import re
from pathlib import Path

import pytest

from router.tool.http.declaration import EndpointEntry, HttpToolEntry, SelectionEntry
from router.tool.http.template import CONTEXT
from tests.fakes.web_server import WebServer, json_reply
from tests.unit.tool.http.declaring import Folder, call
from tests.unit.tool.http.test_openapi import CRM

TEXT = (Path(__file__).parents[4] / "docs" / "tools.md").read_text()


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def snippet(title: str) -> str:
    found = re.search(r"```json\n(.*?)```", section(title), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("title", ["HTTP", "OpenAPI"])
def test_an_example_has_ten_lines_at_most(title: str) -> None:
    assert len(snippet(title).splitlines()) <= 10


@pytest.mark.parametrize(
    "name", [*HttpToolEntry.model_fields, *EndpointEntry.model_fields, *CONTEXT]
)
def test_every_key_and_hole_of_a_file_is_described(name: str) -> None:
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`", section("HTTP"))


@pytest.mark.parametrize("name", SelectionEntry.model_fields)
def test_every_key_of_a_selection_is_described(name: str) -> None:
    assert re.search(rf"[`\"]{name}[`\"]", section("OpenAPI"))


async def test_the_http_example_works(folder: Folder) -> None:
    async with WebServer(lambda _: json_reply({"state": "open"})) as server:
        folder.write(snippet("HTTP").replace("https://desk.example.com", server.origin))
        loaded = folder.load({"ROUTER_TOOL_DESK_TOKEN": "t0ken"}, (server.origin,))
        assert await call(loaded.tools[0], id="7") == {"state": "open"}
    (got,) = server.requests
    assert got.target == "/api/tickets/7"
    assert (got.headers["authorization"], got.headers["x-user"]) == ("Bearer t0ken", "alice")


async def test_the_openapi_example_works(folder: Folder) -> None:
    async with WebServer(lambda _: json_reply({"name": "Ann"})) as server:
        folder.write(CRM, "crm.yaml")
        folder.write(snippet("OpenAPI").replace("https://crm.example.com", server.origin))
        loaded = folder.load({"ROUTER_TOOL_CRM_TOKEN": "t0ken"}, (server.origin,))
        named = {tool.name: tool for tool in loaded.tools}
        assert await call(named["getCustomer"], id="7") == {"name": "Ann"}
    assert server.targets == ["/v2/customers/7"]
