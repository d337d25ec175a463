"""How often a prompt's answers hold, version by version, as numbers, a page and a terminal's text.

A case that is asked several times counts once, with the share of its runs that passed: runs of one
case resemble each other, and an interval over all of them would be too narrow.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from router.domain.locale import Locale
from router.domain.messages import Usage
from router.domain.rates import Difference, Rate
from router.extensions.evaluation.assertions import ASSERTIONS
from router.extensions.evaluation.figures import rendered
from router.extensions.evaluation.prompt_cases import PromptCase, Subject
from router.routing.prompt_cases import Observed

LONGEST = 400
"""Characters of an answer that the report shows."""


@dataclass(frozen=True)
class Trial:
    """One run of a case with one version: what came, and by kind of assertion what was wrong."""

    case: PromptCase
    version: str
    run: int
    observed: Observed | None
    """None where there was no answer."""
    checks: Mapping[str, str | None] = field(default_factory=dict)
    """None where it holds."""
    error: str = ""
    """Why it couldn't be told: no model answered, or no judge said yes or no."""
    models: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True where there was an answer and every assertion holds."""
        return not self.error and not any(self.checks.values())

    @property
    def score(self) -> float:
        """The share of its assertions that hold; 0 where that can't be told."""
        held = sum(wrong is None for wrong in self.checks.values())
        return 0.0 if self.error or not self.checks else held / len(self.checks)


@dataclass(frozen=True)
class CaseFigures:
    """One case with one version."""

    case: PromptCase
    runs: Rate
    """Of its runs, those that passed."""
    trials: Sequence[Trial]

    @property
    def score(self) -> float:
        """That of its runs, on average."""
        return sum(trial.score for trial in self.trials) / len(self.trials)

    @property
    def shown(self) -> Trial:
        """The run that says most: the first that didn't pass."""
        return next((trial for trial in self.trials if not trial.passed), self.trials[0])


@dataclass(frozen=True)
class VersionFigures:
    """One version over all cases of its job."""

    version: str
    fingerprints: Mapping[Locale, str]
    cases: Sequence[CaseFigures]
    passed: Rate
    locales: Mapping[Locale, Rate]
    assertions: Mapping[str, Rate]
    """By kind: of the cases that assert it, those that hold, as far as there was an answer."""
    errors: int
    """Runs of which couldn't be told whether they hold."""
    models: Sequence[str]
    usage: Usage
    seconds: float

    @property
    def score(self) -> float:
        """That of its cases, on average: how much of what was asserted holds."""
        return sum(each.score for each in self.cases) / len(self.cases)


@dataclass(frozen=True)
class JobFigures:
    """A job's versions over the same cases: one, or two with their difference."""

    job: str
    versions: Sequence[VersionFigures]
    difference: Difference | None
    """Of the second to the first."""

    @property
    def rows(self) -> list[tuple[CaseFigures, ...]]:
        """Each case, with every version."""
        return list(zip(*(version.cases for version in self.versions), strict=True))


@dataclass(frozen=True)
class PromptReport:
    """What was asked, when and by whom, and what came of it."""

    at: datetime
    runs: int
    judge: str | None
    """The model that judged; None where no case wants that."""
    jobs: Sequence[JobFigures]
    of: Subject = "job"
    """What was run: prompts' jobs, or skills."""

    @property
    def errors(self) -> int:
        """Runs of which couldn't be told whether they hold."""
        return sum(version.errors for job in self.jobs for version in job.versions)


Fingerprints = Mapping[str, Mapping[Locale, str]]


def figures_of(job: str, trials: Sequence[Trial], fingerprints: Fingerprints) -> JobFigures:
    """The figures of one job; versions in the order of `fingerprints`, each of the same cases."""
    versions = [
        _version(version, fingerprints[version], [t for t in trials if t.version == version])
        for version in fingerprints
    ]
    difference = None
    if len(versions) > 1:
        first, second = ([_share(each.runs) for each in one.cases] for one in versions[:2])
        difference = Difference.paired(first, second)
    return JobFigures(job, versions, difference)


def _version(
    version: str, fingerprints: Mapping[Locale, str], trials: Sequence[Trial]
) -> VersionFigures:
    by_case: dict[str, list[Trial]] = {}
    for trial in trials:
        by_case.setdefault(trial.case.name, []).append(trial)
    cases = [
        CaseFigures(runs[0].case, Rate.of_counts(sum(r.passed for r in runs), len(runs)), runs)
        for runs in by_case.values()
    ]
    locales = dict.fromkeys(each.case.locale for each in cases)
    return VersionFigures(
        version=version,
        fingerprints=fingerprints,
        cases=cases,
        passed=_rate(_share(each.runs) for each in cases),
        locales={
            locale: _rate(_share(each.runs) for each in cases if each.case.locale == locale)
            for locale in locales
        },
        assertions=_by_kind(cases),
        errors=sum(bool(trial.error) for trial in trials),
        models=sorted({model for trial in trials for model in trial.models}),
        usage=sum((trial.usage for trial in trials), Usage()),
        seconds=sum(trial.seconds for trial in trials),
    )


