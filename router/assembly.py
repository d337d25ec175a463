"""What API, worker and command line are made of, put together once from the settings."""

import asyncio
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
from router.deciding.tool_form import form_of
from router.directory.file import FileDirectory
from router.domain.capabilities import Capability
from router.domain.principals import FLOW_ROLE
from router.flow.catalog import Catalog
from router.flow.loader import load_flows
from router.flow.model import FlowDefinition
from router.llm.embeddings import OpenAIEmbeddings
from router.llm.ladder import Ladder
from router.llm.model import ChatModel
from router.selection.encoder import Encoder
from router.selection.index import CapabilityIndex
from router.selection.local import local_encoder
from router.selection.threshold_file import read_thresholds
from router.selection.vector_file import VectorFile
from router.settings import OPENAI, Settings
from router.store.database import Database
from router.store.store import Store
from router.tool.dependencies import Dependencies
from router.tool.registry import Registry
from router.understanding.reader import Reader

OPENAI_EMBEDDER = "openai:"
VECTORS = "vectors.db"
"""In the data folder: vectors of what there is, kept for the next start."""


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
    index: CapabilityIndex
    ladder: Ladder | None
    """The model and its fallbacks; None where none is configured."""


def load_catalog(settings: Settings, registry: Registry) -> Catalog:
    """The flows of the settings' folder, checked against the tools there are.

    Raises:
        DefinitionError: with every problem of every file.
    """
    folder = settings.flows or Path(next(iter(flows.__path__)))
    return load_flows(folder, registry.parameters())


def tool_forms(registry: Registry) -> list[FlowDefinition]:
    """The tools as flows; nothing starts them by itself, they are chosen where offered."""
    forms = (form_of(tool) for tool in registry)
    return [form for form in forms if form is not None]


def capabilities(catalog: Catalog, registry: Registry) -> list[Capability]:
    """Everything that anybody may be offered; who, is decided at every message."""
    tools = (tool.capability for tool in registry if tool.roles != {FLOW_ROLE})
    return [*(flow.capability for flow in catalog), *tools]


def encoder(settings: Settings) -> Encoder:
    """What turns texts into vectors.

    Raises:
        MisconfiguredError: there is no such encoder.
    """
    name = settings.embedder.removeprefix(OPENAI_EMBEDDER)
    if name == settings.embedder:
        return local_encoder(settings.embedder)
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    return OpenAIEmbeddings(settings.llm_base_url or OPENAI, name, key)


@asynccontextmanager
async def index_of(
    settings: Settings, *, words_only: bool = False
) -> AsyncIterator[CapabilityIndex]:
    """An index that knows nothing yet; with `words_only` it never needs an encoder.

    Raises:
        MisconfiguredError: there is no such encoder, or the thresholds can't be read.
    """
    thresholds = read_thresholds(settings.thresholds) if settings.thresholds else None
    wanted = None if words_only else encoder(settings)
    try:
        yield CapabilityIndex(wanted, VectorFile(settings.data / VECTORS), thresholds)
    finally:
        if isinstance(wanted, OpenAIEmbeddings):
            await wanted.aclose()


@asynccontextmanager
async def ladder_of(settings: Settings) -> AsyncIterator[Ladder | None]:
    """The model and its fallbacks, let go of on leaving; None where none is configured."""
    models = [ChatModel(m.base_url, m.model, m.api_key) for m in settings.models]
    try:
        yield Ladder(models) if models else None
    finally:
        for model in models:
            await model.aclose()


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
    store = Store(database)
    try:
        await database.migrate()
        people = People(database)
        await people.migrate()
        calendar = WorkCalendar.load()
        dependencies = Dependencies()
        dependencies.provide(human_resources, people)
        dependencies.provide(policy_book, PolicyBook.load())
        dependencies.provide(provided.directory, directory)
        dependencies.provide(provided.runs, store.runs)
        dependencies.provide(provided.work_calendar, calendar)
        async with ladder_of(settings) as ladder, index_of(settings) as index:
            yield Parts(
                settings=settings,
                directory=directory,
                registry=registry,
                catalog=catalog,
                reader=Reader([*catalog, *tool_forms(registry)]),
                store=store,
                calendar=calendar,
                people=people,
                dependencies=dependencies,
                index=index,
                ladder=ladder,
            )
    finally:
        await store.aclose()
        await database.dispose()


@asynccontextmanager
async def at_work(settings: Settings) -> AsyncIterator[Parts]:
    """The parts of a process that stays, whose index learns meanwhile what there is.

    Beside the start, not before it: until cards are encoded, words alone are searched. One
    command that ends at once does without, and never waits for an encoder to be loaded.
    """
    async with assembled(settings) as parts:
        learnt = capabilities(parts.catalog, parts.registry)
        learning = asyncio.create_task(parts.index.update(learnt))
        try:
            yield parts
        finally:
            learning.cancel()
