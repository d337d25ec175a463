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

import company.tools
import router
from router.cli.doctor import CHECKS, examine
from router.llm.connection import ModelConnection
from router.llm.health import ModelAddress, ModelHealth
from router.settings import PREFIX
from tests.fakes.model_server import MODEL, ModelServer, fails, says
from tests.fakes.web_server import WebServer, json_reply
from tests.unit.cli.conftest import Run, serving
from tests.unit.cli.newcomers.mistakes import MISTAKES

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
    path = [*company.tools.__path__, str(elsewhere / "tools")]
    monkeypatch.setattr(company.tools, "__path__", path)
    yield
    sys.modules.pop("company.tools.newcomer", None)
    vars(company.tools).pop("newcomer", None)


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_do(
    sentence: str, run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, taken_port: int
) -> None:
    mistake = MISTAKES[sentence]
    for name, text in mistake.files.items():
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(text)
    for name, value in mistake.env.items():
        monkeypatch.setenv(name, value)
    outcome = run(*(w.replace("{port}", str(taken_port)) for w in mistake.words.split(" ")))
    said = [line for line in outcome.err.splitlines() if not line.startswith(ALSO_SAID)]
    assert outcome.status == mistake.status, outcome
    assert mistake.status == 0 or (outcome.out, said[0][:7]) == ("", "error: ")
    assert len(said) <= MOST_LINES
    assert "Traceback" not in outcome.err
    for each in mistake.says:
        assert each.replace("{port}", str(taken_port)) in outcome.err


SUM = ("tools", "call", "calculate", '{"expression": "1+1"}', "--user", "alice")
CLONE = Path(router.__file__).parents[1]


@pytest.fixture
def _behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_behind_a_proxy")
def test_a_proxy_of_the_environment_is_not_asked_for_the_api_of_this_machine(run: Run) -> None:
    api = WebServer(lambda _: json_reply({"items": [], "next": None}))
    with serving(api):
        assert run.printed("runs", "list", "--json", "--url", api.origin) == "[]\n"


@pytest.mark.usefixtures("_behind_a_proxy")
async def test_nor_for_a_model_of_this_machine() -> None:
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
    told = run.refused(*words)
    for part in ("error: ", "a.example", "ALL_PROXY", "sock://127.0.0.1:1", "unset it"):
        assert part in told


@pytest.fixture
def kept(run: Run, elsewhere: Path) -> Iterator[sqlite3.Connection]:
    """A database that a command has made, as another program has it open."""
    assert run(*SUM).status == 0
    with closing(sqlite3.connect(elsewhere / ".data/router.db", isolation_level=None)) as opened:
        yield opened


@pytest.mark.slow
def test_a_database_that_another_program_holds_is_named_with_what_to_do(
    run: Run, kept: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.store.database.BUSY_SECONDS", 0)
    kept.execute("BEGIN EXCLUSIVE")
    told = run.refused(*SUM)
    assert ".data/router.db can't be used right now: database is locked" in told
    assert "another program has held it" in told


@pytest.mark.slow
def test_a_database_of_a_newer_version_is_left_alone(run: Run, kept: sqlite3.Connection) -> None:
    kept.execute("UPDATE alembic_version_router SET version_num = '9999'")
    told = run.refused(*SUM)
    assert ("'9999'" in told, told.endswith("run that version")) == (True, True)


def python_of_a_clone(code: str) -> str:
    """What a Python that nothing was installed for says in a clone, where it refuses."""
    words = [sys.executable, "-S", "-E", "-c", code]
    done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


STARTED = "import runpy; runpy.run_module('router', run_name='__main__')"


def test_a_python_that_is_too_old_is_told_which_it_has_to_be() -> None:
    old = f"import sys; sys.version_info = (3, 9, 2, 'final', 0); {STARTED}"
    assert python_of_a_clone(old) == (
        f"error: {sys.executable} is Python 3.9, and intent-router needs 3.11 to 3.13: "
        "`make setup` finds one, then type .venv/bin/intent-router\n"
    )


def test_what_starts_is_written_for_old_pythons_too() -> None:
    ast.parse((CLONE / "router/__main__.py").read_text("utf-8"), feature_version=(3, 7))


def test_a_python_that_nothing_is_installed_for_is_told_so() -> None:
    (line,) = python_of_a_clone(STARTED).splitlines()
    assert line.startswith(f"error: typer isn't installed for {sys.executable}: ")
    assert "make setup" in line


async def answered(subject: str) -> str:
    """What `doctor` finds wrong with this; all its checks together take seconds."""
    (finding,) = await examine({subject: CHECKS[subject]})
    assert not finding.fine
    assert "Error" not in finding.says.partition(":")[0]
    return finding.says


DEAD = "http://127.0.0.1:1/v1"
"""A model server's address where there is none."""
ASKED_OF_DOCTOR = [
    ("variables", {"LLM_MODLE": "qwen"}, "_MODLE is no setting: did you mean ROUTER_LLM_MODEL?"),
    ("model", {"LLM_BASE_URL": DEAD}, "ROUTER_LLM_MODEL isn't: set it to the model's name"),
    ("model", {"LLM_MODEL": "qwen"}, "_MODEL=qwen is nowhere: set ROUTER_LLM_BASE_URL"),
    ("model", {"LLM_BASE_URL": DEAD, "LLM_MODEL": "qwen"}, "is it running?"),
    (
        "embedder",
        {"EMBEDDER": "sentence-transformers:bge-m3"},
        "pip install 'sentence-transformers",
    ),
    ("embedder", {"EMBEDDER": "word2vec"}, "word2vec"),
    ("thresholds", {"THRESHOLDS": "t.json"}, "take ROUTER_THRES"),
    ("temporal", {"TEMPORAL_ADDRESS": "127.0.0.1:1"}, "127.0.0.1:1"),
    ("flows", {"FLOWS": "."}, "name a folder of *.yaml files"),
]


@pytest.mark.parametrize(("subject", "env", "said"), ASKED_OF_DOCTOR)
async def test_doctor_says_what_to_do_about_it(
    subject: str, env: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(f"ROUTER_{name}", value)
    assert said in await answered(subject)


async def test_doctor_names_managers_who_are_not_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    people = tmp_path / "people.yaml"
    people.write_text("users:\n  - {id: ann, name: Ann, manager: bne}\n")
    monkeypatch.setenv("ROUTER_DIRECTORY", str(people))
    assert "people.yaml:2: ann's manager=bne isn't listed" in await answered("directory")


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
