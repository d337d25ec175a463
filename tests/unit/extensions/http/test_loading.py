"""Declared HTTP tools: read, watched, documented, shipped."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import company.tools
from router.domain.errors import DefinitionError, MisconfiguredError
from router.extensions.http.declaration import EndpointEntry, HttpToolEntry, SelectionEntry
from router.extensions.http.declarations import load_http_tools
from router.extensions.http.source import GROUP, WatchedTools
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.tool.context_values import CONTEXT_VALUES
from router.tool.registry import Registry
from router.tool.tool import Tool
from tests.fakes.web_server import WebServer, json_reply
from tests.table import each_row
from tests.unit.extensions.http.declaring import TEXT, URL, Desk, Folder, call, declaration, takes
from tests.unit.extensions.http.test_openapi import CRM
from tests.unit.tool.samples import sample_registry


def test_what_a_file_leaves_out_follows_from_its_method(folder: Folder) -> None:
    get = folder.tool(declaration())
    post = folder.tool(declaration(endpoint={"method": "post", "timeout": 3}))
    put = folder.tool(declaration(endpoint={"method": "PUT"}))
    assert (get.permission, get.idempotent, get.asks_first) == ("read", True, False)
    assert (post.permission, post.idempotent, post.asks_first) == ("write", False, True)
    assert (put.permission, put.idempotent) == ("write", True)
    assert (get.timeout, post.timeout) == (timedelta(seconds=10), timedelta(seconds=3))
    assert (get.title.zh, get.retries, get.roles) == ("Get things", 3, frozenset())


def test_what_a_file_says_counts(folder: Folder) -> None:
    who = {"permission": "admin", "roles": ["hr"], "confirm": True}
    how = {"idempotent": True, "retries": None, "timeout": "500ms", "at_once": 3}
    words = {"title": {"zh": "查", "en": "Look"}, "description_zh": "查东西。"}
    tool = folder.tool(declaration(examples=["查一下"], **words, **who, **how))
    assert (tool.title.en, tool.examples, tool.permission) == ("Look", ("查一下",), "admin")
    assert (tool.roles, tool.confirm, tool.retries) == (frozenset({"hr"}), True, None)
    assert (tool.idempotent, tool.options.at_once) == (True, 3)
    assert tool.timeout == timedelta(milliseconds=500)
    assert (tool.about.zh, tool.about.en) == ("查东西。", declaration()["description"])


def test_a_file_may_declare_several_and_be_loaded_alone(folder: Folder) -> None:
    folder.write("nonsense", "broken.json")
    file = folder.write([declaration(), declaration(name="get_more")])
    loaded = load_http_tools(file, {}, Sender(OutboundGuard()))
    assert [tool.name for tool in loaded.tools] == ["get_things", "get_more"]


def test_what_needs_a_variable_that_is_not_set_is_absent(folder: Folder) -> None:
    file = folder.write(declaration(endpoint={"url": "{env.ROUTER_TOOL_X}/search"}))
    folder.write(declaration(name="other"), "other.json")
    without = folder.load()
    assert [tool.name for tool in without.tools] == ["other"]
    assert without.absent == {str(file): "ROUTER_TOOL_X"}
    assert len(folder.load({"ROUTER_TOOL_X": "https://s.example/base/"}).tools) == 2
    default = declaration(endpoint={"url": "{env.ROUTER_TOOL_X:-https://d.example}/a"})
    folder.write(default)
    assert "d.example" in str(folder.load().tools[1].implementation)


def test_a_parameter_of_a_path_is_not_missed_where_the_address_is_not_known(folder: Folder) -> None:
    takes_id = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    where = {"url": "{env.ROUTER_TOOL_X}/things/{id}"}
    file = folder.write(declaration(parameters=takes_id, endpoint=where))
    assert folder.load().absent == {str(file): "ROUTER_TOOL_X"}


def test_every_problem_of_every_file_is_told_with_its_line(folder: Folder) -> None:
    data = declaration(nam="x", endpoint={"method": "FETCH", "headers": {"a b": "x"}})
    folder.write(json.dumps(data, indent=2))
    folder.write("{,}", "broken.json")
    with pytest.raises(DefinitionError) as error:
        folder.load()
    said = [str(p).removeprefix(f"{folder.path}/") for p in error.value.problems]
    assert said[0].startswith("broken.json:1: this isn't")
    assert said[1:] == [
        "tool.json:6: method is 'FETCH'; write one of: GET, HEAD, POST, PUT, PATCH, DELETE",
        "tool.json:8: 'a b' is no name of a header; write letters, digits and hyphens",
        "tool.json:11: there is no nam; did you mean name?",
    ]


def test_a_name_is_declared_once(folder: Folder) -> None:
    folder.write(declaration(), "a.json")
    folder.write(declaration(), "b.json")
    with pytest.raises(DefinitionError, match=r"b\.json:1: .*a\.json:1 already; rename"):
        folder.load()


def test_a_folder_that_is_not_there_is_named(folder: Folder) -> None:
    with pytest.raises(MisconfiguredError, match="ROUTER_HTTP_TOOLS="):
        load_http_tools(folder.path / "nope", {}, Sender(OutboundGuard()))


def test_tabs_and_escapes_of_json_are_read(folder: Folder) -> None:
    text = json.dumps(declaration(description="😀"), indent="\t")
    assert "\\ud83d" in text
    folder.write(text)
    assert folder.load().tools[0].description == "😀"


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def endpoint(parameters: object = None, **changes: Any) -> dict[str, Any]:
    changes = {"query_params": {"id": "{id}"}, **changes}
    return declaration(parameters=parameters or takes(id=TEXT), endpoint=changes)


@pytest.mark.slow
@each_row(
    ("data", "said"),
    [
        # no file of the format
        ("", "this isn't JSON"),
        ("[", "this isn't"),
        ("{" * 5000, "nested"),
        ("[" + "[" * 50 + "]" * 51, "nested"),
        ('{"name": NaN}', "NaN is no JSON number"),
        ("'name'", "this isn't JSON"),
        ("name: a", "this isn't JSON"),
        ('{"name": "a", "name": "b"}', "name comes twice"),
        ("3", "no object"),
        ("{}", "there is no name"),
        ([{}], "there is no description"),
        (declaration(description_zh=3), "description_zh isn't text"),
        (declaration(description_zh=" "), "description_zh isn't text"),
        ({"endpoint": {}}, "there is no url"),
        ([3], "no object"),
        ("null", "no object"),
        ("x" * 300_000, "over 256 KiB"),
        # who it is
        (declaration(name="9 lives"), "no name that models can call"),
        (declaration(name="a" * 64), "no name that models can call"),
        (declaration(name="ask"), "ask has a name that means something else to models or workers"),
        (declaration(name=None), "there is no name"),
        (declaration(description=""), "description isn't text"),
        (declaration(title={"zh": "查"}), "title isn't in both languages"),
        (declaration(permission="root"), "permission is 'root'"),
        (declaration(permission="admin"), "for everyone"),
        (declaration(roles="hr"), "roles is no list"),
        (declaration(confirm="yes"), "confirm is 'yes'"),
        (declaration(retries=-1), "retries is -1"),
        *((declaration(at_once=n), f"at_once is {n!r}") for n in (0, -1, True, 1.5, "2", [1])),
        (declaration(timeout="soon"), "timeout is 'soon'"),
        (declaration(timeout=0), "timeout is 0"),
        (declaration(timeout=1e9), "timeout is 1000000000.0"),
        (declaration(endpoint={"timeout": True}), "timeout is True"),
        (declaration(result="a/b"), "no JSON pointer"),
        (declaration(result=[]), "result is no place"),
        (declaration(items=0), "items is 0"),
        (declaration(items={"keep": 3}), "keep is no list"),
        (declaration(parameters={"type": "array"}), "parameters: it is of type 'array'"),
        (declaration(parameters=3), "parameters is no object"),
        # where it goes
        (declaration(endpoint={"url": "http://api.example.com/"}), "isn't https"),
        (declaration(endpoint={"url": "ftp://api.example.com/"}), "isn't http:// or https://"),
        (declaration(endpoint={"url": "/things"}), "isn't http:// or https://"),
        (declaration(endpoint={"url": "https://127.0.0.1/"}), "isn't public"),
        (declaration(endpoint={"url": "https://[::1]/"}), "isn't public"),
        (declaration(endpoint={"url": "https://[::ffff:10.0.0.1]/"}), "isn't public"),
        (declaration(endpoint={"url": "https://169.254.169.254/"}), "no tool may go"),
        (declaration(endpoint={"url": "https://2130706433/"}), "address in disguise"),
        (declaration(endpoint={"url": "https://u:p@api.example.com/"}), "name or password"),
        (declaration(endpoint={"url": "https://api.example.com/a/../b"}), "a step . or .."),
        (declaration(endpoint={"url": "https://api.example.com/%2e%2e/b"}), "a step . or .."),
        (declaration(endpoint={"url": "https://api.example.com/#a"}), "a # or a second ?"),
        (declaration(endpoint={"url": "https://api.example.com/?a?b"}), "a # or a second ?"),
        (declaration(endpoint={"url": 3}), "url isn't text"),
        ({"name": "a", "description": "b"}, "endpoint is no object"),
        # holes
        (endpoint(url="https://{id}.example.com/"), "{id} stands where the host is"),
        (endpoint(url="https://api.example.com{id}"), "{id} stands where the host is"),
        (endpoint(url="https://api.example.com:{id}/"), "{id} stands where the host is"),
        (endpoint(url="{id}://api.example.com/"), "{id} stands where the host is"),
        (endpoint(url="{context.tenant}"), "stands where the host is"),
        (endpoint(url=URL + "?{id}=1"), "name of a query parameter has a hole"),
        (endpoint(url=URL + "/{nope}"), "there is no parameter nope"),
        (endpoint(url=URL + "/{"), "a lone {"),
        (endpoint(url=URL + "/{a b}"), "names nothing"),
        (endpoint(url=URL + "/{context.password}"), "there is no context.password"),
        (endpoint(url=URL + "/{env.HOME}"), "'HOME' isn't for tools"),
        (endpoint(url=URL + "/{env.ROUTER_JWT_SECRET}"), "isn't for tools"),
        (endpoint(headers={"X": "{env.OPENAI_API_KEY:-x}"}), "isn't for tools"),
        (endpoint(headers={"X": "{env.ROUTER_TOOL_}"}), "isn't for tools"),
        (endpoint(headers={"X": "{id.__class__}"}), "names nothing"),
        (endpoint(headers={"X": "a\r\nY: b"}), "no header takes"),
        (endpoint(headers={"X": "上"}), "no header takes"),
        (endpoint(headers={"X\r\n": "a"}), "no name of a header"),
        (endpoint(headers={"Host": "evil.example"}), "isn't a file's to set"),
        (endpoint(headers={"Content-Length": "3"}), "isn't a file's to set"),
        (endpoint(headers={"X": ["a"]}), "X is no text"),
        (endpoint(headers=3), "headers is no object"),
        (endpoint(body={"a": 1}), "GET has a body"),
        (endpoint(method="POST", body={"{id}": 1}), "has a hole"),
        (endpoint(method="POST", body="x", headers={"Content-Type": "text/xml"}), "'text/xml'"),
        (endpoint(method="POST", body="{id}", headers=FORM), "the body is no form"),
        (endpoint(query_params={}), "the parameter id is used nowhere"),
        (endpoint(takes(id_=TEXT), url=URL + "/{id}"), "may be left out"),
        (endpoint(takes(id={"type": "array"}), url=URL + "/{id}"), "is no single value"),
    ],
)
def test_what_is_wrong_is_told(folder: Folder, data: Any, said: str) -> None:
    problems = folder.problems(data)
    assert [p for p in problems if said in p], problems
    assert all(p.startswith("tool.json:") and "; " in p for p in problems)


@each_row(
    "address",
    [
        "http://s.example",
        "https://127.0.0.1",
        "https://u:p@s.example",
        "nonsense",
        "https://0x7f.1",
    ],
)
def test_an_address_from_a_variable_is_no_freer(folder: Folder, address: str) -> None:
    data = declaration(endpoint={"url": "{env.ROUTER_TOOL_X}/a"})
    (problem,) = folder.problems(data, {"ROUTER_TOOL_X": address})
    assert "p@" not in problem


@each_row(
    ("fault", "said"),
    [
        ({"retries": "x"}, "retries is 'x'"),
        ({"nam": 1}, "there is no nam"),
        ({"title": {"zh": "只有中文"}}, "title isn't in both languages"),
    ],
)
@each_row("url", ["{env.ROUTER_TOOL_X}/a", "https://{env.ROUTER_TOOL_X}.example"])
def test_a_fault_of_form_is_told_whether_or_not_a_variable_is_set(
    folder: Folder, fault: dict[str, Any], said: str, url: str
) -> None:
    endpoint = {"url": url, "headers": {"A": "{env.ROUTER_TOOL_X}"}}
    folder.write(declaration(endpoint=endpoint, **fault))
    with pytest.raises(DefinitionError) as refused:
        folder.load()
    assert [problem.what for problem in refused.value.problems] == [said]


PAGE = (Path(__file__).parents[4] / "docs" / "tools.md").read_text()


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def snippet(title: str) -> str:
    found = re.search(r"```json\n(.*?)```", section(title), re.DOTALL)
    assert found
    return found[1]


def test_every_key_and_hole_of_a_file_is_described() -> None:
    for name in (*HttpToolEntry.model_fields, *EndpointEntry.model_fields, *CONTEXT_VALUES):
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", section("HTTP")), name
    for name in SelectionEntry.model_fields:
        assert re.search(rf"[`\"]{name}[`\"]", section("OpenAPI")), name


async def test_the_examples_work_and_have_ten_lines_at_most(folder: Folder, desk: Desk) -> None:
    server, places = desk.server, {"HTTP": "desk.example.com", "OpenAPI": "crm.example.com"}
    ours = {"ROUTER_TOOL_DESK_TOKEN": "t0ken", "ROUTER_TOOL_CRM_TOKEN": "t0ken"}
    folder.write(CRM, "crm.yaml")
    for title, there in places.items():
        assert len(snippet(title).splitlines()) <= 10
        folder.write(snippet(title).replace(f"https://{there}", server.origin), f"{title}.json")
    named = {tool.name: tool for tool in folder.load(ours, (server.origin,)).tools}
    await call(named["get_ticket"], id="7")
    await call(named["getCustomer"], id="7")
    assert server.targets == ["/api/tickets/7", "/v2/customers/7"]
    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-user"]) == ("Bearer t0ken", "alice")


SHIPPED = Path(next(iter(company.tools.__path__))) / "http"


def shipped(name: str, server: WebServer) -> Tool:
    variables = {"ROUTER_TOOL_WEATHER_URL": server.origin, "ROUTER_TOOL_SEARCH_URL": server.origin}
    loaded = load_http_tools(SHIPPED, variables, Sender(OutboundGuard([server.origin])))
    return {tool.name: tool for tool in loaded.tools}[name]


def test_without_a_search_server_there_is_no_search() -> None:
    loaded = load_http_tools(SHIPPED, {}, Sender(OutboundGuard()))
    assert [tool.name for tool in loaded.tools] == ["get_weather"]
    assert list(loaded.absent.values()) == ["ROUTER_TOOL_SEARCH_URL"]


async def test_the_weather_of_a_city_is_told_in_few_words(desk: Desk) -> None:
    weather = {
        "current_condition": [{"temp_C": "9", "weatherDesc": [{"value": "Sunny"}], "extra": "x"}],
        "nearest_area": [{"areaName": [{"value": "Shanghai"}]}],
        "weather": [{"maxtempC": "12"}, {"maxtempC": "14"}],
    }
    desk.server.answer = lambda _: json_reply(weather)
    found = await call(shipped("get_weather", desk.server), city="上海")
    assert desk.server.targets == ["/%E4%B8%8A%E6%B5%B7?format=j1&lang=zh"]
    assert (found["place"], found["degrees"], found["weather"]) == ("Shanghai", "9", "Sunny")
    assert (found["today_high"], found["tomorrow_high"]) == ("12", "14")
    assert "extra" not in found


async def test_of_a_search_five_pages_are_told(desk: Desk) -> None:
    page = {"title": "t", "url": "https://a.example", "content": "c"}
    results = [{**page, "engine": "e", "score": 1}] * 9
    desk.server.answer = lambda _: json_reply({"results": results})
    assert await call(shipped("web_search", desk.server), query="增值税 & co") == [page] * 5
    (target,) = desk.server.targets
    assert target.startswith("/search?q=%E5%A2%9E%E5%80%BC%E7%A8%8E%20%26%20co&format=json")


registry = pytest.fixture(sample_registry)


@pytest.fixture
def tools(folder: Folder, registry: Registry) -> WatchedTools:
    """The tools of the folder, loaded."""
    tools = WatchedTools(folder.path, folder.load, registry)
    tools.load()
    return tools


def names(registry: Registry) -> list[str]:
    return [tool.name for tool in registry if registry.group_of(tool.name) == GROUP]


async def test_what_is_new_edited_or_gone_is_followed(
    folder: Folder, tools: WatchedTools, registry: Registry
) -> None:
    assert not tools.reload()
    file = folder.write(declaration(name="one"))
    async for _ in tools.changes(0.001):
        break
    assert names(registry) == ["one"]
    assert not tools.reload()
    folder.write(declaration(name="two"))
    assert tools.reload()
    assert names(registry) == ["two"]
    file.unlink()
    assert tools.reload()
    assert names(registry) == []


@pytest.mark.parametrize("broken", ["{", declaration(name="greet"), declaration(retries="x")])
def test_a_broken_file_keeps_the_old_tools_and_is_logged_once(
    folder: Folder,
    tools: WatchedTools,
    registry: Registry,
    broken: object,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder.write(declaration(name="one"))
    assert tools.reload()
    one = registry["one"]
    folder.write(broken)
    assert not tools.reload()
    assert not tools.reload()
    assert registry["one"] is one
    assert len([r for r in caplog.records if "stay as they were" in r.getMessage()]) == 1
    folder.write(declaration(name="mended"))
    assert tools.reload()
    assert names(registry) == ["mended"]


def test_what_was_said_of_a_file_is_not_said_again_when_another_is_broken(
    folder: Folder, tools: WatchedTools, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(declaration(retries="x"))
    assert not tools.reload()
    (folder.path / "other.json").write_text("{")
    assert not tools.reload()
    first, second = caplog.messages
    assert "retries" in first
    assert "retries" not in second
    assert "other.json:1" in second


def test_a_document_that_is_selected_from_is_watched_too(
    folder: Folder, tools: WatchedTools, registry: Registry
) -> None:
    server, paths = "servers: [{url: https://a.example}]", "paths: {/a: {%s: {operationId: a}}}"
    folder.write(f"openapi: 3.1.0\n{server}\n{paths % 'get'}", "crm.yaml")
    folder.write({"openapi": "crm.yaml", "operations": ["a"]})
    assert tools.reload()
    assert not tools.reload()
    folder.write(f"openapi: 3.1.0\n{server}\n{paths % 'put'}", "crm.yaml")
    assert tools.reload()
    assert registry["a"].writes


def test_a_name_of_the_code_is_not_taken_at_start(folder: Folder) -> None:
    folder.write(declaration(name="greet"))
    with pytest.raises(DefinitionError, match=r"samples\.py"):
        WatchedTools(folder.path, folder.load, sample_registry()).load()
