"""Temporal, a database, the API, and workers, in processes of their own, that a storm kills."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
from temporalio.client import Client

from router.runtime.composition import Parts, assembled
from router.runtime.process import running
from router.runtime.server import api_server
from router.runtime.temporal import register
from tests.e2e.forks import FORKS
from tests.e2e.storm.worker import Place, labour
from tests.temporal import dev_server

GRACE = 3.0
"""Seconds for the API to stop."""


@dataclass
class Workers:
    """So many workers, each started again when it has been killed."""

    place: Place
    number: int
    random: random.Random
    kills: int = 0
    _processes: list[Any] = field(default_factory=list)

    async def start(self) -> None:
        self._processes = [await self._born() for _ in range(self.number)]

    async def kill_one(self) -> None:
        """End one at random, wherever it is, and have another work in its place."""
        unlucky = self.random.randrange(self.number)
        process = self._processes[unlucky]
        process.kill()
        await asyncio.to_thread(process.join)
        assert process.exitcode == -SIGKILL, f"a worker ended by itself: {process.exitcode}"
        self.kills += 1
        self._processes[unlucky] = await self._born()

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()

    async def _born(self) -> Any:
        ours, its = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=labour, args=(self.place, its), daemon=True)
        process.start()
        its.close()
        with ours:
            await asyncio.to_thread(ours.recv)
        return process


@dataclass(frozen=True)
class House:
    """What the storm rages over."""

    temporal: Client
    parts: Parts
    http: httpx.AsyncClient
    workers: Workers


@asynccontextmanager
async def house(
    data: Path, database: str, workers: int, draws: random.Random
) -> AsyncIterator[House]:
    """All of it at work. The Temporal server keeps its state in a file, as `dev` has it do."""
    server = await dev_server(dev_server_database_filename=str(data / "temporal.db"))
    async with server as temporal:
        client = temporal.client
        place = Place(
            data=data, database=database, temporal=client.service_client.config.target_host
        )
        async with assembled(place.settings) as parts, _served(parts, client) as http:
            await register(client)
            labourers = Workers(place, workers, draws)
            await labourers.start()
            try:
                yield House(client, parts, http, labourers)
            finally:
                labourers.stop()


@asynccontextmanager
async def _served(parts: Parts, client: Client) -> AsyncIterator[httpx.AsyncClient]:
    """The REST API on a port of its own, and a client of it."""
    api = api_server(parts, client)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            running("the API", api.serve([listening]), GRACE, stop=api.stop),
            httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http,
        ):
            yield http
