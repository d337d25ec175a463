"""The work of a skill: a step, a plan, and its dialogue told in short, each by a model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.capabilities import Capabilities
from activities.models import ModelQuestions, Models, SkillStep, given_up, giving_up
from activities.writer import within_means
from router.contracts import activities
from router.contracts.flow import AT_FRONT_END, CallLimits
from router.domain.commands import StartFlow
from router.domain.principals import Principal
from router.domain.progress import PlannedStep, ProgressPlace
from router.flow.slot_types.slot import Slot, Unfit, fitted
from router.formats.check_threads import check_off_loop
from router.llm.fallback import FallbackChain, FallbackChains
from router.llm.request import estimated_prompt_tokens
from router.llm.types import BudgetSpent, ChatRequest
from router.retrieval.index import CapabilityIndex
from router.routing import skill_context, skill_memory, skill_step
from router.routing.planner import (
    Planned,
    Reflected,
    plan_request,
    read_plan,
    read_review,
    read_verdict,
    reflect_request,
    review_request,
)
from router.routing.prompts import Prompt, Prompts, shown
from router.routing.replies import BUDGET_SPENT
from router.routing.skill_step import MOST_HAND_OVERS, CallGuard, Means, SkillTask
from router.skill.loop import ANSWER_TOKENS, Stop
from router.skill.plan import Accept, Plan
from router.skill.skill import Skill
from router.understanding.grounding import stated

MOST_MEANS = 24
"""Tools and forms that a step is offered; of more, those nearest to the request."""


@dataclass(frozen=True)
class Thinker:
    """Thinks with the model that a skill wants, over the tools that it and its caller may use."""

    capabilities: Capabilities
    index: CapabilityIndex
    chains: FallbackChains
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.THINK.name)
    async def think(self, given: activities.Think) -> activities.SkillThought:
        """The next step; raises `ApplicationError` where no model answers."""
        return await self.of(given.account.caller).thought(given)

    def of(self, person: Principal) -> "Thinker":
        """The same, over what this person has."""
        place = (person.tenant, person.id)
        return replace(self, capabilities=self.capabilities.of(*place), index=self.index.of(*place))

    async def thought(self, given: activities.Think) -> activities.SkillThought:
        """The same, over the tools that this one has."""
        skill, account = given.task.skill, given.account
        job: str = "step" if given.task.part else "skill"
        prompt = _prompt(self.prompts, job, given)
        drafts = given.task.part or given.task.chain or (skill.reflect and not given.last)
        models = self.models.unheard if drafts else self.models
        step = SkillStep(skill.name, given.step)
        asking = models.asking(
            self.chains.of("skill", skill.model, account.caller.tenant), account, step
        )
        means, foreseen = Means(), None
        if not given.last:
            means = await self.means(given.task, account.caller, self.capabilities)
        files, history = await asking.files(), await asking.told(given.task.history)
        task = given.task.replace(history=history)
        asked = partial(skill_step.request, prompt, task, memory=given.memory, files=files)
        question = asked(means, last=given.last)
        if not given.last and (foreseen := await _why_last(given, question, asking)):
            means = Means()
            question = asked(means, last=True)
        last = given.last or foreseen is not None
        if last and not await _is_paid_for(given, question, asking):
            spent = BUDGET_SPENT["turn"].within(given.locale)
            return activities.SkillThought(spent=spent, last="budget")
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return activities.SkillThought(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        guard = CallGuard.of(given.task, given.memory)
        thought = await check_off_loop(partial(skill_step.read, answer, means, guard))
        flow = self._shaped(thought.flow, given.task) if thought.flow else None
        handed = thought.hands_over
        tools = self._limits(handed.skill, given.task, account.caller) if handed else {}
        measure = skill_context.measured(question, given.memory, answer.usage)
        about = {"usage": asking.usage, "flow": flow, "measure": measure, "last": foreseen}
        return activities.SkillThought.model_validate({**dict(thought), **about, "tools": tools})

    def _limits(self, skill: Skill, task: SkillTask, person: Principal) -> dict[str, CallLimits]:
        names = sorted(self.capabilities.tools_of(skill, person))
        theirs = (tool.name for tool in task.front_end if skill.may_use(tool.name))
        house = {name: self.capabilities.limits(name) for name in names}
        return {**dict.fromkeys(theirs, AT_FRONT_END), **house}

    async def means(self, task: SkillTask, person: Principal, offered: Capabilities) -> Means:
        """What of this may be called: all, or where that is too much what is near the request.

        The same at every step of a run, for the servers' caches; one step of a plan starts no form,
        and waits for no front end.
        """
        house = offered.tools_of(task.skill, person)
        tools = {n: t for n, t in house.items() if not (task.part and t.options.client)}
        theirs = {t.name: t.tool for t in task.front_end if task.skill.may_use(t.name)}
        theirs = {n: t for n, t in theirs.items() if not task.part and n not in offered.names}
        flows = {} if task.part else offered.flows_of(task.skill, person)
        skills = {} if task.part else _handed_to(task, offered.skills.visible_to(person))
        creates = task.part is None and task.skill.subagents > 0
        if len(tools) + len(flows) <= MOST_MEANS:
            return Means({**tools, **theirs}, flows, skills, creates)
        unlisted = {name for name, tool in tools.items() if not tool.options.listed}
        near = await self.index.select(task.request, among=[*tools, *flows], most=MOST_MEANS)
        names = {one.capability.name for one in near.candidates} | unlisted
        return Means(
            {**{name: tool for name, tool in tools.items() if name in names}, **theirs},
            {name: flow for name, flow in flows.items() if name in names},
            skills,
            creates,
        )

    def _shaped(self, flow: StartFlow, task: SkillTask) -> StartFlow:
        known = self.capabilities.slots(flow.flow)
        # It worked them out over many steps, and the form puts them all to the person.
        slots = stated(known, flow.slots, "", task.now, None)
        taken = {name: value for name, value in slots.items() if _fits(known[name], value)}
        return flow.replace(slots=taken)


REFLECTING = 1
"""Questions that are kept for it while steps of a plan are worked on."""


async def _why_last(
    given: activities.Think, question: ChatRequest, asking: ModelQuestions
) -> Stop | None:
    """Why the question after this one couldn't be asked any more."""
    tokens = _foreseen(given, question)
    if 2 * tokens > given.tokens:
        return "tokens"
    # Each of those beside it may ask one and then its last, and the reflection is a question too.
    others = 2 * given.beside + REFLECTING if given.task.part else 0
    # Whoever handed this over has to say what it came to.
    others += len(given.task.chain)
    return None if await asking.affords(2 + others, tokens) else "budget"


