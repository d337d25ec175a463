"""Workflows whose tasks fail again and again: found with their reason, and gone once mended."""

import base64
import logging
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client import REGISTRY
from temporalio.api.enums.v1 import EventType, TimeoutType
from temporalio.api.history.v1 import HistoryEvent, WorkflowTaskTimedOutEventAttributes
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from router.gateway import failing_workflows
from router.gateway.failing_workflows import (
    FailingWorkflow,
    FailingWorkflowMonitor,
    FailingWorkflows,
    ProblemsNotReported,
    TaskFailure,
    describe_briefly,
    failures_in_a_row,
    find_failing_workflows,
)
from router.secrecy.codec import data_converter
from router.settings.values import PayloadKeys
from tests.integration.gateway.failing import (
    KINDS,
    SECRET,
    Defect,
    Raising,
    start,
    take_without_answering,
    until,
    worker_of,
)
from tests.table import each_row


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Defect, "planted", True)


@pytest.fixture
def queue() -> str:
    return f"failing-{uuid4().hex}"


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the monitor has logged."""
    return [r.getMessage() for r in caplog.records if r.name == failing_workflows.__name__]


def key(id_: str) -> PayloadKeys:
    return PayloadKeys.read(f"{id_}:{base64.b64encode(id_.encode() * 16).decode()}")


async def with_keys(client: Client, keys: PayloadKeys) -> Client:
    """A client of the same namespace that encrypts payloads and failures."""
    target = client.service_client.config.target_host
    return await Client.connect(
        target, namespace=client.namespace, data_converter=data_converter(keys)
    )


def gauge(kind: str) -> float | None:
    return REGISTRY.get_sample_value("router_failing_workflows", {"workflow_type": kind})


@pytest.mark.slow
async def test_each_kind_of_failure_is_found_with_its_reason_and_gone_once_it_is_mended(
    temporal_client: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, failing_workflows.__name__)
    client = await with_keys(temporal_client, key("k1"))
    monitor = FailingWorkflowMonitor(client, queue)
    ids = {kind.__name__: f"kind/acme/{uuid4().hex}" for kind in KINDS}
    async with worker_of(client, queue):
        handles = [await start(client, queue, kind, ids[kind.__name__]) for kind in KINDS]
        state = await until(monitor.look, lambda state: state.found.total == len(KINDS))
        found = {each.workflow_type: each for each in state.found.listed}
        assert {name: each.workflow_id for name, each in found.items()} == ids
        assert {name: each.failure.cause for name, each in found.items()} == {
            "Raising": "WorkflowWorkerUnhandledFailure",
            "Reordered": "NonDeterministicError",
            "Carrying": "PayloadsTooLarge",
        }
        raising = found["Raising"]
        assert (raising.tenant, raising.failure.error_type) == ("acme", "RuntimeError")
        assert raising.failure.place.startswith("gateway/failing.py:")
        assert raising.failure.attempt >= 3
        assert raising.failure.since is not None
        assert SECRET in raising.describe(quoting=True)
        assert "Nondeterminism" in found["Reordered"].describe()
        assert gauge("Raising") == 1
        without_key = await with_keys(temporal_client, key("k2"))
        unread = [
            each.failure.message
            for each in (await find_failing_workflows(without_key, queue)).listed
            if each.workflow_type == "Raising"
        ]
        assert "ROUTER_PAYLOAD_KEYS doesn't have" in unread[0]
        assert [line for line in logged(caplog) if ids["Raising"] in line and "Runtime" in line]

        Defect.planted = False
        await until(monitor.look, lambda state: not state.found.total)
        for handle in handles:
            await handle.result()
    assert not gauge("Raising")
    lines = logged(caplog)
    assert sum(ids["Raising"] in line for line in lines) == 2, "found once, and healed once"
    assert SECRET not in "".join(lines)


async def test_tasks_that_no_worker_answers_are_found(temporal_client: Client, queue: str) -> None:
    handle = await start(temporal_client, queue, Raising, uuid4().hex)
    look = partial(find_failing_workflows, temporal_client, queue)
    assert not (await look()).total
    await take_without_answering(temporal_client, queue, times=3)
    (found,) = (await until(look, lambda found: found.total == 1)).listed
    assert (found.workflow_id, found.failure.cause) == (handle.id, "TimedOut")
    await handle.terminate()


async def test_a_server_that_doesnt_report_them_is_no_server_without_them(
    temporal_client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failing_workflows, "PROBLEMS", "TemporalUnheardOf")
    with pytest.raises(ProblemsNotReported, match="can't be told"):
        await find_failing_workflows(temporal_client, queue)
    state = await FailingWorkflowMonitor(temporal_client, queue).latest()
    assert "can't be told" in state.trouble


async def test_what_cant_be_asked_isnt_told_as_none(
    temporal_client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = FailingWorkflowMonitor(temporal_client, queue)
    found = FailingWorkflows([failing(1)], {"Flow": 1})

    async def answer(*_: Any) -> FailingWorkflows:
        return found

    async def be_away(*_: Any) -> FailingWorkflows:
        raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")

    monkeypatch.setattr(FailingWorkflowMonitor, "_find", answer)
    assert not (await monitor.look()).trouble
    monkeypatch.setattr(FailingWorkflowMonitor, "_find", be_away)
    state = await monitor.look()
    assert (state.found, "can't be told" in state.trouble) == (found, True)
    assert gauge("Flow") == 1
    monkeypatch.setattr(FailingWorkflowMonitor, "_find", answer)
    assert not (await monitor.look()).trouble


def failing(number: int, may_quote: bool = True) -> FailingWorkflow:
    failure = TaskFailure(
        "WorkflowWorkerUnhandledFailure",
        error_type="RuntimeError",
        place="workflows/flow.py:7",
        message=SECRET,
        may_quote=may_quote,
    )
    return FailingWorkflow(f"flow/acme/{number}", f"run-{number}", "Flow", failure)


@each_row(
    ("may_quote", "quoting", "shown"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, True)],
)
def test_a_message_that_may_quote_somebody_is_shown_on_request_alone(
    may_quote: bool, quoting: bool, shown: bool
) -> None:
    told = failing(1, may_quote).describe(quoting=quoting)
    assert (SECRET in told) is shown
    assert "RuntimeError at workflows/flow.py:7" in told


def test_those_beyond_what_is_listed_are_counted() -> None:
    found = FailingWorkflows([failing(number) for number in range(10)], {"Flow": 5000})
    brief = describe_briefly(found)
    assert "flow/acme/4 " in brief
    assert "flow/acme/5 " not in brief
    assert "and 4995 more" in brief
    assert "and 4990 more" in found.describe(quoting=False)
    assert not describe_briefly(FailingWorkflows())


def event(kind: str, timeout: str = "UNSPECIFIED") -> HistoryEvent:
    named = HistoryEvent(event_type=EventType.Value(f"EVENT_TYPE_WORKFLOW_TASK_{kind}"))
    if kind == "TIMED_OUT":
        attributes = WorkflowTaskTimedOutEventAttributes(
            timeout_type=TimeoutType.Value(f"TIMEOUT_TYPE_{timeout}")
        )
        named.workflow_task_timed_out_event_attributes.CopyFrom(attributes)
    return named


def test_only_failures_since_the_last_success_count() -> None:
    newest_first = [
        event("STARTED"),
        event("FAILED"),
        event("TIMED_OUT", "SCHEDULE_TO_START"),
        event("TIMED_OUT", "START_TO_CLOSE"),
        event("COMPLETED"),
        event("FAILED"),
    ]
    assert failures_in_a_row(newest_first) == [newest_first[1], newest_first[3]]
