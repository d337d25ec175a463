"""Having a model do the cases of prompts, run by run, and judging what comes of each."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import typer
from temporalio.exceptions import ApplicationError

from activities.capabilities import Capabilities
from router.cli.options import write_out
from router.directory.sources import people_of
from router.domain.errors import InvalidInput, MisconfiguredError, RouterError, nearest
from router.domain.locale import LOCALES
from router.domain.messages import Usage
from router.domain.principals import DEFAULT_TENANT, Principal
from router.extension import PromptJob
from router.extensions.evaluation import judgement
from router.extensions.evaluation.assertions import ASSERTIONS, AskJudge, JudgeSilent
from router.extensions.evaluation.commands.prompt_bench import (
    SECONDS,
    Bench,
    HeardChains,
    ObservableCase,
)
from router.extensions.evaluation.commands.prompt_jobs import job_inputs
from router.extensions.evaluation.prompt_cases import SHIPPED, PromptCase, cases_in
from router.extensions.evaluation.prompt_figures import (
    JobFigures,
    PromptReport,
    Trial,
    figures_of,
    page_of,
    printed,
    report_of,
)
from router.llm.fallback import FallbackChain, FallbackChains
from router.llm.types import AccessRefused, ModelUnavailable, NoModelAnswered
from router.retrieval.index import CapabilityIndex
from router.routing.decider import DecisionPolicy, cost
from router.routing.prompt_cases import Observed
from router.routing.prompts import Prompt, Prompts
from router.runtime.composition import chains_of, index_of
from router.runtime.definitions import load_capabilities
from router.runtime.prompts import load_prompts, prompt_jobs
from router.settings import Settings

PAUSE = 1.0
LONGEST_PAUSE = 5.0
"""Seconds before a question is asked once more, where the server doesn't say how many."""


@dataclass(frozen=True)
class PromptOptions:
    """What the command was asked for."""

    jobs: Sequence[str]
    """None of them: all that have cases."""
    prompt: str | None
    against: str | None
    runs: int
    folder: Path | None
    names: Sequence[str]
    """Of cases; none: all."""
    judge: str | None
    at_once: int


@dataclass(frozen=True)
class EvaluationPlan:
    """What is to be asked: cases by job, and by job the versions that they are asked with."""

    cases: Mapping[str, Sequence[PromptCase]]
    versions: Mapping[str, Sequence[str]]
    """One, or the one that another is held against, and that."""
    runs: int
    at_once: int

    @classmethod
    def of(
        cls, options: PromptOptions, prompts: Prompts, jobs: Sequence[PromptJob] = ()
    ) -> "EvaluationPlan":
        """The plan; raises `InvalidInput` for what there is no version, job or case of."""
        named = [prompts.version(each) for each in (options.against, options.prompt) if each]
        wanted = [*dict.fromkeys([*options.jobs, *(job for job, _ in named)])]
        cases = read_all_cases(options.folder, jobs)
        for job in wanted:
            if job not in cases:
                there = nearest(job, cases) or f"there are cases of {', '.join(sorted(cases))}"
                raise InvalidInput(f"job {job!r} has no cases: {there}")
        if named and len(wanted) > 1:
            raise InvalidInput(f"a version is of one job, and {', '.join(wanted)} are several")
        chosen = {job: _named(cases[job], options.names) for job in wanted or sorted(cases)}
        chosen = {job: each for job, each in chosen.items() if each}
        if not chosen:
            raise InvalidInput(f"no case is called {', '.join(options.names)}: see docs/prompts.md")
        own = [version for _, version in named]
        if options.against and not options.prompt:
            own.append(_usual(prompts, wanted[0]))
        versions = {job: own or [_usual(prompts, job)] for job in chosen}
        if len({*own}) < len(own):
            raise InvalidInput(f"{own[0]} can't be held against itself: name another version")
        return cls(chosen, versions, options.runs, options.at_once)


def read_all_cases(folder: Path | None, jobs: Sequence[PromptJob]) -> dict[str, list[PromptCase]]:
    """Read the cases of a folder; without one those that ship, with those of `jobs`."""
    inputs = job_inputs(jobs)
    if folder is not None:
        return cases_in(folder, inputs)
    found: dict[str, list[PromptCase]] = {}
    for each in dict.fromkeys([SHIPPED, *(job.cases for job in jobs)]):
        found |= cases_in(each, inputs)
    return found


