"""What API, worker and command line are made of, put together once from the settings.

Libraries that only some settings need are imported where they are: a third of a start's time.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import activities.tools
import flows
import skills
from activities import provided
from activities.asking import Models
from activities.calendar.work_calendar import WorkCalendar
from activities.calling import ToolCaller
from activities.capabilities import Capabilities
from activities.conversion.rates import Rates, exchange_rates
from activities.people.people import People, human_resources
from activities.policies.book import PolicyBook, policy_book
from activities.policies.limits import ExpenseLimits, expense_limits
from activities.sandbox.running import Bubblewrap, NoSandbox, Sandbox, sandbox
from activities.telling import Telling
from activities.writing import Writer, writer
from router.api.temporal import Connection
from router.deciding.prompts import Prompts
from router.directory.file import FileDirectory
from router.domain.errors import DefinitionError, MisconfiguredError, Problem, RouterError
from router.flow.catalog import Catalog
from router.flow.loader import load_flows
from router.llm.abilities import ServerMemoryFile
from router.llm.ladders import Ladders
from router.selection.encoder import Encoder
from router.selection.index import CapabilityIndex
from router.selection.local import local_encoder
from router.selection.threshold_file import read_thresholds
from router.selection.vector_file import VectorFile
from router.settings import OPENAI, Settings
from router.skill.catalog import SkillCatalog
from router.skill.loader import Loaded
from router.skill.review import remarks
from router.skill.watching import WatchedSkills
from router.store.database import Database
from router.store.store import Store
from router.tool.dependencies import Dependencies, Provider
from router.tool.http.guard import Guard
from router.tool.http.loading import load_http_tools
from router.tool.http.sending import Sender
from router.tool.http.watching import WatchedTools
from router.tool.mcp.file import ServerEntry, load_servers
from router.tool.mcp.publishing import Publisher, group_of, prefix_of
from router.tool.registry import Registry
from router.understanding.reader import Reader

_log = logging.getLogger("router.tools")
_skill_log = logging.getLogger("router.skills")

OPENAI_EMBEDDER = "openai:"
VECTORS = "vectors.db"
"""In the data folder: vectors of what there is, kept for the next start."""
SERVERS = "model-servers.json"
"""In the data folder: what model servers turned out not to do."""
SKILL_FILES_KEPT = timedelta(days=30)
"""Beyond the last day on which they were a loaded skill's: for runs that began with them."""
TIDIED_EVERY = timedelta(days=1)
SETTLED_WITHIN = 5.0
"""Seconds that a process waits for MCP servers that neither come nor fail to."""


@runtime_checkable
class Closing(Protocol):
    """What has sockets to give back."""

    async def aclose(self) -> None:
        """Give them back."""


@dataclass(frozen=True)
class Parts:
    """The rooms, furnished: what can be known without a Temporal server."""

    settings: Settings
    directory: FileDirectory
    offered: Capabilities
    declared: WatchedTools
    """Those of the tools that follow their files."""
    folders: WatchedSkills
    """The skills, which follow theirs."""
    reader: Reader
    store: Store
    calendar: WorkCalendar
    people: People
    dependencies: Dependencies
    caller: ToolCaller
    index: CapabilityIndex
    ladders: Ladders
    """The model and its fallbacks, and what leads skills; empty where none is configured."""
    prompts: Prompts


def load_catalog(settings: Settings, registry: Registry) -> Catalog:
    """The flows of the settings' folder, checked against the tools there are.

    Raises:
        DefinitionError: with every problem of every file.
    """
    folder = settings.flows or Path(next(iter(flows.__path__)))
    return load_flows(folder, registry.parameters())


def load_capabilities(
    settings: Settings, registry: Registry | None = None, skills: SkillCatalog | None = None
) -> Capabilities:
    """Everything that can be done here: flows, skills and tools, loaded where none are given.

    Raises:
        DefinitionError: with every problem of every file.
    """
    registry = load_registry(settings) if registry is None else registry
    for provider in lacking(settings):
        registry.withhold(provider)
    skills = skill_folders(settings).load().catalog if skills is None else skills
    return Capabilities(load_catalog(settings, registry), skills, registry)


def lacking(settings: Settings) -> dict[Provider[Any], str]:
    """What tools need that these settings don't give, and which setting would give it."""
    given: dict[Provider[Any], tuple[object, str]] = {
        writer: (settings.models, "ROUTER_LLM_MODEL"),
        exchange_rates: (settings.rates_url, "ROUTER_RATES_URL"),
        sandbox: (settings.skill_sandbox, "ROUTER_SKILL_SANDBOX"),
    }
    return {provider: name for provider, (value, name) in given.items() if not value}


