"""Files of tools as other frameworks write them: read with what is meant, and told so."""

import json
from typing import Any

from router.extensions.http.declarations import load_http_tools
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from tests.table import each_row
from tests.unit.extensions.http.declaring import KEY, TEXT, URL, Desk, Folder, declaration, takes

CITY = {"name": "city", "type": "str", "description": "Which city.", "required": True}
DAYS = {"name": "days", "type": "int", "description": "How many.", "default": 3}


def properties(folder: Folder, parameters: Any, **endpoint: Any) -> dict[str, Any]:
    tool = folder.tool(declaration(parameters=parameters, endpoint=endpoint))
    return dict(tool.parameters)


@each_row(
    "written",
    [
        [CITY, DAYS],
        {"city": {"type": "str", "required": True}, "days": {"type": "Integer"}},
        {
            "type": "object",
            "properties": {"city": {"type": "string", "required": True}, "days": {"type": "int"}},
        },
    ],
    ids=["a list", "a map", "a schema"],
)
def test_parameters_are_read_however_they_are_listed(folder: Folder, written: Any) -> None:
    found = properties(folder, written)
    assert found["required"] == ["city"]
    assert found["properties"]["city"]["type"] == "string"
    assert found["properties"]["days"]["type"] == "integer"
    assert folder.load().notes


@each_row(
    ("written", "read"),
    [
        ("str", "string"),
        ("int", "integer"),
        ("float", "number"),
        ("bool", "boolean"),
        ("list", "array"),
        ("dict", "object"),
    ],
)
def test_a_type_of_another_language_is_the_one_of_json(
    folder: Folder, written: str, read: str
) -> None:
    found = properties(folder, {"it": written}, method="POST")
    assert found["properties"]["it"]["type"] == read
    (note,) = [each for each in folder.load().notes if written in each]
    assert note.startswith(f"{folder.path}/tool.json:1: ")
    assert read in note


async def test_what_a_get_does_not_place_goes_to_its_query(desk: Desk) -> None:
    got = await desk.asked(desk.tool("/w/{city}", takes=[CITY, DAYS]), city="Paris", days=2)
    assert (got.target, got.body) == ("/w/Paris?days=2", b"")


async def test_what_a_post_does_not_place_goes_to_its_body(desk: Desk) -> None:
    tool = desk.tool("/w/{city}", takes=[CITY, DAYS], method="post", timeout="10")
    got = await desk.asked(tool, city="Paris", days=2)
    assert (got.target, json.loads(got.body)) == ("/w/Paris", {"days": 2})
    assert tool.timeout.total_seconds() == 10


@each_row(
    "body",
    [
        {"q": "{{city}}", "n": "${days}"},
        '{"q": "{{city}}", "n": {{days}}}',
        '{"q": "{city}", "n": {days}}',
        '{"q": "${city}", "n": "{days}"}',
    ],
    ids=["an object", "a text", "a text of ours", "dollars"],
)
async def test_holes_are_read_as_others_write_them(desk: Desk, body: Any) -> None:
    tool = desk.tool("/w", takes=[CITY, DAYS], method="POST", body=body)
    got = await desk.asked(tool, city="Paris", days=2)
    assert json.loads(got.body) == {"q": "Paris", "n": 2}


async def test_a_dollar_that_is_meant_is_sent(desk: Desk) -> None:
    tool = desk.tool("/w", takes=[CITY], method="POST", body={"q": "for $${city}"})
    assert json.loads((await desk.asked(tool, city="5")).body) == {"q": "for $5"}


async def test_a_variable_in_dollars_is_one_of_tools_and_no_other_secret(desk: Desk) -> None:
    tool = desk.tool("/w", headers={"X-Key": "Bearer ${KEY}"})
    assert (await desk.asked(tool)).headers["x-key"] == f"Bearer {KEY}"
    desk.folder.write(declaration(endpoint={"headers": {"X-Key": "${HOME}"}}))
    absent = desk.folder.load({"HOME": "/root"}).absent
    assert [*absent.values()] == ["ROUTER_TOOL_HOME"]


