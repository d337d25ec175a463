"""What workflows make of an outage of the database: no try is counted, and no result is lost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities import outages
from activities.call_tool import ToolActivity
from activities.execution import Observing, temporal_failures
from activities.outages import outage_window
from activities.progress import ProgressPublisher
from activities.tool_caller import ToolCaller
from router.contracts.activities import LookUp, LookupAnswer, ToolCall
from router.contracts.flow import CallLimits
from router.contracts.payload import ActivityStub
from router.domain.errors import BackendUnavailable, RouterError, Unavailable
from router.domain.principals import Principal
from router.domain.records import AuditRecord
from router.runtime.composition import Parts
from router.store.audit import ToolCallAudit
from router.store.idempotency import EffectsLedger
from router.tool.context import Dependencies
from router.tool.registry import Registry
from router.tool.tool import tool
from tests.table import each_row
from workflows.activity import perform
from workflows.tool_calls import made

ALICE = Principal(id="alice", name="Alice")
ASK = ActivityStub("ask", LookUp, LookupAnswer, timedelta(seconds=5), attempts=2)
ASK_HERE = ActivityStub("ask", LookUp, LookupAnswer, timedelta(seconds=5), attempts=2, local=True)


@workflow.defn
class Asks:
    """Has an activity run that has two attempts."""

    @workflow.run
    async def run(self, local: bool) -> JsonValue:
        given = LookUp(name="x", arguments=[], requester=ALICE, now=workflow.now())
        return (await perform(ASK_HERE if local else ASK, given)).value


@workflow.defn
class CallsOne:
    """Calls a tool, as conversations and flows do, with two attempts."""

    @workflow.run
    async def run(self, call: ToolCall) -> JsonValue:
        limits = CallLimits(timeout=timedelta(seconds=30), attempts=2)
        retry = RetryPolicy(maximum_attempts=2, initial_interval=timedelta(milliseconds=1))
        return (await made(call, limits, retry, "calling")).value


@asynccontextmanager
async def at_work(client: Client, *activities: Any) -> AsyncIterator[str]:
    """A worker of these workflows; gives its queue."""
    queue = uuid4().hex
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Asks, CallsOne],
        activities=activities,
        interceptors=[Observing()],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield queue


@each_row("local", [False, True])
async def test_an_outage_uses_up_no_attempt_of_an_activity(
    real_client: Client, monkeypatch: pytest.MonkeyPatch, local: bool
) -> None:
    asked = 0

    @activity.defn(name="ask")
    async def ask(given: LookUp) -> LookupAnswer:
        nonlocal asked
        asked += 1
        with temporal_failures():
            if asked <= 3:
                raise BackendUnavailable("the database is away")
        return LookupAnswer(value=given.name)

    async with at_work(real_client, ask) as queue:
        answer = await real_client.execute_workflow(Asks.run, local, id=queue, task_queue=queue)
    assert (answer, asked) == ("x", 4)


async def test_another_system_that_is_away_uses_up_the_attempts(real_client: Client) -> None:
    asked: list[RouterError] = []

    @activity.defn(name="ask")
    async def ask(given: LookUp) -> LookupAnswer:
        asked.append(Unavailable("the calendar is away"))
        with temporal_failures():
            raise asked[-1]

    async with at_work(real_client, ask) as queue:
        with pytest.raises(WorkflowFailureError):
            await real_client.execute_workflow(Asks.run, False, id=queue, task_queue=queue)
    assert len(asked) == 2


class AwayLedger(EffectsLedger):
    """Can't be written to for so many times once the tool was called."""

    away = 0

    async def finish(self, key: str, result: JsonValue) -> None:
        if self.away:
            self.away -= 1
            raise BackendUnavailable("the database is away")
        await super().finish(key, result)


class AwayAudit(ToolCallAudit):
    """The same of the audit."""

    away = 0

    async def note(self, tenant: str, record: AuditRecord, *, again: bool = False) -> None:
        if self.away:
            self.away -= 1
            raise BackendUnavailable("the database is away")
        await super().note(tenant, record, again=again)


@each_row(
    ("ledger_away", "audit_away"),
    [(7, 0), (0, 7), (7, 7)],
    ids=["the ledger is away", "the audit is away", "both are away"],
)
async def test_a_result_that_no_attempt_could_record_is_recorded_by_the_next(
    real_client: Client,
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    ledger_away: int,
    audit_away: int,
) -> None:
    """However many attempts end in the meantime, and though the tool honours no key."""
    monkeypatch.setattr(outages, "FIRST_PAUSE_S", 0.001)
    sent: list[str] = []

    async def shoot() -> JsonValue:
        """Write, whatever the key."""
        sent.append("shot")
        return {"time": len(sent)}

    registry, store, key = Registry(), parts.store, uuid4().hex
    registry.add(tool(permission="write", idempotent=False)(shoot))
    database = vars(store.ledger)["_database"]
    ledger, audit = AwayLedger(database), AwayAudit(database)
    ledger.away, audit.away = ledger_away, audit_away
    caller = ToolCaller(registry, Dependencies(), ledger, audit, store.results)
    calling = ToolActivity(caller, ProgressPublisher(store.live))
    call = ToolCall(
        tool="shoot",
        arguments={},
        caller=ALICE,
        key=key,
        flow_run=f"flow/default/{key}",
        now=datetime.now(UTC),
    )
    with outage_window(0):
        async with at_work(real_client, calling.call_tool) as queue:
            answer = await real_client.execute_workflow(
                CallsOne.run, call, id=queue, task_queue=queue
            )
    known = await ledger.find(key)
    rows = await audit.of_person("default", "alice", 50)
    assert (answer, sent) == ({"time": 1}, ["shot"])
    assert known is not None
    assert (known.status, known.result) == ("done", {"time": 1})
    assert [(row.decision, row.outcome) for row in rows if row.key == key] == [("admitted", "done")]
