"""Keeping a sub-agent's memory small enough for its next step."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts import activities
from router.contracts.skill import SkillStart
from router.deciding import condensing, context
from router.deciding.memory import Memory
from router.domain.messages import Usage
from router.llm.chat import Message
from workflows.activity import perform


async def fit(
    start: SkillStart, memory: Memory, account: activities.Account
) -> tuple[Memory, Usage]:
    """The memory as the next step is sent it, and what making it fit has cost.

    It is what the run goes on with: what gave way once is never looked at again.
    """
    ephemeral = {name: limits.ephemeral for name, limits in start.tools.items()}
    fitted = context.fitted(memory, ephemeral, start.context)
    if not fitted.gone:
        return fitted.memory, Usage()
    told = await _told(start, memory.earlier, fitted.gone, account)
    return fitted.memory.recalling(told.text), told.usage


async def _told(
    start: SkillStart, earlier: str, gone: Sequence[Message], account: activities.Account
) -> activities.Condensed:
    """What is gone, in short: by a model, or plainly where none can be had for it."""
    plainly = activities.Condensed(text=condensing.plain(earlier, gone))
    if not start.context:
        return plainly
    given = activities.Condense(
        earlier=earlier, gone=list(gone), locale=start.locale, account=account
    )
    try:
        return await perform(activities.CONDENSE, given, summary=f"{len(gone)} messages")
    except ActivityError as failure:
        if is_cancelled_exception(failure):
            raise
        workflow.logger.warning("nothing was condensed: %s", failure.cause)
        return plainly
