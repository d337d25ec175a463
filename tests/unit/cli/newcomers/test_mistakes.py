"""What newcomers get wrong is answered by what, which value, and what to do: in a line or a few."""

import ast
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import activities.tools
import router
from router.cli.doctor import CHECKS, examine
from router.llm.client import ModelConnection
from router.llm.health import ModelAddress, ModelHealth
from router.settings import PREFIX
from tests.fakes.model_server import MODEL, ModelServer, fails, says
from tests.fakes.web_server import WebServer, json_reply
from tests.unit.cli.conftest import Run, serving
from tests.unit.cli.newcomers.mistakes import MISTAKES, Mistake

MOST_LINES = 4
ALSO_SAID = ("not offered to anybody", "nothing of ")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith((PREFIX, "OPENAI_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def tools(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder `tools` as a part of the package of code tools."""
    path = [*activities.tools.__path__, str(elsewhere / "tools")]
    monkeypatch.setattr(activities.tools, "__path__", path)
    yield
    sys.modules.pop("activities.tools.newcomer", None)
    vars(activities.tools).pop("newcomer", None)


def make(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in mistake.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name, value in mistake.env.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_do(
    sentence: str,
    run: Run,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    taken_port: int,
    tools: None,
) -> None:
    mistake = MISTAKES[sentence]
    make(mistake, elsewhere, monkeypatch)
    outcome = run(*(w.replace("{port}", str(taken_port)) for w in mistake.words.split(" ")))
    said = [line for line in outcome.err.splitlines() if not line.startswith(ALSO_SAID)]
    assert outcome.status == mistake.status, outcome
    assert mistake.status == 0 or outcome.out == ""
    assert mistake.status == 0 or said[0].startswith("error: ")
    assert len(said) <= MOST_LINES
    assert "Traceback" not in outcome.err
    for each in mistake.says:
        assert each.replace("{port}", str(taken_port)) in outcome.err


PROXY = "http://127.0.0.1:1"
"""Where nobody listens."""
SUM = ("tools", "call", "calculate", '{"expression": "1+1"}', "--user", "alice")
CLONE = Path(router.__file__).parents[1]


@pytest.fixture
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_proxy_of_the_environment_is_not_asked_for_the_api_of_this_machine(
    run: Run, behind_a_proxy: None
) -> None:
    api = WebServer(lambda _: json_reply({"items": [], "next": None}))
    with serving(api):
        outcome = run("runs", "list", "--json", "--url", api.origin)
    assert (outcome.status, outcome.out, outcome.err) == (0, "[]\n", "")


async def test_nor_for_a_model_of_this_machine(behind_a_proxy: None) -> None:
    async with ModelServer(says("hello")) as server:
        connection = ModelConnection(server.url, MODEL)
        await connection.client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "hello"}]
        )
        await connection.aclose()
        assert await ModelHealth([ModelAddress(server.url)]).trouble() == [None]
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    "words", [("runs", "list", "--url", "http://a.example"), ("route", "hello", "--llm")]
)
def test_a_proxy_that_cannot_be_spoken_to_is_a_mistake_with_a_remedy(
    words: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "sock://127.0.0.1:1")
    monkeypatch.setenv("ROUTER_LLM_BASE_URL", "http://a.example/v1")
    monkeypatch.setenv("ROUTER_LLM_MODEL", "qwen")
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.first_line.startswith("error: ")
    for part in ("a.example", "ALL_PROXY", "sock://127.0.0.1:1", "unset it"):
        assert part in outcome.first_line


@pytest.fixture
def kept(run: Run, elsewhere: Path) -> Iterator[sqlite3.Connection]:
    """A database that a command has made, as another program has it open."""
    assert run(*SUM).status == 0
    with closing(sqlite3.connect(elsewhere / ".data/router.db", isolation_level=None)) as opened:
        yield opened


