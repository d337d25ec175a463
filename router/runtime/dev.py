"""`intent-router dev`: Temporal first, the rest beside it, all stopped in reverse.

What can be refused at a glance (folder, ports, the Temporal binary) is looked at before anything
is started; what takes loading is loaded while Temporal boots. If a part ends by itself, all of it
ends with status 1: its state is on disk, and starting again is safer than half of it.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from temporalio.client import Client

from router.contracts.start_options import SEARCH_ATTRIBUTES
from router.domain.errors import Unavailable
from router.gateway.generations import agree, halves
from router.runtime import process, temporal_server
from router.runtime.data_folder import (
    DataFolder,
    ServedPorts,
    announced,
    claimed,
    page_token,
)
from router.runtime.definitions import sample_persona
from router.runtime.garbage_collection import steady
from router.runtime.process import ProcessTelemetry, until_told_to_stop
from router.runtime.sandbox import cached
from router.runtime.server import Ports, api_server, opened
from router.runtime.temporal import connect, temporal_says
from router.runtime.upkeep import at_work
from router.runtime.worker import build_workers, load_workload, supervised
from router.settings import NO_TLS, Settings
from router.store.identity import Houses
from router.telemetry.crashes import registered

_log = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds, for a slow machine or a large migration; what has failed is noticed at once."""
INTERVAL = 0.05


async def temporal(settings: Settings, seen: ProcessTelemetry) -> Client:
    """A client of the server, as soon as it takes one."""
    async for _ in _tries():
        with suppress(Unavailable):
            return await connect(settings, seen.plugins, seen.runtime)
    raise Unavailable(f"Temporal didn't answer at {settings.temporal_address} in {PATIENCE:.0f} s")


async def success(url: str) -> None:
    """Return as soon as the address answers with success; `Unavailable` after `PATIENCE`."""
    last = "nothing"
    async with httpx2.AsyncClient(timeout=5, follow_redirects=True, trust_env=False) as browser:
        async for _ in _tries():
            with suppress(httpx2.HTTPError):
                answer = await browser.get(url)
                if answer.is_success:
                    return
                last = answer.text
    raise Unavailable(f"{url} wasn't ready in {PATIENCE:.0f} s; it last said {last}")


async def _tries() -> AsyncIterator[None]:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < deadline:
        yield
        await asyncio.sleep(INTERVAL)


def run(ports: Ports, data: Path | None = None) -> None:
    """Serve until a signal comes. Prints the addresses, then `ready` once all answer."""
    given: dict[str, Any] = {} if data is None else {"data": data}
    if Settings.load().metrics_port is None:
        given["metrics_port"] = 0  # any that is free: several `dev` never meet
    if Settings.load().persona is None:
        given["persona"] = sample_persona()
    settings = Settings.load(
        **given,
        **NO_TLS,
        temporal_address=ports.temporal_address,
        temporal_ui=ports.ui_url,
        worker_version=None,  # nobody would make it current, and then nothing runs
    )
    temporal_server.binary()
    os.umask(0o077)  # databases, logs and files are their owner's alone, Temporal's among them
    with claimed(settings.data) as folder, opened(ports) as listening:
        asyncio.run(until_told_to_stop(_serve(settings, ports, folder, listening)))


async def _serve(
    settings: Settings, ports: Ports, folder: DataFolder, listening: socket.socket
) -> None:
    namespace = settings.temporal_namespace
    async with temporal_server.running(folder, ports, namespace, SEARCH_ATTRIBUTES) as server:
        # a second of CPU, while Temporal takes its own
        from router.runtime.process import observed

        with observed(settings, "intent-router") as seen:
            async with worker_and_api(settings, server, listening, seen) as running:
                # The API says so only where all of its parts work.
                answering = asyncio.gather(
                    success(f"{ports.api_url}/readyz"), success(ports.ui_url)
                )
                await process.unless_one_ends(running, answering)
                addresses = {
                    "chat page": ports.page_url(page_token(folder.path)),
                    "REST API": f"{ports.api_url}/v1",
                    "API docs": f"{ports.api_url}/docs",
                    "Temporal UI": ports.ui_url,
                    "Temporal": ports.temporal_address,
                    "metrics": seen.metrics or "nowhere",
                    "state": folder.path,
                }
                lines = [f"{name:<12} {where}" for name, where in addresses.items()]
                async with steady(cached):
                    with announced(folder, _served(ports, seen.metrics)):
                        print(*lines, "ready", sep="\n", flush=True)
                        await process.forever(running)


def _served(ports: Ports, metrics: str | None) -> ServedPorts:
    return ServedPorts(
        api=ports.api,
        temporal=ports.temporal,
        ui=ports.ui,
        metrics=urlsplit(metrics).port if metrics else None,
    )


API_GRACE = 2.5
WORKER_GRACE = 3.0
"""Seconds. With the four that Temporal has they stay under the ten in which all is gone."""


async def _made_one(client: Client, houses: Houses, queue: str) -> None:
    """Have both halves agree, whatever became of one: it is but somebody's own machine."""
    with temporal_says():
        if (await halves(client, houses, queue)).trouble:
            _log.warning(
                "temporal.db and router.db in the data folder aren't of one moment (was one "
                "deleted?): requests under way may be lost; `intent-router reconcile` names them"
            )
        await agree(client, houses, queue)


@asynccontextmanager
async def worker_and_api(
    settings: Settings,
    server: process.BackgroundTask,
    listening: socket.socket,
    seen: ProcessTelemetry,
) -> AsyncIterator[list[process.BackgroundTask]]:
    """Run both beside the Temporal server; gives all three tasks."""
    async with at_work(settings, editing=True) as parts:
        client = await process.unless_one_ends([server], temporal(settings, seen))
        await _made_one(client, parts.store.houses, settings.task_queue)
        seen.circuits_of(parts.chains, parts.caller.circuits)
        register = seen.closing.enter_context(registered(settings.data))
        workload = load_workload(client, parts, settings.task_queue)
        workers = build_workers(client, parts, register=register, work=workload).values()
        api = api_server(parts, client)

        async def working_all() -> None:
            await asyncio.gather(*(worker.run() for worker in workers))

        async with (
            supervised(parts),
            workload.keep_running(),
            process.running("the worker", working_all(), WORKER_GRACE) as working,
            process.running("the API", api.serve([listening]), API_GRACE, stop=api.stop) as serving,
        ):
            yield [server, working, serving]
