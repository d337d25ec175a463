"""How the command line answers, how it fails, how quick it is."""

import os
import subprocess
import sys

import pytest

from router.cli import COMMANDS
from tests.unit.cli.conftest import Run

HEAVY = {"pydantic", "temporalio", "fastapi", "sqlalchemy", "httpx", "rich"}


def test_help_is_there_at_once() -> None:
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "router", "--help"], check=True, stdout=subprocess.DEVNULL
    )
    after = os.times()
    taken = after.children_user - before.children_user + after.children_system
    assert taken - before.children_system < 0.3  # of CPU: other tests may run beside this one


def test_what_a_command_needs_is_imported_when_it_runs() -> None:
    script = f"""
import sys, router.cli
sys.argv[1:] = ["--help"]
try:
    router.cli.main()
finally:
    print(*sorted(sys.modules.keys() & {HEAVY!r}), file=sys.stderr)
"""
    outcome = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "Commands:" in outcome.stdout
    assert outcome.stderr == "\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str, run: Run) -> None:
    shown = run(name, "--help")
    usage, _, about = " ".join(shown.out.split()).removeprefix("Usage: ").partition("] ")
    assert usage.startswith(f"intent-router {name} ")
    assert COMMANDS[name][1].rstrip(".") in about


def test_without_words_it_shows_help_and_that_something_was_missing(run: Run) -> None:
    outcome = run()
    assert outcome.status == 2
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
