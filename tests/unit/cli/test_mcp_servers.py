"""Commands where MCP servers are named: their tools are called, and their faults told."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from router.cli.checks import services
from router.domain.errors import MisconfiguredError
from router.domain.records import FileRecord
from router.settings import Settings
from router.store.database import Database
from router.store.files import DatabaseFiles
from tests.fakes.mcp_program import PROGRAM
from tests.unit.cli.conftest import Run

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
        return await DatabaseFiles(database).find("default", file)
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


def test_doctor_looks_at_every_server(servers: Path) -> None:
    said = asyncio.run(services.mcp(Settings()))
    assert said.startswith("it: echo, strict, read_it, ")
    servers.write_text(json.dumps({**PROGRAMS, "gone": {"command": "no-such-program-here"}}))
    with pytest.raises(MisconfiguredError, match="gone isn't there: there is no program") as found:
        asyncio.run(services.mcp(Settings()))
    assert "it: echo, " in str(found.value)
    assert str(found.value).endswith("or mend the server; the others are used")


async def test_doctor_minds_no_servers() -> None:
    assert await services.mcp(Settings()) == "none named by ROUTER_MCP_SERVERS"
