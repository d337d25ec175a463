"""Heartbeats: how a cancellation of a turn reaches an activity that waits for something."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity

EVERY = 0.5
"""Seconds. The worker passes a heartbeat on at most so often as it is told to
(`max_heartbeat_throttle_interval`), and hears of a cancellation in the answer."""


@asynccontextmanager
async def heartbeating() -> AsyncIterator[None]:
    """Heartbeat while something is waited for; nothing at all outside an activity.

    The activity's stub has to have a heartbeat timeout, or the server never listens.
    """
    if not activity.in_activity():
        yield
        return
    beating = asyncio.create_task(_beat())
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


async def _beat() -> None:
    while True:
        await asyncio.sleep(EVERY)
        activity.heartbeat()
