"""Some fifty tools of four kinds in one registry: nobody who uses one can tell which it is."""

import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import activities.builtin
import company.tools
from activities.capabilities import Capabilities
from router.api.routes.capabilities import CapabilityView
from router.extensions.http.declarations import load_http_tools
from router.extensions.mcp.file import ServerEntry
from router.flow.catalog import Catalog
from router.llm.schema import portable
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.routing.tool_form import form_of, obstacle
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from router.tool.tool import Tool
from tests.integration.extensions.mcp.conftest import house_of, program
from tests.unit.extensions.http.declaring import TEXT, Folder, declaration, takes
from tests.unit.tool.samples import DAVE

KINDS = ("code", "http", "openapi", "mcp")
SHAPES: Sequence[dict[str, Any]] = (
    TEXT,
    {"type": "integer", "minimum": 1},
    {"type": "boolean"},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"type": "number"}},
    {"type": "object", "properties": {"deep": {"type": "object"}}},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
)


@pytest.fixture(scope="module")
async def registry(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Registry]:
    """The project's own code tools, and the other kinds beside them, as they are really loaded."""
    folder = tmp_path_factory.mktemp("files")
    found = Registry().discover(activities.builtin, company.tools)
    found.replace("http", declared(tmp_path_factory.mktemp("http")))
    found.replace("openapi", selected(tmp_path_factory.mktemp("openapi")))
    files = ServerEntry(
        command=sys.executable, args=("-m", "company.mcp_files", str(folder)), cwd=Path.cwd()
    )
    async with house_of(files=files, odd=program()) as house:
        await house.has("files", "odd")
        found.replace("mcp", [t for tools in house.tools.values() for t in tools.values()])
        yield found


def declared(path: Path) -> list[Tool]:
    folder = Folder(path)
    for number, shape in enumerate(SHAPES):
        endpoint: dict[str, Any] = {"query_params": {"what": "{what}"}}
        if shape.get("type") in ("array", "object"):
            endpoint = {"method": "POST", "body": {"what": "{what}"}}
        changes = {"name": f"get_{number}", "parameters": takes(what=shape), "endpoint": endpoint}
        folder.write(declaration(**changes), f"{number}.json")
    return folder.load().tools


def selected(path: Path) -> list[Tool]:
    paths = {}
    for number, shape in enumerate(SHAPES):
        body = {"content": {"application/json": {"schema": takes(what=shape)}}}
        about = {"operationId": f"makeThing{number}", "summary": "Make a thing", "tags": ["things"]}
        paths[f"/things/{number}"] = {"post": {**about, "requestBody": body}}
    folder = Folder(path)
    info = {"title": "Things", "version": "1"}
    folder.write({"openapi": "3.1.0", "info": info, "paths": paths}, "document.json")
    server = "https://api.example.com"
    folder.write({"openapi": "document.json", "server": server, "tags": ["things"]})
    return load_http_tools(path, {}, Sender(OutboundGuard())).tools


def test_there_are_fifty_of_all_four_kinds_and_each_says_what_it_is(registry: Registry) -> None:
    kinds = [registry.group_of(tool.name) for tool in registry]
    assert len(kinds) >= 50
    assert all(kinds.count(kind) >= 8 for kind in KINDS), kinds
    for tool in registry:
        assert (tool.capability.kind, tool.capability.name) == ("tool", tool.name)
        assert tool.capability.description.en, tool.name
        assert tool.capability.parameters == tool.parameters
        assert tool.source.file, tool.name


def test_each_has_arguments_that_every_model_server_takes(registry: Registry) -> None:
    for tool in registry:
        made = portable(tool.parameters)
        assert (made["type"], made["additionalProperties"]) == ("object", False), tool.name
        assert set(made["required"]) == set(made["properties"]) == tool.argument_names, tool.name


@pytest.mark.slow
def test_each_has_a_form_or_a_reason_why_not_and_asks_before_it_writes(registry: Registry) -> None:
    forms = {tool.name: form_of(tool) for tool in registry}
    reasons = {tool.name: obstacle(tool) for tool in registry if obstacle(tool)}
    deep = "no form field fits items (amount: an object that is nested too deep)"
    assert reasons == {
        "get_6": "no form field fits what (an object of any fields)",
        # Flows alone call these, with items that they have collected themselves.
        "submit_claim": deep,
        "withdraw_claim": deep,
    }
    assert {name for name, form in forms.items() if form is None} == reasons.keys()
    asking = [forms[tool.name] for tool in registry if tool.writes]
    assert len(asking) > 10
    assert {form.states["review"].kind for form in asking if form} == {"confirm"}


@pytest.mark.slow
def test_people_are_shown_all_of_them_in_one_form(registry: Registry) -> None:
    offered = Capabilities(Catalog([]), SkillCatalog(), registry)
    listed = registry.capabilities(DAVE)
    shown = [tool.name for tool in registry.visible_to(DAVE) if tool.options.listed]
    assert [each.name for each in listed] == shown
    assert {registry.group_of(name) for name in shown} == set(KINDS)
    for each in listed:
        item = CapabilityView.of(each, offered, DAVE).model_dump(exclude_none=True)
        tool = registry[each.name]
        assert (item.pop("parameters"), item["permission"]) == (tool.parameters, tool.permission)
        assert bool(item.pop("examples", None)) == tool.options.suggested
        assert item.keys() == {"kind", "name", "title", "description", "permission"}
        assert all(isinstance(value, str) and value for value in item.values())
