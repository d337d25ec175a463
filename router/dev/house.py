"""One terminal: Temporal, worker and API, started one after the other, stopped in reverse.

Everything that could be refused (flows, folder, ports, the Temporal binary) is looked at
before a process is started. If a part ends by itself, all of it ends with status 1: its state
is on disk, and starting again is safer than going on with half a house.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from router.assembly import Parts, assembled
from router.dev import readiness, tasks, temporal_server
from router.dev.api_server import api_server
from router.dev.data_folder import DataFolder, claimed
from router.dev.ports import Ports, opened
from router.dev.search_attributes import SEARCH_ATTRIBUTES
from router.dev.stopping import until_told_to_stop
from router.settings import Settings
from router.worker import build_worker

API_GRACE = 2.5
WORKER_GRACE = 3.0
"""Seconds. With the four that Temporal has they stay under the ten in which all is gone."""


def run(ports: Ports, data: Path | None = None) -> None:
    """Serve until a signal comes. Prints the addresses, then `ready` once all answer.

    Raises:
        RouterError: something can't be used or didn't start, or a part ended by itself.
    """
    given: dict[str, Any] = {} if data is None else {"data": data}
    settings = Settings.load(
        **given, temporal_address=ports.temporal_address, temporal_ui=ports.ui_url
    )
    temporal_server.binary()
    with claimed(settings.data) as folder, opened(ports) as listening:
        asyncio.run(until_told_to_stop(_serve(settings, ports, folder, listening)))


async def _serve(
    settings: Settings, ports: Ports, folder: DataFolder, listening: socket.socket
) -> None:
    async with (
        assembled(settings) as furniture,
        temporal_server.running(
            folder, ports, settings.temporal_namespace, SEARCH_ATTRIBUTES
        ) as server,
        _worker_and_api(furniture, server, listening) as running,
    ):
        await tasks.unless_one_ends(running, _ready(ports))
        print(_welcome(ports, folder), "ready", sep="\n", flush=True)
        await tasks.forever(running)


@asynccontextmanager
async def _worker_and_api(
    furniture: Parts, server: tasks.Task, listening: socket.socket
) -> AsyncIterator[list[tasks.Task]]:
    settings = furniture.settings
    client = await tasks.unless_one_ends([server], readiness.temporal(settings))
    worker = build_worker(client, furniture, settings.task_queue)
    api = api_server(furniture, client)
    async with (
        tasks.running("the worker", worker.run(), WORKER_GRACE) as working,
        tasks.running("the API", api.serve([listening]), API_GRACE, stop=api.stop) as serving,
    ):
        yield [server, working, serving]


async def _ready(ports: Ports) -> None:
    await asyncio.gather(readiness.api(ports.api_url), readiness.page(ports.ui_url))


def _welcome(ports: Ports, folder: DataFolder) -> str:
    addresses = {
        "chat page": f"{ports.api_url}/",
        "REST API": f"{ports.api_url}/v1",
        "API docs": f"{ports.api_url}/docs",
        "Temporal UI": ports.ui_url,
        "Temporal": ports.temporal_address,
        "state": str(folder.path),
    }
    return "\n".join(f"{name:<12} {where}" for name, where in addresses.items())
