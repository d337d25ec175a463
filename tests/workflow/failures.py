"""Workflow tasks that fail, as Temporal's history shows them."""

import asyncio
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.client import WorkflowHandle


async def failure_of(handle: WorkflowHandle[Any, Any]) -> Failure:
    """Wait until a workflow task of this workflow has failed, and return why."""
    for _ in range(3000):
        async for event in handle.fetch_history_events():
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                return event.workflow_task_failed_event_attributes.failure
        await asyncio.sleep(0.02)
    raise AssertionError(f"no workflow task of {handle.id} has failed")
