"""Commands that start programs: servers over MCP, `serve` and `worker`."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from router.cli import tools
from router.cli.doctor import CHECKS, examine
from router.cli.processes import numbered_ports
from router.domain.errors import MisconfiguredError
from router.domain.records import FileRecord
from router.extensions.mcp.checks import check_servers
from router.settings import Settings
from router.store.blobs import Files
from router.store.database import Database
from tests.deployed import deployment, last_words, ready, running, said_to, token
from tests.fakes.mcp_program import PROGRAM
from tests.ports import free_port_before_another
from tests.postgres import make_database, postgres_server
from tests.unit.cli.conftest import Run
from tests.unit.runtime.test_pieces import free_ports
from tests.waiting import HANGS_AFTER_S


@pytest.mark.slow
async def test_answer_and_stop_when_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
                async with asyncio.timeout(HANGS_AFTER_S):
                    status, _ = await last_words(process)
                assert status == 0


@pytest.mark.slow
async def test_several_apis_share_a_port_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    ports = free_ports()
    first = free_port_before_another()
    async with deployment(tmp_path, ports) as environment:
        await ready(ports.ui_url)
        environment |= {"ROUTER_METRICS_PORT": str(first), "ROUTER_LOG_FORMAT": "json"}
        words = ("serve", "--port", str(ports.api), "--processes", "2")
        async with (
            running({**environment, "ROUTER_METRICS_PORT": "0"}, "worker"),
            running(environment, *words) as api,
        ):
            await asyncio.gather(*(ready(f"http://127.0.0.1:{first + at}") for at in range(2)))
            await ready(f"{ports.api_url}/readyz")
            apis = psutil.Process(api.pid).children()
            bearer = await token(environment)
            for other in apis:
                with stopped(other):
                    await ready(f"{ports.api_url}/healthz")
            apis[0].kill()
            assert await said_to(ports.api_url, bearer, "我要请年假") == "flow"
            assert apis[1].is_running()
            await ready(f"http://127.0.0.1:{first}")
            apis = psutil.Process(api.pid).children()
            assert len(apis) == 2
            status, log = await last_words(api)
    assert (status, [one for one in apis if one.is_running()]) == (0, [])
    assert "ended with SIGKILL: another starts in 0 s" in log


@contextmanager
def stopped(process: psutil.Process) -> Iterator[None]:
    """It does nothing while within."""
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def test_each_process_has_a_port_of_its_own_for_metrics() -> None:
    settings = Settings(_env_file=None, metrics_port=9100, temporal_metrics_port=9200)
    assert numbered_ports(settings, 2) == [
        {"ROUTER_METRICS_PORT": "9100", "ROUTER_TEMPORAL_METRICS_PORT": "9200"},
        {"ROUTER_METRICS_PORT": "9101", "ROUTER_TEMPORAL_METRICS_PORT": "9201"},
    ]


@pytest.mark.parametrize("port", [None, 0])
def test_where_any_port_will_do_none_is_named(port: int | None) -> None:
    assert numbered_ports(Settings(_env_file=None, metrics_port=port), 2) == [{}, {}]


def test_a_port_that_leaves_none_for_the_others_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match="ROUTER_METRICS_PORT=65535 leaves no port for"):
        numbered_ports(Settings(_env_file=None, metrics_port=65535), 2)


def test_two_rows_of_ports_that_would_meet_are_refused() -> None:
    settings = Settings(_env_file=None, metrics_port=9464, temporal_metrics_port=9465)
    assert numbered_ports(settings, 1)[0]["ROUTER_METRICS_PORT"] == "9464"
    with pytest.raises(MisconfiguredError, match="too close for 2 processes"):
        numbered_ports(settings, 2)


@pytest.mark.parametrize("number", ["0", "-1", "65", "two"])
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_number_of_processes_that_makes_no_sense_is_refused(
    run: Run, command: str, number: str
) -> None:
    outcome = run(command, "--processes", number)
    assert (outcome.status, "'--processes'" in outcome.err) == (2, True)


@pytest.mark.slow
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
def servers(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> "Servers":
    monkeypatch.setenv("ROUTER_MCP_SERVERS", str(elsewhere / "servers.json"))
    found = Servers(elsewhere / "servers.json")
    found.are(**PROGRAMS)
    return found


@dataclass(frozen=True)
class Servers:
    """The file of MCP servers."""

    file: Path

    def are(self, **entries: Any) -> None:
        self.file.write_text(json.dumps(entries))


GONE = {"command": "no-such-program-here"}


HOSTILE = {"command": sys.executable, "args": ["-c", "open('started', 'w')"]}


@pytest.mark.slow
@pytest.mark.parametrize("words", [("doctor",), ("tools", "list"), ("tools", "list", "--json")])
def test_the_env_file_of_a_folder_starts_nothing_by_a_look(
    run: Run, elsewhere: Path, words: tuple[str, ...]
) -> None:
    (elsewhere / "servers.json").write_text(json.dumps({"it": HOSTILE}))
    (elsewhere / ".env").write_text("ROUTER_MCP_SERVERS=servers.json\n")
    outcome = run(*words)
    said = outcome.out + outcome.err
    assert "not looked at: ROUTER_MCP_SERVERS is of .env in this folder" in said
    assert not (elsewhere / "started").exists()
    run(*words, "--trust-dotenv")
    assert (elsewhere / "started").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("servers")
def test_a_tool_of_a_server_is_called_through_the_gate(run: Run) -> None:
    outcome = run("tools", "call", "it__echo", '{"text": "hi"}', "--user", "alice")
    assert (outcome.status, outcome.out) == (0, '"{\\"text\\": \\"hi\\"}"\n')
    for call, line in (
        (["it__read_it", "{}"], "asks before it is called"),
        (["it__hang", "{}"], "it is for hr"),
        (["it__echo", '{"text": 3}'], "text: 3 is not of type 'string'"),
        (["it__nothing", "{}"], "there is no tool named 'it__nothing'"),
    ):
        assert line in run.refused("tools", "call", *call, "--user", "alice")


@pytest.mark.slow
def test_a_file_that_it_gives_is_kept_and_printed_as_json(
    run: Run, servers: Servers, elsewhere: Path
) -> None:
    entry = PROGRAMS["it"]
    servers.are(it={**entry, "tools": {**entry["tools"], "picture": {"permission": "read"}}})
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


def test_a_bad_file_is_refused_with_its_line(run: Run, servers: Servers) -> None:
    servers.file.write_text('{"it": {"command": "x",\n"tmeout": "1s"}}')
    told = run.refused("tools", "list")
    assert "servers.json:2: there is no key tmeout; did you mean timeout?" in told


def test_a_flow_may_call_what_a_server_brings(run: Run, servers: Servers, elsewhere: Path) -> None:
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
    servers.are()
    assert "there is no tool it__echo" in run.refused("flows", "validate", str(flow))


@pytest.mark.slow
@pytest.mark.usefixtures("servers")
def test_list_shows_what_servers_have_like_every_other_kind(run: Run) -> None:
    lines = {line.split()[0]: line for line in run("tools", "list").out.splitlines()}
    assert re.match(r"it__echo +read +everyone +mcp +servers\.json ", lines["it__echo"])
    assert re.match(r"it__hang +read +hr +mcp ", lines["it__hang"])
    assert re.match(r"get_leave_balance +read +everyone +code ", lines["get_leave_balance"])
    found = {tool["name"]: tool for tool in json.loads(run("tools", "list", "--json").out)}
    code, http, served = (found[n] for n in ("get_leave_balance", "get_weather", "it__echo"))
    assert [tool["kind"] for tool in (code, http, served)] == ["code", "http", "mcp"]
    assert code.keys() == http.keys() == served.keys()
    said = {"type", "properties", "required", "additionalProperties"}
    assert all(said <= tool["parameters"].keys() for tool in found.values())
    assert served["parameters"]["additionalProperties"] is False
    assert http["title"]["zh"] != http["title"]["en"]


@pytest.mark.slow
def test_a_server_that_is_away_is_named_and_others_listed(run: Run, servers: Servers) -> None:
    servers.are(gone=GONE, crm={"url": "https://{env.NOT_THERE}/mcp"}, **PROGRAMS)
    outcome = run("tools", "list")
    assert (outcome.status, "it__echo" in outcome.out) == (0, True)
    assert "the MCP server gone isn't there: there is no program" in outcome.err
    assert "the MCP server crm isn't there: NOT_THERE isn't set; set it" in outcome.err
    assert f"correct {servers.file}" in outcome.err
    assert outcome.err.count("isn't there") == 2
    assert "the MCP server gone" in run.refused(
        "tools", "call", "gone__echo", "{}", "--user", "bob"
    )
    with pytest.raises(MisconfiguredError, match="gone isn't there: there is no program") as found:
        asyncio.run(check_servers(Settings()))
    assert "crm isn't there: NOT_THERE isn't set" in str(found.value)
    assert "it: echo, " in str(found.value)
    assert str(found.value).endswith("or mend the server; the others are used")


@pytest.mark.slow
def test_list_tells_which_tools_are_read_in_english_by_all(run: Run, servers: Servers) -> None:
    assert run("tools", "list").err.startswith("read in English by all, in part at least: it__a_b")
    in_chinese = {
        "title": {"zh": "回声", "en": "Echo"},
        "description_zh": "说什么就回什么。",
        "labels": {"text": "说什么"},
        "permission": "read",
    }
    only = {**PROGRAMS["it"], "only": ["echo"], "tools": {"echo": in_chinese}}
    only["except"] = ["list_resources", "read_resource", "list_prompts", "get_prompt"]
    servers.are(it=only)
    outcome = run("tools", "list", "--json")
    (echo,) = [each for each in json.loads(outcome.out) if each["name"] == "it__echo"]
    assert (outcome.err, echo["in_english_only"]) == ("", [])
    assert echo["description"]["zh"] == "说什么就回什么。"
    assert echo["parameters"]["properties"]["text"]["x-zh"] == "说什么"


def test_list_shows_what_stands_in_for_a_server(run: Run, servers: Servers) -> None:
    servers.are(gone={**GONE, "fallback": "it"}, **PROGRAMS)
    assert "gone__echo" in run("tools", "list").out


def test_list_waits_only_so_long_for_a_server(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LOOKED_WITHIN", 0.5)
    silent = ["-c", "import sys; sys.stdin.read()"]
    servers.are(mute={"command": sys.executable, "args": silent})
    outcome = run("tools", "list")
    assert outcome.status == 0
    assert outcome.err.startswith("the MCP server mute isn't there: it doesn't answer within 0.5 s")


def test_doctor_looks_at_every_server_and_minds_none(servers: Servers) -> None:
    said = asyncio.run(check_servers(Settings()))
    assert said.startswith("it: echo, strict, read_it, ")
    assert "\nread in English by all, in part at least: it__echo, " in said
    servers.are()
    assert asyncio.run(check_servers(Settings())) == "none named by ROUTER_MCP_SERVERS"
