"""Updates of workflows whose task has failed twice: Temporal takes none until a third try succeeds.

What a worker does that dies in the middle of a task, or is too slow for it, is done by hand here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import WorkflowTaskFailedCause
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.tell_flow import FlowTeller
from router.contracts import activities, flow
from router.contracts.flow import FlowAnswer, FlowStart, Tell
from router.domain.errors import Unavailable
from router.flow.engine.events import Began
from router.gateway import retries
from router.gateway.retries import ATTEMPTS, persistently
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import person

TIMES = 2
"""How often a task fails before the server refuses updates."""


async def begun(client: Client, parts: Parts, queue: str) -> str:
    """A run of a flow that nobody works for yet; its workflow's id."""
    id_ = flow.workflow_id("leave_request", "default", uuid4().hex)
    definition, alice = parts.offered.catalog.flows["leave_request"], await person(parts, "alice")
    start = FlowStart(definition=definition, requester=alice, conversation=None, locale="en")
    await client.start_workflow(flow.WORKFLOW, start, id=id_, task_queue=queue)
    return id_


async def fail(client: Client, queue: str) -> None:
    """Take the next workflow task, and come to nothing with it."""
    service, namespace = client.workflow_service, client.namespace
    task = await service.poll_workflow_task_queue(
        v1.PollWorkflowTaskQueueRequest(namespace=namespace, task_queue=TaskQueue(name=queue))
    )
    cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE
    await service.respond_workflow_task_failed(
        v1.RespondWorkflowTaskFailedRequest(
            namespace=namespace, task_token=task.task_token, cause=cause
        )
    )


async def unready(client: Client, parts: Parts, queue: str) -> str:
    """The same, once its task has failed so often that it takes no update."""
    id_ = await begun(client, parts, queue)
    for _ in range(TIMES):
        await fail(client, queue)
    with pytest.raises(RPCError) as refused:
        await telling(client, id_)
    assert refused.value.status is RPCStatusCode.FAILED_PRECONDITION
    return id_


async def telling(client: Client, workflow_id: str) -> FlowAnswer:
    answer: FlowAnswer = await client.get_workflow_handle(workflow_id).execute_update(
        flow.TELL, Tell(event=Began(by="alice"), locale="en"), result_type=FlowAnswer
    )
    return answer


Often = asyncio.Event


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once what is asked was refused more often than a hiccup is."""
    event, pause = asyncio.Event(), retries._pause

    def noted(tries: int, longest: float = retries.LONGEST_PAUSE) -> float:
        if tries > ATTEMPTS:
            event.set()
        return pause(tries, longest)

    monkeypatch.setattr(retries, "_pause", noted)
    return event


@asynccontextmanager
async def worked_late(
    client: Client, parts: Parts, queue: str, often: Often
) -> AsyncIterator[None]:
    """A worker for that queue, once what is asked was refused often."""
    async with asyncio.timeout(HANGS_AFTER_S):
        await often.wait()
    async with build_worker(client, parts, queue), asyncio.timeout(HANGS_AFTER_S):
        yield


async def test_an_update_waits(real_client: Client, parts: Parts, often: Often) -> None:
    queue = uuid4().hex
    id_ = await unready(real_client, parts, queue)
    asking = asyncio.create_task(persistently(lambda: telling(real_client, id_)))
    async with worked_late(real_client, parts, queue, often):
        assert (await asking).view.awaiting == ["leave_type"]


@pytest.mark.parametrize("first", [True, False])
async def test_a_turn_tells_a_flow_as_soon_as_it_is_ready(
    real_client: Client, parts: Parts, often: Often, first: bool
) -> None:
    queue = uuid4().hex
    told = activities.TellFlow(
        workflow_id=await unready(real_client, parts, queue),
        flow="leave_request",
        event=Began(by="alice"),
        caller=await person(parts, "alice"),
        locale="en",
        conversation=None,
        first=first,
        update_id="once",
    )
    asking = asyncio.create_task(FlowTeller(real_client, queue, parts.offered).tell_flow(told))
    async with worked_late(real_client, parts, queue, often):
        answer = (await asking).answer
    assert answer is not None
    assert answer.view.awaiting == ["leave_type"]


async def test_a_workflow_that_stays_unready_is_told_as_out_of_reach(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "READY_WITHIN", 0.0)
    id_ = await unready(real_client, parts, uuid4().hex)
    with pytest.raises(Unavailable, match="can't be reached right now"):
        await persistently(lambda: telling(real_client, id_))
