"""`docs/evaluation.md`: what it shows works, and it shows everything."""

import inspect
import json
import re
import shlex
from pathlib import Path

import pytest

from router.cli.evaluation import evaluate
from router.evaluation.dataset import TARGETLESS, LabelledLine
from tests.unit.cli.conftest import Run
from tests.unit.cli.labelled import CLAIM, LEAVE, UNUSUAL, keep, report, written

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("intent-router ")[2]
    for line in PAGE.splitlines()
    if ".venv/bin/intent-router " in line
]

pytestmark = pytest.mark.usefixtures("vectors")


@pytest.fixture
def _files(elsewhere: Path) -> None:
    """What the page's commands name."""
    (elsewhere / "docs").symlink_to(ROOT / "docs")
    written(*UNUSUAL, name="dev.jsonl")
    written(*UNUSUAL, name="test.jsonl")
    written(LEAVE, CLAIM, name="requests.jsonl")
    keep("c1", "alice", "看看我还能休多久", "get_leave_balance")


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_runs(run: Run, command: str) -> None:
    outcome = run(*shlex.split(command))
    assert (outcome.status, outcome.err) == (0, "")
    assert "accuracy " in outcome.out


def test_the_lines_that_the_page_shows_are_read(run: Run) -> None:
    (shown,) = re.findall(r"```jsonl\n(.*?)```", PAGE, re.DOTALL)
    Path("shown.jsonl").write_text(shown, encoding="utf-8")
    outcome = run("eval", "shown.jsonl")
    assert outcome.status == 0
    assert "slot        100.0 % (1 of 1) leave_request.start" in outcome.out


def test_the_example_is_right_wherever_rules_decide_values_included(run: Run) -> None:
    example = ROOT / "docs" / "examples" / "requests.jsonl"
    assert run("eval", str(example), "--report", "report").status == 0
    by_rules = [line for line in report()["results"] if line["by"] == "pattern"]
    assert len(by_rules) >= 7
    assert all(line["right"] and all(line["slots"].values()) for line in by_rules)


@pytest.mark.parametrize("key", [*LabelledLine.model_fields, *sorted(TARGETLESS)])
def test_every_key_and_kind_of_label_is_described(key: str) -> None:
    assert re.search(rf"`[^`]*\b{key}\b[^`]*`", PAGE)


@pytest.mark.parametrize("name", list(inspect.signature(evaluate).parameters))
def test_every_option_is_described(name: str) -> None:
    assert name == "file" or f"`--{name.replace('_', '-')}" in PAGE


def test_the_report_says_what_the_page_calls_its_files(run: Run) -> None:
    run("eval", written({"text": "我要请假", "label": "leave_request"}), "--report", "report")
    for file in Path("report").iterdir():
        assert f"`{file.name}`" in PAGE
    assert json.loads(Path("report/report.json").read_text(encoding="utf-8"))
