"""How many calls a tool, or all tools of a server together, get at once from this worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from router.domain.errors import TransientToolError
from router.domain.texts import Localised
from router.telemetry.metrics import REFUSED
from router.tool.tool import Tool

PATIENCE = 10.0
"""Seconds that a call waits for a place: less than `activities.capabilities.MARGIN` allows, so that
whoever gets one still has all of the tool's own time."""
AGAIN = 2.0
"""Seconds before the next try of a call that got none."""


class Places:
    """Tools without `at_once` have as many as they like.

    A call waits before anything is noted of it, so one that gets no place was never sent: it
    may be tried again, whatever the tool does.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._free: dict[tuple[str, int], asyncio.Semaphore] = {}

    @asynccontextmanager
    async def taken(self, tool: Tool) -> AsyncIterator[None]:
        """A place while within.

        Raises:
            TransientToolError: none became free for so long as a call may wait.
        """
        most = tool.options.at_once
        if most is None:
            yield
            return
        pool = tool.options.pool or tool.name
        # Under the number too: a file that says another begins anew with that many.
        free = self._free.setdefault((pool, most), asyncio.Semaphore(most))
        try:
            await asyncio.wait_for(free.acquire(), self._patience)
        except TimeoutError:
            REFUSED.labels("tool").inc()
            raise self._crowded(tool, most) from None
        try:
            yield
        finally:
            free.release()

    def _crowded(self, tool: Tool, most: int) -> TransientToolError:
        seconds = f"{self._patience:g}"
        return TransientToolError(
            Localised(
                zh=f"“{tool.title.zh}”正忙：已有 {most} 个调用在进行，{seconds} 秒内没有空出来",
                en=f"{tool.name} is busy: {most} calls are under way, and none ended in "
                f"{seconds} s",
            ),
            retry_after=AGAIN,
        )
