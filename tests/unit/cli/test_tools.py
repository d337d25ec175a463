"""`intent-router tools list` and `tools call`."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

BALANCE = ("tools", "call", "get_leave_balance", '{"leave_type": "annual"}', "--user", "alice")


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
