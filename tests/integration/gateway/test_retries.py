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
from tests.temporal import dev_server

CUT_SHORT = (RPCStatusCode.UNKNOWN, RPCStatusCode.INTERNAL, RPCStatusCode.UNAVAILABLE)


@pytest.mark.parametrize("status", CUT_SHORT)
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


async def test_a_connection_that_is_reset_is_told_as_out_of_reach() -> None:
    async with await dev_server() as server:
        port = int(server.client.service_client.config.target_host.split(":")[1])
        async with Wire(port) as wire:
            impatient = RetryConfig(max_elapsed_time_millis=200)
            client = await Client.connect(f"127.0.0.1:{wire.port}", retry_config=impatient)
            wire.cut()
            with pytest.raises(Unavailable, match="can't be reached right now"), own_errors():
                await client.get_workflow_handle("nobody").describe()


async def test_a_cancelled_start_leaves_no_error_that_nobody_retrieves() -> None:
    unheard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unheard.append(context["message"]))
    try:
        async with await dev_server() as server:
            task = asyncio.create_task(starting(server.client))
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