def _by_kind(cases: Sequence[CaseFigures]) -> dict[str, Rate]:
    found: dict[str, Rate] = {}
    for kind in ASSERTIONS:
        held = [
            [trial.checks[kind] is None for trial in each.trials if kind in trial.checks]
            for each in cases
        ]
        shares = [sum(runs) / len(runs) for runs in held if runs]
        if shares:
            found[kind] = _rate(shares)
    return found


def _share(rate: Rate) -> float:
    return rate.share or 0.0


def _rate(shares: Iterable[float]) -> Rate:
    every = list(shares)
    return Rate.of_counts(sum(every), len(every))


def page_of(report: PromptReport) -> str:
    """The report as one HTML page that asks nothing of any server."""
    return rendered("prompts.html", report=report, shown=_shown, wanted=_wanted, kinds=ASSERTIONS)


def _shown(trial: Trial) -> str:
    words = trial.observed.words if trial.observed else ""
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"


def _wanted(case: PromptCase) -> list[tuple[str, str]]:
    return [
        (kind, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for kind, value in case.expect.items()
    ]


def report_of(report: PromptReport) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "at": report.at.isoformat(timespec="seconds"),
        "runs": report.runs,
        "judge": report.judge,
        "errors": report.errors,
        "jobs": [_job(each) for each in report.jobs],
    }


def _job(figures: JobFigures) -> dict[str, Any]:
    difference = figures.difference
    return {
        "job": figures.job,
        "versions": [_told(version) for version in figures.versions],
        "difference": difference.model_dump() if difference else None,
    }


def _told(version: VersionFigures) -> dict[str, Any]:
    return {
        "version": version.version,
        "fingerprints": dict(version.fingerprints),
        "passed": version.passed.model_dump(),
        "score": round(version.score, 4),
        "locales": {name: rate.model_dump() for name, rate in version.locales.items()},
        "assertions": {name: rate.model_dump() for name, rate in version.assertions.items()},
        "errors": version.errors,
        "models": list(version.models),
        "usage": version.usage.model_dump(),
        "seconds": round(version.seconds, 2),
        "cases": [_case(each) for each in version.cases],
    }


def _case(figures: CaseFigures) -> dict[str, Any]:
    return {
        "case": figures.case.name,
        "locale": figures.case.locale,
        "passed": figures.runs.model_dump(),
        "score": round(figures.score, 4),
        "runs": [
            {
                "passed": trial.passed,
                "route": trial.observed.route if trial.observed else None,
                "text": trial.observed.text if trial.observed else None,
                "value": trial.observed.value if trial.observed else None,
                "wrong": {kind: why for kind, why in trial.checks.items() if why is not None},
                "error": trial.error or None,
                "usage": trial.usage.model_dump(),
                "seconds": round(trial.seconds, 2),
            }
            for trial in figures.trials
        ],
    }


def printed(report: PromptReport) -> str:
    """The report as a terminal shows it."""
    return "\n\n".join("\n".join(_lines(job)) for job in report.jobs)


def _lines(job: JobFigures) -> Iterable[str]:
    for one in job.versions:
        cost = f"{one.usage.llm_calls} calls, {one.usage.tokens:,} tokens, {one.seconds:.1f} s"
        share = f"{interval(one.passed)} of {one.passed.of} cases pass"
        yield f"{one.version:<14} {share}, score {one.score:.2f}; {cost}"
        for name, rate in [*one.locales.items(), *one.assertions.items()]:
            yield f"    {name:<14} {interval(rate)} of {rate.of}"
        for each in one.cases:
            if not each.trials or all(trial.passed for trial in each.trials):
                continue
            shown = each.shown
            why = shown.error or "; ".join(f"{k}: {w}" for k, w in shown.checks.items() if w)
            runs, told = f"{each.runs.count:g}/{each.runs.of}", " ".join(why.split())
            yield f"    {runs}  {each.case.name}  {told}"
    if (found := job.difference) is not None:
        first, second = job.versions[:2]
        told = f"{second.version} against {first.version}: {points(found)}"
        clear = "" if found.is_clear else "; that may be chance"
        yield f"{told}; better in {found.better} cases, worse in {found.worse}{clear}"


def interval(rate: Rate) -> str:
    """A rate as people read it: `83.3 % [55.2, 95.3]`.

    >>> interval(Rate.of_counts(8, 10))
    '80.0 % [49.0, 94.3]'
    """
    share = 0.0 if rate.share is None else rate.share
    return f"{100 * share:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def points(difference: Difference) -> str:
    """A difference in percentage points, with its interval: `+10.0 [-12.1, +31.0]`."""
    value, low, high = (100 * each for each in (difference.value, difference.low, difference.high))
    return f"{value:+.1f} points [{low:+.1f}, {high:+.1f}]"
