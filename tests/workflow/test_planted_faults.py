"""Old faults planted again into runs: operators see at each place which workflow it is, and why."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from prometheus_client import REGISTRY
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle

from router.cli.checks import services
from router.contracts import flow as contract
from router.contracts.flow import ExternalEvent
from router.domain.errors import MisconfiguredError
from router.flow.engine import machine
from router.flow.engine.events import Arrived
from router.flow.engine.run_parts.approvals import MAX_APPROVERS
from router.flow.view import FlowView
from router.gateway import failing_workflows, lost_runs
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.integration.gateway.failing import until
from tests.workflow.desk import defined, flow_of, run_of
from tests.workflow.test_failing_tasks import Post, always, failing, of_timer, started
from tests.workflow.test_failing_workflows import listed, readiness
from tests.workflow.test_large_values import Crowd
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished, talking
from workflows import activity, tasks

pytestmark = pytest.mark.slow  # Temporal waits some seconds before it tries a task a third time

PARCEL = defined("""
    flow: parcel
    version: 1
    title: {zh: 寄件, en: Parcel}
    description: {zh: 等人来取包裹。, en: Wait until a parcel is fetched.}
    start: order
    states:
      order: {call: order_parcel, next: rest}
      rest: {wait: {for: PT0.1S}, next: kept}
      kept: {wait: {event: fetched, roles: [employee]}, next: sent}
      sent: {say: {zh: 寄出了。, en: It is sent.}, end: completed}
""")


ASKS_CROWD = defined("""
    flow: ask_crowd
    version: 1
    title: {zh: 问大家, en: Ask the crowd}
    description: {zh: 请大家同意。, en: Have the crowd agree.}
    triggers: {patterns: [问大家]}
    start: sure
    states:
      sure: {confirm: {zh: 问吗？, en: Sure?}, confirmed: crowd, declined: tell_no}
      crowd:
        approve: {by: "role('crowd')", title: {zh: 同意吗, en: Agreed?}}
        approved: tell_yes
        rejected: tell_no
      tell_yes: {say: {zh: 通过了。, en: Approved.}, end: completed}
      tell_no: {say: {zh: 没通过。, en: Rejected.}, end: rejected}
""")


def settings_of(parts: Parts, client: Client, queue: str) -> Settings:
    """The settings with which commands reach the test's Temporal."""
    address, namespace = client.service_client.config.target_host, client.namespace
    reached = {"temporal_address": address, "temporal_namespace": namespace, "task_queue": queue}
    return parts.settings.model_copy(update=reached)


@dataclass
class House:
    """A deployment whose worker can be replaced, and its API."""

    client: Client
    parts: Parts
    api: AsyncClient
    queue: str

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        """A worker that remembers no workflow, as one that has just been deployed."""
        async with build_worker(self.client, self.parts, self.queue):
            yield


@pytest.fixture
async def house(
    real_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    monkeypatch.setattr(failing_workflows, "LOOK_INTERVAL_S", 0.2)
    queue = uuid4().hex
    async with (
        at_work(Settings.load(data=tmp_path)) as parts,
        furnished(parts, Post().tools()) as furnished_parts,
        served(furnished_parts, real_client, queue) as api,
    ):
        yield House(real_client, furnished_parts, api, queue)


async def fails_in_a_call(house: House, planted: pytest.MonkeyPatch) -> WorkflowHandle[Any, Any]:
    """A task in the background raises an exception that nobody expects."""
    planted.setattr(tasks, "called", failing(tasks.called, always, 1_000))
    return await started(house.client, house.parts, house.queue, PARCEL)


async def fails_at_a_timer(house: House, planted: pytest.MonkeyPatch) -> WorkflowHandle[Any, Any]:
    """What becomes of a timer raises an exception that nobody expects."""
    planted.setattr(machine, "step", failing(machine.step, of_timer, 1_000))
    return await started(house.client, house.parts, house.queue, PARCEL)


async def fits_its_history_no_more(
    house: House, planted: pytest.MonkeyPatch
) -> WorkflowHandle[Any, Any]:
    """A deployment calls something before the tool, which the history doesn't have."""
    async with house.worker():
        handle = await started(house.client, house.parts, house.queue, PARCEL)
        await until(lambda: state_of(handle), lambda state: state == "kept")
    call = tasks.called

    async def called(*args: Any, **kwargs: Any) -> Any:
        await workflow.sleep(timedelta(seconds=1))
        return await call(*args, **kwargs)

    planted.setattr(tasks, "called", called)
    return handle


async def state_of(handle: WorkflowHandle[Any, Any]) -> str:
    view: FlowView = await handle.query(contract.VIEW, result_type=FlowView)
    return view.state


async def gauge() -> float | None:
    """Return what the metric says: other APIs of this process set it too, of their own queues."""
    named = {"workflow_type": contract.WORKFLOW}
    return REGISTRY.get_sample_value("router_failing_workflows", named)


@pytest.mark.parametrize(
    ("plant", "error"),
    [
        (fails_in_a_call, "RuntimeError"),
        (fails_at_a_timer, "RuntimeError"),
        (fits_its_history_no_more, "NonDeterministicError"),
    ],
)
async def test_a_run_with_a_planted_fault_is_named_everywhere_with_its_error(
    house: House, plant: Callable[..., Any], error: str
) -> None:
    with pytest.MonkeyPatch.context() as planted:
        handle = await plant(house, planted)
        fetched = ExternalEvent(event=Arrived(name="fetched"), roles=frozenset({"employee"}))
        sending = asyncio.create_task(handle.execute_update(contract.HAPPEN, fetched))
        async with house.worker():
            (item,) = await until(lambda: listed(house.api), lambda items: len(items) == 1)
            assert item["temporal"]["workflow_id"] == handle.id
            assert error in item["error"]
            ready = await until(lambda: readiness(house.api), lambda it: it["status"] == "degraded")
            assert handle.id in ready["detail"]
            assert error in ready["detail"]
            await until(gauge, lambda number: number == 1)
            with pytest.raises(MisconfiguredError) as raised:
                await services.workflows(settings_of(house.parts, house.client, house.queue))
            assert handle.id in str(raised.value)
            assert error in str(raised.value)

    async with house.worker():
        await until(lambda: listed(house.api), lambda items: not items)
        await until(lambda: readiness(house.api), lambda it: it["status"] == "ready")
        await services.workflows(settings_of(house.parts, house.client, house.queue))
        await until(gauge, lambda number: number == 0)
        await sending
        assert (await handle.result()).status == "completed"


async def test_a_run_that_temporal_ends_over_a_search_attribute_is_named_by_doctor(
    real_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "fit_attribute", lambda attribute: attribute)
    monkeypatch.setattr(lost_runs, "QUIET", timedelta())
    async with at_work(Settings.load(data=tmp_path)) as parts:
        crowd: Any = Crowd(parts.directory, MAX_APPROVERS)
        house = replace(parts, directory=crowd)
        async with talking(real_client, house, [], flows=[ASKS_CROWD]) as talk:
            run = flow_of(await talk.say("问大家")).id
            await talk.press("confirm", value=True)
            record = await run_of(talk.parts, run)
            handle = real_client.get_workflow_handle(record.workflow_id)

            async def status() -> WorkflowExecutionStatus | None:
                return (await handle.describe()).status

            await until(status, lambda found: found is WorkflowExecutionStatus.TERMINATED)
            with pytest.raises(MisconfiguredError) as raised:
                await services.runs(settings_of(talk.parts, talk.client, talk.queue))
    assert record.workflow_id in str(raised.value)
    assert "search attribute Assignee value size" in str(raised.value)
