"""One turn at a time, and the moment at which the next run goes on from there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import workflow

QUIET_WITHIN = timedelta(milliseconds=300)
"""How long a run that is to continue as new waits for a moment at which nobody is served."""


class OneAtATime:
    """Lets one in after the other, in order of arrival, until it is closed."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._at_work = False
        self._closed = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it.

        Who waits when it is closed has changed nothing. The end of this run tells their callers
        so, and they come again with the same message id, to the next run.
        """
        async with self._lock:
            if self._closed:
                await workflow.wait_condition(lambda: False)
            self._at_work = True
            try:
                yield
            finally:
                self._at_work = False

    async def close(self) -> None:
        """Return when nothing is half done: at a quiet moment, or one made where none comes."""
        try:
            await workflow.wait_condition(
                workflow.all_handlers_finished,
                timeout=QUIET_WITHIN,
                timeout_summary="quiet by then",
            )
        except TimeoutError:
            self._closed = True
            await workflow.wait_condition(lambda: not self._at_work)
        # The result of the last turn becomes durable in a task of its own.
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        self._closed = True
        await workflow.wait_condition(lambda: not self._at_work)
