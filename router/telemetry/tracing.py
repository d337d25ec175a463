"""Where spans go: to the collector that OpenTelemetry's own variables name, or nowhere.

`OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) switches tracing on. Sampler, resource,
headers and batching are the standard `OTEL_*` variables, which the SDK reads by itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

from temporalio.client import Plugin

from router.telemetry.spans import content

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

LAST_SECONDS = 2.0
"""For the spans that are left when a process ends."""


def is_wanted(environment: Mapping[str, str]) -> bool:
    """True where a collector is named, and the SDK isn't switched off."""
    off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and any(environment.get(name) for name in ENDPOINTS)


@contextmanager
def traced(
    service: str, environment: Mapping[str, str], *, with_content: bool
) -> Iterator[list[Plugin]]:
    """Export spans while within, and on leaving what is left of them, as far as that is quick.

    Gives what Temporal's client needs to carry the trace through workflows: nothing where
    nobody traces. A replay emits nothing, for workflows have no spans of their own: it is the
    turn, the activities, the models and the tools that do.
    """
    if not is_wanted(environment):
        yield []
        return
    # A tenth of a second to import, and of no use to most.
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, create_tracer_provider

    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": service}
    provider = create_tracer_provider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    content.traced = with_content
    try:
        yield [OpenTelemetryPlugin()]
    finally:
        # A collector that is away would hold up the end for ten seconds.
        flushing = Thread(target=provider.shutdown, name="sending the last spans", daemon=True)
        flushing.start()
        flushing.join(LAST_SECONDS)
