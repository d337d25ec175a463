"""What a process tells its operators: logs, spans and metrics."""

import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import TypeAdapter
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from activities.execution import Observing
from router.domain.errors import MisconfiguredError, Unavailable
from router.llm.types import ModelUnavailable
from router.runtime.process import observed
from router.runtime.sandbox import sandbox
from router.settings import Settings
from router.telemetry import tracing
from router.telemetry.logs import JsonLines, about
from router.telemetry.tracing import is_wanted
from tests.fakes.model_server import calls, fails, says
from tests.ports import free_ports
from tests.replays.histories import HISTORIES, history_in
from tests.table import each_row
from tests.unit.llm.asking import desk, question
from workflows.conversation import ConversationWorkflow
from workflows.flow import FlowWorkflow
from workflows.skill import SkillWorkflow


def line(message: str = "x", *arguments: object) -> dict[str, Any]:
    """What is logged, while an error is handled with the error."""
    info = sys.exc_info() if sys.exc_info()[0] else None
    record = logging.LogRecord("router.test", logging.WARNING, "", 1, message, arguments, info)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def fail() -> None:
    raise Unavailable("the database is away")


def test_a_line_is_one_json_object() -> None:
    found = line("hello %s", "世\n界")
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "warning", "logger": "router.test", "message": "hello 世\n界"}


def test_it_says_which_conversation_and_turn_it_is_about() -> None:
    with about("c1", "m1"), about(None):
        found = line()
    assert (found["conversation"], found["turn"]) == ("c1", "m1")
    assert "turn" not in line()


def test_it_joins_the_trace_that_is_going_on() -> None:
    with TracerProvider().get_tracer("test").start_as_current_span("one") as span:
        found, context = line(), span.get_span_context()
    joined = (f"{context.trace_id:032x}", f"{context.span_id:016x}")
    assert (found["trace_id"], found["span_id"]) == joined


def test_a_failure_says_where_and_of_which_kind_but_not_what_somebody_wrote() -> None:
    try:
        TypeAdapter(int).validate_python("my salary is secret")
    except ValueError:
        found = line()
    assert found["error.type"] == "ValidationError"
    assert "test_telemetry.py" in found.pop("error.stack")
    assert "my salary is secret" not in json.dumps(found)
    assert "error.message" not in found


def test_an_error_of_the_house_is_written_to_be_read() -> None:
    try:
        fail()
    except Unavailable:
        assert line()["error.message"] == "the database is away"


def test_a_failure_of_temporals_says_what_it_stands_for() -> None:
    def answered(said: str) -> None:
        raise ApplicationError(said, type="UnknownOutcome")

    try:
        answered(" ".join(("my", "salary")))
    except ApplicationError:
        found = line()
    assert found["error.type"] == "UnknownOutcome"
    assert "my salary" not in json.dumps(found)


STARTED = """
import os
from router.telemetry.tracing import span, traced
with traced("test", os.environ, with_content=False) as plugins:
    with span("one"):
        assert len(plugins) == 1
print("over")
"""


@pytest.mark.slow
def test_a_collector_that_never_answers_holds_up_nobodys_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        environment |= {"OTEL_EXPORTER_OTLP_TIMEOUT": "86400"}  # the exporter waits for a day
        words = [sys.executable, "-c", STARTED]
        ran = subprocess.check_output(words, env=environment, text=True, timeout=120)
    assert ran == "over\n"


SECRET = "我的工资是多少"


def attributes_of(exported: InMemorySpanExporter) -> Mapping[str, Any]:
    (span,) = exported.get_finished_spans()
    return span.attributes or {}


async def test_nothing_that_was_said_is_in_a_span(exported: InMemorySpanExporter) -> None:
    async with desk([says("三万")]) as open_desk:
        await open_desk.model.answer(question(SECRET), 30)
    (span,) = exported.get_finished_spans()
    assert not any(word in str(json.loads(span.to_json())) for word in ("工资", "三万"))
    assert not [name for name in attributes_of(exported) if "messages" in name]


async def test_content_is_there_where_it_is_switched_on(
    exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing.content, "traced", True)
    async with desk([calls(("get_balance", {"leave_type": "annual"}))]) as open_desk:
        await open_desk.model.answer(question(SECRET), 30)
    found = attributes_of(exported)
    assert SECRET in json.loads(found["gen_ai.input.messages"])[-1]["text"]
    (answered,) = json.loads(found["gen_ai.output.messages"])
    assert answered["calls"] == [{"name": "get_balance", "arguments": {"leave_type": "annual"}}]


async def test_a_failure_leaves_its_kind_and_no_words(exported: InMemorySpanExporter) -> None:
    async with desk([fails(503, f"can't say {SECRET}")]) as open_desk:
        with pytest.raises(ModelUnavailable):
            await open_desk.model.answer(question(), 30)
    (span,) = exported.get_finished_spans()
    assert attributes_of(exported)["error.type"] == "ModelUnavailable"
    assert not span.status.is_ok
    assert (span.status.description, list(span.events)) == (None, [])


@pytest.mark.parametrize(
    "written",
    ["", "00", "00-0-0-0", f"00-{'0' * 32}-{'1' * 16}-01", f"00-{'g' * 32}-{'1' * 16}-01", "\x00"],
)
def test_a_bad_traceparent_begins_a_trace(exported: InMemorySpanExporter, written: str) -> None:
    with tracing.span("one", parent=tracing.incoming({"traceparent": written})):
        assert tracing.outgoing()["traceparent"].startswith("00-")
    (span,) = exported.get_finished_spans()
    assert span.parent is None


def test_outside_a_trace_nobody_is_told_of_one() -> None:
    assert tracing.outgoing() == {}
    assert tracing.ids() == {}


@pytest.mark.slow
@pytest.mark.parametrize("file", HISTORIES[:4], ids=lambda file: file.stem)
async def test_a_replay_emits_nothing(exported: InMemorySpanExporter, file: Any) -> None:
    replayer = Replayer(
        workflows=[ConversationWorkflow, FlowWorkflow, SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
        interceptors=[Observing()],
        plugins=[OpenTelemetryPlugin()],
        debug_mode=True,  # a busy machine isn't a deadlock
    )
    await replayer.replay_workflow(history_in(file))
    assert exported.get_finished_spans() == ()


def settings(**more: object) -> Settings:
    return Settings(_env_file=None, **more)  # type: ignore[arg-type]


def test_metrics_are_served_on_a_port_of_their_own_while_they_are_wanted() -> None:
    with observed(settings(metrics_port=0), "test") as seen:
        assert seen.metrics is not None
        assert seen.metrics.startswith("http://127.0.0.1:")
        assert "router_turn_duration_seconds" in httpx.get(seen.metrics, trust_env=False).text
    with pytest.raises(httpx.ConnectError):
        httpx.get(seen.metrics, trust_env=False)


def test_no_port_is_opened_unasked() -> None:
    with observed(settings(), "test") as seen:
        assert (seen.metrics, seen.plugins) == (None, [])


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(MisconfiguredError, match=f"ROUTER_METRICS_PORT={port}"),
            observed(settings(metrics_port=port), "test"),
        ):
            pass


def test_temporals_own_metrics_are_on_another_port() -> None:
    (port,) = free_ports(1)
    with observed(settings(temporal_metrics_port=port), "test"):
        assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 200


@each_row(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, False),
    ],
)
def test_traces_go_nowhere_without_a_collector(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) is wanted
