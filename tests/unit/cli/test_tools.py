"""`intent-router tools list` and `tools call`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tests.fakes.web_server import WebServer, json_reply
from tests.unit.cli.conftest import Run, serving

BALANCE = ("tools", "call", "get_leave_balance", '{"leave_type": "annual"}', "--user", "alice")


@pytest.fixture
def web() -> Iterator[WebServer]:
    """A server that repeats what it is asked for."""
    server = WebServer(lambda got: json_reply({"target": got.target}))
    with serving(server):
        yield server


def test_list_says_who_may_call_what(run: Run) -> None:
    outcome = run("tools", "list")
    assert outcome.status == 0
    line = next(line for line in outcome.out.splitlines() if line.startswith("get_leave_balance"))
    assert re.fullmatch(r"get_leave_balance +read +everyone +\S.*", line)


def test_call_prints_json_and_needs_nothing_but_a_folder(run: Run, elsewhere: Path) -> None:
    outcome = run(*BALANCE, "--data", "some/where")
    assert (outcome.status, outcome.err) == (0, "")
    assert json.loads(outcome.out)["days"] > 0
    assert (elsewhere / "some" / "where" / "router.db").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nothing_such", "{}", "--user", "alice"], "there is no tool named 'nothing_such'"),
        (["get_leave_balance", "{}", "--user", "nobody"], "--user 'nobody' isn't in the directory"),
        (["get_leave_balance", '{"leave_type": "x"}', "--user", "alice"], "leave_type"),
    ],
)
def test_refusals_end_with_1(run: Run, words: list[str], line: str) -> None:
    outcome = run("tools", "call", *words)
    assert (outcome.status, outcome.out) == (1, "")
    assert line in outcome.first_line


ADJUST: tuple[str, ...] = ("tools", "call", "adjust_leave_balance")


@pytest.mark.parametrize(
    ("days", "line"),
    [
        (-300, "300 days are more than the 15 that are left"),
        (400, "days: Input should be less than or equal to 366"),
        (1, "add --yes"),
    ],
)
def test_what_would_be_refused_is_said_before_a_yes_is_asked_for(
    run: Run, days: int, line: str
) -> None:
    given = {"employee": "frank", "leave_type": "annual", "days": days, "reason": "why"}
    outcome = run(*ADJUST, json.dumps(given), "--user", "dave")
    assert (outcome.status, outcome.out) == (1, "")
    assert line in outcome.first_line


def test_list_says_what_kind_each_is_and_where_it_is_declared(run: Run) -> None:
    lines = {line.split()[0]: line for line in run("tools", "list").out.splitlines()}
    assert re.search(r" code +leave\.py ", lines["get_leave_balance"])
    assert re.search(r" http +weather\.json ", lines["get_weather"])


def test_list_tells_operations_of_a_document_from_what_is_declared_alone(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = {"operationId": "getCustomer", "summary": "A customer"}
    document = {"openapi": "3.1.0", "paths": {"/customer": {"get": operation}}}
    (elsewhere / "crm.json").write_text(json.dumps(document))
    selection = {
        "openapi": "crm.json",
        "server": "https://crm.example.com",
        "operations": ["getCustomer"],
    }
    (elsewhere / "offer.json").write_text(json.dumps(selection))
    (elsewhere / "a.json").write_text(json.dumps(TestValidate.GOOD))
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", ".")
    kinds = {each["name"]: each["kind"] for each in json.loads(run("tools", "list", "--json").out)}
    assert (kinds["getCustomer"], kinds["a"]) == ("openapi", "http")


def test_list_names_what_is_not_offered_and_the_setting_that_would_give_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run("tools", "list").err.splitlines()
    assert "not offered to anybody: convert_currency; set ROUTER_RATES_URL" in said
    assert "not offered to anybody: run_skill_script; set ROUTER_SKILL_SANDBOX" in said
    assert "nothing of web_search.json: ROUTER_TOOL_SEARCH_URL isn't set; set it" in said
    found = {each["name"]: each for each in json.loads(run("tools", "list", "--json").out)}
    assert found["convert_currency"]["lacks"] == "ROUTER_RATES_URL"
    assert found["calculate"]["lacks"] is None
    monkeypatch.setenv("ROUTER_RATES_URL", "https://rates.example/daily.json")
    assert "convert_currency" not in run("tools", "list").err


class TestValidate:
    GOOD: ClassVar = {
        "name": "a",
        "description": "b",
        "endpoint": {"url": "https://a.example"},
    }

    def test_the_files_in_use_are_checked(self, run: Run) -> None:
        outcome = run("tools", "validate")
        assert outcome.status == 0
        assert re.search(r"^ok  get_weather in .*weather\.json$", outcome.out, re.MULTILINE)
        assert "web_search.json: ROUTER_TOOL_SEARCH_URL isn't set" in outcome.out

    def test_every_problem_of_a_file_is_told_and_ends_with_1(
        self, run: Run, elsewhere: Path
    ) -> None:
        (elsewhere / "a.json").write_text(json.dumps({**self.GOOD, "nam": 1, "retries": "x"}))
        outcome = run("tools", "validate", "a.json")
        assert outcome.status == 1
        assert outcome.first_line == "error: a.json:1: there is no nam; did you mean name?"
        assert "retries is 'x'" in outcome.err

    def test_a_folder_is_checked_whole(self, run: Run, elsewhere: Path) -> None:
        (elsewhere / "a.json").write_text(json.dumps(self.GOOD))
        (elsewhere / "b.json").write_text(json.dumps({**self.GOOD, "name": "b"}))
        assert run("tools", "validate", ".").out == "ok  a in a.json\nok  b in b.json\n"


def test_a_declared_tool_is_called_like_any_other(
    run: Run, elsewhere: Path, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {
        "name": "get_ticket",
        "description": "A ticket.",
        "parameters": {"properties": {"id": {"type": "string"}}, "required": ["id"]},
        "endpoint": {"url": f"{web.origin}/tickets/{{id}}?by={{context.user_id}}"},
    }
    (elsewhere / "ticket.json").write_text(json.dumps(declared))
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", "ticket.json")
    call = ("tools", "call", "get_ticket", '{"id": "a/7"}', "--user", "alice")
    refused = run(*call)
    assert (refused.status, "isn't https" in refused.err) == (1, True)
    monkeypatch.setenv("ROUTER_HTTP_ALLOW", json.dumps([web.origin]))
    outcome = run(*call)
    assert (outcome.status, json.loads(outcome.out)) == (0, {"target": "/tickets/a%2F7?by=alice"})
