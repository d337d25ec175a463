"""Spans of questions, of failures, and of what replays."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from activities.execution import Observing
from router.llm.types import ModelUnavailable
from router.runtime.worker import sandbox
from router.telemetry import tracing
from tests.fakes.behaviours import calls, fails, says
from tests.replays.histories import HISTORIES, history_in
from tests.unit.llm.asking import desk, question
from workflows.conversation import ConversationWorkflow
from workflows.flow import FlowWorkflow
from workflows.skill import SkillWorkflow

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


async def test_a_failure_leaves_its_kind_and_none_of_its_words(
    exported: InMemorySpanExporter,
) -> None:
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
def test_a_traceparent_that_is_none_begins_a_trace(
    exported: InMemorySpanExporter, written: str
) -> None:
    with tracing.span("one", parent=tracing.incoming({"traceparent": written})):
        assert tracing.outgoing()["traceparent"].startswith("00-")
    (span,) = exported.get_finished_spans()
    assert span.parent is None


def test_outside_a_trace_nobody_is_told_of_one() -> None:
    assert tracing.outgoing() == {}
    assert tracing.ids() == {}


@pytest.mark.parametrize("file", HISTORIES[:4], ids=lambda file: file.stem)
async def test_a_replay_emits_nothing(exported: InMemorySpanExporter, file: Any) -> None:
    replayer = Replayer(
        workflows=[ConversationWorkflow, FlowWorkflow, SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
        interceptors=[Observing()],
        plugins=[OpenTelemetryPlugin()],
    )
    await replayer.replay_workflow(history_in(file))
    assert exported.get_finished_spans() == ()
