"""What a worker's process runs in the storm: the project's own worker, and nothing beside it."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from pydantic import BaseModel

from router.runtime.composition import assembled
from router.runtime.temporal import connect
from router.runtime.worker import build_worker
from router.settings import Settings


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


async def _work(settings: Settings, ready: Connection) -> None:
    async with assembled(settings) as parts:
        client = await connect(settings)
        async with build_worker(client, parts, settings.task_queue):
            ready.send("ready")
            await asyncio.Event().wait()


def labour(place: Place, ready: Connection) -> None:
    """All of the process's life, which only a kill ends; says when it works."""
    asyncio.run(_work(place.settings, ready))
