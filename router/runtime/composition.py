"""What API, worker and command line are made of, put together once from the settings.

Libraries that only some settings need are imported where they are: a third of a start's time.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
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
from router.directory.tenants import LiveTenants, Tenants
from router.documents.reader import DocumentReader
from router.domain.concurrency import ConcurrencyLimiter
from router.domain.errors import MisconfiguredError
from router.domain.principals import PeopleDirectory as Everybody
from router.flow.loader import WatchedFlows
from router.llm.fallback import FallbackChains, LedRole
from router.llm.prices import Prices
from router.llm.servers import ServerMemory
from router.retrieval.encoders import Encoder, local_encoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import read_thresholds
from router.retrieval.vector_cache import VectorFile
from router.routing.prompts import Prompts, WatchedPrompts
from router.runtime.configuration_kinds import ConfigurationKinds
from router.runtime.definitions import (
    flow_folder,
    format_packages,
    load_capabilities,
    load_tools,
    names_in,
    skill_folders,
    tenants_of,
    vocabulary,
)
from router.runtime.model_protocols import load_protocols
from router.runtime.prompts import load_shipped_prompts
from router.runtime.tables import aged_rows, migrate_all
from router.runtime.temporal import TemporalConnection
from router.runtime.tenant_configuration import Configuration, HouseConfiguration
from router.settings import ROLES, ModelAccess, ModelRole, Settings
from router.skill.loader import WatchedSkills
from router.skill.skill import Skill
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies
from router.tool.kinds import ToolSources
from router.tool.registry import Registry
from router.understanding.reader import Reader
from router.webhook.webhook_files import OtherSystems

_log = logging.getLogger("router.skills")

OPENAI_EMBEDDER = "openai:"
VECTORS = "vectors.db"
"""In the data folder: vectors of what there is, kept for the next start."""
SERVERS = "model-servers.json"
"""In the data folder: what model servers turned out not to do."""


@runtime_checkable
class Closable(Protocol):
    """What has sockets to give back."""

    async def aclose(self) -> None:
        """Give them back."""


@dataclass(frozen=True)
class Parts:
    """What API and worker are made of: all that can be known without a Temporal server."""

    settings: Settings
    directory: Everybody
    tenants: LiveTenants
    """What each tenant has, and who the desk is to its people."""
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
    prices: Prices
    """What models cost."""
    configuration: Configuration
    """What tenants have of their own, which follows the database."""
    systems: OtherSystems
    """Those that are told what happens, or may tell runs what happened."""

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
        if isinstance(wanted, Closable):
            await wanted.aclose()


def accesses(settings: Settings, tenants: Tenants) -> list[ModelAccess]:
    """Every model that somebody may be asked by, the house's and the tenants' own."""
    theirs = [each for entry in tenants.entries.values() for each in entry.models.items()]
    found = [
        *settings.models,
        settings.escalation,
        *(access for _, access in settings.thrift),
        *map(settings.model_of, ROLES),
        *(settings.model_of(role, own) for role, own in theirs),
    ]
    return [access for access in found if access is not None]


def _leading(
    settings: Settings, tenants: Tenants, role: LedRole, name: str | None, tenant: str
) -> ModelAccess | None:
    """Who leads in a role, for this tenant; None where the usual model does."""

    def of(role: ModelRole) -> ModelAccess | None:
        return settings.model_of(role, tenants.model_of(tenant, role))

    access = settings.escalation if role == "escalate" else of(role)
    if name is not None and (role != "plan" or of("plan") is None):
        return replace(of("skill") or settings.models[0], model=name)
    return access or of("skill") if role == "plan" else access


def check_prices(settings: Settings, prices: Prices, models: Iterable[str]) -> None:
    """Raise `MisconfiguredError` where money is to be counted and one of these has no price."""
    for model in models:
        if wrong := unpriced(settings, prices, model):
            raise MisconfiguredError(wrong)


def unpriced(settings: Settings, prices: Prices, model: str) -> str:
    """What is to be done about a model without a price, where a budget is in money."""
    scopes = settings.llm_budgets.in_money
    if not scopes or prices.of(model) is not None:
        return ""
    return (
        f"model {model!r} has no price, and ROUTER_LLM_BUDGETS limits the cost of "
        f"{' and '.join(scopes)}: write `{model}: {{input: …, output: …}}`, in {prices.currency} "
        "for a million tokens (0 for a server of your own), into the file that ROUTER_LLM_PRICES "
        "names, or take `cost` out"
    )


def _prices_of(settings: Settings, skills: Iterable[Skill]) -> Prices:
    """The prices, of every model that a skill wishes for as well, where money is counted."""
    prices = Prices.load(settings.llm_prices)
    if settings.models:
        check_prices(settings, prices, [skill.model for skill in skills if skill.model])
    return prices


def _payable(
    settings: Settings, prices: Prices, wishes: Iterable[ModelAccess | None], role: LedRole
) -> ModelAccess | None:
    """The first of these that costs what is known, where that is counted; None: the usual one."""
    for access in wishes:
        if access is None:
            return None
        wrong = unpriced(settings, prices, access.model)
        if not wrong:
            return access
        # Whoever wishes for it came after the start, which would have refused it.
        _log.error("%s doesn't lead as %s: %s", access.model, role, wrong)
    return None


@asynccontextmanager
async def chains_of(
    settings: Settings, tenants: LiveTenants | None = None, prices: Prices | None = None
) -> AsyncIterator[FallbackChains]:
    """The model with its fallbacks, and whatever leads skills; let go of on leaving.

    Raises `MisconfiguredError` where money is to be counted and a model has no price, and for a
    protocol that there isn't.
    """
    load_protocols(settings)
    if not settings.models:
        yield FallbackChains()
        return
    from router.llm.client import ChatModel

    of_tenants = tenants or LiveTenants(Tenants)
    prices = prices or Prices.load(settings.llm_prices)
    check_prices(settings, prices, [one.model for one in accesses(settings, of_tenants.now)])
    memory = ServerMemory(settings.data / SERVERS)
    slots = defaultdict[str, ConcurrencyLimiter](lambda: ConcurrencyLimiter(settings.llm_at_once))
    made: list[tuple[ModelAccess, ChatModel]] = []

    def model(at: ModelAccess) -> ChatModel:
        for access, chat in made:
            if access == at:
                return chat
        own = (slots[at.base_url], at.protocol, at.options)
        chat = ChatModel(at.base_url, at.model, at.api_key, memory, *own)
        chat.price = prices.of(at.model)
        made.append((at, chat))
        return chat

    def lead(role: LedRole, name: str | None, tenant: str) -> ChatModel | None:
        wishes = (_leading(settings, of_tenants.now, role, n, tenant) for n in (name, None))
        access = _payable(settings, prices, wishes, role)
        if access is None or access == settings.models[0]:
            return None
        try:
            return model(access)
        except MisconfiguredError as error:
            # A tenant has named it since the start, which would have refused it.
            _log.error("%s doesn't lead as %s: %s", access.model, role, error)
            return None

    try:
        # All at once: a library that isn't installed is found out before the first message.
        for access in accesses(settings, of_tenants.now):
            model(access)
        thrift = [(below, model(access)) for below, access in settings.thrift]
        yield FallbackChains([model(m) for m in settings.models], lead, thrift)
    finally:
        for _, chat in made:
            await chat.aclose()


def _provided(
    settings: Settings,
    database: Database,
    store: Store,
    offered: Capabilities,
    directory: LiveDirectory,
) -> Dependencies:
    dependencies = Dependencies()
    dependencies.provide(provided.database, database)
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
async def _stored(settings: Settings) -> AsyncIterator[tuple[Database, Store, OtherSystems]]:
    systems = OtherSystems.of(settings)
    database = Database(settings.database_url, settings.database_connections)
    store = Store(database, systems.subscriptions, aged_rows(settings))
    try:
        await migrate_all(database, settings)
        yield database, store, systems
    finally:
        await store.aclose()
        await database.dispose()


def _writer(settings: Settings, store: Store, chains: FallbackChains, prompts: Prompts) -> Writer:
    models = Models(settings.llm_budgets, store.spending, thrifty=chains.thrifty)
    return Writer(models, chains.usual, prompts)


async def _provide_more(
    dependencies: Dependencies,
    settings: Settings,
    registry: Registry,
    index: CapabilityIndex,
    written_by: Writer,
) -> None:
    dependencies.provide(provided.encoder, index.messages)
    dependencies.provide(sandbox, await _sandbox_of(settings, registry))
    dependencies.provide(writer, written_by)


async def _configured(house: HouseConfiguration, store: Store) -> Configuration:
    """What tenants have of their own, before the file of tenants is held to what there is."""
    configuration = Configuration(house, store)
    await configuration.refresh()
    # One tenant's document that is retired, or unfit by now, keeps nobody else from starting.
    kinds = house.kinds.installed
    house.tenants.check(lambda: names_in(house.offered, kinds, documented=configuration.ever_held))
    return configuration


def _house(
    settings: Settings,
    offered: Capabilities,
    index: CapabilityIndex,
    tenants: LiveTenants,
    directory: Everybody,
    chains: FallbackChains,
) -> HouseConfiguration:
    has_model = chains.usual is not None
    reader = Reader(offered.flows(), offered.phrases(), offered.listed(skills=has_model))
    people = directory.everyone
    kinds = ConfigurationKinds(settings)
    return HouseConfiguration(settings, offered, reader, index, tenants, has_model, kinds, people)


def _tool_caller(registry: Registry, dependencies: Dependencies, store: Store) -> ToolCaller:
    books = (store.ledger, store.audit, store.results)
    return ToolCaller(registry, dependencies, *books, ProgressPublisher(store.live))


@asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[Parts]:
    """The parts, with the database migrated; it is let go of on leaving."""
    tools = load_tools(settings)
    registry, folders = tools.registry, skill_folders(settings)
    loaded = folders.load()
    flow_files = WatchedFlows(flow_folder(settings), lambda: vocabulary(registry))
    offered = load_capabilities(settings, registry, loaded.catalog, flow_files.load())
    tenants = tenants_of(settings)
    prompt_files = WatchedPrompts(
        settings.prompts, settings.prompt_shares, tenants, load_shipped_prompts(settings)
    )
    directory = LiveDirectory.load(source_of(settings), entitled=tenants.entitled)
    prices = _prices_of(settings, loaded.catalog)
    async with (
        _stored(settings) as (database, store, systems),
        chains_of(settings, tenants, prices) as chains,
        index_of(settings) as index,
        _provided(settings, database, store, offered, directory) as dependencies,
        DocumentReader(format_packages(settings)) as papers,
    ):
        await store.skill_files.keep(loaded.contents)
        written_by = _writer(settings, store, chains, prompt_files.prompts)
        await _provide_more(dependencies, settings, registry, index, written_by)
        house = _house(settings, offered, index, tenants, directory, chains)
        yield Parts(
            settings=settings,
            directory=directory,
            tenants=tenants,
            offered=offered,
            tools=tools,
            folders=folders,
            flow_files=flow_files,
            reader=house.reader,
            store=store,
            dependencies=dependencies,
            caller=_tool_caller(registry, dependencies, store),
            index=index,
            chains=chains,
            prompt_files=prompt_files,
            papers=papers,
            prices=prices,
            configuration=await _configured(house, store),
            systems=systems,
        )
