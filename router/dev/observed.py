"""What operators see of a process that stays: traces, and metrics on a port of their own."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from temporalio.client import Plugin
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from router.llm.ladders import Ladders
from router.settings import Settings
from router.telemetry.exposition import exposed
from router.telemetry.metrics import Circuits
from router.telemetry.tracing import traced


@dataclass
class Observed:
    """What Temporal's client is to be made with, and where the metrics are, if anywhere."""

    plugins: list[Plugin]
    runtime: Runtime | None
    metrics: str | None
    closing: ExitStack = field(default_factory=ExitStack)

    def circuits_of(self, ladders: Ladders) -> None:
        """Have the circuit breakers of these models among the metrics, until this ends."""
        circuits = Circuits(lambda: ladders.states)
        circuits.show()
        self.closing.callback(circuits.hide)


@contextmanager
def observed(settings: Settings, service: str) -> Iterator[Observed]:
    """Trace and measure while within, as far as the settings want it.

    `service` is what traces call this process, unless `OTEL_SERVICE_NAME` says.

    Raises:
        MisconfiguredError: the metrics' port can't be opened.
    """
    with ExitStack() as closing:
        tracing = traced(service, os.environ, with_content=settings.trace_content)
        plugins, metrics = closing.enter_context(tracing), None
        if settings.metrics_port is not None:
            serving = exposed(settings.metrics_host, settings.metrics_port)
            metrics = closing.enter_context(serving)
        yield Observed(plugins, _runtime(settings), metrics, closing)


def _runtime(settings: Settings) -> Runtime | None:
    """A runtime whose metrics Prometheus can fetch; None, the usual one, where nobody asks."""
    if settings.temporal_metrics_port is None:
        return None
    address = f"{settings.metrics_host}:{settings.temporal_metrics_port}"
    metrics = PrometheusConfig(bind_address=address, durations_as_seconds=True)
    return Runtime(telemetry=TelemetryConfig(metrics=metrics))
