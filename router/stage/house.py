"""Everything that stories run on, put together once for all of them.

Real: workflows, activities, tools, the sample people system, the directory. No model is asked
and nothing is encoded: what no rule takes is searched by words. The database is a file in a
folder that is gone afterwards.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from activities import provided
from router.assembly import Parts, assembled
from router.dev.registering import add
from router.flow.catalog import Catalog
from router.selection.index import CapabilityIndex
from router.settings import Settings
from router.stage import server
from router.stage.clock import ShiftingRunner
from router.stage.doubles import Book, Books, watch
from router.stage.people import EveryTenant
from router.worker import build_worker, sandbox

QUEUE = "stories"


@dataclass(frozen=True)
class House:
    """One server and one worker, for story after story: its clock is everybody's."""

    environment: WorkflowEnvironment
    parts: Parts
    books: Books
    shifts: dict[str, timedelta]

    @property
    def client(self) -> Client:
        """A client of the server."""
        return self.environment.client

    @property
    def catalog(self) -> Catalog:
        """The flows."""
        return self.parts.offered.catalog


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[House]:
    """The house, with its worker at work until the block is left.

    Raises:
        MisconfiguredError: the test server isn't installed, or a setting can't be used.
        DefinitionError: a flow or directory file can't be used.
    """
    server.binary()
    books: Books = defaultdict(Book)
    shifts: dict[str, timedelta] = {}
    with TemporaryDirectory(prefix="stories-") as folder:
        async with (
            assembled(without_model(settings, Path(folder))) as whole,
            await server.skipping() as environment,
        ):
            parts = await _furnished(whole, environment.client, books)
            await add(environment.client)
            runner = ShiftingRunner(sandbox(), shifts)
            async with build_worker(environment.client, parts, QUEUE, runner):
                yield House(environment, parts, books, shifts)


def without_model(settings: Settings, folder: Path) -> Settings:
    """The settings, with a database of its own in the folder, and nobody to ask."""
    alone: dict[str, Any] = {
        "data": folder,
        "database_url": f"sqlite:///{folder}/router.db",
        "embedder": "embedded",
        **dict.fromkeys(("llm_base_url", "llm_api_key", "llm_model", "llm_skill_model")),
        "llm_fallbacks": [],
        "worker_version": None,  # nobody would make it current, and then nothing runs
    }
    return settings.model_copy(update=alone)


async def _furnished(parts: Parts, client: Client, books: Books) -> Parts:
    directory, index = EveryTenant.of(parts.directory), CapabilityIndex(None)

    async def connect() -> Client:
        return client

    parts.dependencies.provide(provided.directory, directory)
    parts.dependencies.provide(provided.temporal, connect)
    watch(parts.offered.registry, books)
    await index.update(parts.offered.everything())
    return replace(parts, directory=directory, index=index)
