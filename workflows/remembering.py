"""Keeping a sub-agent's memory small enough for its next step."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts import activities
from router.contracts.skill import SkillStart
from router.deciding import condensing, context
from router.deciding.memory import Memory
from router.domain.messages import Usage
from workflows.activity import perform


async def fit(
    start: SkillStart, memory: Memory, account: activities.Account, step: int
) -> tuple[Memory, Usage]:
    """The memory as this step is sent it, and what making it fit has cost.

    It is what the run goes on with: what gave way once is never looked at again.
    """
    ephemeral = {name: limits.ephemeral for name, limits in start.tools.items()}
    fitted = context.fitted(memory, ephemeral, start.context)
    if not fitted.gone:
        return fitted.memory, Usage()
    given = activities.Condense(
        skill=start.task.skill.name,
        step=step,
        earlier=memory.earlier,
        gone=list(fitted.gone),
        locale=start.locale,
        account=account,
    )
    told = await _told(start, given)
    return fitted.memory.recalling(told.text), told.usage


async def _told(start: SkillStart, given: activities.Condense) -> activities.Condensed:
    """What is gone, in short: by a model, or plainly where none can be had for it."""
    gone = given.gone
    plainly = activities.Condensed(text=condensing.plain(given.earlier, gone))
    if not start.context:
        return plainly
    try:
        return await perform(activities.CONDENSE, given, summary=f"{len(gone)} messages")
    except ActivityError as failure:
        if is_cancelled_exception(failure):
            raise
        workflow.logger.warning("nothing was condensed: %s", failure.cause)
        return plainly
