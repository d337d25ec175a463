"""What API, worker and command line are made of, put together once from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import activities.tools
import flows
from activities import provided
from activities.calendar.work_calendar import WorkCalendar
from activities.people.people import People, human_resources
from activities.policies.book import PolicyBook, policy_book
from router.directory.file import FileDirectory
from router.flow.catalog import Catalog
from router.flow.loader import load_flows
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.tool.dependencies import Dependencies
from router.tool.registry import Registry
from router.understanding.reader import Reader


@dataclass(frozen=True)
class Parts:
    """The rooms, furnished: what can be known without a Temporal server."""

    settings: Settings
    directory: FileDirectory
    registry: Registry
    catalog: Catalog
    reader: Reader
    store: Store
    calendar: WorkCalendar
    people: People
    dependencies: Dependencies


def load_catalog(settings: Settings, registry: Registry) -> Catalog:
    """The flows of the settings' folder, checked against the tools there are.

    Raises:
        DefinitionError: with every problem of every file.
    """
    folder = settings.flows or Path(next(iter(flows.__path__)))
    return load_flows(folder, registry.parameters())


def load_registry() -> Registry:
    """Every tool of `activities/tools`."""
    return Registry().discover(activities.tools)


@asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[Parts]:
    """The parts, with the database migrated; it is let go of on leaving.

    Raises:
        DefinitionError: a flow or directory file can't be used.
        Unavailable: the database can't be reached.
    """
    registry = load_registry()
    catalog = load_catalog(settings, registry)
    directory = FileDirectory.load(settings.directory)
    database = Database(settings.database_url)
    try:
        await database.migrate()
        people = People(database)
        await people.migrate()
        store, calendar = Store(database), WorkCalendar.load()
        dependencies = Dependencies()
        dependencies.provide(human_resources, people)
        dependencies.provide(policy_book, PolicyBook.load())
        dependencies.provide(provided.directory, directory)
        dependencies.provide(provided.runs, store.runs)
        dependencies.provide(provided.work_calendar, calendar)
        yield Parts(
            settings=settings,
            directory=directory,
            registry=registry,
            catalog=catalog,
            reader=Reader(catalog),
            store=store,
            calendar=calendar,
            people=people,
            dependencies=dependencies,
        )
    finally:
        await database.dispose()
