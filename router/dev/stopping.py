"""How `dev` hears that it shall stop."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPATIENT = 130
"""The exit status where a second signal didn't let the first one finish."""


async def until_told_to_stop(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, or until a signal comes: then it is cancelled and may clean up.

    A second signal ends the process on the spot; the kernel then ends its children.
    """
    told = False
    task = asyncio.create_task(work)

    def stop() -> None:
        nonlocal told
        if told:
            os._exit(IMPATIENT)
        told = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise
