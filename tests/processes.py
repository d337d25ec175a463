"""Processes that a test waits for, which aren't its own children."""

import asyncio
import os


async def wait_for_end(process: int) -> None:
    """Return once the process has ended, and close its descriptor (`os.pidfd_open`)."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process)
        os.close(process)
