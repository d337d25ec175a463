"""A worker that dies on command where a hand-off is written down: `live` is what its process runs.

A file in the folder `deaths` that is named like a point has the process die there, once.
"""

import asyncio
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from pydantic import BaseModel
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from router.domain.hand_offs import HandOffRecord
from router.domain.records import LogEntry, RecordedTurn
from router.runtime.composition import assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from router.store.event_log import EventLog
from router.store.hand_offs import HandOffStore
from router.store.store import Store
from router.store.webhook_deliveries import WebhookOutbox
from tests.e2e.mortal_worker import Fate
from tests.workflow.test_hand_offs import always_worked

POINTS = ("unsaid", "said", "unlisted", "listed")
"""Before and after the words are on record, and before and after lists show how it stands."""


class Place(BaseModel):
    """Where everything is that the worker needs; `folder` has its people and tenants."""

    temporal: str
    queue: str
    folder: Path
    deaths: Path

    @property
    def settings(self) -> Settings:
        """Of whoever shares its database and its people."""
        people, tenants = self.folder / "people.yaml", self.folder / "tenants.yaml"
        return Settings.load(data=self.folder, directory=people, tenants=tenants)


class MortalLog(EventLog):
    """The real log; the worker may die before somebody's words are in it, and after."""

    def __init__(self, store: Store, fate: Fate) -> None:
        database = store.log._database
        super().__init__(database, store.live, WebhookOutbox(database, ()))
        self._fate = fate

    async def append(self, tenant: str, entries: Sequence[LogEntry]) -> None:
        spoken = any(entry.kind == "message" for entry in entries)
        if spoken:
            self._fate.at("unsaid")
        await super().append(tenant, entries)
        if spoken:
            self._fate.at("said")

    async def append_turn(self, tenant: str, entries: Sequence[LogEntry]) -> list[RecordedTurn]:
        self._fate.at("unsaid")
        unknown = await super().append_turn(tenant, entries)
        self._fate.at("said")
        return unknown


class MortalHandOffs(HandOffStore):
    """The real lists; the worker may die before they show how it stands, and after."""

    def __init__(self, store: Store, fate: Fate) -> None:
        super().__init__(store.log._database)
        self._fate = fate

    async def publish(self, hand_off: HandOffRecord) -> None:
        self._fate.at("unlisted")
        await super().publish(hand_off)
        self._fate.at("listed")


async def work(place: Place, ready: Connection) -> None:
    """Work for good, having said that it does."""
    client = await Client.connect(place.temporal, data_converter=pydantic_data_converter)
    async with assembled(place.settings) as parts:
        always_worked(parts)
        fate = Fate(place.deaths)
        parts.store.log = MortalLog(parts.store, fate)
        parts.store.hand_offs = MortalHandOffs(parts.store, fate)
        async with build_worker(client, parts, place.queue):
            ready.send("ready")
            await asyncio.Event().wait()


def live(place: Place, ready: Connection) -> None:
    """All of the process's life, which only a kill ends."""
    asyncio.run(work(place, ready))
