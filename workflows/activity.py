"""How workflows run activities: by stub, with its limits, and a summary for people."""

from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy

from router.contracts.activity import ActivityStub

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out")

LOCAL_RETRY_THRESHOLD = timedelta(seconds=2)
"""Local activities wait longer than this between tries outside the workflow task."""


async def perform(stub: ActivityStub[In, Out], given: In, summary: str | None = None) -> Out:
    """Run the activity and answer what it gives; raises `ActivityError` where it fails for good."""
    retry = RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=30),
        maximum_attempts=stub.attempts or 0,
    )
    if stub.local:
        local: Out = await workflow.execute_local_activity(
            stub.name,
            given,
            result_type=stub.gives,
            start_to_close_timeout=stub.timeout,
            local_retry_threshold=LOCAL_RETRY_THRESHOLD,
            retry_policy=retry,
            summary=summary,
        )
        return local
    result: Out = await workflow.execute_activity(
        stub.name,
        given,
        result_type=stub.gives,
        start_to_close_timeout=stub.timeout,
        heartbeat_timeout=stub.heartbeat,
        retry_policy=retry,
        summary=summary,
    )
    return result


async def drained() -> None:
    """Wait until every handler has finished and its result is durable.

    A handler that finishes in the same task in which the run ends may have its caller told
    that the workflow is gone. The millisecond puts the end into a later task; handlers that
    arrive meanwhile are waited for too, and none is ever refused: a refused client comes
    again, and a busy conversation would then never find its quiet moment.
    """
    while True:
        await workflow.wait_condition(workflow.all_handlers_finished)
        await workflow.sleep(timedelta(milliseconds=1), summary="let results become durable")
        if workflow.all_handlers_finished():
            return
