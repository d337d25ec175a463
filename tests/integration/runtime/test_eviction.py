"""A workflow that has left the cache leaves nothing behind, though nobody looks for garbage."""

import asyncio
import gc
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from router.runtime.sandbox import PASSED_THROUGH, OneContextRunner, cached

pytestmark = pytest.mark.slow

CACHED, SEVERAL = 5, 40
FEW = 60
"""Objects of one workflow that may stay: it has over two hundred."""


@activity.defn
async def refused(word: str) -> str:
    raise ValueError(word)


@workflow.defn
class Keeping:
    """Keeps itself in many ways."""

    @workflow.init
    def __init__(self) -> None:
        self.myself, self.lock, self.words = self, asyncio.Lock(), [self.said]

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: not self.words)

    @workflow.update
    async def said(self, word: str) -> str:
        async with self.lock:
            waiting = asyncio.create_task(workflow.sleep(1000))
            failing = workflow.execute_local_activity(
                refused,
                word,
                start_to_close_timeout=timedelta(seconds=60),
                retry_policy=RetryPolicy(maximum_attempts=1),
            )
            await asyncio.gather(failing, return_exceptions=True)
            waiting.cancel()
        return word


def runner() -> WorkflowRunner:
    """The product's, which doesn't load this file again for each workflow."""
    passed = (*PASSED_THROUGH, "tests", "pytest", "_pytest")
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*passed)
    return OneContextRunner(SandboxedWorkflowRunner(restrictions=restrictions))


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
async def test_what_left_the_cache_is_freed_without_looking_for_garbage(
    temporal_client: Client,
) -> None:
    others = cached()  # of workers that this process had before
    async with (
        Worker(
            temporal_client,
            task_queue="kept",
            workflows=[Keeping],
            activities=[refused],
            workflow_runner=runner(),
            max_cached_workflows=CACHED,
        ),
    ):
        await open_several(temporal_client, CACHED)
        gc.collect()
        await open_several(temporal_client, SEVERAL)
        evicted = SEVERAL + CACHED - (cached() - others)
        garbage = gc.collect()
    assert evicted >= SEVERAL / 2
    assert garbage < FEW * evicted


async def open_several(client: Client, number: int) -> None:
    for _ in range(number):
        handle = await client.start_workflow(Keeping.run, id=uuid4().hex, task_queue="kept")
        assert await handle.execute_update(Keeping.said, "word") == "word"