def test_a_database_that_another_program_holds_is_named_with_what_to_do(
    run: Run, kept: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.store.database.BUSY_SECONDS", 0)
    kept.execute("BEGIN EXCLUSIVE")
    outcome = run(*SUM)
    assert (outcome.status, outcome.out) == (1, "")
    assert ".data/router.db can't be used right now: database is locked" in outcome.first_line
    assert "another program has held it" in outcome.first_line


def test_a_database_of_a_newer_version_is_left_to_that_version(
    run: Run, kept: sqlite3.Connection
) -> None:
    kept.execute("UPDATE alembic_version_router SET version_num = '9999'")
    outcome = run(*SUM)
    assert (outcome.status, outcome.out) == (1, "")
    assert "'9999'" in outcome.first_line
    assert outcome.first_line.endswith("run that version")


def python_of_a_clone(code: str) -> subprocess.CompletedProcess[str]:
    """A Python that nothing was installed for, in the folder of a clone."""
    return subprocess.run(
        [sys.executable, "-S", "-E", "-c", code],
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=False,
    )


STARTED = "import runpy; runpy.run_module('router', run_name='__main__')"


def test_a_python_that_is_too_old_is_told_which_it_has_to_be() -> None:
    done = python_of_a_clone(f"import sys; sys.version_info = (3, 9, 2, 'final', 0); {STARTED}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: {sys.executable} is Python 3.9, and intent-router needs 3.11 to 3.13: "
        "`make setup` finds one, then type .venv/bin/intent-router\n"
    )


def test_what_starts_is_written_for_old_pythons_too() -> None:
    ast.parse((CLONE / "router/__main__.py").read_text("utf-8"), feature_version=(3, 7))


def test_a_python_that_nothing_is_installed_for_is_told_so() -> None:
    done = python_of_a_clone(STARTED)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: typer isn't installed for {sys.executable}: ")
    assert "make setup" in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def answered(subject: str) -> str:
    """What `doctor` finds wrong with this; all its checks together take seconds."""
    (finding,) = await examine({subject: CHECKS[subject]})
    assert not finding.fine
    assert "Error" not in finding.says.partition(":")[0]
    return finding.says


ASKED_OF_DOCTOR = {
    "A variable is misspelt": (
        "variables",
        {"ROUTER_LLM_MODLE": "qwen"},
        "ROUTER_LLM_MODLE is no setting: did you mean ROUTER_LLM_MODEL?",
    ),
    "A model has an address and no name": (
        "model",
        {"ROUTER_LLM_BASE_URL": "http://127.0.0.1:1/v1"},
        "ROUTER_LLM_MODEL isn't: set it to the model's name",
    ),
    "A model has a name and no address": (
        "model",
        {"ROUTER_LLM_MODEL": "qwen"},
        "ROUTER_LLM_MODEL=qwen is nowhere: set ROUTER_LLM_BASE_URL",
    ),
    "A model's server is down": (
        "model",
        {"ROUTER_LLM_BASE_URL": "http://127.0.0.1:1/v1", "ROUTER_LLM_MODEL": "qwen"},
        "is it running?",
    ),
    "An encoder needs what isn't installed": (
        "embedder",
        {"ROUTER_EMBEDDER": "sentence-transformers:bge-m3"},
        "pip install 'intent-router[sentence-transformers]'",
    ),
    "An encoder that there isn't": ("embedder", {"ROUTER_EMBEDDER": "word2vec"}, "word2vec"),
    "Thresholds aren't there": ("thresholds", {"ROUTER_THRESHOLDS": "t.json"}, "take ROUTER_THRES"),
    "Temporal is down": ("temporal", {"ROUTER_TEMPORAL_ADDRESS": "127.0.0.1:1"}, "127.0.0.1:1"),
    "No flow is in the folder": ("flows", {"ROUTER_FLOWS": "."}, "name a folder of *.yaml files"),
}


@pytest.mark.parametrize("sentence", ASKED_OF_DOCTOR)
async def test_doctor_says_what_to_do_about_it(
    sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, env, said = ASKED_OF_DOCTOR[sentence]
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert said in await answered(subject)


@pytest.mark.parametrize(
    ("status", "said"), [(401, "ROUTER_LLM_API_KEY"), (404, MODEL)], ids=["key", "name"]
)
async def test_a_model_that_wants_another_key_or_name_is_told_so(
    status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(fails(status)) as server:
        monkeypatch.setenv("ROUTER_LLM_BASE_URL", server.url)
        monkeypatch.setenv("ROUTER_LLM_MODEL", MODEL)
        assert said in await answered("model")


async def test_half_a_model_in_variables_of_everybody_is_only_remarked_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (finding,) = await examine({"model": CHECKS["model"]})
    assert finding.fine
    assert "ROUTER_LLM_MODEL isn't" in finding.says


def test_there_are_more_than_fifty() -> None:
    assert len(MISTAKES) > 50