def _named(cases: Sequence[PromptCase], names: Sequence[str]) -> list[PromptCase]:
    return [case for case in cases if not names or case.name in names]


def _usual(prompts: Prompts, job: str) -> str:
    """The version that most conversations get, by the settings."""
    shares = prompts.shares(job)
    return max(shares, key=lambda version: shares[version])


async def evaluated(settings: Settings, options: PromptOptions) -> PromptReport:
    """The report of what was asked for; raises `RouterError` where it can't be made."""
    prompts = load_prompts(settings)
    plan = EvaluationPlan.of(options, prompts, prompt_jobs(settings))
    async with prompt_evaluator(settings, prompts, options.judge) as evaluator:
        return await evaluator.report(plan)


def unfit(report: PromptReport, at_least: float | None) -> str | None:
    """Why whoever builds with these prompts should stop; None where nothing speaks against it."""
    if report.errors:
        return f"of {report.errors} runs can't be told whether they hold: see what they say"
    for job in report.jobs:
        tested = job.versions[-1]
        share = tested.passed.share or 0.0
        if at_least is not None and share < at_least:
            wrong = sum(not trial.passed for each in tested.cases for trial in each.trials)
            return (
                f"{tested.version}: {share:.4g} of the cases pass, below --at-least "
                f"{at_least:g}; {wrong} runs don't"
            )
    return None


