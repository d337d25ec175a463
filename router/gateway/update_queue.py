"""A queue in front of each workflow for the updates that this process sends to it.

Temporal refuses an update while ten others of the same workflow are in flight. Many people may
decide on one request at the same moment: their decisions wait here for their turn, so that nobody
is refused because others were faster. Two API processes share Temporal's ten.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MAX_IN_FLIGHT = 5
"""Updates of one workflow that a process has in flight at once."""


@dataclass
class _Line:
    places: asyncio.Semaphore
    users: int = 0


@dataclass
class UpdateQueue:
    """Lets through at most `max_in_flight` updates of each workflow at once, first come first."""

    max_in_flight: int = MAX_IN_FLIGHT
    _lines: dict[str, _Line] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, workflow_id: str) -> AsyncIterator[None]:
        """Wait until another update of this workflow may be sent, and hold its place meanwhile."""
        line = self._lines.setdefault(workflow_id, _Line(asyncio.Semaphore(self.max_in_flight)))
        line.users += 1
        try:
            async with line.places:
                yield
        finally:
            line.users -= 1
            if not line.users:
                del self._lines[workflow_id]
