"""Calls of Temporal that are cut short: tried again, and told as what they are."""

import asyncio
import gc

import pytest
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RetryConfig, RPCError, RPCStatusCode

from router.domain.errors import Unavailable
from router.gateway.retries import own_errors, persistently, watched
from tests.e2e.chaos.wire import Wire
from tests.table import each_row

CUT_SHORT = (RPCStatusCode.UNKNOWN, RPCStatusCode.INTERNAL, RPCStatusCode.UNAVAILABLE)


@each_row("status", CUT_SHORT)
async def test_a_call_that_was_cut_short_is_made_again(status: RPCStatusCode) -> None:
    breaks = [RPCError("transport error", status, b"")]

    async def attempt() -> str:
        if breaks:
            raise breaks.pop()
        return "answered"

    assert await persistently(attempt) == "answered"


async def test_a_refusal_isnt_repeated() -> None:
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise RPCError("no", RPCStatusCode.PERMISSION_DENIED, b"")

    with pytest.raises(RPCError, match="no"):
        await persistently(attempt)
    assert attempts == 1


@pytest.mark.slow
async def test_a_connection_that_is_reset_is_told_as_out_of_reach(temporal_client: Client) -> None:
    port = int(temporal_client.service_client.config.target_host.split(":")[1])
    async with Wire(port) as wire:
        impatient = RetryConfig(max_elapsed_time_millis=200)
        client = await Client.connect(f"127.0.0.1:{wire.port}", retry_config=impatient)
        wire.cut()
        with pytest.raises(Unavailable, match="can't be reached right now"), own_errors():
            await client.get_workflow_handle("nobody").describe()


@pytest.mark.slow
async def test_a_cancelled_start_leaves_no_error_that_nobody_retrieves(
    temporal_client: Client,
) -> None:
    unheard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unheard.append(context["message"]))
    try:
        task = asyncio.create_task(starting(temporal_client))
        await asyncio.sleep(0)  # it is on its way: nobody works for that task queue
        task.cancel()
        await asyncio.wait({task})
        assert isinstance(task.exception(), WorkflowUpdateRPCTimeoutOrCancelledError)
        del task
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert not unheard


async def starting(client: Client) -> None:
    operation: WithStartWorkflowOperation[object, object] = WithStartWorkflowOperation(
        "Nothing",
        id="nothing",
        task_queue="nobody",
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    update = client.execute_update_with_start_workflow
    await watched(operation, update("tell", start_workflow_operation=operation, id="once"))
