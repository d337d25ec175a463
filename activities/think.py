"""One step of a skill's sub-agent: a question to a model, and what its answer comes to."""

from dataclasses import dataclass

from pydantic import JsonValue
from temporalio import activity

from activities.asking import Models, SkillStep, giving_up
from activities.capabilities import Capabilities
from activities.stated import stated
from router.contracts import activities
from router.deciding import context, thinking
from router.deciding.notices import BUDGET_SPENT
from router.deciding.prompts import Job, Prompts
from router.deciding.thinking import Means, Task, Thought
from router.domain.commands import StartFlow
from router.domain.principals import Principal
from router.flow.model import Slot
from router.flow.values import Unfit, fitted
from router.llm.errors import BudgetSpent
from router.llm.ladders import Ladders
from router.selection.index import CapabilityIndex

MOST_MEANS = 24
"""Tools and forms that a step is offered; of more, those nearest to the request."""


@dataclass(frozen=True)
class Thinker:
    """Thinks with the model that a skill wants, over the tools that it and its caller may use."""

    capabilities: Capabilities
    index: CapabilityIndex
    ladders: Ladders
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.THINK.name)
    async def think(self, given: activities.Think) -> Thought:
        """The next step.

        Raises `ApplicationError` where no model answers: one that isn't tried again, once that
        can't help.
        """
        skill, account = given.task.skill, given.account
        job: Job = "step" if given.task.part else "skill"
        prompt = self.prompts.of(job, account.conversation, given.locale)
        models = self.models.unheard if given.task.part else self.models
        step = SkillStep(skill.name, given.step)
        asking = models.asking(self.ladders.for_skill(skill.model), account, step)
        foreseen = not given.last and not await asking.affords(2)
        last = given.last or foreseen
        means = Means()
        if not last:
            means = await self.means(given.task, account.caller, self.capabilities)
        question = thinking.request(prompt, given.task, means, given.memory, last=last)
        try:
            with giving_up():
                answer = await asking(question)
        except BudgetSpent as spent:
            return Thought(spent=BUDGET_SPENT[spent.scope].within(given.locale))
        thought = thinking.read(answer, means)
        flow = self._shaped(thought.flow, given.task) if thought.flow else None
        measure = context.measured(question, given.memory, answer.usage)
        about = {"usage": asking.usage, "flow": flow, "measure": measure, "last": foreseen}
        return thought.model_copy(update=about)

    async def means(self, task: Task, person: Principal, offered: Capabilities) -> Means:
        """What of this may be called: all, or where that is too much what is near the request.

        The same at every step of a run, so that servers can keep the prompt
        in their cache. From one step of a plan nobody is sent to a form.
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

    def _shaped(self, flow: StartFlow, task: Task) -> StartFlow:
        """The flow with the model's values in the shapes that its slots have."""
        known = self.capabilities.slots(flow.flow)
        slots = stated(known, flow.slots, "", task.now)
        taken = {name: value for name, value in slots.items() if _fits(known[name], value)}
        return flow.model_copy(update={"slots": taken})


def _fits(slot: Slot, value: JsonValue) -> bool:
    """Whether the slot takes it: the employee isn't asked to mend what a model made up."""
    try:
        fitted(slot, value)
    except Unfit:
        return False
    return True
