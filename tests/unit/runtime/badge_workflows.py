"""Workflows and activities of another company, of which a worker can use some."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RawValue

from router.extension import WorkerServices


class BadgePrinter:
    """Activities with what the worker works with."""

    def __init__(self, services: WorkerServices) -> None:
        self._queue = services.task_queue

    @activity.defn(name="badges.print_badge")
    async def print_badge(self, number: str) -> str:
        return f"{number} printed, asked on {self._queue}"


class BrokenPrinter(BadgePrinter):
    def __init__(self, services: WorkerServices) -> None:
        raise RuntimeError("no badge printer")


class PrinterWithoutActivities:
    pass


@activity.defn(name="badges.find_badge")
async def find_badge(number: str) -> str:
    return f"{number} found"


@activity.defn(name="badges.wait_for_badge")
def wait_for_badge(number: str) -> str:
    return number


@activity.defn
async def decide(number: str) -> str:
    return number


@activity.defn(dynamic=True)
async def do_anything(_: Sequence[RawValue]) -> None: ...


async def no_activity() -> None: ...


@workflow.defn(name="badges.Printing")
class Printing:
    @workflow.run
    async def run(self, number: str, elsewhere: str) -> list[str]:
        timeout = timedelta(minutes=1)
        found = [
            workflow.execute_activity(
                find_badge, number, task_queue=queue, start_to_close_timeout=timeout
            )
            for queue in (None, elsewhere)
        ]
        printed = workflow.execute_activity_method(
            BadgePrinter.print_badge, number, start_to_close_timeout=timeout
        )
        return [*await asyncio.gather(*found, printed)]


class NoWorkflow(Printing):
    pass


@workflow.defn
class ConversationWorkflow:
    @workflow.run
    async def run(self) -> None: ...


@workflow.defn(dynamic=True)
class Anything:
    @workflow.run
    async def run(self, _: Sequence[RawValue]) -> None: ...


@workflow.defn(name="badges.Unbounded", sandboxed=False)
class Unbounded:
    @workflow.run
    async def run(self) -> None: ...


@workflow.defn(name="badges.Hidden")
class Hidden:
    @workflow.run
    async def run(self) -> None: ...


FOUND_NOWHERE = Hidden
del Hidden
