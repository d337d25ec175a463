"""Runs of skills' tasks that are kept, read again, and held against each other."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from router.domain.errors import InvalidInput
from router.domain.locale import Locale
from router.extensions.evaluation.prompt_figures import page_of, printed, report_of
from router.extensions.evaluation.skill_runs import (
    KeptTrial,
    SkillRun,
    SkillVersion,
    compared,
    keep,
    kept,
)
from tests.table import each_row

MARKS: dict[Locale, str] = {"zh": "skill-1#aa", "en": "skill-1#bb"}


def trial(task: str, wrong: str | None, skill: str = "advisor") -> KeptTrial:
    return KeptTrial(
        task=task,
        skill=skill,
        locale="zh",
        run=1,
        expect={"contains": "7"},
        route="answer",
        text="还有 7 天" if wrong is None else "不知道",
        checks={"contains": wrong},
    )


def run(id_: str, digest: str, *trials: KeptTrial) -> SkillRun:
    version = SkillVersion(digest=digest, prompts=MARKS)
    at = datetime(2026, 11, 26, 10, tzinfo=UTC)
    names = dict.fromkeys(each.skill for each in trials)
    skills = dict.fromkeys(names, version)
    return SkillRun(id=id_, at=at, runs=1, judge=None, skills=skills, trials=[*trials])


BEFORE = run("20261126-101112-aaaa", "11111111", trial("a", "it lacks 7"), trial("b", None))
AFTER = run("20261126-111112-bbbb", "22222222", trial("a", None), trial("b", None))


def test_two_runs_are_compared_task_by_task(tmp_path: Path) -> None:
    for each in (BEFORE, AFTER):
        keep(each, tmp_path)
    report = compared(*(kept(each.id, tmp_path) for each in (BEFORE, AFTER)))
    (job,) = report.jobs
    assert job.difference is not None
    assert (job.difference.value, job.difference.better, job.difference.worse) == (0.5, 1, 0)
    first, second = job.versions
    assert first.version == "advisor 11111111 of 20261126-101112-aaaa"
    assert (first.score, second.score) == (0.5, 1.0)
    assert "+50.0 points" in printed(report)
    assert "it lacks 7" in page_of(report)
    told = json.loads(json.dumps(report_of(report)))
    assert [each["score"] for each in told["jobs"][0]["versions"]] == [0.5, 1.0]


def test_only_tasks_that_both_have_are_compared() -> None:
    more = run("20261126-111112-cccc", "22222222", trial("a", None), trial("c", "it lacks 7"))
    (job,) = compared(BEFORE, more).jobs
    assert [row[0].case.name for row in job.rows] == ["a"]


def test_runs_of_nothing_in_common_cannot_be_compared() -> None:
    other = run("20261126-111112-dddd", "22222222", trial("a", None, skill="writer"))
    with pytest.raises(InvalidInput, match="have no tasks in common"):
        compared(BEFORE, other)
    elsewhere = run("20261126-111112-eeee", "22222222", trial("z", None))
    with pytest.raises(InvalidInput, match="have no tasks in common"):
        compared(BEFORE, elsewhere)


def test_a_run_is_not_held_against_itself() -> None:
    with pytest.raises(InvalidInput, match="can't be held against itself"):
        compared(BEFORE, BEFORE)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InvalidInput, match="can't be written"):
        keep(BEFORE, tmp_path / "file")


@each_row(
    "content",
    ["", "{", "[]", "{}", '{"id": 3}', "nul", "[" * 5000, '{"id":"x","at":"never"}', "\x00"],
    ids=range(9),
)
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match="is no run that was kept"):
        kept(str(tmp_path / "run.json"), tmp_path)


def test_a_run_that_isn_t_kept_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="none are kept in"):
        kept("20261126-101112-abcd", tmp_path)
    (tmp_path / "20261126-101112-abce.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidInput, match="20261126-101112-abce"):
        kept("20261126-101112-abcd", tmp_path)
