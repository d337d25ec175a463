"""One turn of a conversation at a time, in order of arrival."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import workflow

QUIET_WITHIN = timedelta(milliseconds=300)
"""How long a run that is to continue as new waits for a moment at which nobody is served."""


class TurnQueue:
    """Lets one in after the other, in order of arrival, until it is closed."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._at_work = False
        self._closed = False

    @asynccontextmanager
    async def turn(self, begun: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
        """Wait for one's turn, and have it.

        Who waits when it is closed comes again to the next run, having changed nothing: whoever
        has `begun` by then is let in.
        """
        async with self._lock:
            if not self._closed or begun():
                self._at_work = True
                try:
                    yield
                finally:
                    self._at_work = False
                return
        # Not within the lock: one who has begun may stand behind.
        await workflow.wait_condition(lambda: False)

    async def close(self) -> None:
        """Return when nothing is half done: at a quiet moment, or one made where none comes."""
        try:
            quiet, within = workflow.all_handlers_finished, QUIET_WITHIN
            await workflow.wait_condition(quiet, timeout=within, timeout_summary="quiet by then")
        except TimeoutError:
            self._closed = True
            await workflow.wait_condition(lambda: not self._at_work)
        # The result of the last turn becomes durable in a task of its own.
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        self._closed = True
        await workflow.wait_condition(lambda: not self._at_work)
