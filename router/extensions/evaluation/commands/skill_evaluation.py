"""Running skills on tasks, each by its real workflow, and holding what comes against what has to.

A task has a house of its own: another tenant, with the sample's people, at the moment that it says.
Models are those that are configured; what a skill calls is called.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field
from temporalio.client import WorkflowFailureError

from router.contracts.activities import Account
from router.contracts.conversation_state import OpenSkill
from router.contracts.skill_run import WORKFLOW, SkillOutcome, SkillStart, workflow_id
from router.domain.errors import InvalidInput, MisconfiguredError, nearest
from router.domain.locale import LOCALES
from router.domain.messages import Usage
from router.domain.principals import DEFAULT_TENANT, Principal
from router.entities.booleans import consent
from router.entities.normalisation import normalise
from router.extensions.evaluation.assertions import lines_of
from router.extensions.evaluation.commands.prompt_bench import SECONDS, BenchInput, SaidLine, spoken
from router.extensions.evaluation.commands.prompt_evaluation import held_against, judge_of
from router.extensions.evaluation.prompt_cases import PromptCase, cases_in
from router.extensions.evaluation.prompt_figures import Trial
from router.extensions.evaluation.skill_runs import KeptTrial, SkillRun, SkillVersion
from router.llm.fallback import FallbackChain
from router.routing.prompt_cases import Observed, ObservedTool
from router.routing.skill_step import SkillTask
from router.runtime.composition import chains_of
from router.settings import Settings
from router.settings.sample import sample_folder
from router.skill.skill import Skill
from router.story_runner.environment import QUEUE, Environment, kept_down, opened

SHIPPED = sample_folder("skills") / "tasks"
KEPT = "skill-runs"
"""The folder of the data folder that runs are kept in."""
UNSURE = {"away": "no model answered", "budget": "no budget pays for an answer"}
"""How a run may end that says nothing of the skill."""


class TaskGiven(BenchInput):
    """What a task says: the request, what was said before, and what is answered when asked.

    Routes are `answer`, `ask` where it asks more than is answered, the flow that it leaves for,
    `handed_back`, or the limit at which it stopped: `turns`, `tokens`, `errors`…
    """

    job: ClassVar[str] = "skill"

    request: Annotated[str, Field(min_length=1, max_length=8000)]
    history: list[SaidLine] = []
    answers: Annotated[list[str], Field(max_length=10)] = []


@dataclass(frozen=True)
class SkillOptions:
    """What the command was asked for."""

    skills: Sequence[str]
    """None of them: all that have tasks."""
    runs: int
    folder: Path | None
    names: Sequence[str]
    """Of tasks; none: all."""
    judge: str | None
    at_once: int


def tasks_of(options: SkillOptions, there: Mapping[str, Skill]) -> dict[str, list[PromptCase]]:
    """The tasks by skill; raises `InvalidInput` for a skill or task that there is none of."""
    for name in options.skills:
        if name not in there:
            known = nearest(name, there) or f"there are {', '.join(sorted(there))}"
            raise InvalidInput(f"skill {name!r} isn't there: {known}")
    cases = cases_in(options.folder or SHIPPED, dict.fromkeys(there, TaskGiven), "skill")
    for name in options.skills:
        if name not in cases:
            raise InvalidInput(f"skill {name!r} has no tasks: see docs/skills.md")
    wanted = options.skills or sorted(cases)
    named = {s: [c for c in cases[s] if c.name in (options.names or [c.name])] for s in wanted}
    found = {skill: tasks for skill, tasks in named.items() if tasks}
    if not found:
        raise InvalidInput(f"no task is called {', '.join(options.names)}: see docs/skills.md")
    for task in (task for tasks in found.values() for task in tasks):
        if "file" in task.expect:
            lines_of(task.folder / task.expect["file"])  # before a model is paid for
    return found


async def evaluated(settings: Settings, options: SkillOptions) -> SkillRun:
    """The run of what was asked for; raises `RouterError` where it can't be made."""
    if not settings.models:
        raise MisconfiguredError(
            "skills are evaluated with a model and none is configured: set ROUTER_LLM_MODEL, and "
            "ROUTER_LLM_BASE_URL or ROUTER_LLM_API_KEY (docs/models.md)"
        )
    with kept_down():
        async with _evaluator(settings, options.judge) as evaluator:
            tasks = tasks_of(options, evaluator.skills)
            return await evaluator.run(tasks, options.runs, options.at_once)


@asynccontextmanager
async def _evaluator(settings: Settings, judge: str | None) -> AsyncIterator["SkillEvaluator"]:
    judges = settings.replace(llm_model=judge or settings.llm_model)
    async with opened(settings, asking_models=True) as house, chains_of(judges) as judging:
        assert judging.usual is not None  # noqa: S101 - there is a model
        await house.parts.index.update(house.parts.offered.everything())
        yield SkillEvaluator(house, judging.usual)


