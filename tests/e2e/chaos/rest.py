"""Whether Temporal has come to rest: only conversations are open, and none has anything to do."""

import asyncio
import time
from collections.abc import AsyncIterator

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client

from tests.e2e.chaos.checker import Finding

REST_WITHIN = 60.0
"""Seconds for what is under way at the last word."""


async def of_temporal(address: str) -> list[Finding]:
    """What is still under way there once it has had `REST_WITHIN` seconds, or nothing is."""
    client, began = await Client.connect(address), time.monotonic()
    while True:
        found = [one async for one in _unrest(client)]
        if not found or time.monotonic() - began > REST_WITHIN:
            return found + [one async for one in _broken(client)]
        await asyncio.sleep(1)


async def _unrest(client: Client) -> AsyncIterator[Finding]:
    async for one in client.list_workflows("ExecutionStatus='Running'"):
        if one.workflow_type != "Conversation":
            yield Finding("orphan", f"workflow {one.id} is still open")
            continue
        shown = (await client.get_workflow_handle(one.id).describe()).raw_description
        for activity in shown.pending_activities:
            state = PendingActivityState.Name(activity.state)
            name = activity.activity_type.name
            yield Finding("orphan", f"{name} of {one.id} is {state}, try {activity.attempt}")
        for child in shown.pending_children:
            yield Finding("orphan", f"child {child.workflow_id} of {one.id}")
        if shown.HasField("pending_workflow_task"):
            tries = shown.pending_workflow_task.attempt
            yield Finding("orphan", f"a task of {one.id} is stuck, try {tries}")


async def _broken(client: Client) -> AsyncIterator[Finding]:
    ends = "'Failed', 'Terminated', 'TimedOut'"
    async for one in client.list_workflows(f"ExecutionStatus IN ({ends})"):
        yield Finding("wrong", f"workflow {one.id} ended as {one.status and one.status.name}")
