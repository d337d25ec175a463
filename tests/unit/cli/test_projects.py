"""A company's own project: what is written, what it loads, and what it refuses."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.table import each_row
from tests.unit.cli.conftest import Run


@pytest.fixture
def acme(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a new project, which is the working directory."""
    folder = tmp_path / "acme"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run("new", "project", "acme", "--locale", "zh")
    path = [*sys.path]
    yield folder
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


def test_a_project_has_its_own_tools_and_hooks_and_none_of_the_sample_company(
    run: Run, acme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("new", "tool", "badge")
    run("new", "hook", "no_fridays")
    monkeypatch.chdir(acme / "flows")

    tools, hooks = run("tools", "list").out, run("hooks").out

    assert (acme / "acme" / "tools" / "badge.py").is_file()
    assert "opening_hours" in tools
    assert "badge" in tools
    assert "get_leave_balance" not in tools
    assert "no_fridays" in hooks
    assert "pay" not in hooks


def test_a_new_project_starts_its_flow_and_answers_about_nothing_else(run: Run, acme: Path) -> None:
    del acme
    assert "flow access_card, by pattern" in run("route", "我要申请门禁卡").out
    assert "leave_request" not in run("route", "我要请年假").out


@each_row(
    ("name", "reason"),
    [
        ("router", "the router has a package 'router'"),
        ("activities", "the router has a package 'activities'"),
        ("json", "Python has a package 'json'"),
        ("pydantic", "is already installed at"),
        ("Acme", "small letters"),
        ("my-company", "small letters"),
        ("a" * 41, "up to 40"),
    ],
)
def test_a_project_is_not_called_as_another_package_is(
    run: Run, name: str, reason: str, tmp_path: Path
) -> None:
    assert reason in run.refused("new", "project", name, "--folder", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@each_row(
    ("line", "reason"),
    [
        ('packages = ["router"]', "rename the package"),
        ('packages = ["httpx2"]', "is already installed at"),
        ('packages = ["acme.tools.opening_hours"]', "is a module; name the package"),
        ('packages = ["nowhere"]', "there is no package 'nowhere'"),
        ('flow = "flows"', "flow is no setting: did you mean flows?"),
        ('llm_api_key = "secret"', "llm_api_key is a secret"),
        ("intake_seconds = -1", "INTAKE_SECONDS"),
        ("packages = [", "can't be read"),
    ],
)
def test_a_fault_in_the_file_of_a_project_is_named(
    run: Run, acme: Path, line: str, reason: str
) -> None:
    (acme / "pyproject.toml").write_text(f"[tool.intent-router]\n{line}\n", encoding="utf-8")
    (acme / "httpx2").mkdir(exist_ok=True)

    refused = run.refused("tools", "list")

    assert reason in refused
    assert '"secret"' not in refused


@pytest.mark.slow
def test_the_stories_and_tests_of_a_new_project_pass(acme: Path) -> None:
    command = str(Path(sys.executable).with_name("intent-router"))

    stories = subprocess.run(
        [command, "flows", "test"], cwd=acme, capture_output=True, text=True, check=False
    )
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=acme,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (stories.returncode, tests.returncode) == (0, 0), (stories.stderr, tests.stdout)
    assert "2 stories, 0 failed" in stories.stdout
