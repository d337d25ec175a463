"""What extensions add to a worker: workflows, activities, and what runs next to it.

Everything is checked before a worker is made of it: Temporal's worker refuses all workflows and
activities if it can't use one of them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import getmembers
from typing import Any, get_args

from temporalio.client import Client

from router.extension import Extension, ExtensionConflict, WorkerPart, WorkerServices, WorkKind
from router.runtime.composition import Parts
from router.runtime.extensions import Extensions, load_configured
from router.runtime.sandbox import sandbox

KINDS: tuple[WorkKind, ...] = get_args(WorkKind)
Activity = Callable[..., Any]

_ACTIVITY = "__temporal_activity_definition"
_WORKFLOW = "__temporal_workflow_definition"
"""Where Temporal's decorators keep what they have been told, as its worker reads it."""


class ExtensionWork:
    """The workflows and activities that extensions add to a worker, and what runs next to it."""

    def __init__(self, extensions: Extensions, services: WorkerServices) -> None:
        self.workflows: list[type] = []
        self.activities: dict[WorkKind, list[Activity]] = {kind: [] for kind in KINDS}
        self.kinds: dict[str, WorkKind] = {}
        """The kinds of the activities, by name."""
        self._extensions = extensions
        self._services = services
        self._parts: dict[str, WorkerPart] = {}
        extensions.collect(self._add)

    def keep_running(self) -> AbstractAsyncContextManager[None]:
        """Keep what extensions run next to a worker running until the block is left."""
        return self._extensions.keep_running(
            {name: _run_part(part, self._services) for name, part in self._parts.items()}
        )

    def _add(self, extension: Extension) -> None:
        part = check_worker_part(extension)
        # All classes are created before anything is added: an extension is left out as a whole.
        activities = [
            (kind, activity)
            for kind, sources in part.activities.items()
            for source in sources
            for activity in _bind(source, self._services)
        ]
        self.workflows += part.workflows
        for kind, activity in activities:
            self.activities[kind].append(activity)
            self.kinds[getattr(activity, _ACTIVITY).name] = kind
        self._parts[extension.name] = part


def load_extension_work(client: Client, parts: Parts, task_queue: str) -> ExtensionWork:
    """Load what the configured extensions add to a worker with these parts."""
    services = WorkerServices(
        settings=parts.settings,
        store=parts.store,
        dependencies=parts.dependencies,
        temporal=client,
        task_queue=task_queue,
    )
    return ExtensionWork(load_configured(parts.settings), services)


def check_worker_part(extension: Extension) -> WorkerPart:
    """Return what an extension adds to a worker, if a worker can be made of it.

    Raises:
        ExtensionConflict: A workflow or an activity can't be used, or has a name that others have.
    """
    part = extension.worker_part()
    if not isinstance(part, WorkerPart):
        raise ExtensionConflict(f"its worker_part() returns {part!r}: return a WorkerPart")
    if unknown := [kind for kind in part.activities if kind not in KINDS]:
        raise ExtensionConflict(
            f"its activities are of the kind {unknown[0]!r}: choose among {', '.join(KINDS)}"
        )
    if not callable(part.running):
        raise ExtensionConflict(
            f"the running of its WorkerPart is {part.running!r}: pass a function that takes the "
            "WorkerServices, such as partial(run_in_background, …)"
        )
    sources = [source for sources in part.activities.values() for source in sources]
    names = [_check_workflow(each, extension.name) for each in part.workflows]
    names += [
        _check_activity(each, extension.name)
        for source in sources
        for each in _list_activities(source)
    ]
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise ExtensionConflict(f"it has {repeated[0]} twice: list each one once")
    return part


def _check_workflow(kind: type, extension: str) -> str:
    """Return the name of a workflow that runs in Temporal's sandbox."""
    definition = getattr(kind, _WORKFLOW, None)
    if definition is None or definition.cls is not kind:
        raise ExtensionConflict(f"its workflow {kind!r} has no @workflow.defn: decorate it")
    if not definition.sandboxed:
        raise ExtensionConflict(
            f"its workflow {kind!r} doesn't run in the sandbox: leave out sandboxed=False"
        )
    _check_name(definition.name, f"workflow {kind!r}", extension)
    with ThreadPoolExecutor(1) as thread:
        # Temporal asks for a running event loop, and a command may have none.
        thread.submit(asyncio.run, _prepare_workflow(definition)).result()
    return str(definition.name)


async def _prepare_workflow(definition: Any) -> None:
    sandbox().prepare_workflow(definition)


def _check_activity(function: Activity, extension: str) -> str:
    """Return the name of an activity that a worker can run."""
    definition = getattr(function, _ACTIVITY, None)
    if definition is None:
        raise ExtensionConflict(f"its activity {function!r} has no @activity.defn: decorate it")
    _check_name(definition.name, f"activity {function!r}", extension)
    if not definition.is_async:
        raise ExtensionConflict(
            f"its activity {definition.name} isn't async: declare it with `async def`, and do what "
            "blocks in asyncio.to_thread"
        )
    return str(definition.name)


def _check_name(name: str | None, what: str, extension: str) -> None:
    if name is None:
        raise ExtensionConflict(
            f"its {what} is dynamic, and would take what belongs to others: give it a name"
        )
    prefix = f"{extension}."
    if not name.startswith(prefix):
        raise ExtensionConflict(
            f"its {what} is called {name!r}, which others may be called: call it "
            f"{prefix + name!r}, with the argument name= of its decorator"
        )


def _list_activities(source: Activity) -> Iterator[Activity]:
    """Yield the activities of a class, or the function itself."""
    if not isinstance(source, type):
        yield source
    elif names := _activity_names(source):
        yield from (getattr(source, name) for name in names)
    else:
        raise ExtensionConflict(f"its {source!r} has no method with @activity.defn: decorate one")


def _bind(source: Activity, services: WorkerServices) -> list[Activity]:
    """Return the activities of a new instance of a class, or the function itself."""
    if not isinstance(source, type):
        return [source]
    instance = source(services)
    return [getattr(instance, name) for name in _activity_names(source)]


def _activity_names(source: type) -> list[str]:
    """Return the names of the methods of a class that are activities."""
    return [name for name, member in getmembers(source) if hasattr(member, _ACTIVITY)]


@asynccontextmanager
async def _run_part(part: WorkerPart, services: WorkerServices) -> AsyncIterator[None]:
    async with part.running(services):
        yield
