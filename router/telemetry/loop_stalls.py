"""How long the event loop stands still: everybody on it waits then, whoever is the reason."""

import asyncio
import math
import time

from router.telemetry.metrics import LOOP_STALLS

BEAT = 0.025
"""Seconds between two looks: a stall is told too short by less than this."""
LEAST = 0.05
"""Seconds that are no stall yet. Turns take tens of milliseconds, and the machine has others."""


class LoopLateness:
    """How late an event loop is: a mean of the last seconds, in which newer ones count for more."""

    MEMORY_S = 2.0
    """After so long a measurement counts for about a third. One stall of a second, for a garbage
    collection say, doesn't make a late loop."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def note(self, late_s: float, took_s: float) -> None:
        """Count that something ran `late_s` later than it was due, over `took_s` seconds."""
        share = 1 - math.exp(-took_s / self.MEMORY_S)
        self.seconds += share * (late_s - self.seconds)


LATENESS = LoopLateness()
"""That of this process's event loop, as `measure_stalls` keeps it; 0 where that doesn't run."""


async def measure_stalls() -> None:
    """Observe stalls of this loop among the metrics, until cancelled; keep `LATENESS`.

    They are of what ran on it without a pause, of threads that held Python's lock (collections of
    garbage, say), and of other programs that had the processor.
    """
    due = time.perf_counter() + BEAT
    while True:
        await asyncio.sleep(due - time.perf_counter())
        late = max(0.0, time.perf_counter() - due)
        LATENESS.note(late, BEAT + late)
        if late >= LEAST:
            LOOP_STALLS.observe(late)
        due = time.perf_counter() + BEAT
