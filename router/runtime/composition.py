"""What API, worker and command line are made of, put together once from the settings.

Libraries that only some settings need are imported where they are: a third of a start's time.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from activities import provided
from activities.capabilities import Capabilities
from activities.models import Models
from activities.progress import ProgressPublisher
from activities.sandbox import Bubblewrap, NoSandbox, Sandbox, sandbox
from activities.tool_caller import ToolCaller
from activities.writer import Writer, writer
from router.directory.sources import LiveDirectory, source_of
from router.documents.reader import DocumentReader
from router.domain.errors import MisconfiguredError
from router.domain.principals import PeopleDirectory as Everybody
from router.flow.loader import WatchedFlows
from router.llm.fallback import FallbackChains, LedRole
from router.llm.servers import ServerMemory
from router.retrieval.encoders import Encoder, local_encoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import read_thresholds
from router.retrieval.vector_cache import VectorFile
from router.routing.prompts import Prompts, WatchedPrompts
from router.runtime.definitions import (
    flow_folder,
    load_capabilities,
    load_tools,
    skill_folders,
    vocabulary,
)
from router.runtime.temporal import TemporalConnection
from router.settings import ROLES, ModelAccess, Settings
from router.skill.loader import WatchedSkills
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from router.tool.context import Dependencies
from router.tool.kinds import ToolSources
from router.tool.registry import Registry
from router.understanding.reader import Reader

_log = logging.getLogger("router.skills")

OPENAI_EMBEDDER = "openai:"
VECTORS = "vectors.db"
"""In the data folder: vectors of what there is, kept for the next start."""
SERVERS = "model-servers.json"
"""In the data folder: what model servers turned out not to do."""


@runtime_checkable
class Closing(Protocol):
    """What has sockets to give back."""

    async def aclose(self) -> None:
        """Give them back."""


@dataclass(frozen=True)
class Parts:
    """What API and worker are made of: all that can be known without a Temporal server."""

    settings: Settings
    directory: Everybody
    offered: Capabilities
    tools: ToolSources
    """Where tools come from."""
    folders: WatchedSkills
    """The skills, which follow theirs."""
    flow_files: WatchedFlows
    """The flows, which follow theirs."""
    reader: Reader
    store: Store
    dependencies: Dependencies
    caller: ToolCaller
    index: CapabilityIndex
    chains: FallbackChains
    """The model and its fallbacks, and what leads skills; empty where none is configured."""
    prompt_files: WatchedPrompts
    """The prompts, which follow theirs."""
    papers: DocumentReader
    """What reads files that people hand in, once there is one."""

    @property
    def prompts(self) -> Prompts:
        """What models are asked with."""
        return self.prompt_files.prompts


def encoder(settings: Settings) -> Encoder:
    """What turns texts into vectors. Raises `MisconfiguredError`: there is no such encoder."""
    name = settings.embedder.removeprefix(OPENAI_EMBEDDER)
    if name == settings.embedder:
        return local_encoder(settings.embedder)
    from router.llm.embeddings import OpenAIEmbeddings

    base_url, key = settings.embeddings_at
    return OpenAIEmbeddings(base_url, name, key)


@asynccontextmanager
async def index_of(
    settings: Settings, *, words_only: bool = False
) -> AsyncIterator[CapabilityIndex]:
    """An index that knows nothing yet; with `words_only` it never needs an encoder."""
    thresholds = read_thresholds(settings.thresholds) if settings.thresholds else None
    wanted = None if words_only else encoder(settings)
    try:
        yield CapabilityIndex(wanted, VectorFile(settings.data / VECTORS), thresholds)
    finally:
        if isinstance(wanted, Closing):
            await wanted.aclose()


@asynccontextmanager
async def chains_of(settings: Settings) -> AsyncIterator[FallbackChains]:
    """The model with its fallbacks, and whatever leads skills; let go of on leaving."""
    if not settings.models:
        yield FallbackChains()
        return
    from router.llm.client import ChatModel
    from router.llm.fallback import ConcurrencyLimiter

    memory = ServerMemory(settings.data / SERVERS)
    slots = defaultdict[str, ConcurrencyLimiter](lambda: ConcurrencyLimiter(settings.llm_at_once))
    made: list[tuple[ModelAccess, ChatModel]] = []

    def model(at: ModelAccess) -> ChatModel:
        for access, chat in made:
            if access == at:
                return chat
        own = (slots[at.base_url], at.protocol, at.options)
        chat = ChatModel(at.base_url, at.model, at.api_key, memory, *own)
        made.append((at, chat))
        return chat

    def lead(role: LedRole, name: str | None) -> ChatModel | None:
        access = settings.escalation if role == "escalate" else settings.model_of(role)
        if name is not None and (role != "plan" or settings.model_of("plan") is None):
            access = replace(settings.model_of("skill") or settings.models[0], model=name)
        elif role == "plan":
            access = access or settings.model_of("skill")
        return model(access) if access and access != settings.models[0] else None

    roles = [settings.escalation, *map(settings.model_of, ROLES)]
    try:
        # All at once: a library that isn't installed is found out before the first message.
        for access in filter(None, [*settings.models, *roles]):
            model(access)
        yield FallbackChains([model(m) for m in settings.models], lead)
    finally:
        for _, chat in made:
            await chat.aclose()


def _provided(
    settings: Settings, store: Store, offered: Capabilities, directory: LiveDirectory
) -> Dependencies:
    dependencies = Dependencies()
    dependencies.provide(provided.settings, settings)
    dependencies.provide(provided.directory, directory)
    dependencies.provide(provided.runs, store.runs)
    dependencies.provide(provided.request_kinds, offered)
    dependencies.provide(provided.results, store.results)
    dependencies.provide(provided.files, store.files)
    dependencies.provide(provided.skill_files, store.skill_files)
    dependencies.provide(provided.temporal, TemporalConnection(settings))
    dependencies.provide(provided.task_queue, settings.task_queue)
    return dependencies


async def _sandbox_of(settings: Settings, registry: Registry) -> Sandbox:
    """Where scripts of skills run. Where none can be had nobody is offered to have them run."""
    box = Bubblewrap()
    try:
        if settings.skill_sandbox:
            await box.probe()
            return box
    except MisconfiguredError as error:
        _log.error("%s", error)
        registry.withhold(sandbox)
    return NoSandbox()


@asynccontextmanager
async def _stored(settings: Settings) -> AsyncIterator[tuple[Database, Store]]:
    database = Database(settings.database_url, settings.database_connections)
    store = Store(database)
    try:
        await database.migrate(ROUTER)
        yield database, store
    finally:
        await store.aclose()
        await database.dispose()


@asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[Parts]:
    """The parts, with the database migrated; it is let go of on leaving."""
    tools = load_tools(settings)
    registry = tools.registry
    folders = skill_folders(settings)
    loaded = folders.load()
    flow_files = WatchedFlows(flow_folder(settings), lambda: vocabulary(registry))
    offered = load_capabilities(settings, registry, loaded.catalog, flow_files.load())
    prompt_files = WatchedPrompts(settings.prompts, settings.prompt_shares)
    directory = LiveDirectory.load(source_of(settings))
    async with (
        _stored(settings) as (database, store),
        chains_of(settings) as chains,
        index_of(settings) as index,
        _provided(settings, store, offered, directory) as dependencies,
        DocumentReader() as papers,
    ):
        await store.skill_files.keep(loaded.contents)
        models = Models(settings.llm_budgets, store.spending)
        dependencies.provide(provided.database, database)
        dependencies.provide(provided.encoder, index.messages)
        dependencies.provide(sandbox, await _sandbox_of(settings, registry))
        dependencies.provide(writer, Writer(models, chains.usual, prompt_files.prompts))
        books = (store.ledger, store.audit, store.results)
        yield Parts(
            settings=settings,
            directory=directory,
            offered=offered,
            tools=tools,
            folders=folders,
            flow_files=flow_files,
            reader=Reader(
                offered.flows(), offered.phrases(), offered.listed(skills=chains.usual is not None)
            ),
            store=store,
            dependencies=dependencies,
            caller=ToolCaller(registry, dependencies, *books, ProgressPublisher(store.live)),
            index=index,
            chains=chains,
            prompt_files=prompt_files,
            papers=papers,
        )
