"""Runs of skills' tasks that are kept, each with its skills, prompts and models, and what came.

A run is a file of its own, so that what a change of a skill, a prompt or a model did can be told
from two of them, also months later: their tasks in common, side by side.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from router.domain.errors import InvalidInput, nearest
from router.domain.locale import Locale
from router.domain.messages import Usage
from router.extensions.evaluation.prompt_cases import PromptCase
from router.extensions.evaluation.prompt_figures import JobFigures, PromptReport, Trial, figures_of
from router.formats.validation import Entry
from router.routing.prompt_cases import Observed, ObservedTool

LARGEST = 64 * 1024 * 1024
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


class Kept(BaseModel):
    """Base of what a file of a run is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptCall(Kept):
    """A tool that was called."""

    name: str
    arguments: dict[str, JsonValue] = {}


class KeptTrial(Kept):
    """One run of one task: `route` is None where nothing came."""

    task: str
    skill: str
    locale: Locale
    run: int
    expect: dict[str, JsonValue]
    route: str | None
    text: str = ""
    value: JsonValue = None
    calls: list[KeptCall] = []
    checks: dict[str, str | None] = {}
    error: str = ""
    models: list[str] = []
    usage: Usage = Usage()
    seconds: float = 0.0

    @classmethod
    def of(cls, trial: Trial) -> "KeptTrial":
        """As it is kept."""
        case, seen = trial.case, trial.observed
        return cls(
            task=case.name,
            skill=case.job,
            locale=case.locale,
            run=trial.run,
            expect=dict(case.expect),
            route=seen.route if seen else None,
            text=seen.text if seen else "",
            value=seen.value if seen else None,
            calls=[KeptCall(name=c.name, arguments=dict(c.arguments)) for c in seen.calls]
            if seen
            else [],
            checks=dict(trial.checks),
            error=trial.error,
            models=[*trial.models],
            usage=trial.usage,
            seconds=trial.seconds,
        )

    def trial(self, version: str) -> Trial:
        """As figures are made of it, under the name of a version."""
        case = PromptCase(self.skill, self.task, self.locale, Entry(), self.expect, Path())
        calls = tuple(ObservedTool(call.name, call.arguments) for call in self.calls)
        seen = Observed(self.route, self.text, self.value, calls) if self.route else None
        about = (seen, self.checks, self.error, tuple(self.models), self.usage, self.seconds)
        return Trial(case, version, self.run, *about)


class SkillVersion(Kept):
    """What a skill was when it was run: the digest of all that it says, and of the prompts."""

    digest: str
    prompts: dict[Locale, str]


class SkillRun(Kept):
    """A run of tasks: when, how often each, who judged, and what each skill was."""

    id: str
    at: datetime
    runs: int
    judge: str | None
    skills: dict[str, SkillVersion]
    trials: list[KeptTrial]

    def report(self) -> PromptReport:
        """Its figures, by skill."""
        jobs = [self._figures(skill) for skill in self.skills]
        return PromptReport(self.at, self.runs, self.judge, jobs, "skill")

    def _figures(self, skill: str) -> JobFigures:
        known = self.skills[skill]
        name = f"{skill} {known.digest}"
        mine = [each.trial(name) for each in self.trials if each.skill == skill]
        return figures_of(skill, mine, {name: known.prompts})

    def of(self, skill: str) -> dict[str, list[KeptTrial]]:
        """The trials of a skill, by task."""
        found: dict[str, list[KeptTrial]] = {}
        for each in self.trials:
            if each.skill == skill:
                found.setdefault(each.task, []).append(each)
        return found


def compared(first: SkillRun, second: SkillRun) -> PromptReport:
    """What the second came to against the first, by skill, over the tasks that both have.

    Raises `InvalidInput` where they have none in common, or are the same.
    """
    if first.id == second.id:
        raise InvalidInput(f"run {first.id} can't be held against itself: name another")
    jobs = [
        job
        for skill in first.skills
        if skill in second.skills and (job := _side_by_side(skill, first, second)) is not None
    ]
    if not jobs:
        raise InvalidInput(f"runs {first.id} and {second.id} have no tasks in common")
    return PromptReport(second.at, max(first.runs, second.runs), second.judge, jobs, "skill")


def _side_by_side(skill: str, first: SkillRun, second: SkillRun) -> JobFigures | None:
    mine, theirs = first.of(skill), second.of(skill)
    both = [task for task in mine if task in theirs]
    if not both:
        return None
    runs = ((first, mine), (second, theirs))
    marks: Mapping[str, Mapping[Locale, str]] = {
        label(skill, run): run.skills[skill].prompts for run, _ in runs
    }
    trials = [
        each.trial(label(skill, run))
        for run, by_task in runs
        for task in both
        for each in by_task[task]
    ]
    return figures_of(skill, trials, marks)


def label(skill: str, run: SkillRun) -> str:
    """How a skill of a run is called beside another: `policy-advisor 3f2a90c1 of 20261126-…`."""
    return f"{skill} {run.skills[skill].digest} of {run.id}"


def keep(run: SkillRun, folder: Path) -> Path:
    """The file that the run is kept in from now on; raises `InvalidInput` where it can't be."""
    file = folder / f"{run.id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(run.model_dump_json(indent=1), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} can't be written ({error.strerror})") from None
    return file


def kept(named: str, folder: Path) -> SkillRun:
    """The run of this id, or in this file; raises `InvalidInput` where there is none such."""
    file = folder / f"{named}.json" if _ID.fullmatch(named) else Path(named)
    try:
        if file.stat().st_size > LARGEST:
            raise InvalidInput(f"{file} is over {LARGEST >> 20} MiB: it is no run that was kept")
        return SkillRun.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError:
        raise InvalidInput(f"there is no run {named!r}: {_there(named, folder)}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its top"
        raise InvalidInput(f"{file} is no run that was kept: {where}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is no run that was kept: {error!s:.120}") from None


def _there(named: str, folder: Path) -> str:
    ids = sorted((file.stem for file in folder.glob("*.json")), reverse=True)
    if not ids:
        return f"none are kept in {folder} yet, run `intent-router skills eval` first"
    return nearest(named, ids) or f"kept are {', '.join(ids[:5])}"
