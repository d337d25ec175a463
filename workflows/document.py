"""Reading a file that somebody handed in, as a Temporal workflow: done once, whoever waits for it.

What was read stands in the file's row, not in Temporal.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities
    from router.contracts.document import WORKFLOW, DocumentKept, ReadFile
    from router.contracts.failures import from_failure
    from router.domain.errors import Unavailable
    from workflows.activity import perform

AGAIN = timedelta(seconds=10)
"""After the database was away for all tries of an activity."""


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
            kept = await self._read(given, given.file)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await self._read(given.replace(given_up=True), "given up")
            return
        if kept.asks:
            await self._looked_at(given)

    async def _read(self, given: ReadFile, summary: str) -> DocumentKept:
        """What it comes to, however long the database is away: nothing is wrong with the file."""
        while True:
            try:
                return await perform(activities.READ_DOCUMENT, given, summary=summary)
            except ActivityError as error:
                if not isinstance(from_failure(error), Unavailable):
                    raise
                workflow.logger.warning("%s isn't read yet: %s", given.file, error.cause)
            await workflow.sleep(AGAIN, summary="until it can be kept")

    async def _looked_at(self, given: ReadFile) -> None:
        try:
            await perform(activities.LOOK_AT_DOCUMENT, given, summary="what rules didn't find")
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("nobody looked at %s: %s", given.file, error)