def tell(
    report: PromptReport,
    at_least: float | None,
    out: Path | None,
    *,
    as_json: bool,
    about: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print the report, write its page where one is wanted, and raise where it is `unfit`.

    `about` is what else there is to say of a run that is kept: its `id`, and where it is.
    """
    if as_json:
        typer.echo(json.dumps({**about, **report_of(report)}, ensure_ascii=False, indent=2))
    else:
        typer.echo(printed(report))
    for what, where in {"run": about.get("id"), "report": out}.items():
        if where is not None:
            typer.echo(f"{what}  {where}", err=as_json)
    if out is not None:
        write_out(out, page_of(report))
    if (why := unfit(report, at_least)) is not None:
        raise RouterError(why)


@dataclass(frozen=True)
class PromptEvaluator:
    """Asks over what the house has; `judging` answers what cases want judged."""

    settings: Settings
    offered: Capabilities
    index: CapabilityIndex
    chains: FallbackChains
    judging: FallbackChain
    prompts: Prompts
    people: Mapping[str, Principal]

    async def report(self, plan: EvaluationPlan) -> PromptReport:
        """Everything asked, and figures of it; raises what makes every further question vain."""
        trials = await self._trials(plan)
        jobs = [self._figures(job, versions, trials) for job, versions in plan.versions.items()]
        judged = any("judge" in case.expect for each in plan.cases.values() for case in each)
        judge = self.judging.links[0].model.endpoint if judged else None
        return PromptReport(datetime.now(UTC).astimezone(), plan.runs, judge, jobs)

    async def _trials(self, plan: EvaluationPlan) -> list[Trial]:
        free, done = asyncio.Semaphore(plan.at_once), 0
        # By version and language: what questions begin with is the same for servers' caches.
        wanted = [
            (case, version, run)
            for job, versions in plan.versions.items()
            for version in versions
            for locale in LOCALES
            for case in plan.cases[job]
            if case.locale == locale
            for run in range(1, plan.runs + 1)
        ]

        async def one(case: PromptCase, version: str, run: int) -> Trial:
            nonlocal done
            async with free:
                trial = await self._trial(case, version, run)
            done += 1
            _tick(done, len(wanted))
            return trial

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(*each)) for each in wanted]
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _trial(self, case: PromptCase, version: str, run: int) -> Trial:
        bench, began = self._bench(case, version), time.perf_counter()
        assert isinstance(case.given, ObservableCase)  # noqa: S101 - read as one of a job's
        observed, error = await _tried(case, case.given, bench)
        seconds, heard = time.perf_counter() - began, bench.chains.heard
        checks: dict[str, str | None] = {}
        if observed is not None:
            prompt = self.prompts.of("judge", "", bench.locale, DEFAULT_TENANT)
            judge = judge_of(self.judging, prompt)
            checks, error = await held_against(case, observed, judge)
        models = tuple(sorted({answer.model for answer in heard}))
        usage = sum((cost(answer) for answer in heard), Usage())
        return Trial(case, version, run, observed, checks, error, models, usage, seconds)

    def _bench(self, case: PromptCase, version: str) -> Bench:
        settings = self.settings
        offer = (settings.llm_offer, settings.llm_offer_tokens, settings.llm_steps)
        return Bench(
            offered=self.offered,
            index=self.index,
            chains=HeardChains(self.chains, []),
            prompts=self.prompts.only(version),
            people=self.people,
            policy=DecisionPolicy.of(*offer),
            locale=case.locale,
            folder=case.folder,
        )

    def _figures(self, job: str, versions: Sequence[str], trials: Sequence[Trial]) -> JobFigures:
        marks = {
            version: {each: self.prompts.written(version, each).fingerprint for each in LOCALES}
            for version in versions
        }
        return figures_of(job, [trial for trial in trials if trial.case.job == job], marks)


def judge_of(judging: FallbackChain, prompt: Prompt) -> AskJudge:
    """Who answers what cases want judged, asked by this prompt."""

    async def judge(question: str, observed: Observed) -> tuple[bool, str]:
        asked = judgement.request(prompt, question, observed.words)
        try:
            answer = (await judging.answer(asked, SECONDS)).answer
        except ModelUnavailable as error:
            _raise_hopeless(error)
            raise JudgeSilent(f"no judge answered: {error}") from error
        verdict = judgement.read(answer)
        if verdict is None:
            said = answer.text or answer.refusal or "nothing of use"
            raise JudgeSilent(f"the judge {answer.model} said neither yes nor no: {said:.200}")
        return verdict

    return judge


async def held_against(
    case: PromptCase, observed: Observed, judge: AskJudge
) -> tuple[dict[str, str | None], str]:
    """What is wrong by kind of assertion, None where it holds; and why one couldn't be told."""
    checks: dict[str, str | None] = {}
    error = ""
    for kind, wanted in case.expect.items():
        try:
            checks[kind] = await ASSERTIONS[kind].check(wanted, observed, judge)
        except JudgeSilent as silent:
            error = str(silent)
    return checks, error


async def _tried(
    case: PromptCase, given: ObservableCase, bench: Bench
) -> tuple[Observed | None, str]:
    """What was observed, asked once more where no model answered; or why nothing was."""
    for last in (False, True):
        try:
            return await given.observed(bench), ""
        except InvalidInput as error:
            raise InvalidInput(f"{case.job} case {case.name}: {error}") from None
        except (ModelUnavailable, ApplicationError) as error:
            cause = error if isinstance(error, ModelUnavailable) else error.__cause__
            _raise_hopeless(cause)
            pause = getattr(cause, "retry_after", None)
            if last:
                return None, str(error)
            await asyncio.sleep(min(PAUSE if pause is None else pause, LONGEST_PAUSE))
        except RouterError as error:
            return None, str(error)
    raise AssertionError("the second try is the last")


def _raise_hopeless(error: BaseException | None) -> None:
    """Raise where every other question would fare the same: the key is refused."""
    failures = error.failures if isinstance(error, NoModelAnswered) else ()
    if error is not None and any(isinstance(each.error, AccessRefused) for each in failures):
        raise error


@asynccontextmanager
async def prompt_evaluator(
    settings: Settings, prompts: Prompts, judge: str | None
) -> AsyncIterator[PromptEvaluator]:
    """What asks the settings' models; raises `MisconfiguredError` where there is none."""
    if not settings.models:
        raise MisconfiguredError(
            "prompts are evaluated with a model and none is configured: set ROUTER_LLM_MODEL, and "
            "ROUTER_LLM_BASE_URL or ROUTER_LLM_API_KEY (docs/models.md)"
        )
    offered = load_capabilities(settings)
    judges = settings.replace(llm_model=judge or settings.llm_model)
    everyone = {one.id: one for one in people_of(settings).everyone()}
    async with (
        chains_of(settings) as chains,
        chains_of(judges) as judging,
        index_of(settings) as index,
    ):
        assert judging.usual is not None  # noqa: S101 - there is a model
        await index.update(offered.everything())
        judge_chain = judging.usual
        yield PromptEvaluator(settings, offered, index, chains, judge_chain, prompts, everyone)


def _tick(done: int, of: int) -> None:
    """Show a person who waits how far it is."""
    if sys.stderr.isatty():
        end = "\r\033[K" if done == of else "\r"
        sys.stderr.write(f"{done} of {of}{end}")
        sys.stderr.flush()
