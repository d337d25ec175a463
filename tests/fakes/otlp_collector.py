"""A collector of traces: takes in OTLP over real HTTP and keeps the spans."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.fakes.web_server import threaded

TRACES = "/v1/traces"


@dataclass
class Collector:
    """What came in so far, and where it is sent to (`OTEL_EXPORTER_OTLP_ENDPOINT`)."""

    url: str
    raw: list[bytes] = field(default_factory=list)
    """Bodies, unpacked: to be searched for what must not be there."""
    spans: list[Span] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def until(self, enough: Callable[[list[Span]], bool], seconds: float = 30) -> list[Span]:
        """The spans, once they are enough."""
        with self.came:
            assert self.came.wait_for(lambda: enough(self.spans), seconds), names(self.spans)
            return list(self.spans)

    def take(self, body: bytes) -> None:
        """Keep what a body holds."""
        request = ExportTraceServiceRequest.FromString(body)
        with self.came:
            self.raw.append(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self.spans.extend(scope.spans)
            self.came.notify_all()


def names(spans: list[Span]) -> list[str]:
    """What they are called, in the order in which they ended."""
    return [span.name for span in spans]


def attributes(span: Span) -> dict[str, str | int]:
    """Those that are texts or numbers."""
    found: dict[str, str | int] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        if kind in {"string_value", "int_value"}:
            found[one.key] = getattr(one.value, kind)
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens on loopback while within."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            found = self.path == TRACES
            if found:
                collector.take(decompress(body) if packed else body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with threaded(Handler) as origin:
        collector = Collector(origin)
        yield collector
