"""Workflows with a planted defect of each kind, and a way to mend them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollWorkflowTaskQueueRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.waiting import HANGS_AFTER_S

SECRET = "my salary is 12000"
TOO_LARGE = 3_000_000
"""Bytes; Temporal takes two mebibytes."""
TASK_TIMEOUT = timedelta(seconds=1)
"""From its second try on a failing task is only noticed by its timeout."""


class Defect:
    """Whether the workflows here have their defect."""

    planted = True


@workflow.defn
class Raising:
    """Raises an exception that nobody catches, quoting somebody."""

    @workflow.run
    async def run(self, _: str) -> None:
        if Defect.planted:
            raise RuntimeError(SECRET)


@workflow.defn
class Reordered:
    """Makes other commands than its history has."""

    def __init__(self) -> None:
        self._poked = False

    @workflow.run
    async def run(self, _: str) -> None:
        if Defect.planted and workflow.unsafe.is_replaying():
            await workflow.execute_activity("other", start_to_close_timeout=timedelta(seconds=1))
        else:
            await workflow.sleep(0.01)
        await workflow.wait_condition(lambda: not Defect.planted)


@workflow.defn
class Carrying:
    """Continues as new with more than Temporal takes."""

    @workflow.run
    async def run(self, carried: str) -> None:
        if Defect.planted:
            workflow.continue_as_new("x" * TOO_LARGE)


KINDS = (Raising, Reordered, Carrying)


def worker_of(client: Client, queue: str) -> Worker:
    """Make a worker that runs these; it replays a workflow for each of its tasks."""
    return Worker(
        client,
        task_queue=queue,
        workflows=KINDS,
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=0,
    )


async def start(client: Client, queue: str, kind: type, id_: str) -> WorkflowHandle[object, object]:
    """Start a workflow of this kind."""
    return await client.start_workflow(
        kind.__name__, "", id=id_, task_queue=queue, task_timeout=TASK_TIMEOUT
    )


async def take_without_answering(client: Client, queue: str, times: int) -> None:
    """Take the next task so often, as a worker that dies with each."""
    request = PollWorkflowTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), identity="mortal"
    )
    for _ in range(times):
        await client.workflow_service.poll_workflow_task_queue(request)


Found = TypeVar("Found")


async def until(look: Callable[[], Awaitable[Found]], fits: Callable[[Found], bool]) -> Found:
    """Look until what is found fits."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while not fits(found := await look()):  # noqa: ASYNC110 - Temporal's lists lag
            await asyncio.sleep(0.1)
    return found
