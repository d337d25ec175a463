"""What runs within this process: the worker and the API, over the same parts."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from temporalio.worker import Worker

from router.dev import readiness, tasks
from router.dev.api_server import api_server
from router.dev.observed import Observed
from router.settings import Settings
from router.upkeep import at_work
from router.worker import build_workers

API_GRACE = 2.5
WORKER_GRACE = 3.0
"""Seconds. With the four that Temporal has they stay under the ten in which all is gone."""


@asynccontextmanager
async def worker_and_api(
    settings: Settings, server: tasks.Task, listening: socket.socket, seen: Observed
) -> AsyncIterator[list[tasks.Task]]:
    """Run both beside the Temporal server; gives all three tasks.

    Raises:
        RouterError: flows, directory or database can't be used, or Temporal doesn't answer.
    """
    async with at_work(settings, editing=True) as parts:
        client = await tasks.unless_one_ends([server], readiness.temporal(settings, seen))
        seen.circuits_of(parts.ladders)
        workers = build_workers(client, parts).values()
        api = api_server(parts, client)
        async with (
            tasks.running("the worker", _run(workers), WORKER_GRACE) as working,
            tasks.running("the API", api.serve([listening]), API_GRACE, stop=api.stop) as serving,
        ):
            yield [server, working, serving]


async def _run(workers: Iterable[Worker]) -> None:
    await asyncio.gather(*(worker.run() for worker in workers))
