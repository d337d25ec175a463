"""Extensions: optional capabilities, added without changing the core.

An extension is a subclass of `Extension` that a distribution names in its entry points::

    [project.entry-points."intent_router.extensions"]
    badges = "acme_badges:BadgeExtension"

The extensions of this project are registered in the same way. The core never imports one.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from fastapi import APIRouter, Request
    from pydantic import BaseModel
    from temporalio.client import Client

    from router.api.dependencies import AppState
    from router.flow.definition import State
    from router.flow.slot_types.slot import SlotType
    from router.settings import Section, Settings
    from router.store.extension_tables import ExtensionTables
    from router.store.store import Store
    from router.tool.configuration_kind import ConfigurationKind
    from router.tool.context import Dependencies
    from router.tool.kinds import ToolSource
    from router.understanding.policies import AddablePolicy

ENTRY_POINT_GROUP = "intent_router.extensions"
BACKGROUND_RETRY_S = 60.0
"""After a function that runs in the background has failed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OperationLink:
    """An OpenAPI link: a value in the response of one operation is a parameter of another one.

    Operations are pairs of a lower-case method and a path template.
    """

    name: str
    operation: tuple[str, str]
    status: int
    target: tuple[str, str]
    parameters: Mapping[str, str]
    """Each with a runtime expression, such as `$response.body#/id`."""


@dataclass(frozen=True)
class Routes:
    """HTTP routes, and what the OpenAPI document says about them in addition.

    >>> from fastapi import APIRouter
    >>> Routes([APIRouter(prefix="/v1/badges")]).body_limits
    {}
    """

    routers: "Sequence[APIRouter]"
    body_limits: Mapping[str, int | None] = field(default_factory=dict)
    """The maximum size of a request body in bytes, by path, or by prefix if the key ends in `/`,
    for paths whose limit isn't the usual one. `None` if the route limits the body itself."""
    schemas: "Sequence[type[BaseModel]]" = ()
    """Models that the document refers to by name."""
    links: Sequence[OperationLink] = ()
    challenges: "Mapping[str, Callable[[Request], str]]" = field(default_factory=dict)
    """By path, what writes the `WWW-Authenticate` of a 401 that has more to say than the realm."""


@dataclass(frozen=True)
class Command:
    """A command of `intent-router`, or a group of commands.

    >>> Command("acme_badges.cli:print_badges", "Print badges.").target
    'acme_badges.cli:print_badges'
    """

    target: str
    """A function or a Typer app, as `package.module:attribute`, which is imported when called."""
    summary: str
    """The line in the list of commands."""


@dataclass(frozen=True)
class PromptJob:
    """A job that a model is asked to do, with its prompts and the cases that evaluate them.

    >>> PromptJob("badge", Path("prompts"), Path("cases"), "acme_badges.cases:BadgeCase").name
    'badge'
    """

    name: str
    """Lower-case letters, digits and `_`."""
    prompts: Path
    """The folder with `<name>-<version>.zh.md` and `<name>-<version>.en.md`."""
    cases: Path
    """The folder with files of cases for `intent-router prompts eval`."""
    case_input: str
    """The subclass of `router.routing.prompt_cases.CaseInput` that says what a case gives, as
    `package.module:attribute`, which is imported when cases are read."""


Check = Callable[["Settings"], Awaitable[str]]
"""A check of `doctor`: returns what it found, or raises a `RouterError` that says what to do."""


@dataclass(frozen=True)
class TrustedCheck:
    """A check that starts or asks what a variable names.

    `doctor` passes it over if only a `.env` in the folder sets the variable, which may be anybody's
    folder, unless it is told to trust that.
    """

    check: Check
    variable: str
    """Such as `ROUTER_MCP_SERVERS`."""

    async def __call__(self, settings: "Settings") -> str:
        """Run the check."""
        return await self.check(settings)


@dataclass(frozen=True)
class ApiPart:
    """What an extension adds to one process of the API that runs.

    Its routes may depend on the settings. The OpenAPI document doesn't have them.
    """

    routers: "Sequence[APIRouter]" = ()
    running: AbstractAsyncContextManager[None] = field(default_factory=nullcontext)
    """What runs next to the API: entered before the process serves, and left when it stops.
    `run_in_background` makes it of an async function."""