def test_what_a_file_says_of_all_its_tools_holds_where_they_say_nothing(folder: Folder) -> None:
    own = {"name": "own", "description": "Own.", "timeout": 2, "endpoint": {"url": URL}}
    plain = {"name": "plain", "description": "Plain.", "endpoint": {"url": "/plain"}}
    own["endpoint"] = {"url": URL, "headers": {"x-team": "mine"}}
    defaults = {"headers": {"X-Team": "ours"}, "base_url": "https://b.example/v1/", "timeout": "5s"}
    file = folder.write({"tools": [plain, own], "defaults": defaults})
    loaded = load_http_tools(file, {}, Sender(OutboundGuard()))
    assert [tool.name for tool in loaded.tools] == ["plain", "own"]
    first, second = (tool.implementation for tool in loaded.tools)
    assert "b.example" in str(first)
    assert "/v1/plain" in str(first)
    assert [tool.timeout.total_seconds() for tool in loaded.tools] == [5, 2]
    assert "ours" in str(first)
    assert "mine" in str(second)
    assert "ours" not in str(second)


@each_row(
    ("data", "said"),
    [
        ({"tools": {}}, "tools is no list"),
        ({"tools": [], "tool": 1}, "there is no tool beside tools"),
        ({"tools": [], "defaults": []}, "defaults is no object"),
        ({"tools": [], "defaults": {"url": "x"}}, "there is no url in defaults"),
        ({"tools": [], "defaults": {"headers": "x"}}, "headers is no object"),
        ({"tools": [], "defaults": {"base_url": 1}}, "base_url is no text"),
        ({"tools": [3]}, "is no object"),
        (declaration(parameters=[CITY, CITY]), "city comes twice"),
        (declaration(parameters=[{"type": "str"}]), "has no name"),
        (declaration(parameters=["city"]), "has no name"),
        (declaration(parameters=3), "parameters is no object"),
        (
            declaration(parameters={"type": "object", "city": {"type": "str"}}),
            "may be a schema, or a map",
        ),
        (
            declaration(
                parameters={
                    "type": "object",
                    "properties": {"a": {"type": "string", "required": False}},
                    "required": ["a"],
                }
            ),
            "required by the list and not by itself",
        ),
        (
            declaration(
                parameters=takes(id=TEXT), endpoint={"query_params": {"a": "{id}", "b": "{{id}}"}}
            ),
            "may be the value of id, or {id} itself; write {id} for the value",
        ),
        (
            declaration(
                parameters=takes(sum=TEXT), endpoint={"method": "POST", "body": "costs ${sum}"}
            ),
            "or that behind a dollar; write {sum}, or $${sum}",
        ),
        (
            declaration(parameters=takes(ID=TEXT), endpoint={"query_params": {"a": "${ID}"}}),
            "may be the parameter ID, or a variable",
        ),
        (
            declaration(parameters=takes(id=TEXT), endpoint={"method": "DELETE"}),
            "the parameter id is used nowhere",
        ),
        (
            declaration(
                parameters=takes(id=TEXT),
                endpoint={"method": "POST", "body": '{"a": ' * 200},
            ),
            "",
        ),
    ],
)
def test_what_can_be_read_in_two_ways_or_none_is_a_problem(
    folder: Folder, data: Any, said: str
) -> None:
    problems = folder.problems(data)
    assert [p for p in problems if said in p], problems
    assert all(p.startswith("tool.json:") and "; " in p for p in problems)


def test_our_own_way_of_writing_is_read_as_it_stands(folder: Folder) -> None:
    endpoint = {"query_params": {"id": "{id}", "format": "{{json}}"}}
    folder.tool(declaration(parameters=takes(id=TEXT), endpoint=endpoint))
    assert folder.load().notes == []
