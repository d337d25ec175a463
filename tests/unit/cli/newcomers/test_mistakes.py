"""What newcomers get wrong is answered by what, which value, and what to do: in a line or a few."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import activities.tools
from router.cli.checks import CHECKS, examine
from router.settings import PREFIX
from tests.fakes.behaviours import fails
from tests.fakes.model_server import MODEL, ModelServer
from tests.unit.cli.conftest import Run
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
    "Temporal is down": (
        "temporal",
        {"ROUTER_TEMPORAL_ADDRESS": "127.0.0.1:1"},
        "127.0.0.1:1",
    ),
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
