"""The work of a skill: a step, a plan, and its dialogue told in short, each by a model."""

from dataclasses import dataclass

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.capabilities import Capabilities
from activities.models import ModelQuestions, Models, SkillStep, given_up, giving_up
from activities.writer import within_means
from router.contracts import activities
from router.domain.commands import StartFlow
from router.domain.principals import Principal
from router.flow.slot_types.slot import Slot, Unfit, fitted
from router.llm.fallback import FallbackChain, FallbackChains
from router.llm.types import BudgetSpent
from router.retrieval.index import CapabilityIndex
from router.routing import skill_context, skill_memory, skill_step
from router.routing.planner import (
    Planned,
    Reflected,
    plan_request,
    read_plan,
    read_verdict,
    reflect_request,
)
from router.routing.prompts import Job, Prompts, shown
from router.routing.replies import BUDGET_SPENT
from router.routing.skill_step import Means, SkillTask, Thought
from router.skill.plan import Plan
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
    async def think(self, given: activities.Think) -> Thought:
        """The next step; raises `ApplicationError` where no model answers."""
        skill, account = given.task.skill, given.account
        job: Job = "step" if given.task.part else "skill"
        prompt = self.prompts.of(job, account.conversation, given.locale)
        models = self.models.unheard if given.task.part else self.models
        step = SkillStep(skill.name, given.step)
        asking = models.asking(self.chains.for_skill(skill.model), account, step)
        foreseen = not given.last and not await asking.affords(2)
        last = given.last or foreseen
        means = Means()
        if not last:
            means = await self.means(given.task, account.caller, self.capabilities)
        question = skill_step.request(prompt, given.task, means, given.memory, last=last)
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return Thought(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        thought = skill_step.read(answer, means, guarded=_is_guarded(given))
        flow = self._shaped(thought.flow, given.task) if thought.flow else None
        measure = skill_context.measured(question, given.memory, answer.usage)
        about = {"usage": asking.usage, "flow": flow, "measure": measure, "last": foreseen}
        return thought.model_copy(update=about)

    async def means(self, task: SkillTask, person: Principal, offered: Capabilities) -> Means:
        """What of this may be called: all, or where that is too much what is near the request.

        The same at every step of a run, for the servers' caches; one step of a plan starts no form.
        """
        tools = offered.tools_of(task.skill, person)
        flows = {} if task.part else offered.flows_of(task.skill, person)
        if len(tools) + len(flows) <= MOST_MEANS:
            return Means(tools, flows)
        unlisted = {name for name, tool in tools.items() if not tool.options.listed}
        near = await self.index.select(task.request, among=[*tools, *flows], most=MOST_MEANS)
        names = {one.capability.name for one in near.candidates} | unlisted
        return Means(
            {name: tool for name, tool in tools.items() if name in names},
            {name: flow for name, flow in flows.items() if name in names},
        )

    def _shaped(self, flow: StartFlow, task: SkillTask) -> StartFlow:
        known = self.capabilities.slots(flow.flow)
        slots = stated(known, flow.slots, "", task.now)
        taken = {name: value for name, value in slots.items() if _fits(known[name], value)}
        return flow.model_copy(update={"slots": taken})


def _is_guarded(given: activities.Think) -> bool:
    """True where a stranger may speak by the model's mouth, and nobody said whom it may tell."""
    return given.memory.exposed and given.task.skill.allowed_tools is None


def _fits(slot: Slot, value: JsonValue) -> bool:
    """Whether the slot takes it: the employee isn't asked to mend what a model made up."""
    try:
        fitted(slot, value)
    except Unfit:
        return False
    return True


@dataclass(frozen=True)
class Condenser:
    """Condenses with the usual model, whichever leads the skill: the cheaper one will do."""

    chain: FallbackChain | None
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.CONDENSE.name)
    async def condense(self, given: activities.Condense) -> activities.Condensed:
        """The note so far and what happened since, as one; raises `ApplicationError` as `think`."""
        prompt = self.prompts.of("condense", given.account.conversation, given.locale)
        step = SkillStep(given.skill, given.step)
        asking = self.models.unheard.asking(self.chain, given.account, step)
        try:
            with giving_up():
                answer = await asking(skill_memory.request(prompt, given.earlier, given.gone))
        except BudgetSpent as error:
            raise given_up(error) from error
        text = shown(answer.text)
        if not text:
            raise ApplicationError("the model says nothing", type="Silence", non_retryable=True)
        return activities.Condensed(text=text, usage=asking.usage)


@dataclass(frozen=True)
class Planner:
    """Plans and reflects with the model, the prompts and the tools that its `thinker` has."""

    thinker: Thinker

    @activity.defn(name=activities.PLAN.name)
    async def plan(self, given: activities.Draw) -> Planned:
        """The steps, or what is wrong with them; raises as `Thinker.think`."""
        thinker, account = self.thinker, given.account
        prompt = thinker.prompts.of("plan", account.conversation, given.locale)
        asking = self._asking(given)
        offered = await within_means(thinker.capabilities, asking)
        means = await thinker.means(given.task, account.caller, offered)
        try:
            with giving_up():
                answer = await asking(plan_request(prompt, given.task, means, given.memory))
        except BudgetSpent as spent:
            return Planned(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        planned = read_plan(answer, given.memory.plan)
        return planned.model_copy(update={"usage": asking.usage})

    @activity.defn(name=activities.REFLECT.name)
    async def reflect(self, given: activities.Reflect) -> Reflected:
        """What is to be done with the results, or what is wrong with the answer; raises as it."""
        prompt = self.thinker.prompts.of("reflect", given.account.conversation, given.locale)
        asking, plan, last = self._asking(given), given.memory.plan or Plan(), given.last
        question = reflect_request(prompt, given.task, given.memory, last=last)
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return Reflected(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        reflected = read_verdict(answer, plan, last=last)
        return reflected.model_copy(update={"usage": asking.usage})

    def _asking(self, given: activities.Draw | activities.Reflect) -> ModelQuestions:
        """Only a reflection speaks to the employee while it is being written."""
        thinker, skill = self.thinker, given.task.skill
        models = thinker.models if isinstance(given, activities.Reflect) else thinker.models.unheard
        step = SkillStep(skill.name, given.step)
        return models.asking(thinker.chains.for_skill(skill.model), given.account, step)
