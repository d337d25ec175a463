"""A stranger's installed extension: its tools and its model, in the commands that use them."""

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from router import cli
from router.extension import ENTRY_POINT_GROUP
from router.llm import protocol_table
from router.runtime import extensions
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.cli.conftest import Run, serving

pytestmark = pytest.mark.slow

MODULE = '''"""What Acme has installed."""

import json

from pydantic_settings import SettingsConfigDict

from router.extension import Extension
from router.sdk.model_protocols import ParsedAnswer, WireProtocol
from router.sdk.tool_sources import PolledToolSource, make_tool
from router.settings import Section


class CatalogSettings(Section):
    model_config = SettingsConfigDict(env_prefix="ROUTER_CATALOG_")
    file: str = ""


class CatalogSource(PolledToolSource):
    name = "catalog"
    prefix = "catalog__"

    async def fetch_tools(self):
        with open(self.settings.section(CatalogSettings).file) as services:
            return [make_service(*each) for each in json.load(services).items()]


def make_service(name, permission):
    async def call(arguments, ctx):
        return {"service": name, "for": ctx.caller.id, "key": ctx.key != "", **arguments}

    floor = {"type": "object", "properties": {"floor": {"type": "integer"}}}
    about = f"Orders a {name}."
    return make_tool(f"catalog__{name}", about, floor, call, permission=permission, kind="catalog")


class CatalogExtension(Extension):
    name = "catalog"

    def settings(self):
        return CatalogSettings

    def tool_sources(self):
        return [CatalogSource]

    def model_protocols(self):
        return {"acme": "acme_catalog:PROTOCOL"}


class AcmeProtocol(WireProtocol):
    provider = "acme"

    def url(self, base_url, body):
        return f"{base_url}/generate"

    def write(self, model, writer, stream):
        writer.body |= {"engine": model, "said": [each.text for each in writer.messages]}

    def parse(self, body):
        return ParsedAnswer(text=body["text"], finish="stop", model="acme-7")


PROTOCOL = AcmeProtocol()
'''

FLOW = """
flow: badge
version: 1
title: {zh: 门卡, en: Badge}
description: {zh: 办门卡, en: A badge}
triggers: {examples: [a badge], patterns: ["a badge"]}
start: issue
states:
  issue:
    call: catalog__badge
    with: {floor: "3"}
    save: badge
    next: done
    on_error: no
  done:
    say: {zh: "{{ results.badge.number }} 号", en: "Number {{ results.badge.number }}"}
    end: completed
  no: {say: {zh: 没办成, en: It failed}, end: rejected}
"""
STORIES = """
- story: the catalogue would say
  tool_answers: {catalog__badge: {number: 7}}
  steps:
    - user: a badge
    - bot: Number 7
    - {tool: catalog__badge, with: {floor: 3}, times: 1}
- story: nobody says what it answers
  steps: [{user: a badge}, {bot: It failed}]
"""


@pytest.fixture(autouse=True)
def services(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the catalogue, whose extension is installed."""
    (elsewhere / "acme_catalog.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(elsewhere))
    there = EntryPoint("catalog", "acme_catalog:CatalogExtension", ENTRY_POINT_GROUP)
    installed = (*extensions._installed(), there)
    monkeypatch.setattr(extensions, "_installed", lambda: installed)
    file = elsewhere / "services.json"
    file.write_text(json.dumps({"badge": "write", "floor_plan": "read"}))
    monkeypatch.setenv("ROUTER_CATALOG_FILE", str(file))
    before = [*protocol_table._IN_USE]
    for known in (extensions._loaded_once, cli.installed_commands):
        known.cache_clear()
    yield file
    monkeypatch.undo()
    protocol_table._IN_USE[:] = before
    for known in (extensions._loaded_once, cli.installed_commands):
        known.cache_clear()


def test_its_tools_are_listed_and_one_that_is_away_is_named(run: Run, services: Path) -> None:
    lines = {line.split()[0]: line.split() for line in run("tools", "list").out.splitlines()}
    assert lines["catalog__badge"][1:4] == ["write", "everyone", "catalog"]
    assert lines["catalog__floor_plan"][1:4] == ["read", "everyone", "catalog"]
    assert "get_leave_balance" in lines
    services.unlink()
    outcome = run("tools", "list")
    assert (outcome.status, "catalog__badge" in outcome.out) == (0, False)
    assert "the source of tools catalog isn't there: FileNotFoundError" in outcome.err


def test_a_folder_s_env_file_has_nothing_asked_by_a_look(
    run: Run, elsewhere: Path, services: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROUTER_CATALOG_FILE")
    (elsewhere / ".env").write_text(f"ROUTER_CATALOG_FILE={services}\n")
    outcome = run("tools", "list")
    said = "the source of tools catalog: not looked at: ROUTER_CATALOG_FILE is of .env"
    assert said in outcome.err
    assert "catalog__badge" not in outcome.out
    assert "catalog__badge" in run("tools", "list", "--trust-dotenv").out


def test_its_tools_are_called_through_the_gate(run: Run) -> None:
    call = ("tools", "call", "catalog__badge", '{"floor": 3}', "--user", "alice")
    assert "asks before it is called" in run.refused(*call)
    said = json.loads(run(*call, "--yes").out)
    assert said == {"service": "badge", "for": "alice", "key": True, "floor": 3}
    wrong = ("tools", "call", "catalog__badge", '{"flor": 3}', "--user", "alice", "--yes")
    assert "'flor' isn't known here" in run.refused(*wrong)


def test_flows_name_its_tools_and_stories_stub_them(
    run: Run, elsewhere: Path, services: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows, stories = elsewhere / "flows", elsewhere / "stories"
    for folder, text in ((flows, FLOW), (stories, STORIES)):
        folder.mkdir()
        (folder / "badge.yaml").write_text(text)
    services.unlink()  # stories ask nobody
    monkeypatch.setenv("ROUTER_FLOWS", str(flows))
    assert run("flows", "validate").status == 0
    outcome = run("flows", "test", str(stories))
    assert outcome.status == 0, outcome
    monkeypatch.setenv("ROUTER_EXTENSIONS_OFF", "catalog")
    assert "there is no tool catalog__badge" in run.refused("flows", "validate")


def test_a_model_is_asked_in_its_protocol(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(got: Got) -> Reply:
        return json_reply({"text": "yes"}) if got.target == "/generate" else json_reply({}, 404)

    with serving(server := WebServer(answer)):
        for name, value in (("BASE_URL", server.origin), ("MODEL", "big"), ("PROTOCOL", "acme")):
            monkeypatch.setenv(f"ROUTER_LLM_{name}", value)
        said = next(line for line in run("doctor").out.splitlines() if " model " in f" {line} ")
        assert "answers as acme-7, asked by plain text (acme)" in said
        monkeypatch.setenv("ROUTER_EXTENSIONS_OFF", "catalog")
        outcome = run("doctor")
    assert "ROUTER_LLM_PROTOCOL names the protocol 'acme', which there isn't" in outcome.out


def test_it_is_listed_with_the_others(run: Run) -> None:
    assert "catalog " in run("extensions").out