WorkKind = Literal["turns", "models", "tools"]
"""A kind of activities: what a turn waits for, what asks models, and what reaches other systems.
Models and tools may have task queues, rates and workers of their own."""


@dataclass(frozen=True)
class WorkerServices:
    """What activities and background functions of an extension work with."""

    settings: "Settings"
    store: "Store"
    dependencies: "Dependencies"
    """Resolves a provider: `await services.dependencies.resolve(site)`."""
    temporal: "Client"
    task_queue: str
    """The task queue of workflows, on which those of extensions are started as well."""


def _run_nothing(_: WorkerServices) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class WorkerPart:
    """What an extension adds to each process of the worker.

    The name of a workflow or an activity begins with that of the extension and a dot, so that it
    can't be the name of another one, or of a tool.

    >>> from temporalio import activity
    >>> @activity.defn(name="badges.print_badge")
    ... async def print_badge(number: str) -> str:
    ...     return f"printed {number}"
    >>> WorkerPart(activities={"tools": [print_badge]}).workflows
    ()
    """

    workflows: Sequence[type] = ()
    """Classes with `@workflow.defn`, which run in Temporal's sandbox."""
    activities: Mapping[WorkKind, Sequence[Callable[..., Any]]] = field(default_factory=dict)
    """Async functions with `@activity.defn`, or classes with such methods, by their kind. The
    worker creates each class with its `WorkerServices`."""
    running: Callable[[WorkerServices], AbstractAsyncContextManager[None]] = _run_nothing
    """Makes what runs next to the worker: it is entered before the worker takes work, and left when
    it stops. `partial(run_in_background, function)` makes it of an async function."""


@asynccontextmanager
async def run_in_background(
    function: Callable[..., Awaitable[None]], *arguments: object
) -> AsyncIterator[None]:
    """Run an async function next to a process of the API or of the worker.

    If it raises, the log has the traceback, and it is called again after `BACKGROUND_RETRY_S`
    seconds. It is cancelled when the process stops, which waits for it for two seconds.

    Args:
        function: What to run. Every process calls it, so several calls may run at the same time.
        arguments: The arguments of the function.

    Example:
        >>> from functools import partial
        >>> async def tidy_badges(services: WorkerServices) -> None:
        ...     print(services.task_queue)
        >>> part = WorkerPart(running=partial(run_in_background, tidy_badges))
    """
    import asyncio

    async def run() -> None:
        while True:
            try:
                return await function(*arguments)
            except Exception:  # noqa: BLE001 - it may be anybody's code
                _log.exception(
                    "%r failed, and is called again in %g seconds", function, BACKGROUND_RETRY_S
                )
            await asyncio.sleep(BACKGROUND_RETRY_S)

    task = asyncio.create_task(run(), name=repr(function))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


START_WITHIN_S = 60.0
"""How long anything that an extension adds may take to start. A process doesn't wait longer."""


@asynccontextmanager
async def run_bounded(
    running: AbstractAsyncContextManager[None], name: str, *, stop_s: float
) -> AsyncIterator[None]:
    """Enter what an extension runs, and leave it with the block, each within its time.

    If it can't be left, the log has the traceback.

    Args:
        running: What the extension runs. It doesn't learn of errors of the block.
        name: How the log names it.
        stop_s: How many seconds it may take to be left.

    Raises:
        TimeoutError: It can't be entered within `START_WITHIN_S`.
        Exception: Whatever it raises as it is entered.
    """
    import asyncio

    limit = asyncio.timeout(START_WITHIN_S)
    try:
        async with limit:
            await running.__aenter__()
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(f"it didn't start within {START_WITHIN_S:g} s") from error
    try:
        yield
    finally:
        try:
            async with asyncio.timeout(stop_s):
                await running.__aexit__(None, None, None)
        except Exception:  # noqa: BLE001 - it may be anybody's code
            _log.exception("%s failed to stop within %g s", name, stop_s)


class ExtensionConflict(Exception):
    """What an extension adds can't be used, or has the name of something that is there."""


