"""What becomes of the exceptions of a workflow's background tasks."""

import asyncio
from collections.abc import Awaitable
from typing import ClassVar
from uuid import uuid4

from temporalio import workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.table import each_row
from tests.workflow.failures import failure_of
from workflows.background import start_awaited_task, start_task, survives_failures


@workflow.defn
class Working:
    """Has a task fail once while it waits for something else."""

    faults: ClassVar[list[BaseException]] = []
    """What the task raises; a workflow task that is tried again finds nothing here."""

    def __init__(self) -> None:
        self._over = False

    @workflow.run
    @survives_failures
    async def run(self, way: str) -> str:
        if way == "its main coroutine":
            await self._work()
        await self._start(way)
        await workflow.wait_condition(lambda: self._over)
        return "over"

    @workflow.signal
    @survives_failures
    async def go(self) -> None:
        await self._work()

    async def _start(self, way: str) -> None:
        if way == "its signal handler":
            return
        if way == "nobody awaits it":
            start_task("sorting", self._work)
        elif way == "it is cancelled meanwhile":
            task = start_task("sorting", self._work)
            start_task("tidying", self._cancel, task)
        else:
            tasks = [
                start_awaited_task("refusing", self._refuse),
                start_awaited_task("sorting", self._work),
            ]
            try:
                await asyncio.gather(*tasks)
            except ApplicationError:
                return

    async def _work(self) -> None:
        await asyncio.sleep(0)
        if self.faults:
            raise self.faults.pop()
        self._over = True

    async def _refuse(self) -> None:
        raise ApplicationError("refused")

    async def _cancel(self, task: asyncio.Task[None]) -> None:
        await workflow.wait_condition(task.done)
        task.cancel()


PLANTED = "the task 'sorting' failed: "


@each_row(
    ("way", "fault", "message"),
    [
        ("nobody awaits it", RuntimeError("planted"), f"{PLANTED}RuntimeError: planted"),
        ("nobody awaits it", ValueError("planted"), f"{PLANTED}ValueError: planted"),
        # Temporal would end the workflow over these, if they came out of its main coroutine.
        ("nobody awaits it", ApplicationError("planted"), f"{PLANTED}ApplicationError: planted"),
        ("nobody awaits it", TimeoutError("planted"), f"{PLANTED}TimeoutError: planted"),
        ("it is cancelled meanwhile", OverflowError("planted"), f"{PLANTED}OverflowError: planted"),
        ("its main coroutine", ApplicationError("a"), "the task 'run' failed: ApplicationError: a"),
        ("its main coroutine", TimeoutError("a"), "the task 'run' failed: TimeoutError: a"),
        ("its signal handler", ApplicationError("a"), "the task 'go' failed: ApplicationError: a"),
        ("another failed before", KeyError("planted"), f"{PLANTED}KeyError: 'planted'"),
    ],
)
async def test_an_exception_fails_the_workflow_task_which_is_tried_again(
    temporal_client: Client, way: str, fault: BaseException, message: str
) -> None:
    queue = uuid4().hex
    async with Worker(
        temporal_client,
        task_queue=queue,
        workflows=[Working],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        Working.faults.append(fault)
        handle = await temporal_client.start_workflow(
            Working.run, way, id=uuid4().hex, task_queue=queue
        )
        if way == "its signal handler":
            await handle.signal(Working.go)
        failure = await failure_of(handle)
        assert (failure.message, await handle.result()) == (message, "over")


@workflow.defn
class Expecting:
    """Has tasks end in ways that are none of a defect's."""

    @workflow.run
    async def run(self) -> list[str]:
        idle = start_task("idling", self._idle)
        refused = start_awaited_task("refusing", self._refuse)
        started = start_task("ending at once", self._idle)
        started.cancel()
        await asyncio.sleep(0)
        idle.cancel()
        ends = await asyncio.gather(idle, refused, started, return_exceptions=True)
        return [type(each).__name__ for each in ends]

    async def _idle(self) -> None:
        await workflow.wait_condition(lambda: False)

    async def _refuse(self) -> None:
        raise ApplicationError("refused")


async def test_a_cancellation_and_a_failure_that_is_awaited_fail_nothing(
    temporal_client: Client,
) -> None:
    queue = uuid4().hex
    async with Worker(
        temporal_client,
        task_queue=queue,
        workflows=[Expecting],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        ends: Awaitable[list[str]] = temporal_client.execute_workflow(
            Expecting.run, id=uuid4().hex, task_queue=queue
        )
        assert await ends == ["CancelledError", "ApplicationError", "CancelledError"]
