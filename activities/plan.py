"""A skill's work by a plan: asking a model for one, and what to do with what its steps came to."""

from dataclasses import dataclass

from temporalio import activity

from activities.asking import Asking, SkillStep, giving_up
from activities.think import Thinker
from activities.writing import within_means
from router.contracts import activities
from router.deciding.notices import BUDGET_SPENT
from router.deciding.plan_reading import Planned, Reflected, read_plan, read_verdict
from router.deciding.planning import plan_request, reflect_request
from router.llm.errors import BudgetSpent
from router.skill.plan import Plan


@dataclass(frozen=True)
class Planner:
    """Plans and reflects with the model, the prompts and the tools that its `thinker` has."""

    thinker: Thinker

    @activity.defn(name=activities.PLAN.name)
    async def plan(self, given: activities.Draw) -> Planned:
        """The steps, or what is wrong with them.

        Raises `ApplicationError` where no model answers: one that isn't tried again, once that
        can't help.
        """
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
        """What is to be done with the results, or what is wrong with the answer.

        Raises as `plan`.
        """
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

    def _asking(self, given: activities.Draw | activities.Reflect) -> Asking:
        """Only a reflection speaks to the employee while it is being written."""
        thinker, skill = self.thinker, given.task.skill
        models = thinker.models if isinstance(given, activities.Reflect) else thinker.models.unheard
        step = SkillStep(skill.name, given.step)
        return models.asking(thinker.ladders.for_skill(skill.model), given.account, step)