class Extension:
    """An optional capability. Override the methods for what it adds; the others add nothing.

    An instance is created without arguments when the process starts, in every command. Import what
    is expensive within the methods.

    Example:
        >>> class BadgeExtension(Extension):
        ...     name = "badges"
        ...
        ...     def routes(self) -> Routes:
        ...         from fastapi import APIRouter
        ...
        ...         return Routes([APIRouter(prefix="/v1/badges")])
        >>> BadgeExtension().routes().routers[0].prefix
        '/v1/badges'
    """

    name: ClassVar[str]
    """Unique among all installed extensions: up to 40 lower-case letters, digits and `_`."""
    requires: ClassVar[tuple[str, ...]] = ()
    """The names of extensions that have to be loaded before this one."""

    def settings(self) -> "type[Section] | None":
        """Return the class of this extension's settings.

        `services.settings.section(…)` has their values. The reference of settings is made from it.
        """
        return None

    def routes(self) -> Routes:
        """Return the routes to add to the HTTP API."""
        return Routes([])

    def api_part(self, state: "AppState") -> ApiPart:  # noqa: ARG002 - for those that override it
        """Return what to add to a process of the API.

        Args:
            state: The services, such as `state.services.store`, and what requests share. What the
                routes of this extension share goes into `state.of_extensions`, by its name.

        Raises:
            MisconfiguredError: The settings can't be used; the process doesn't start.
        """
        return ApiPart()

    def worker_part(self) -> WorkerPart:
        """Return what to add to each process of the worker.

        `intent-router extensions` and `doctor` call this as well: connect to nothing here. Stories
        and `reconcile` run the workflows and activities, and nothing next to the worker.

        Returns:
            Workflows, activities by kind, and what runs next to the worker. If a worker can't use
            one of them, nothing of it is added, and `intent-router extensions` says why.

        Example:
            >>> from temporalio import activity
            >>> class BadgePrinter:
            ...     def __init__(self, services: WorkerServices) -> None:
            ...         self._store = services.store
            ...
            ...     @activity.defn(name="badges.print_badge")
            ...     async def print_badge(self, number: str) -> str: ...
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def worker_part(self) -> WorkerPart:
            ...         return WorkerPart(activities={"tools": [BadgePrinter]})
            >>> [*BadgeExtension().worker_part().activities]
            ['tools']
        """
        return WorkerPart()

    def packages(self) -> Sequence[str]:
        """Return the import names of packages with tools, hooks, lookups and document types."""
        return ()

    def tool_sources(self) -> "Sequence[type[ToolSource]]":
        """Return the classes of sources of tools, such as a catalogue of services.

        Each is created once in every process that has tools. Its tools are called, listed and
        stubbed by stories as all others.

        Returns:
            Subclasses of `ToolSource` or `PolledToolSource` of `router.sdk.tool_sources`, each
            with a name, and a prefix of tools, that no other source has.

        Example:
            >>> class CatalogExtension(Extension):
            ...     name = "catalog"
            ...
            ...     def tool_sources(self):
            ...         from router.sdk.tool_sources import ToolSource
            ...
            ...         return [type("CatalogSource", (ToolSource,), {"name": "catalog"})]
            >>> [source.name for source in CatalogExtension().tool_sources()]
            ['catalog']
        """
        return ()

    def configuration_kinds(self) -> "Sequence[type[ConfigurationKind]]":
        """Return kinds of documents in which a tenant declares tools, or systems that have tools.

        An operator of the tenant pushes them, and they hold for that tenant alone. If a deployment
        leaves out the extension, its documents stay in the database: they can be listed and
        retired, the log and `doctor` name them, and new ones are refused.

        Returns:
            Subclasses of `ConfigurationKind` of `router.sdk.configuration_kinds`, each with a name
            that no other kind has.

        Example:
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def configuration_kinds(self):
            ...         from router.sdk.configuration_kinds import ConfigurationKind, DeclaredTools
            ...
            ...         class BadgeDocuments(ConfigurationKind):
            ...             name = "badges"
            ...
            ...             def read(self, path, text, access):
            ...                 return DeclaredTools(tools=[])
            ...
            ...         return [BadgeDocuments]
            >>> [kind.name for kind in BadgeExtension().configuration_kinds()]
            ['badges']
        """
        return ()

    def tool_templates(self) -> Mapping[str, str]:
        """Return kinds of tools that `intent-router new tool NAME --kind KIND` writes.

        Returns:
            By kind, as `package.module:attribute`, a function that takes the `Settings`, the
            `Names` and the folder that was given, if any, and returns a `ScaffoldResult`, both of
            `router.cli.scaffold`. It is imported when called.

        Example:
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def tool_templates(self):
            ...         return {"badge": "acme_badges.scaffold:new_badge_tool"}
            >>> [*BadgeExtension().tool_templates()]
            ['badge']
        """
        return {}

    def file_schemas(self) -> Mapping[str, Path]:
        """Return JSON Schemas of files that people write, for `intent-router schema`.

        Returns:
            By name, a JSON file that is called `<name>.json`.

        Example:
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def file_schemas(self):
            ...         return {"badges": Path("schemas/badges.json")}
            >>> [*BadgeExtension().file_schemas()]
            ['badges']
        """
        return {}

    def model_protocols(self) -> Mapping[str, str]:
        """Return the wire protocols in which models may be asked, by the names for settings.

        Returns:
            By a name such as `acme`, which `ROUTER_LLM_PROTOCOL` then accepts, an instance of
            `WireProtocol` of `router.sdk.model_protocols`, as `package.module:attribute`. It is
            imported when a model is connected to.

        Example:
            >>> class AcmeExtension(Extension):
            ...     name = "acme"
            ...
            ...     def model_protocols(self):
            ...         return {"acme": "acme_models.wire:PROTOCOL"}
            >>> AcmeExtension().model_protocols()["acme"]
            'acme_models.wire:PROTOCOL'
        """
        return {}

    def slot_types(self) -> "Sequence[type[SlotType]]":
        """Return types of slots that flow files may use.

        Workflows run them, so they do no I/O and depend on nothing but their arguments. A run that
        needs a type which is no longer installed is held until it is installed again.

        Returns:
            Subclasses of `router.sdk.SlotType`, each with a name that no other type has. They are
            defined in a module, since processes that read what authors write import them.

        Example:
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def slot_types(self) -> "Sequence[type[SlotType]]":
            ...         from acme_badges.slots import BadgeNumber
            ...
            ...         return [BadgeNumber]
        """
        return ()

    def state_kinds(self) -> "Sequence[type[State]]":
        """Return kinds of states that flow files may have.

        Workflows run them as they do slot types, and a run that needs one is held in the same way.

        Returns:
            Subclasses of `router.sdk.State`. The first field of each is the key that marks it in a
            flow file, which no state of another kind may have.

        Example:
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def state_kinds(self) -> "Sequence[type[State]]":
            ...         from acme_badges.states import CountState
            ...
            ...         return [CountState]
        """
        return ()

    def policies(self) -> "Sequence[AddablePolicy]":
        """Return policies of the reader: rules that say what a message means, without a model.

        They are asked in this order, after the policies of the core and before a model. A message
        that is addressed to a skill, or with a person, reaches none of them. One that raises, or
        returns something else, is logged, and the message is read without it.

        Returns:
            Functions that take a `router.sdk.ParsedMessage` and return a `router.sdk.Route` with a
            command, such as `ReplyText`, or `None` if another policy is to decide. The route of a
            turn shows the name of the function that decided.

        Example:
            >>> def ask_for_badge(message: "ParsedMessage") -> "PolicyDecision | None":
            ...     if "badge" not in message.text:
            ...         return None
            ...     from router.sdk import Route, StartFlow
            ...
            ...     return Route(kind="flow", target="badge", by="pattern"), StartFlow(flow="badge")
            >>> class BadgeExtension(Extension):
            ...     name = "badges"
            ...
            ...     def policies(self) -> "Sequence[AddablePolicy]":
            ...         return [ask_for_badge]
            >>> [each.__name__ for each in BadgeExtension().policies()]
            ['ask_for_badge']
        """
        return ()

    def tables(self) -> "ExtensionTables | None":
        """Return the tables of this extension, which every process migrates when it starts.

        Aggregates over them are created from `services.store.database`.
        """
        return None

    def file_formats(self) -> Sequence[str]:
        """Return the import names of packages with formats of files that are read.

        A format is a `FileFormat` of `router.documents.file_format` in a module of the package.
        """
        return ()

    def prompt_jobs(self) -> Sequence[PromptJob]:
        """Return jobs that models are asked to do, each with prompts that can be replaced."""
        return ()

    def commands(self) -> Mapping[str, Command]:
        """Return commands by name. `"tools badge"` is one in the group `tools` of the core."""
        return {}

    def checks(self) -> Mapping[str, Check]:
        """Return checks of `intent-router doctor` by subject."""
        return {}
