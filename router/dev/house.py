"""The order of things: Temporal first, the rest beside it, all stopped in reverse.

What can be refused at a glance (folder, ports, the Temporal binary) is looked at before
anything is started; what takes loading is loaded while Temporal boots. If a part ends by
itself, all of it ends with status 1: its state is on disk, and starting again is safer than
going on with half a house.
"""

import asyncio
import socket
from pathlib import Path
from typing import Any

from router.contracts.search_attributes import SEARCH_ATTRIBUTES
from router.dev import tasks, temporal_server
from router.dev.data_folder import DataFolder, claimed
from router.dev.ports import Ports, opened
from router.dev.settling import settle
from router.dev.stopping import until_told_to_stop
from router.settings import Settings


def run(ports: Ports, data: Path | None = None) -> None:
    """Serve until a signal comes. Prints the addresses, then `ready` once all answer.

    Raises:
        RouterError: something can't be used or didn't start, or a part ended by itself.
    """
    given: dict[str, Any] = {} if data is None else {"data": data}
    settings = Settings.load(
        **given,
        temporal_address=ports.temporal_address,
        temporal_ui=ports.ui_url,
        **_open_metrics(),
        worker_version=None,  # nobody would make it current, and then nothing runs
    )
    temporal_server.binary()
    with claimed(settings.data) as folder, opened(ports) as listening:
        asyncio.run(until_told_to_stop(_serve(settings, ports, folder, listening)))


async def _serve(
    settings: Settings, ports: Ports, folder: DataFolder, listening: socket.socket
) -> None:
    namespace = settings.temporal_namespace
    async with temporal_server.running(folder, ports, namespace, SEARCH_ATTRIBUTES) as server:
        from router.dev import inside, readiness  # a second of CPU, while Temporal takes its own
        from router.dev.observed import observed

        with observed(settings, "intent-router") as seen:
            async with inside.worker_and_api(settings, server, listening, seen) as running:
                await tasks.unless_one_ends(running, readiness.everything(ports))
                settle()
                print(_welcome(ports, folder, seen.metrics), "ready", sep="\n", flush=True)
                await tasks.forever(running)


def _open_metrics() -> dict[str, int]:
    """Where nobody says which port, any that is free: several `dev` never meet."""
    return {"metrics_port": 0} if Settings.load().metrics_port is None else {}


def _welcome(ports: Ports, folder: DataFolder, metrics: str | None) -> str:
    addresses = {
        "chat page": f"{ports.api_url}/",
        "REST API": f"{ports.api_url}/v1",
        "API docs": f"{ports.api_url}/docs",
        "Temporal UI": ports.ui_url,
        "Temporal": ports.temporal_address,
        "metrics": metrics or "nowhere",
        "state": str(folder.path),
    }
    return "\n".join(f"{name:<12} {where}" for name, where in addresses.items())
