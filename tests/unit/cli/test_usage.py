"""How the command line answers, how it fails, how quick it is."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


def test_help_is_there_in_less_than_a_third_of_a_second() -> None:
    command = [sys.executable, "-m", "router", "--help"]
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[3])
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.3


def test_without_words_is_help(run: Run) -> None:
    outcome = run()
    assert outcome.status == 0
    assert "Commands:" in outcome.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["rout"], "error: No such command 'rout'"),
        (["dev", "--port", "70000"], "'70000' is no port: choose one from 1 to 65535"),
        (["dev", "--ui-port", "x"], "'x' is no port"),
        (["flows"], "error: Missing command."),
        (["token"], "error: Missing option '--user'."),
        (["token", "--user", "alice", "--ttl", "soon"], "--ttl 'soon' is no duration"),
        (["tools", "call", "x", "{", "--user", "alice"], "JSON '{' isn't JSON"),
        (["tools", "call", "x", "[1]", "--user", "alice"], "JSON '[1]' is no object"),
    ],
)
def test_mistakes_end_with_2_and_name_the_value_first(
    run: Run, words: list[str], line: str
) -> None:
    outcome = run(*words)
    assert outcome.status == 2
    assert line in outcome.first_line
    assert outcome.first_line.startswith("error: ")
    assert outcome.out == ""


def test_an_unusable_setting_ends_with_1_and_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "none")
    outcome = run("token", "--user", "alice")
    assert outcome.status == 1
    assert outcome.first_line.startswith("error: ROUTER_AUTH=none can't be used: ")


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_processes_of_their_own_refuse_sqlite(run: Run, command: str) -> None:
    outcome = run(command)
    assert outcome.status == 1
    assert "ROUTER_DATABASE_URL is SQLite, which serves one process alone" in outcome.err


def test_dev_authentication_is_refused_off_loopback(run: Run) -> None:
    outcome = run("serve", "--host", "0.0.0.0")
    assert outcome.status == 1
    assert "ROUTER_AUTH=dev lets anyone be anyone" in outcome.first_line
