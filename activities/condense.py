"""Telling in short what a sub-agent's dialogue has no room for any more: by a model."""

from dataclasses import dataclass

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.asking import Models, SkillStep, given_up, giving_up
from router.contracts import activities
from router.deciding import condensing
from router.deciding.prompts import Prompts
from router.deciding.said import shown
from router.llm.errors import BudgetSpent
from router.llm.ladder import Ladder


@dataclass(frozen=True)
class Condenser:
    """Condenses with the usual model, whichever leads the skill: the cheaper one will do."""

    ladder: Ladder | None
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.CONDENSE.name)
    async def condense(self, given: activities.Condense) -> activities.Condensed:
        """The note so far and what happened since, as one note.

        Raises `ApplicationError` where no model writes it: one that isn't tried again, once that
        can't help.
        """
        prompt = self.prompts.of("condense", given.account.conversation, given.locale)
        step = SkillStep(given.skill, given.step)
        asking = self.models.unheard.asking(self.ladder, given.account, step)
        try:
            with giving_up():
                answer = await asking(condensing.request(prompt, given.earlier, given.gone))
        except BudgetSpent as error:
            raise given_up(error) from error
        text = shown(answer.text)
        if not text:
            raise ApplicationError("the model says nothing", type="Silence", non_retryable=True)
        return activities.Condensed(text=text, usage=asking.usage)
