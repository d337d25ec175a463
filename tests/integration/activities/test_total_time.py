"""Tries of what a turn waits for: what a busy machine cuts short doesn't count, errors of code do.

The server moves its clock, so that pauses between tries take no time.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.execution import Observing
from router.contracts.activities import TELL_FLOW, TOTAL
from router.contracts.payload import ActivityStub, Payload
from tests.table import each_row
from tests.temporal import skipping_server
from workflows.activity import perform

TRIES_THAT_END_EARLY = 7
ONE_TRY = timedelta(seconds=0.2)


class Trouble(Payload):
    """What ends the first tries: `late` ones don't end within their time."""

    kind: str
    tries: int


class Tries(Payload):
    """How many it took."""

    number: int


STUB = ActivityStub("troubled", Trouble, Tries, ONE_TRY, total=TOTAL)


@activity.defn(name=STUB.name)
async def troubled(given: Trouble) -> Tries:
    attempt = activity.info().attempt
    if attempt <= given.tries:
        if given.kind == "late":
            await asyncio.Event().wait()
        raise {"away": ConnectionError, "code": KeyError}[given.kind](given.kind)
    return Tries(number=attempt)


@workflow.defn
class Troubled:
    @workflow.run
    async def run(self, given: Trouble) -> Tries:
        return await perform(STUB, given)


@pytest.fixture
async def environment() -> AsyncIterator[WorkflowEnvironment]:
    async with await skipping_server() as environment:
        yield environment


async def tried(environment: WorkflowEnvironment, trouble: Trouble) -> Tries:
    queue = f"total-{uuid4().hex}"
    async with Worker(
        environment.client,
        task_queue=queue,
        workflows=[Troubled],
        activities=[troubled],
        interceptors=[Observing()],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        return await environment.client.execute_workflow(
            Troubled.run, trouble, id=queue, task_queue=queue
        )


@each_row("kind", ["late", "away"])
async def test_a_try_that_the_world_ends_early_is_no_failure(
    environment: WorkflowEnvironment, kind: str
) -> None:
    tries = await tried(environment, Trouble(kind=kind, tries=TRIES_THAT_END_EARLY))

    # On a busy machine the server ends other tries early too.
    assert tries.number > TRIES_THAT_END_EARLY


async def test_an_error_of_code_is_a_failure_after_some_tries(
    environment: WorkflowEnvironment,
) -> None:
    with pytest.raises(WorkflowFailureError) as failed:
        await tried(environment, Trouble(kind="code", tries=1_000))

    cause = failed.value.cause.__cause__  # of the ActivityError
    assert isinstance(cause, ApplicationError)
    assert (cause.type, cause.non_retryable) == ("KeyError", True)


def test_what_a_turn_waits_for_has_a_total_and_no_number_of_tries() -> None:
    assert (TELL_FLOW.attempts, TELL_FLOW.total) == (None, TOTAL)
