"""One step of a skill's sub-agent: a question to a model, and what its answer comes to."""

from dataclasses import dataclass

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.asking import Models, again_soon
from activities.capabilities import Capabilities
from router.contracts import activities
from router.deciding import thinking
from router.deciding.notices import BUDGET_SPENT
from router.deciding.prompts import Prompts
from router.deciding.thinking import Thought
from router.llm.errors import BudgetSpent, ModelRefused, ModelUnavailable
from router.llm.ladders import Ladders


@dataclass(frozen=True)
class Thinker:
    """Thinks with the model that a skill wants, over the tools that it and its caller may use."""

    capabilities: Capabilities
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
        tools = self.capabilities.tools_of(skill, account.caller)
        prompt = self.prompts.of("skill", account.conversation, given.locale)
        asking = self.models.asking(self.ladders.for_skill(skill.model), account)
        try:
            answer = await asking(thinking.request(prompt, given.task, tools, given.dialogue))
        except BudgetSpent as spent:
            return Thought(text=BUDGET_SPENT[spent.scope].within(given.locale))
        except ModelUnavailable as error:
            again_soon(error)
            raise _given_up(error) from error
        except ModelRefused as error:
            raise _given_up(error) from error
        return thinking.read(answer, tools).model_copy(update={"usage": asking.usage})


def _given_up(error: ModelUnavailable | ModelRefused) -> ApplicationError:
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)
