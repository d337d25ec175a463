"""`intent-router skills eval`: real runs of skills on tasks, with a scripted model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import skills
from router.domain.errors import DefinitionError, InvalidInput, MisconfiguredError
from router.extensions.evaluation.commands.skill_evaluation import (
    SHIPPED,
    SkillOptions,
    TaskGiven,
    evaluated,
    tasks_of,
)
from router.extensions.evaluation.prompt_cases import cases_in
from router.extensions.evaluation.prompt_figures import page_of, printed
from router.extensions.evaluation.skill_runs import keep, kept
from router.settings import Settings
from router.skill.loader import load_all
from router.skill.skill import Skill
from tests.fakes.model_server import ModelServer, calls, fails, says
from tests.table import each_row

SKILLS = {skill.name: skill for skill in load_all([Path(next(iter(skills.__path__)))]).catalog}
TASKS = """\
skill: policy-advisor
cases:
  - case: limit
    locale: zh
    given: {request: 去上海出差两晚，住宿最多报多少}
    expect:
      route: answer
      calls: [{get_expense_limits: {category: hotel}}, calculate]
      not_calls: search_policies
      matches: 1,?200
      judge: Does it name a sum?
  - case: quoted
    locale: zh
    given: {request: 年假没休完怎么办, answers: [今年的]}
    expect: {route: answer, calls: [search_policies], contains: leave.zh.md}
  - case: unanswered
    locale: en
    given: {request: what about it, user: frank}
    expect: {route: answer}
"""
LIMITS = calls(("get_expense_limits", {"city": "上海", "category": "hotel"}))
SUM = calls(("calculate", {"expression": "600*2"}))
YES = calls(("verdict", {"why": "it says 1200", "yes": True}))


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tasks"
    place.mkdir()
    (place / "policy-advisor.yaml").write_text(TASKS, encoding="utf-8")
    return place


def settings_of(model: ModelServer, folder: Path) -> Settings:
    return Settings(
        data=folder / "data",
        llm_base_url=model.url,
        llm_api_key="key",
        llm_model="scripted",
        _env_file=None,
    )


def options(folder: Path | None, *names: str, runs: int = 1) -> SkillOptions:
    return SkillOptions((), runs, folder, names, None, 1)


@pytest.mark.slow
async def test_tasks_are_run_by_the_real_workflow_and_what_fails_says_why(
    model: ModelServer, folder: Path
) -> None:
    asks = calls(("ask_user", {"text": "哪一年的？"}))
    model.then(
        LIMITS, SUM, says("最多 1200 元。"), YES, asks, says("年底作废。"), *[fails(400)] * 3
    )
    run = await evaluated(settings_of(model, folder), options(folder))
    limit, quoted, unanswered = run.trials
    assert (unanswered.route, unanswered.error) == (None, "no model answered")
    assert (limit.checks, limit.error) == (dict.fromkeys(limit.expect), "")
    assert [call.name for call in limit.calls] == ["get_expense_limits", "calculate"]
    assert (limit.usage.llm_calls, limit.route) == (3, "answer")
    assert quoted.checks == {
        "route": None,
        "calls": "it never called search_policies; it called nothing",
        "contains": "it lacks leave.zh.md",
    }
    assert model.chats[5]["messages"][-1]["content"] == "今年的"
    assert kept(str(keep(run, folder / "runs")), folder) == run
    report = run.report()
    assert report.errors == 1
    (figures,) = report.jobs[0].versions
    assert (figures.passed.count, figures.passed.of) == (1, 3)
    assert round(figures.score, 3) == 0.444
    said = printed(report)
    assert "33.3 %" in said
    assert "0/1  unanswered  no model answered" in said
    assert "calls: it never called search_policies; it called nothing" in said
    assert "Skills, task by task" in page_of(report)


async def test_without_a_model_nothing_is_run(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="set ROUTER_LLM_MODEL"):
        await evaluated(Settings(data=tmp_path, _env_file=None), options(None))


@pytest.mark.slow
def test_a_dozen_tasks_ship_for_all_skills_in_both_languages() -> None:
    tasks = tasks_of(options(None), SKILLS)
    assert sorted(tasks) == sorted(SKILLS)
    assert sum(len(each) for each in tasks.values()) >= 12
    for each in tasks.values():
        assert {task.locale for task in each} == {"zh", "en"}
        assert all(set(task.expect) - {"route", "language", "judge"} for task in each)


@pytest.mark.slow
def test_every_kind_of_checker_is_used_by_a_task_that_ships() -> None:
    used = {
        kind for each in tasks_of(options(None), SKILLS).values() for t in each for kind in t.expect
    }
    assert {"file", "contains", "matches", "calls", "judge", "not_calls", "not_contains"} <= used


@pytest.mark.slow
@each_row(
    ("skills_", "names", "wrong"),
    [
        (("policy-adviser",), (), "skill 'policy-adviser' isn't there: did you mean"),
        ((), ("nothing",), "no task is called nothing"),
        (("code-review",), (), "skill 'code-review' has no tasks"),
    ],
)
def test_what_isn_t_there_is_named(
    folder: Path, skills_: tuple[str, ...], names: tuple[str, ...], wrong: str
) -> None:
    wanted = SkillOptions(skills_, 1, folder, names, None, 1)
    with pytest.raises(InvalidInput, match=wrong):
        tasks_of(wanted, SKILLS)


HOSTILE = {
    "no-skill": ("cases: []", "there is no skill"),
    "another-skill": ("skill: policy-adviser\ncases: []", "skill is 'policy-adviser'"),
    "no-request": (TASKS.replace("request:", "requests:", 1), "request"),
    "a-call-that-is-none": (TASKS.replace("[search_policies]", "[[]]"), "write a list of tools"),
    "two-tools-in-one": (TASKS.replace("[search_policies]", "[{a: {}, b: {}}]"), "calls"),
    "a-file-elsewhere": (TASKS.replace("contains: leave.zh.md", "file: ../x"), "leads out"),
    "a-name-twice": (TASKS.replace("case: quoted", "case: limit"), "a case 'limit' already"),
    "no-mapping": ("- a", "the file is no mapping; write skill: … and cases"),
}


@pytest.mark.slow
@each_row(("text", "wrong"), HOSTILE.values(), ids=HOSTILE)
def test_a_file_of_tasks_at_fault_is_refused_with_its_line(
    tmp_path: Path, text: str, wrong: str
) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    given: dict[str, type[TaskGiven]] = dict.fromkeys(SKILLS, TaskGiven)
    with pytest.raises(DefinitionError) as refused:
        cases_in(tmp_path, given, "skill")
    assert wrong in str(refused.value)


@pytest.mark.slow
def test_a_file_that_a_task_names_has_to_be_there(tmp_path: Path) -> None:
    text = TASKS.replace("contains: leave.zh.md", "file: none.md")
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"none\.md"):
        tasks_of(options(tmp_path), SKILLS)


def test_the_tasks_that_ship_are_beside_the_skills() -> None:
    assert SHIPPED.is_dir()
    assert all(isinstance(skill, Skill) for skill in SKILLS.values())
