"""`intent-router new`: what it writes works at once, and it writes over nothing."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from skills_ref.validator import validate

import company.tools
import flows
import skills
from router.cli.new import package_of
from router.tool.registry import Registry
from tests.samples import one_in
from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
PERMIT = ("parking_permit", "--zh", "停车证", "--en", "Parking permit")


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def pytest_of(*tests: Path, within: Path) -> subprocess.CompletedProcess[str]:
    """Their outcome in a process of their own, which sees `within` and this project."""
    paths = os.pathsep.join([str(within), str(ROOT)])
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        words, cwd=within, env=environment, capture_output=True, text=True, check=False
    )


class TestFlow:
    def test_it_is_written_with_its_stories_and_says_how_to_go_on(self, run: Run) -> None:
        assert run.printed("new", "flow", *PERMIT).splitlines() == [
            "wrote flows/parking_permit.yaml",
            "wrote flows/tests/parking_permit.yaml",
            "wrote flows/.schemas/flow.json",
            "wrote flows/.schemas/story.json",
            'next  ROUTER_FLOWS=flows intent-router route "我要申请停车证"',
            "      ROUTER_FLOWS=flows intent-router flows test flows/tests/parking_permit.yaml",
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "words", [PERMIT, ("desk_lamp",), ("visa2", "--zh", "美国签证", "--en", "US visa")]
    )
    def test_it_is_sound_beside_the_flows_in_use_without_a_warning(
        self, run: Run, words: tuple[str, ...]
    ) -> None:
        assert run("new", "flow", *words).status == 0
        printed = run.printed("flows", "validate", "--strict", "flows")
        assert printed == f"ok  {words[0]} version 1: 5 states\n"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text", ["我要申请停车证", "I need the parking permit", "办一个停车证"]
    )
    def test_its_sentences_come_to_it_and_to_no_other(
        self, run: Run, text: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("new", "flow", *PERMIT)
        for path in Path(flows.__path__[0]).glob("*.yaml"):
            (elsewhere / "flows" / path.name).write_text(path.read_text())
        monkeypatch.setenv("ROUTER_FLOWS", "flows")
        explained = json.loads(run("route", text, "--json").out)
        assert [hit["flow"] for hit in explained["patterns"]] == ["parking_permit"]
        decision = explained["decision"]
        assert (decision["kind"], decision["target"]) == ("flow", "parking_permit")
        assert decision["by"] == "pattern"

    @pytest.mark.slow
    def test_its_stories_go_as_written(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        run("new", "flow", *PERMIT)
        monkeypatch.setenv("ROUTER_FLOWS", "flows")
        outcome = run("flows", "test")
        assert outcome.status == 0, outcome.out
        assert outcome.out.splitlines()[-1] == "2 stories, 0 failed"

    def test_words_that_are_another_flow_s_are_refused(self, run: Run, elsewhere: Path) -> None:
        told = run.refused("new", "flow", "holidays", "--zh", "年假", "--en", "annual leave")
        assert told.startswith(
            "error: by the words '年假' and 'annual leave' it would be in another"
        )
        assert files(elsewhere) == set()

    def test_two_new_ones_of_the_same_words_are_rivals(
        self, run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("new", "flow", *PERMIT)
        before = files(elsewhere)
        monkeypatch.setenv("ROUTER_FLOWS", "flows")
        assert "also starts" in run.refused("new", "flow", "second_permit", *PERMIT[1:])
        assert files(elsewhere) == before

    def test_it_goes_to_the_folder_in_use_or_to_the_one_that_is_named(
        self, run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (elsewhere / "ours").mkdir()
        monkeypatch.setenv("ROUTER_FLOWS", "ours")
        outcome = run("new", "flow", "desk_lamp")
        assert "wrote ours/desk_lamp.yaml" in outcome.out
        assert "ROUTER_FLOWS" not in outcome.out
        outcome = run("new", "flow", "desk_mat", "--folder", "other flows")
        assert "next  ROUTER_FLOWS='other flows' intent-router route" in outcome.out
        assert (elsewhere / "other flows" / "desk_mat.yaml").is_file()

    @pytest.mark.parametrize("there", ["flows/desk_lamp.yaml", "flows/tests/desk_lamp.yaml"])
    def test_what_is_there_stays_and_nothing_is_written(
        self, run: Run, elsewhere: Path, there: str
    ) -> None:
        (elsewhere / there).parent.mkdir(parents=True)
        (elsewhere / there).write_text("mine")
        assert run.refused("new", "flow", "desk_lamp") == (
            f"error: {there} is there already and nothing was written: "
            "choose another name, or move it away"
        )
        assert files(elsewhere) == {there}
        assert (elsewhere / there).read_text() == "mine"


class TestProcess:
    def test_it_is_copied_with_its_stories_and_tools_and_says_how_to_go_on(self, run: Run) -> None:
        assert run.printed("new", "process", "overtime").splitlines() == [
            "wrote flows/overtime.yaml",
            "wrote flows/tests/overtime.yaml",
            "wrote http_tools/overtime.json",
            "wrote flows/.schemas/flow.json",
            "wrote flows/.schemas/story.json",
            "wrote http_tools/.schemas/tools.json",
            "then  put the address of your system into http_tools/overtime.json: base_url",
            "next  intent-router tools validate http_tools/overtime.json",
            (
                "      ROUTER_FLOWS=flows ROUTER_HTTP_TOOLS=http_tools intent-router "
                "flows test flows/tests/overtime.yaml"
            ),
        ]

    @pytest.mark.slow
    def test_it_is_sound_where_it_was_copied_to(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run.printed("new", "process", "overtime")
        monkeypatch.setenv("ROUTER_HTTP_TOOLS", "http_tools")
        monkeypatch.setenv("ROUTER_TOOL_OFFICE_URL", "https://hr.example.com")
        printed = run.printed("flows", "validate", "--strict", "flows")
        assert printed == "ok  overtime version 1: 16 states\n"

    def test_what_the_gallery_lacks_is_refused_with_the_nearest(self, run: Run) -> None:
        refused = run("new", "process", "overtim")
        assert refused.status == 1
        assert "overtime" in refused.err

    def test_what_is_there_stays(self, run: Run, elsewhere: Path) -> None:
        run.printed("new", "process", "overtime")
        (elsewhere / "http_tools" / "overtime.json").write_text("mine", encoding="utf-8")
        assert run("new", "process", "overtime").status == 1
        assert (elsewhere / "http_tools" / "overtime.json").read_text("utf-8") == "mine"


class TestSkill:
    def test_it_is_sound_here_and_by_the_reference(self, run: Run, elsewhere: Path) -> None:
        printed = run.printed("new", "skill", "parking-permits", *PERMIT[1:])
        assert printed.splitlines()[-2:] == [
            "next  ROUTER_SKILLS=skills intent-router skills validate skills/parking-permits",
            "      ROUTER_SKILLS=skills intent-router eval skills/tests/parking-permits.jsonl",
        ]
        found = run.printed("skills", "validate", "skills")
        assert found.startswith("ok  parking-permits: ")
        assert validate(elsewhere / "skills" / "parking-permits") == []

    @pytest.mark.slow
    def test_its_lines_come_to_it(
        self, run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("new", "skill", "parking-permits", *PERMIT[1:])
        for path in Path(skills.__path__[0]).glob("*/SKILL.md"):
            folder = elsewhere / "skills" / path.parent.name
            folder.mkdir()
            (folder / "SKILL.md").write_text(path.read_text())
        monkeypatch.setenv("ROUTER_SKILLS", "skills")
        lines = (elsewhere / "skills/tests/parking-permits.jsonl").read_text().splitlines()
        for line in lines[:2]:
            explained = json.loads(run("route", json.loads(line)["text"], "--json").out)
            assert explained["candidates"][0]["name"] == "parking-permits"


class TestPythonTool:
    @pytest.fixture
    def house(self, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A checkout with a package of tools of its own."""
        (elsewhere / "house" / "tools").mkdir(parents=True)
        for folder in ("house", "house/tools"):
            (elsewhere / folder / "__init__.py").touch()
        monkeypatch.syspath_prepend(str(elsewhere))
        return elsewhere / "house" / "tools"

    @pytest.mark.slow
    def test_it_is_found_and_its_test_passes(self, run: Run, house: Path, elsewhere: Path) -> None:
        run.printed("new", "tool", "count_permits", *PERMIT[1:], "--folder", "house/tools")
        registry = Registry().discover(import_module("house.tools"))
        assert registry["count_permits"].title.zh == "停车证"
        test = elsewhere / "tests/unit/house/tools/test_count_permits.py"
        done = pytest_of(test, within=elsewhere)
        assert "2 passed" in done.stdout, done.stdout

    def test_of_the_project_it_goes_where_tools_are_found(self) -> None:
        package = package_of(Path(next(iter(company.tools.__path__))))
        assert package == (ROOT, "company.tools")

    def test_a_folder_where_none_would_look_is_refused(self, run: Run, elsewhere: Path) -> None:
        told = run.refused("new", "tool", "count_permits", "--folder", "tools")
        assert "tools is no Python package" in told
        assert "--kind http, openapi or mcp" in told
        assert files(elsewhere) == set()


