"""What is sent to a run before any worker has taken it up: it comes with the run's first task.

Temporal delivers signals and updates of the first task before the workflow's `run` is called.
"""

import asyncio
from typing import Any
from uuid import uuid4

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from router.contracts import flow as contract
from router.contracts.flow import ExternalEvent, StopReason
from router.domain.messages import FlowStatus
from router.flow.engine.events import Agreed, Arrived
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.table import each_row
from tests.workflow.test_failing_tasks import FETCHED, started
from tests.workflow.tooled import furnished

Handle = WorkflowHandle[Any, Any]


async def stop(handle: Handle) -> None:
    await handle.signal(contract.STOP, StopReason(comment="not needed"))


async def agree(handle: Handle) -> None:
    await handle.signal(contract.AGREED, Agreed(agreements=[]))


async def nothing(_: Handle) -> None:
    pass


@each_row(
    ("send_first", "status"),
    [(stop, "cancelled"), (agree, "completed"), (nothing, "completed")],
)
async def test_a_run_begins_before_it_takes_what_came_with_its_start(
    real_client: Client, parts: Parts, send_first: Any, status: FlowStatus
) -> None:
    queue = uuid4().hex
    async with furnished(parts, []) as house:
        handle = await started(real_client, house, queue, FETCHED)
        await send_first(handle)
        fetched = ExternalEvent(event=Arrived(name="fetched"), roles=frozenset({"employee"}))
        sending = asyncio.create_task(handle.execute_update(contract.HAPPEN, fetched))
        async with build_worker(real_client, house, queue):
            ended = await handle.result()
        await asyncio.gather(sending, return_exceptions=True)
    failed = [e async for e in handle.fetch_history_events() if e.event_type == FAILED]
    assert (ended.status, failed) == (status, [])


FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
