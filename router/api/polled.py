"""Whether any worker polls a task queue."""

from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

KINDS = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
PATIENCE = timedelta(seconds=2)
LATELY = timedelta(seconds=90)
"""A worker's poll stays open for a minute, and counts from when it began."""


async def is_polled(client: Client, queue: str) -> bool:
    """True where a worker has asked lately for its workflows, or its activities.

    Raises `RPCError` where Temporal doesn't tell.
    """
    since = datetime.now(UTC) - LATELY
    for kind in KINDS:
        answer = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace,
                task_queue=TaskQueue(name=queue),
                task_queue_type=kind,
            ),
            timeout=PATIENCE,
        )
        if any(p.last_access_time.ToDatetime(tzinfo=UTC) > since for p in answer.pollers):
            return True
    return False