async def _is_paid_for(
    given: activities.Think, question: ChatRequest, asking: ModelQuestions
) -> bool:
    """False where it would spend what the reflection needs, steps before it, or who handed over."""
    if given.task.part is None and not given.task.chain:
        return True
    kept = len(given.task.chain) + (given.before + REFLECTING if given.task.part else 0)
    return await asking.affords(1 + kept, _foreseen(given, question))


def _foreseen(given: activities.SkillQuestion, question: ChatRequest) -> int:
    """Tokens that the question may take, with its answer; the next is no shorter than that."""
    estimated = estimated_prompt_tokens(question.messages, question.functions)
    return int(given.memory.ratio * estimated) + ANSWER_TOKENS


def _prompt(
    prompts: Prompts, job: str, given: activities.SkillQuestion | activities.Condense
) -> Prompt:
    account = given.account
    return prompts.of(job, account.conversation, given.locale, account.caller.tenant)


def _handed_to(task: SkillTask, usable: Iterable[Skill]) -> dict[str, Skill]:
    """The skills that it may have a part done by; none that it has that part from."""
    if len(task.chain) >= MOST_HAND_OVERS:
        return {}
    above = {task.skill.name, *task.chain}
    return {s.name: s for s in usable if s.name in task.skill.hands_to and s.name not in above}


def _fits(slot: Slot, value: JsonValue) -> bool:
    """Whether the slot takes it: the employee isn't asked to mend what a model made up."""
    try:
        fitted(slot, value)
    except Unfit:
        return False
    return True


KEPT = 3
"""Questions that are afforded where one is spent on telling in short: a step and the last too."""


@dataclass(frozen=True)
class Condenser:
    """Condenses with the usual model, whichever leads the skill: the cheaper one will do."""

    chain: FallbackChain | None
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.CONDENSE.name)
    async def condense(self, given: activities.Condense) -> activities.Condensed:
        """The note so far and what happened since, as one; raises `ApplicationError` as `think`."""
        prompt = _prompt(self.prompts, "condense", given)
        step = SkillStep(given.skill, given.step)
        asking = self.models.unheard.asking(self.chain, given.account, step)
        if not await asking.affords(KEPT):
            raise given_up(BudgetSpent("turn", "what is left is for the steps"))
        try:
            with giving_up():
                answer = await asking(skill_memory.request(prompt, given.earlier, given.gone))
        except BudgetSpent as error:
            raise given_up(error) from error
        text = shown(answer.text)
        if not text:
            raise ApplicationError("the model says nothing", type="Silence", non_retryable=True)
        return activities.Condensed(text=text, usage=asking.usage)


