"""Spans, for whoever does something worth one; they cost next to nothing where nobody traces.

`OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) switches tracing on; the SDK reads the other
`OTEL_*` variables by itself. GenAI names are written out: the conventions are still "Development",
and a library's constants would change under dashboards.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue
from temporalio.client import Plugin

CLIENT, INTERNAL, SERVER = SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.SERVER
FAULT = "error.type"

_tracer = trace.get_tracer("intent-router")
_w3c = TraceContextTextMapPropagator()


@dataclass
class ContentSwitch:
    """Whether what people and models say may be in spans at all."""

    traced: bool = False


content = ContentSwitch()
"""The process's own; `router.telemetry.tracing` sets it."""


@contextmanager
def span(
    name: str,
    kind: SpanKind = INTERNAL,
    attributes: Mapping[str, AttributeValue] | None = None,
    parent: Context | None = None,
) -> Iterator[Span]:
    """A span around what is within; a failure leaves its type there and none of its words.

    >>> with span("chat qwen", CLIENT, {"gen_ai.operation.name": "chat"}) as asked:
    ...     asked.set_attribute("gen_ai.usage.input_tokens", 12)
    """
    with _tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=attributes,
        record_exception=False,  # its message may quote anybody
        set_status_on_exception=False,
    ) as opened:
        try:
            yield opened
        except BaseException as error:
            fail(opened, type(error).__name__)
            raise


def fail(failed: Span, why: str) -> None:
    """Mark the span as failed; `why` is a kind of failure, such as `TimeoutError` or `503`."""
    failed.set_attribute(FAULT, why)
    failed.set_status(Status(StatusCode.ERROR))


def show(opened: Span, name: str, said: object) -> None:
    """Put what was said into the span, as JSON under this name, where that is switched on.

    >>> with span("chat qwen") as asked:
    ...     show(asked, "gen_ai.output.messages", [{"role": "assistant", "text": "hello"}])
    """
    if content.traced and opened.is_recording():
        opened.set_attribute(name, json.dumps(said, ensure_ascii=False))


def outgoing() -> dict[str, str]:
    """The headers (`traceparent`) that tell a server whose work it does; none outside a trace."""
    headers: dict[str, str] = {}
    _w3c.inject(headers)
    return headers


def incoming(headers: Mapping[str, str]) -> Context:
    """The trace that a request belongs to, by its headers; an empty one where they name none."""
    return _w3c.extract(headers, context=Context())


def ids() -> dict[str, Any]:
    """`trace_id` and `span_id` of what is going on, in hex; nothing outside a trace."""
    now = trace.get_current_span().get_span_context()
    if not now.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(now.trace_id),
        "span_id": trace.format_span_id(now.span_id),
    }


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

    Gives what Temporal's client needs to carry the trace through workflows, if anybody traces. They
    have no spans of their own: a replay emits nothing.
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