@dataclass(frozen=True)
class SkillEvaluator:
    """Runs skills in a house; `judging` answers what tasks want judged."""

    house: Environment
    judging: FallbackChain

    @property
    def skills(self) -> dict[str, Skill]:
        """Those of the house, by name."""
        return {skill.name: skill for skill in self.house.parts.offered.skills}

    async def run(
        self, tasks: Mapping[str, Sequence[PromptCase]], runs: int, at_once: int
    ) -> SkillRun:
        """Every task so many times, and what each came to."""
        free = asyncio.Semaphore(at_once)
        wanted = [(t, n) for each in tasks.values() for t in each for n in range(1, runs + 1)]

        async def one(task: PromptCase, number: int) -> Trial:
            async with free:
                return await self._trial(task, number)

        try:
            async with asyncio.TaskGroup() as group:
                trials = [group.create_task(one(*each)) for each in wanted]
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        at = datetime.now(UTC)
        judged = any("judge" in task.expect for each in tasks.values() for task in each)
        return SkillRun(
            id=f"{at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
            at=at,
            runs=runs,
            judge=self.judging.links[0].model.endpoint if judged else None,
            skills={name: self._version(self.skills[name]) for name in tasks},
            trials=[KeptTrial.of(task.result()) for task in trials],
        )

    def _version(self, skill: Skill) -> SkillVersion:
        prompts = self.house.parts.prompts
        marks = {
            each: prompts.of("skill", "", each, DEFAULT_TENANT).fingerprint for each in LOCALES
        }
        digest = sha256(skill.model_dump_json().encode()).hexdigest()[:8]
        return SkillVersion(digest=digest, prompts=marks)

    async def _trial(self, task: PromptCase, number: int) -> Trial:
        given, skill, began = task.given, self.skills[task.job], time.perf_counter()
        assert isinstance(given, TaskGiven)  # noqa: S101 - read as one
        models = self._models(skill)
        try:
            observed, usage, error = await self._observed(task, given, skill)
        except WorkflowFailureError as failure:
            observed, usage, error = None, Usage(), f"it failed: {failure.cause}"
        seconds, checks = time.perf_counter() - began, dict[str, str | None]()
        if observed is not None:
            prompt = self.house.parts.prompts.of("judge", "", task.locale, DEFAULT_TENANT)
            checks, error = await held_against(task, observed, judge_of(self.judging, prompt))
        return Trial(task, skill.name, number, observed, checks, error, models, usage, seconds)

    def _models(self, skill: Skill) -> tuple[str, ...]:
        chain = self.house.parts.chains.of("skill", skill.model)
        return tuple(link.model.endpoint for link in chain.links[:1]) if chain else ()

    async def _observed(
        self, task: PromptCase, given: TaskGiven, skill: Skill
    ) -> tuple[Observed | None, Usage, str]:
        """What was observed, what that cost, and why nothing was."""
        start, answers = await self._start(task, given, skill), [*given.answers]
        calls: list[ObservedTool] = []
        usage = Usage()
        while True:
            outcome = await self._outcome(start)
            usage += outcome.usage
            calls += [ObservedTool(c.name, c.arguments) for c in outcome.calls if _came(c.status)]
            if outcome.ending in UNSURE:
                return None, usage, UNSURE[outcome.ending]
            if outcome.ending != "asked" or not answers:
                return _seen(outcome, calls, task.folder), usage, ""
            start = _answered(start, outcome, answers.pop(0))

    async def _start(self, task: PromptCase, given: TaskGiven, skill: Skill) -> SkillStart:
        house = self.house
        tenant, now = f"task-{secrets.token_hex(4)}", given.moment
        house.shifts[tenant] = now - await house.environment.get_current_time()
        person = await self._person(given.user, tenant)
        offered = house.parts.offered
        tools = {name: offered.limits(name) for name in sorted(offered.tools_of(skill, person))}
        person = person.speaking(task.locale)
        return SkillStart(
            task=SkillTask(
                skill=skill, request=given.request, history=spoken(given.history), now=now
            ),
            account=Account(caller=person, now=now, message_id=tenant, seconds=SECONDS),
            locale=task.locale,
            tools=tools,
        )

    async def _person(self, user: str, tenant: str) -> Principal:
        found = await self.house.parts.directory.find(tenant, user)
        if found is None:
            raise InvalidInput(f"user {user!r} isn't in the directory")
        return found

    async def _outcome(self, start: SkillStart) -> SkillOutcome:
        id_ = workflow_id(start.task.skill.name, start.account.caller.tenant, secrets.token_hex(6))
        outcome: SkillOutcome = await self.house.client.execute_workflow(
            WORKFLOW, start, id=id_, task_queue=QUEUE, result_type=SkillOutcome
        )
        return outcome


def _answered(start: SkillStart, outcome: SkillOutcome, answer: str) -> SkillStart:
    """The run that goes on from the answer to what was asked last."""
    asking = OpenSkill(
        task=start.task, memory=outcome.memory, tools=start.tools, inner=outcome.inner
    )
    known = asking.at_work.memory
    agrees = outcome.card is not None and consent(normalise(answer).text)
    heard = asking.having_heard(known.agreeing() if agrees else known.hearing(answer))
    return start.replace(memory=heard.memory, inner=heard.inner)


def _came(status: str) -> bool:
    return status == "done"


def _seen(outcome: SkillOutcome, calls: Sequence[ObservedTool], folder: Path) -> Observed:
    if outcome.flow is not None:
        value: Any = dict(outcome.flow.slots)
        return Observed(outcome.flow.flow, outcome.text, value, tuple(calls), folder)
    routes = {"answered": "answer", "asked": "ask"}
    route = routes.get(outcome.ending, outcome.ending)
    return Observed(route, outcome.text, {}, tuple(calls), folder)
