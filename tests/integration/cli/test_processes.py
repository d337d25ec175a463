"""Commands that start programs: servers over MCP, `serve` and `worker`."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from router.cli import tools
from router.cli.checks import services
from router.cli.doctor import CHECKS, examine
from router.domain.errors import MisconfiguredError
from router.domain.records import FileRecord
from router.settings import Settings
from router.store.blobs import Files
from router.store.database import Database
from tests.deployed import deployment, last_words, ready, running, said_to, token
from tests.fakes.mcp_program import PROGRAM
from tests.postgres import make_database, postgres_server
from tests.unit.cli.conftest import Run
from tests.unit.runtime.test_pieces import free_ports

STOPPED_WITHIN = 10.0


async def test_answer_together_and_stop_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = free_ports()
    async with deployment(tmp_path, ports) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            running(environment, "worker") as worker,
        ):
            await ready(f"{ports.api_url}/readyz")
            assert await said_to(ports.api_url, await token(environment), "我要请年假") == "flow"
            checks = {name: CHECKS[name] for name in ("database", "namespace", "search attributes")}
            assert [finding.fine for finding in await examine(checks)] == [True, True, True]
            for process in (worker, api):
                async with asyncio.timeout(STOPPED_WITHIN):
                    status, _ = await last_words(process)
                assert status == 0


async def test_say_where_temporal_should_be(tmp_path: Path) -> None:
    ports = free_ports()
    with postgres_server() as postgres:
        database = await make_database(postgres, "alone")
        environment = {
            "ROUTER_DATABASE_URL": database.replace("postgresql:", "postgresql+asyncpg:"),
            "ROUTER_TEMPORAL_ADDRESS": ports.temporal_address,
        }
        async with running(environment, "worker") as worker:
            _, errors = await worker.communicate()
    assert worker.returncode == 1
    assert f"ROUTER_TEMPORAL_ADDRESS={ports.temporal_address}" in errors.decode()
    assert "Traceback" not in errors.decode()


PROGRAMS: dict[str, Any] = {
    "it": {
        "command": sys.executable,
        "args": [PROGRAM],
        "tools": {"echo": {"permission": "read"}, "hang": {"permission": "read", "roles": ["hr"]}},
    }
}


@pytest.fixture
def servers(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = elsewhere / "servers.json"
    file.write_text(json.dumps(PROGRAMS))
    monkeypatch.setenv("ROUTER_MCP_SERVERS", str(file))
    return file


@pytest.mark.usefixtures("servers")
def test_a_tool_of_a_server_is_called_through_the_gate(run: Run) -> None:
    outcome = run("tools", "call", "it__echo", '{"text": "hi"}', "--user", "alice")
    assert (outcome.status, outcome.out) == (0, '"{\\"text\\": \\"hi\\"}"\n')


def test_a_file_that_it_gives_is_kept_and_printed_as_json(
    run: Run, servers: Path, elsewhere: Path
) -> None:
    told = json.loads(servers.read_text())
    told["it"]["tools"]["picture"] = {"permission": "read"}
    servers.write_text(json.dumps(told))
    call = ("tools", "call", "it__picture", "{}", "--user", "alice", "--data", "there")
    outcome = run(*call)
    assert outcome.status == 0
    text, picture = json.loads(outcome.out)
    assert (text, picture["file"]["name"]) == ("see", "image.png")
    kept = asyncio.run(found(elsewhere / "there", picture["file"]["id"]))
    assert kept is not None
    assert (kept.owner, kept.size) == ("alice", 30)


async def found(data: Path, file: str) -> FileRecord | None:
    database = Database(f"sqlite:///{data}/router.db")
    try:
        return await Files(database).find("default", file)
    finally:
        await database.dispose()


@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["it__read_it", "{}", "--user", "alice"], "asks before it is called"),
        (["it__hang", "{}", "--user", "alice"], "it is for hr"),
        (["it__echo", '{"text": 3}', "--user", "alice"], "text: 3 is not of type 'string'"),
        (["it__nothing", "{}", "--user", "alice"], "there is no tool named 'it__nothing'"),
    ],
)
def test_the_gate_holds_for_it(run: Run, words: list[str], line: str) -> None:
    outcome = run("tools", "call", *words)
    assert (outcome.status, outcome.out) == (1, "")
    assert line in outcome.err


def test_a_bad_file_is_refused_with_its_line(run: Run, servers: Path) -> None:
    servers.write_text('{"it": {"command": "x",\n"tmeout": "1s"}}')
    outcome = run("tools", "list")
    assert outcome.status == 1
    assert "servers.json:2: there is no key tmeout; did you mean timeout?" in outcome.first_line


def test_a_flow_may_call_what_a_server_will_bring(run: Run, servers: Path, elsewhere: Path) -> None:
    flow = elsewhere / "notes.yaml"
    flow.write_text(
        """
flow: notes
version: 1
title: {zh: "记", en: "Notes"}
description: {zh: "记下", en: "Takes notes"}
triggers: {patterns: ['记一下']}
slots:
  text: {type: text, ask: {zh: "记什么？", en: "What?"}}
start: details
states:
  details: {collect: [text], next: keep}
  keep: {call: it__echo, with: {text: "slots.text"}, next: done, on_error: sorry}
  done: {say: {zh: "好", en: "Done"}, end: completed}
  sorry: {say: {zh: "没成", en: "Sorry"}, end: failed}
