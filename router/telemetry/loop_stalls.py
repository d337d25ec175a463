"""How long the event loop stands still: everybody on it waits then, whoever is the reason."""

import asyncio
import time

from router.telemetry.metrics import LOOP_STALLS

BEAT = 0.025
"""Seconds between two looks: a stall is told too short by less than this."""
LEAST = 0.05
"""Seconds that are no stall yet. Turns take tens of milliseconds, and the machine has others."""


async def measure_stalls() -> None:
    """Observe stalls of this loop among the metrics, until cancelled.

    They are of what ran on it without a pause, of threads that held Python's lock (collections of
    garbage, say), and of other programs that had the processor.
    """
    due = time.perf_counter() + BEAT
    while True:
        await asyncio.sleep(due - time.perf_counter())
        late = time.perf_counter() - due
        if late >= LEAST:
            LOOP_STALLS.observe(late)
        due = time.perf_counter() + BEAT
