"""Reading a file that somebody handed in, as a Temporal workflow: done once, whoever waits for it.

What was read stands in the file's row, not in Temporal.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities
    from router.contracts.document import WORKFLOW, ReadFile
    from workflows.activity import perform


@workflow.defn(name=WORKFLOW)
class DocumentWorkflow:
    """One file's reading. Its id is `document/<tenant>/<file>`."""

    @workflow.run
    async def run(self, given: ReadFile) -> None:
        """Have it read; where each try ends with its worker, have it noted as unreadable.

        What rules read is kept before a model is asked for the rest: for ten seconds whoever needs
        all of it waits, and what becomes of that question takes nothing from anybody.
        """
        try:
            kept = await perform(activities.READ_DOCUMENT, given, summary=given.file)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await perform(activities.READ_DOCUMENT, given.changed(given_up=True), "given up")
            return
        if kept.asks:
            await self._looked_at(given)

    async def _looked_at(self, given: ReadFile) -> None:
        try:
            await perform(activities.LOOK_AT_DOCUMENT, given, summary="what rules didn't find")
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("nobody looked at %s: %s", given.file, error)