class TestHook:
    @pytest.fixture
    def house(self, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A checkout with a package of hooks of its own."""
        (elsewhere / "lodge" / "hooks").mkdir(parents=True)
        for folder in ("lodge", "lodge/hooks"):
            (elsewhere / folder / "__init__.py").touch()
        monkeypatch.syspath_prepend(str(elsewhere))
        return elsewhere

    @pytest.mark.slow
    def test_it_is_found_and_its_test_passes(self, run: Run, house: Path) -> None:
        run.printed("new", "hook", "close_permits", *PERMIT[1:], "--folder", "lodge/hooks")
        (found,) = Registry().discover(import_module("lodge.hooks")).hooks
        assert (found.name, found.point) == ("close_permits", "before_decision")
        assert found.is_about_words("我要申请停车证")
        done = pytest_of(house / "tests/unit/lodge/hooks/test_close_permits.py", within=house)
        assert "3 passed" in done.stdout, done.stdout

    def test_the_name_of_one_that_there_is_is_refused(self, run: Run, elsewhere: Path) -> None:
        told = run.refused("new", "hook", "keep_pay_private", "--folder", "hooks")
        assert "something is called keep_pay_private already" in told
        assert files(elsewhere) == set()

    def test_a_folder_where_none_would_look_is_refused(self, run: Run, elsewhere: Path) -> None:
        told = run.refused("new", "hook", "close_permits", "--folder", "hooks")
        assert told.endswith("which `intent-router new project NAME` begins")
        assert files(elsewhere) == set()


class TestOtherTools:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", one_in(3, ("http", "openapi", "mcp")))
    def test_the_test_of_it_passes(self, run: Run, elsewhere: Path, kind: str) -> None:
        named = ("find_permits", *PERMIT[1:], "--kind", kind, "--folder", "mine")
        run.printed("new", "tool", *named)
        done = pytest_of(elsewhere / "mine/tests/test_find_permits.py", within=elsewhere)
        assert "1 passed" in done.stdout, done.stdout

    @pytest.mark.parametrize("kind", ["http", "openapi"])
    def test_a_declared_one_is_sound_and_listed_without_a_remark(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        run("new", "tool", "find_permits", *PERMIT[1:], "--kind", kind)
        found = run("tools", "validate", "http_tools/find_permits.json")
        assert found.out == "ok  find_permits in http_tools/find_permits.json\n"
        monkeypatch.setenv("ROUTER_HTTP_TOOLS", "http_tools")
        listed = run("tools", "list")
        assert (listed.status, listed.err.count("find_permits")) == (0, 0)
        assert "find_permits" in listed.out

    def test_of_a_document_it_says_what_to_put_where(self, run: Run) -> None:
        assert run.printed("new", "tool", "find_permits", "--kind", "openapi").splitlines() == [
            "wrote http_tools/find_permits.openapi.yaml",
            "wrote http_tools/find_permits.json",
            "wrote http_tools/tests/test_find_permits.py",
            "wrote http_tools/.schemas/tools.json",
            (
                "then  put your system's document into http_tools/find_permits.openapi.yaml, "
                "and its address: ROUTER_TOOL_FIND_PERMITS_URL"
            ),
            "next  intent-router tools validate http_tools/find_permits.json",
            "      ROUTER_HTTP_TOOLS=http_tools intent-router tools list",
            "      python -m pytest http_tools/tests/test_find_permits.py",
        ]

    def test_a_document_that_is_there_stays_and_nothing_is_written(
        self, run: Run, elsewhere: Path
    ) -> None:
        there = "http_tools/find_permits.openapi.yaml"
        (elsewhere / "http_tools").mkdir()
        (elsewhere / there).write_text("mine")
        told = run.refused("new", "tool", "find_permits", "--kind", "openapi")
        assert f"{there} is there already" in told
        assert files(elsewhere) == {there}

    @pytest.mark.slow
    def test_an_mcp_server_is_listed(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        run("new", "tool", "permits", "--kind", "mcp")
        monkeypatch.setenv("ROUTER_MCP_SERVERS", "mcp_servers/permits.json")
        listed = run("tools", "list")
        assert (listed.status, "isn't there" in listed.err) == (0, False)
        assert "permits__look_up" in listed.out


NAMES = {
    ("flow", "Desk Lamp"): "a flow can't be called 'Desk Lamp': write up to 63 small letters, "
    "digits and single _, a letter first, as in desk_lamp, such as desk_lamp",
    ("flow", ""): "a flow can't be called ''",
    ("flow", "../etc"): "a flow can't be called '../etc'",
    ("flow", "a" * 64): "a flow can't be called 'aaa",
    ("flow", "_lamp"): "a flow can't be called '_lamp'",
    ("flow", "工牌"): "a flow can't be called '工牌'",
    ("flow", "fill_slots"): "the name 'fill_slots' means something else already",
    ("flow", "calculate"): "something is called calculate already: choose another name",
    ("skill", "Desk_Lamp"): "a skill can't be called 'Desk_Lamp': write up to 64 small letters, "
    "digits and single hyphens, as in policy-advisor, such as desk-lamp",
    ("skill", "a--b"): "a skill can't be called 'a--b'",
    ("tool", "class"): "the name 'class' means something else already",
    ("tool", "get_leave_balance"): "something is called get_leave_balance already",
    ("tool", "countDesks"): "such as count_desks",
}


@pytest.mark.slow
@pytest.mark.parametrize(("what", "name"), NAMES)
def test_names_that_cannot_be_are_refused_with_what_may_be_meant(
    run: Run, elsewhere: Path, what: str, name: str
) -> None:
    assert NAMES[what, name] in run.refused("new", what, name)
    assert files(elsewhere) == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--zh", "a'b"), "--zh \"a'b\" can't be what people call it"),
        (("--zh", ""), "--zh '' can't be what people call it"),
        (("--en", "(x"), "--en '(x' can't be what people call it"),
        (("--en", "工牌"), "--en '工牌' isn't English: write it in --zh"),
        (("--en", "x" * 41), "write up to 40 letters"),
    ],
)
def test_words_that_would_break_a_pattern_are_refused(
    run: Run, elsewhere: Path, words: tuple[str, str], said: str
) -> None:
    assert said in run.refused("new", "flow", "desk_lamp", *words)
    assert files(elsewhere) == set()


@pytest.mark.parametrize("what", ["flow", "skill", "tool"])
def test_a_file_where_a_folder_should_be_is_refused(run: Run, elsewhere: Path, what: str) -> None:
    (elsewhere / "notes").write_text("mine")
    told = run.refused("new", what, "lamp", "--folder", "notes/here")
    assert told == "error: notes is no folder: name another one with --folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_nobody_may_write_to_is_refused(run: Run, elsewhere: Path) -> None:
    (elsewhere / "flows").mkdir(mode=0o500)
    assert "can't be written (Permission denied)" in run.refused("new", "flow", "desk_lamp")


@pytest.mark.parametrize("words", ["new", "new flw x", "new flow"])
def test_what_names_nothing_to_write_is_a_usage_error(run: Run, words: str) -> None:
    assert run(*words.split()).status == 2
