"""Temporal, a database, the API, and workers, in processes of their own, that a storm kills."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIGKILL

import httpx
from pydantic import BaseModel
from temporalio.client import Client

from router.runtime.composition import Parts, assembled
from router.runtime.process import running
from router.runtime.server import api_server
from router.runtime.temporal import connect, register
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.e2e.mortal import Mortal
from tests.temporal import dev_server


class Place(BaseModel):
    """Where everything is that outlives a worker."""

    data: Path
    database: str
    temporal: str

    @property
    def settings(self) -> Settings:
        """What every process of the house is told."""
        return Settings.load(
            data=self.data, database_url=self.database, temporal_address=self.temporal
        )


def labour(place: Place, ready: Connection) -> None:
    """All of the process's life, which only a kill ends; says when it works."""

    async def work(settings: Settings) -> None:
        async with assembled(settings) as parts:
            client = await connect(settings)
            async with build_worker(client, parts, settings.task_queue):
                ready.send("ready")
                await asyncio.Event().wait()

    asyncio.run(work(place.settings))


GRACE = 3.0
"""Seconds for the API to stop."""


@dataclass
class Workers:
    """So many workers, each started again when it has been killed."""

    place: Place
    number: int
    random: random.Random
    kills: int = 0
    _alive: list[Mortal[Place]] = field(default_factory=list)

    async def start(self) -> None:
        self._alive = [Mortal(labour, self.place) for _ in range(self.number)]
        for one in self._alive:
            await one.start()

    async def kill_one(self) -> None:
        """End one at random, wherever it is, and have another work in its place."""
        unlucky = self.random.choice(self._alive)
        unlucky.process.kill()
        await unlucky.reborn(-SIGKILL)
        self.kills += 1

    async def stop(self) -> None:
        for one in self._alive:
            await one.kill()


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
        async with assembled(place.settings) as parts:
            await register(client)
            labourers = Workers(place, workers, draws)
            await labourers.start()
            api = api_server(parts, client)
            with socket.create_server(("127.0.0.1", 0)) as listening:
                url = f"http://127.0.0.1:{listening.getsockname()[1]}"
                async with (
                    running("the API", api.serve([listening]), GRACE, stop=api.stop),
                    httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http,
                ):
                    try:
                        yield House(client, parts, http, labourers)
                    finally:
                        await labourers.stop()
