"""A queue in front of each workflow for the updates that this process sends to it.

Temporal refuses an update while ten others of the same workflow are in flight, and the refusal
aborts those that the workflow hasn't accepted yet: where many are sent at once, hardly any gets
through. So the decisions of many people on one request wait here for their turn. Processes don't
know of each other: one that is refused all the same sends fewer at once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MAX_IN_FLIGHT = 3
"""Updates of one workflow that a process has in flight at once. A run takes them one by one: more
would hardly be faster, and three processes stay below Temporal's ten."""


@dataclass
class UpdateLine:
    """The updates of one workflow that are in flight, and those that wait behind them."""

    places: asyncio.Semaphore
    width: int
    users: int = 0
    _too_many: int = 0

    def narrow(self) -> None:
        """Have one update fewer in flight at once from now on, down to one."""
        if self.width > 1:
            self.width -= 1
            self._too_many += 1

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it."""
        await self.places.acquire()
        try:
            yield
        finally:
            if self._too_many:
                self._too_many -= 1
            else:
                self.places.release()


@dataclass
class UpdateQueue:
    """Lets through at most `max_in_flight` updates of each workflow at once, first come first."""

    max_in_flight: int = MAX_IN_FLIGHT
    _lines: dict[str, UpdateLine] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, workflow_id: str) -> AsyncIterator[UpdateLine]:
        """Wait until another update of this workflow may be sent, and hold its place meanwhile."""
        width = self.max_in_flight
        line = self._lines.setdefault(workflow_id, UpdateLine(asyncio.Semaphore(width), width))
        line.users += 1
        try:
            async with line.place():
                yield line
        finally:
            line.users -= 1
            if not line.users:
                del self._lines[workflow_id]