def encoder(settings: Settings) -> Encoder:
    """What turns texts into vectors.

    Raises:
        MisconfiguredError: there is no such encoder.
    """
    name = settings.embedder.removeprefix(OPENAI_EMBEDDER)
    if name == settings.embedder:
        return local_encoder(settings.embedder)
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    from router.llm.embeddings import OpenAIEmbeddings

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
        if isinstance(wanted, Closing):
            await wanted.aclose()


@asynccontextmanager
async def ladders_of(settings: Settings) -> AsyncIterator[Ladders]:
    """The model with its fallbacks, and whatever leads skills; let go of on leaving."""
    if not settings.models:
        yield Ladders()
        return
    from router.llm.model import ChatModel

    memory = ServerMemoryFile(settings.data / SERVERS)
    models = [ChatModel(m.base_url, m.model, m.api_key, memory) for m in settings.models]

    def make(name: str) -> ChatModel:
        first = settings.models[0]
        return ChatModel(first.base_url, name, first.api_key, memory)

    ladders = Ladders(models, make, settings.llm_skill_model)
    try:
        yield ladders
    finally:
        await ladders.aclose()


def load_prompts(settings: Settings) -> Prompts:
    """The prompts that ship, those of the settings' folder, and their shares.

    Raises:
        MisconfiguredError: one can't be used.
    """
    return Prompts.load(settings.prompts, settings.prompt_shares)


def skill_folders(settings: Settings) -> WatchedSkills:
    """The skills of the settings' folder, to be loaded; raises `MisconfiguredError` without one."""
    folder = settings.skills or Path(next(iter(skills.__path__)))
    if not folder.is_dir():
        raise MisconfiguredError(
            f"ROUTER_SKILLS={folder} is no folder: name one that has skill folders in it"
        )
    return WatchedSkills(folder)


def skill_remarks(settings: Settings, loaded: Loaded) -> list[Problem]:
    """What might be better about these skills, given the tools and flows there are.

    Raises:
        DefinitionError: with every problem of flows and declared tools.
    """
    registry = load_registry(settings)
    names = registry.names | {flow.flow for flow in load_catalog(settings, registry)}
    return list(remarks(loaded, names, registry.prefixes))


async def sandbox_of(settings: Settings, registry: Registry) -> Sandbox:
    """Where scripts of skills run. Where none can be had nobody is offered to have them run."""
    if settings.skill_sandbox is None:
        return NoSandbox()
    box = Bubblewrap()
    try:
        await box.probe()
    except MisconfiguredError as error:
        _skill_log.error("%s", error)
        registry.withhold(sandbox)
        return NoSandbox()
    return box


def load_registry(settings: Settings) -> Registry:
    """Every tool of `activities/tools`, and those that files declare.

    Raises:
        DefinitionError: with every problem of every file.
    """
    return load_tools(settings)[0]


def load_tools(settings: Settings) -> tuple[Registry, WatchedTools]:
    """The same, with what follows the files from here on. Raises as `load_registry`."""
    registry = Registry().discover(activities.tools)
    declared = http_tools(settings, registry)
    declared.load()
    for name in mcp_servers(settings):
        registry.expect(group_of(name), prefix_of(name))
    return registry, declared


def mcp_servers(settings: Settings) -> dict[str, ServerEntry]:
    """The MCP servers of the settings' file, by name; they are connected by `served`.

    Raises:
        DefinitionError: with every problem of the file.
    """
    if settings.mcp_servers is None:
        return {}
    return load_servers(settings.mcp_servers, settings.environment)


@asynccontextmanager
async def served(parts: Parts) -> AsyncIterator[Publisher]:
    """Keep the tools of MCP servers in the registry; says when they change.

    A server that is away is waited for only a little: its tools come when it comes.
    """
    publisher = Publisher(parts.offered.registry)
    entries, file = mcp_servers(parts.settings), parts.settings.mcp_servers or Path()
    if not entries:
        yield publisher
        return
    from router.tool.mcp.servers import connected

    running = connected(entries, parts.settings.environment, publisher.publish, file)
    async with running as servers:
        await servers.settled(SETTLED_WITHIN)
        yield publisher


def http_tools(settings: Settings, registry: Registry) -> WatchedTools:
    """The declared tools of the settings' folder, to be loaded into a registry."""
    place = settings.http_tools or Path(next(iter(activities.tools.__path__))) / "http"
    sender = Sender(Guard(settings.http_allow))
    load = partial(load_http_tools, place, settings.tool_variables, sender)
    return WatchedTools(place, load, registry)


@asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[Parts]:
    """The parts, with the database migrated; it is let go of on leaving.

    Raises:
        DefinitionError: a flow or directory file can't be used.
        Unavailable: the database can't be reached.
    """
    registry, declared = load_tools(settings)
    folders = skill_folders(settings)
    loaded = folders.load()
    offered = load_capabilities(settings, registry, loaded.catalog)
    prompts = load_prompts(settings)
    directory = FileDirectory.load(settings.directory)
    database = Database(settings.database_url)
    store = Store(database)
    try:
        await database.migrate()
        await store.skill_files.keep(loaded.contents)
        people = People(database)
        await people.migrate()
        calendar = WorkCalendar.load()
        dependencies = Dependencies()
        dependencies.provide(human_resources, people)
        dependencies.provide(exchange_rates, Rates(settings.rates_url))
        dependencies.provide(expense_limits, ExpenseLimits.load(settings.policies))
        dependencies.provide(provided.directory, directory)
        dependencies.provide(provided.runs, store.runs)
        dependencies.provide(provided.look_ups, offered.look_ups)
        dependencies.provide(provided.results, store.results)
        dependencies.provide(provided.files, store.files)
        dependencies.provide(provided.skill_files, store.skill_files)
        dependencies.provide(sandbox, await sandbox_of(settings, registry))
        dependencies.provide(provided.temporal, Connection(settings))
        dependencies.provide(provided.work_calendar, calendar)
        async with ladders_of(settings) as ladders, index_of(settings) as index:
            policies = PolicyBook.load(settings.policies, index.messages)
            dependencies.provide(policy_book, policies)
            models = Models(settings.llm_budgets, store.spending)
            dependencies.provide(writer, Writer(models, ladders.usual, prompts))
            yield Parts(
                settings=settings,
                directory=directory,
                offered=offered,
                declared=declared,
                folders=folders,
                reader=Reader(offered.flows()),
                store=store,
                calendar=calendar,
                people=people,
                dependencies=dependencies,
                caller=ToolCaller(
                    offered.registry,
                    dependencies,
                    store.ledger,
                    store.audit,
                    store.results,
                    Telling(store.live),
                ),
                index=index,
                ladders=ladders,
                prompts=prompts,
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
    async with assembled(settings) as parts, served(parts) as publisher:
        tasks = [
            asyncio.create_task(_kept_up(parts)),
            asyncio.create_task(_heard(parts, publisher)),
            asyncio.create_task(_skills_kept_up(parts)),
            asyncio.create_task(_skill_files_tidied(parts)),
        ]
        try:
            yield parts
        finally:
            for task in tasks:
                task.cancel()


async def _heard(parts: Parts, publisher: Publisher) -> None:
    """Have reader and index know what MCP servers bring, as soon as they do."""
    async for _ in publisher.changes():
        await _relearnt(parts)


async def _kept_up(parts: Parts) -> None:
    """Have index and reader know what there is, now and whenever a tool's file changes."""
    await parts.index.update(parts.offered.everything())
    await parts.dependencies.resolve(policy_book).learn(VectorFile(parts.settings.data / VECTORS))
    async for _ in parts.declared.changes():
        await asyncio.to_thread(warn_of_misfits, parts)
        await _relearnt(parts)


def warn_of_misfits(parts: Parts) -> None:
    """Say in the log which flows call a tool that isn't there any more, or not with those names.

    What is deleted is deleted: a run that gets there hears that the tool is gone.
    """
    try:
        load_catalog(parts.settings, parts.offered.registry)
    except DefinitionError as error:
        for problem in error.problems:
            _log.warning("a flow no longer fits the tools that there are: %s", problem)


async def _skills_kept_up(parts: Parts) -> None:
    """Have skills follow their folders; those that are running keep what they began with."""
    async for loaded in parts.folders.changes():
        try:
            await _taken_up(parts, loaded)
        except RouterError as error:
            _skill_log.error("the skills stay as they were for now: %s", error)
            parts.folders.forget()


async def _taken_up(parts: Parts, loaded: Loaded) -> None:
    # Files first: whoever is given a skill may read in it at once.
    await parts.store.skill_files.keep(loaded.contents)
    parts.offered.skills = loaded.catalog
    await _relearnt(parts)


async def _skill_files_tidied(parts: Parts) -> None:
    """Forget, once a day, what no skill has had for so long that no run needs it."""
    while True:
        in_use = {file.digest for skill in parts.offered.skills for file in skill.files}
        try:
            await parts.store.skill_files.tidy(in_use, datetime.now(UTC) - SKILL_FILES_KEPT)
        except RouterError as error:
            _skill_log.warning("old files of skills aren't forgotten yet: %s", error)
        await asyncio.sleep(TIDIED_EVERY.total_seconds())


async def _relearnt(parts: Parts) -> None:
    """Have reader and index know what there is by now."""
    parts.reader.replace(parts.offered.flows())
    await parts.index.update(parts.offered.everything())