OF_A_PLAN = 4
"""Questions that one is made for at least: itself, a step that calls and answers, a reflection."""
OF_MORE_WORK = 3
"""The same where steps are to be done again: a reflection, a step, and another reflection."""


@dataclass(frozen=True)
class Planner:
    """Plans and reflects with the model, the prompts and the tools that its `thinker` has."""

    thinker: Thinker

    @activity.defn(name=activities.PLAN.name)
    async def plan(self, given: activities.Draw) -> Planned:
        """The steps, or what is wrong with them; raises as `Thinker.think`."""
        account = given.account
        thinker = self.thinker.of(account.caller)
        prompt = _prompt(thinker.prompts, "plan", given)
        asking = self._asking(given)
        offered = await within_means(thinker.capabilities, asking)
        means = await thinker.means(given.task, account.caller, offered)
        question = plan_request(prompt, given.task, means, given.memory)
        if not await asking.affords(OF_A_PLAN, _foreseen(given, question)):
            return Planned(unaffordable=True)
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return Planned(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        planned = read_plan(answer, given.memory.plan)
        return planned.replace(usage=asking.usage)

    @activity.defn(name=activities.REFLECT.name)
    async def reflect(self, given: activities.Reflect) -> Reflected:
        """What is to be done with the results, or what is wrong with the answer; raises as it."""
        if given.draft:
            return await self._reviewed(given)
        prompt = _prompt(self.thinker.prompts, "reflect", given)
        asking, plan = self._asking(given), given.memory.plan or Plan()
        question = reflect_request(prompt, given.task, given.memory, last=given.last)
        foreseen = not given.last and not await self._pays_for_more(given, question, asking)
        last = given.last or foreseen
        if foreseen:
            question = reflect_request(prompt, given.task, given.memory, last=True)
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return Reflected(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        reflected = read_verdict(answer, plan, last=last)
        return reflected.replace(usage=asking.usage, last=foreseen)

    @activity.defn(name=activities.NOTE_STEP.name)
    async def note_step(self, given: activities.NoteStep) -> None:
        """Tell whoever watches that a step begins, or what became of it."""
        telling, about = self.thinker.models.telling, given.account
        if telling is None or not about.conversation:
            return
        place, now = ProgressPlace(about.conversation, about.message_id), datetime.now(UTC)
        known = given.model_dump(include={"attempt", "skill", "id", "title", "number", "steps"})
        step = PlannedStep(place, **known)
        row = step.finished(now, given.fate) if given.fate else step.started(now)
        await telling.planned(about.caller.tenant, row)

    async def _reviewed(self, given: activities.Reflect) -> Reflected:
        """Whether the draft does; one that nobody could pay for to be bettered does."""
        prompt = _prompt(self.thinker.prompts, "review", given)
        asking, question = self._asking(given), review_request(prompt, given.task, given.memory)
        if not await self._pays_for_more(given, question, asking):
            return Reflected(verdict=Accept(result=given.draft))
        try:
            with giving_up():
                reviewed = read_review(await asking(question), given.draft)
        except BudgetSpent:
            reviewed = Reflected(verdict=Accept(result=given.draft))
        return reviewed.replace(usage=asking.usage)

    async def _pays_for_more(
        self, given: activities.Reflect, question: ChatRequest, asking: ModelQuestions
    ) -> bool:
        tokens = _foreseen(given, question)
        fits = OF_MORE_WORK * tokens <= given.tokens
        return fits and await asking.affords(OF_MORE_WORK, tokens)

    def _asking(self, given: activities.Draw | activities.Reflect) -> ModelQuestions:
        """Only a reflection speaks to the employee while it is being written."""
        thinker, skill = self.thinker, given.task.skill
        aloud = isinstance(given, activities.Reflect) and not given.task.chain
        models = thinker.models if aloud else thinker.models.unheard
        step = SkillStep(skill.name, given.step)
        chain = thinker.chains.of("plan", skill.model, given.account.caller.tenant)
        return models.asking(chain, given.account, step)
