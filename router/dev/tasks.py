"""Tasks that run side by side, for as long as the process: none may end before the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from router.domain.errors import Unavailable

Out = TypeVar("Out")
Task = asyncio.Task[None]


@asynccontextmanager
async def running(
    name: str,
    work: Coroutine[Any, Any, None],
    grace: float,
    stop: Callable[[], object] | None = None,
) -> AsyncIterator[Task]:
    """Run `work` beside the block; on leaving, stop it and wait for it at most `grace` seconds.

    `stop` asks it to end; without one it is cancelled.
    """
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        (stop or task.cancel)()
        await asyncio.wait({task}, timeout=grace)
        task.cancel()


async def unless_one_ends(tasks: Collection[Task], waiting: Awaitable[Out]) -> Out:
    """What `waiting` gives.

    Raises:
        Exception: what a task failed with, if one ended first.
        Unavailable: a task ended first without saying why.
    """
    goal = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({goal, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
                raise Unavailable(f"{task.get_name()} has stopped, and everything with it")
        return goal.result()
    finally:
        goal.cancel()


async def forever(tasks: Collection[Task]) -> None:
    """Wait until one of them ends, which is an error: see `unless_one_ends`."""
    await unless_one_ends(tasks, asyncio.Event().wait())
