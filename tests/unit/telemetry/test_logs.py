"""Lines of the log, for people and for machines."""

import json
import logging
import sys

from opentelemetry.sdk.trace import TracerProvider
from pydantic import TypeAdapter

from router.domain.errors import Unavailable
from router.telemetry.logs import JsonLines, about


def line(message: str = "hello %s", *arguments: object, failing: bool = False) -> dict:  # type: ignore[type-arg]
    info = sys.exc_info() if failing else None
    record = logging.LogRecord("router.test", logging.WARNING, "", 1, message, arguments, info)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict = json.loads(text)  # type: ignore[type-arg]
    return found


def fail() -> None:
    raise Unavailable("the database is away")


def test_a_line_is_one_json_object() -> None:
    found = line("hello %s", "世\n界")
    assert (found["level"], found["logger"], found["message"]) == (
        "warning",
        "router.test",
        "hello 世\n界",
    )
    assert found["time"].endswith("+00:00")
    assert "trace_id" not in found


def test_it_says_which_conversation_and_turn_it_is_about() -> None:
    with about("c1", "m1"), about(None):
        found = line("x")
    assert (found["conversation"], found["turn"]) == ("c1", "m1")
    assert "turn" not in line("x")


def test_it_joins_the_trace_that_is_going_on() -> None:
    with TracerProvider().get_tracer("test").start_as_current_span("one") as span:
        found = line("x")
    assert found["trace_id"] == f"{span.get_span_context().trace_id:032x}"
    assert found["span_id"] == f"{span.get_span_context().span_id:016x}"


def test_a_failure_says_where_and_of_which_kind_but_not_what_somebody_wrote() -> None:
    try:
        TypeAdapter(int).validate_python("my salary is secret")
    except ValueError:
        found = line("x", failing=True)
    assert found["error.type"] == "ValidationError"
    assert "test_logs.py" in found["error.stack"]
    assert "my salary is secret" not in json.dumps(
        {k: v for k, v in found.items() if k != "error.stack"}
    )
    assert "error.message" not in found


def test_an_error_of_the_house_is_written_to_be_read() -> None:
    try:
        fail()
    except Unavailable:
        found = line("x", failing=True)
    assert found["error.message"] == "the database is away"
