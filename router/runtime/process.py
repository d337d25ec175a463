"""What a process that stays is made of: tasks side by side, signals, traces and metrics."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prometheus_client.registry import REGISTRY
from temporalio.client import Plugin
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from activities.tool_caller import ToolCircuits
from router.domain.errors import Unavailable
from router.llm.fallback import FallbackChains
from router.settings import Settings
from router.telemetry.metrics import Circuits, exposed
from router.telemetry.tracing import traced

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPATIENT = 130
"""The exit status where a second signal didn't let the first one finish."""


async def until_told_to_stop(work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, cancelled at a signal so that it may clean up; a second one ends the process."""
    told = False
    task = asyncio.create_task(work)

    def stop() -> None:
        nonlocal told
        if told:
            os._exit(IMPATIENT)
        told = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise


Out = TypeVar("Out")
BackgroundTask = asyncio.Task[None]


@asynccontextmanager
async def running(
    name: str,
    work: Coroutine[Any, Any, None],
    grace: float,
    stop: Callable[[], object] | None = None,
) -> AsyncIterator[BackgroundTask]:
    """Run `work` beside the block; then `stop` or cancel it, and wait at most `grace` seconds."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        (stop or task.cancel)()
        await asyncio.wait({task}, timeout=grace)
        task.cancel()


async def unless_one_ends(tasks: Collection[BackgroundTask], waiting: Awaitable[Out]) -> Out:
    """What `waiting` gives; raises what a task failed with that ended first, or `Unavailable`."""
    goal = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({goal, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
                raise Unavailable(f"{task.get_name()} has stopped, and everything with it")
        return goal.result()
    finally:
        goal.cancel()


async def forever(tasks: Collection[BackgroundTask]) -> None:
    """Wait until one of them ends, which is an error: see `unless_one_ends`."""
    await unless_one_ends(tasks, asyncio.Event().wait())


@dataclass
class ProcessTelemetry:
    """What Temporal's client is to be made with, and where the metrics are, if anywhere."""

    plugins: list[Plugin]
    runtime: Runtime
    metrics: str | None
    closing: ExitStack = field(default_factory=ExitStack)

    def circuits_of(self, chains: FallbackChains, tools: ToolCircuits) -> None:
        """Have the breakers of these models and tools among the metrics, until this ends."""
        for circuits in (
            Circuits("model", lambda: chains.states),
            Circuits("system", lambda: tools.states),
        ):
            REGISTRY.register(circuits)
            self.closing.callback(REGISTRY.unregister, circuits)


@contextmanager
def observed(settings: Settings, service: str) -> Iterator[ProcessTelemetry]:
    """Trace and measure as the settings want; `service` is its name where `OTEL_…` names none."""
    with ExitStack() as closing:
        tracing = traced(service, os.environ, with_content=settings.trace_content)
        plugins, metrics = closing.enter_context(tracing), None
        if settings.metrics_port is not None:
            serving = exposed(settings.metrics_host, settings.metrics_port)
            metrics = closing.enter_context(serving)
        # Named, for its runtime ends with the last who holds it.
        seen = ProcessTelemetry(plugins, _runtime(settings), metrics, closing)
        yield seen


CORE_LOG = "temporalio.core"
"""Where the lines of Temporal's own core go, which it would write to stderr in colours."""
_FILTER = TelemetryFilter(core_level="WARN", other_level="ERROR")


def _runtime(settings: Settings) -> Runtime:
    """A runtime that logs as the process does, and whose metrics Prometheus can fetch if wanted."""
    metrics = None
    if settings.temporal_metrics_port is not None:
        address = f"{settings.metrics_host}:{settings.temporal_metrics_port}"
        metrics = PrometheusConfig(bind_address=address, durations_as_seconds=True)
    # The fields of its lines hold messages of failures, which hold what people wrote.
    forwarding = LogForwardingConfig(
        logger=logging.getLogger(CORE_LOG),
        append_target_to_name=False,
        prepend_target_on_message=False,
        append_log_fields_to_message=False,
    )
    logs = LoggingConfig(filter=_FILTER, forwarding=forwarding)
    return Runtime(telemetry=TelemetryConfig(metrics=metrics, logging=logs))