"""
    )
    assert run("flows", "validate", str(flow)).status == 0
    servers.write_text("{}")
    outcome = run("flows", "validate", str(flow))
    assert outcome.status == 1
    assert "there is no tool it__echo" in outcome.err


@pytest.mark.usefixtures("servers")
def test_list_shows_what_servers_have(run: Run) -> None:
    outcome = run("tools", "list")
    assert outcome.status == 0
    lines = {line.split()[0]: line for line in outcome.out.splitlines()}
    assert re.match(r"it__echo +read +everyone +mcp +servers\.json ", lines["it__echo"])
    assert re.match(r"it__hang +read +hr +mcp ", lines["it__hang"])
    assert re.match(r"get_leave_balance +read +everyone +code ", lines["get_leave_balance"])


def test_list_names_a_server_that_is_away_and_lists_the_others(run: Run, servers: Path) -> None:
    away = {"gone": {"command": "no-such-program-here"}}
    servers.write_text(json.dumps({**away, **PROGRAMS}))
    outcome = run("tools", "list")
    assert outcome.status == 0
    assert "it__echo" in outcome.out
    assert outcome.err.startswith("the MCP server gone isn't there: there is no program")
    assert f"correct {servers}" in outcome.err
    assert outcome.err.count("isn't there") == 1


def test_list_tells_which_tools_are_read_in_english_by_all(run: Run, servers: Path) -> None:
    assert run("tools", "list").err.startswith("read in English by all, in part at least: it__a_b")
    in_chinese = {
        "title": {"zh": "回声", "en": "Echo"},
        "description_zh": "说什么就回什么。",
        "labels": {"text": "说什么"},
        "permission": "read",
    }
    only = {**PROGRAMS["it"], "only": ["echo"], "tools": {"echo": in_chinese}}
    only["except"] = ["list_resources", "read_resource", "list_prompts", "get_prompt"]
    servers.write_text(json.dumps({"it": only}))
    outcome = run("tools", "list", "--json")
    (echo,) = [each for each in json.loads(outcome.out) if each["name"] == "it__echo"]
    assert (outcome.err, echo["in_english_only"]) == ("", [])
    assert echo["description"]["zh"] == "说什么就回什么。"
    assert echo["parameters"]["properties"]["text"]["x-zh"] == "说什么"


def test_list_shows_what_stands_in_for_a_server(run: Run, servers: Path) -> None:
    away = {"gone": {"command": "no-such-program-here", "fallback": "it"}}
    servers.write_text(json.dumps({**away, **PROGRAMS}))
    assert "gone__echo" in run("tools", "list").out


def test_list_waits_only_so_long_for_a_server(
    run: Run, servers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LOOKED_WITHIN", 0.5)
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    servers.write_text(json.dumps({"mute": {"command": silent[0], "args": silent[1:]}}))
    outcome = run("tools", "list")
    assert outcome.status == 0
    assert outcome.err.startswith("the MCP server mute isn't there: it doesn't answer within 0.5 s")


@pytest.mark.usefixtures("servers")
def test_every_kind_of_tool_is_listed_in_one_form(run: Run) -> None:
    found = {tool["name"]: tool for tool in json.loads(run("tools", "list", "--json").out)}
    code, http, served = (found[n] for n in ("get_leave_balance", "get_weather", "it__echo"))
    assert [tool["kind"] for tool in (code, http, served)] == ["code", "http", "mcp"]
    assert code.keys() == http.keys() == served.keys()
    said = {"type", "properties", "required", "additionalProperties"}
    assert all(said <= tool["parameters"].keys() for tool in found.values())
    assert served["parameters"]["additionalProperties"] is False
    assert http["title"]["zh"] != http["title"]["en"]


def test_a_call_of_a_server_that_is_away_says_so(run: Run, servers: Path) -> None:
    servers.write_text(json.dumps({"gone": {"command": "no-such-program-here"}}))
    outcome = run("tools", "call", "gone__echo", "{}", "--user", "alice")
    assert (outcome.status, outcome.out) == (1, "")
    assert "the MCP server gone" in outcome.err


def test_doctor_looks_at_every_server(servers: Path) -> None:
    said = asyncio.run(services.mcp(Settings()))
    assert said.startswith("it: echo, strict, read_it, ")
    assert "\nread in English by all, in part at least: it__echo, " in said
    servers.write_text(json.dumps({**PROGRAMS, "gone": {"command": "no-such-program-here"}}))
    with pytest.raises(MisconfiguredError, match="gone isn't there: there is no program") as found:
        asyncio.run(services.mcp(Settings()))
    assert "it: echo, " in str(found.value)
    assert str(found.value).endswith("or mend the server; the others are used")


async def test_doctor_minds_no_servers() -> None:
    assert await services.mcp(Settings()) == "none named by ROUTER_MCP_SERVERS"


def test_a_variable_that_is_not_set_is_named_with_its_server(run: Run, servers: Path) -> None:
    servers.write_text(json.dumps({**PROGRAMS, "crm": {"url": "https://{env.NOT_THERE}/mcp"}}))
    outcome = run("tools", "list")
    assert (outcome.status, "it__echo" in outcome.out) == (0, True)
    assert outcome.err.startswith("the MCP server crm isn't there: NOT_THERE isn't set; set it")
    with pytest.raises(MisconfiguredError, match="crm isn't there: NOT_THERE isn't set"):
        asyncio.run(services.mcp(Settings()))
