"""Heartbeats while the event loop of a worker is late, against a real server."""

import asyncio
import threading
from datetime import timedelta
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.execution import heartbeating

HEARTBEAT_TIMEOUT = timedelta(seconds=2)
LATE_BY_S = 1.8 * HEARTBEAT_TIMEOUT.total_seconds()


@activity.defn
async def stand_still(late_by_s: float) -> int:
    """Hold the event loop up, as a busy one is; return which attempt this is."""
    async with heartbeating():
        await asyncio.sleep(0)
        threading.Event().wait(late_by_s)
        await asyncio.sleep(0)
    return activity.info().attempt


@workflow.defn
class StandStill:
    @workflow.run
    async def run(self, late_by_s: float) -> int:
        attempt: int = await workflow.execute_activity(
            stand_still,
            late_by_s,
            start_to_close_timeout=timedelta(minutes=1),
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=RetryPolicy(maximum_attempts=5),
        )
        return attempt


async def test_an_activity_whose_event_loop_is_late_is_not_tried_again(
    temporal_client: Client,
) -> None:
    queue = f"heartbeats-{uuid4().hex}"
    async with Worker(
        temporal_client,
        task_queue=queue,
        workflows=[StandStill],
        activities=[stand_still],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_heartbeat_throttle_interval=timedelta(seconds=0.8),
    ):
        attempt = await temporal_client.execute_workflow(
            StandStill.run, LATE_BY_S, id=queue, task_queue=queue
        )
    assert attempt == 1
