"""A company's own project: what is written, what it loads, and what it refuses."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_settings import SettingsConfigDict

from router.cli.checks import services
from router.cli.doctor import CHECKS, examine
from router.domain.errors import MisconfiguredError, Unavailable
from router.runtime.extensions import check_sections
from router.settings import Section, Settings
from tests.table import each_row
from tests.unit.cli.conftest import Run


@pytest.fixture
def acme(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a new project, which is the working directory."""
    folder = tmp_path / "acme"
    monkeypatch.chdir(tmp_path)
    run("new", "project", "acme", "--locale", "zh")
    monkeypatch.chdir(folder)
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


def test_a_declared_tool_of_a_project_is_found_where_it_is_written(run: Run, acme: Path) -> None:
    written = run.printed("new", "tool", "cars", "--kind", "http")
    server = run.printed("new", "tool", "badges", "--kind", "mcp")

    listed = run("tools", "list").out

    assert "wrote acme/tools/http/cars.json" in written
    assert "wrote tests/test_cars.py" in written
    assert "acme/tools/http/cars.json" in listed
    assert "acme/tools/opening_hours.py" in listed
    line = 'servers = "mcp_servers/badges.json"'
    assert f"then  put {line} under [tool.intent-router.mcp] in pyproject.toml" in server
    assert (acme / "tests" / "test_badges.py").is_file()


def test_a_second_project_is_not_written_into_the_folder_of_another(run: Run, acme: Path) -> None:
    refused = run.refused("new", "project", "acme", "--folder", ".")
    assert "pyproject.toml is there already and nothing was written: add to that project" in refused
    assert run.refused("new", "project", "beta", "--folder", str(acme)) != ""
    assert "is within the project in" in run.refused("new", "project", "acme")
    assert not (acme / "acme" / "pyproject.toml").exists()


def test_paths_in_the_next_commands_are_quoted(run: Run, tmp_path: Path) -> None:
    written = run.printed("new", "project", "beta", "--folder", "two words")
    assert "next  cd 'two words'" in written
    written = run.printed("new", "flow", "desk_lamp", "--folder", "two words/flows")
    assert "flows test 'two words/flows/tests/desk_lamp.yaml'" in written
    assert 'route "I need the desk lamp"' in written


async def test_doctor_names_the_project_and_fails_for_no_temporal_that_nobody_named(
    acme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(_: Settings) -> None:
        raise Unavailable("nothing answers")

    monkeypatch.setattr(services, "connect", connect)
    subjects = ("project", "temporal", "namespace")
    checks = {subject: CHECKS[subject] for subject in subjects}

    project, temporal, namespace = await examine(checks)
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "temporal.example:7233")
    _, named, _ = await examine(checks)

    assert project.says == f"{acme}, which sets directory, flows, packages, persona, skills"
    assert (temporal.fine, temporal.looked_at) == (True, False)
    assert "`intent-router dev` starts its own" in temporal.says
    assert namespace.says == "not looked at: see temporal"
    assert (named.fine, named.says) == (False, "nothing answers")


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
        ("intake_seconds = -1", "pyproject.toml: intake_seconds = -1 can't be used"),
        ('ROUTER_LLM_MODEL = "qwen"', "did you mean llm_model?"),
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


def test_a_folder_that_the_project_names_and_lacks_is_named_with_the_file(
    run: Run, acme: Path
) -> None:
    (acme / "pyproject.toml").write_text('[tool.intent-router]\nflows = "nowhere"\n')
    assert "pyproject.toml: flows = 'nowhere' is no folder" in run.refused("flows", "validate")


@each_row(
    ("lines", "reason"),
    [
        ('[tool.intent-router.mail]\nhots = "x"', "hots is no setting: did you mean host?"),
        (
            '[tool.intent-router.mial]\nhost = "x"',
            "reads [tool.intent-router.mial]: did you mean mail?",
        ),
        ('[tool.intent-router.mail]\nport = "x"', "pyproject.toml: port = 'x' can't be used"),
        ('[tool.intent-router.mail]\npassword = "x"', "set ROUTER_MAIL_PASSWORD in .env"),
    ],
)
def test_a_fault_in_the_settings_of_an_extension_is_named(
    acme: Path, lines: str, reason: str
) -> None:
    (acme / "pyproject.toml").write_text(f"{lines}\n", encoding="utf-8")
    with pytest.raises(MisconfiguredError) as refused:
        check_sections(Settings.load())
    assert reason in str(refused.value)


def test_two_extensions_may_read_one_table(acme: Path) -> None:
    table = '[tool.intent-router.mcp]\nservers = "s.json"\nurl = "https://desk.example.com/mcp"\n'
    (acme / "pyproject.toml").write_text(table, encoding="utf-8")
    check_sections(Settings.load())
    (acme / "pyproject.toml").write_text(f"{table}serves = 1\n", encoding="utf-8")
    with pytest.raises(MisconfiguredError, match="serves is no setting: did you mean servers"):
        check_sections(Settings.load())


class BadgeSettings(Section):
    """Settings such as an extension has."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_BADGES_")

    printers: int = 1


def test_the_settings_of_an_extension_stand_in_a_table_of_the_project(
    acme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (acme / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n[tool.intent-router.badges]\nprinters = 3\n")
    assert BadgeSettings.load().printers == 3
    monkeypatch.setenv("ROUTER_BADGES_PRINTERS", "2")
    assert BadgeSettings.load().printers == 2


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
