"""Deployments of a test's own people, with a worker and the API in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.workflow.test_streaming import served


@asynccontextmanager
async def run_for_people(people: str, folder: Path) -> AsyncIterator[Parts]:
    """Keep the parts of a deployment at work whose directory has these people."""
    directory = folder / "people.yaml"
    directory.write_text(people, "utf-8")
    async with at_work(Settings.load(data=folder, directory=directory)) as parts:
        yield parts


@asynccontextmanager
async def serve_with_worker(
    parts: Parts, client: Client, task_queue: str
) -> AsyncIterator[AsyncClient]:
    """Run a worker and the API over these parts; yields a client of the API."""
    async with build_worker(client, parts, task_queue), served(parts, client, task_queue) as api:
        yield api
