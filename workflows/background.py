"""Tasks that work in the background of a workflow, and what happens when one of them fails.

asyncio keeps the exception of a task that nobody awaits to itself. A workflow that loses a task in
this way waits forever for what the task would have done, and looks healthy. Here an exception that
a task didn't expect fails the workflow task that is under way: Temporal records the error in a
`WorkflowTaskFailed` event, nothing else of that workflow task is recorded, and it is tried again.
Once a worker without the defect has it, the workflow continues where it was.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from router.domain.errors import RouterError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class WorkflowTaskError(Exception):
    """A task of a workflow ended with an exception that it doesn't handle, which is the cause.

    It is no `FailureError`: Temporal would end the workflow over one.
    """

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"the task {name!r} failed: {type(error).__name__}: {error}")
        self.__cause__ = error


def start_task(name: str, work: Callable[..., Awaitable[None]], *args: Any) -> asyncio.Task[None]:
    """Start a task that nobody awaits. Any exception but a cancellation fails the workflow task.

    Args:
        name: What the error calls the task, such as `expire:1 in manager`.
        work: What the task does. It handles the failures that it expects.
        *args: The arguments of `work`.
    """
    return asyncio.create_task(_without_result(name, work, *args), name=name)


def start_awaited_task(
    name: str, work: Callable[..., Awaitable[Result]], *args: Any
) -> asyncio.Task[Result]:
    """Start a task whose result or failure somebody awaits, perhaps after those of others.

    A failure of an activity or child workflow, a refusal and a cancellation are raised where the
    task is awaited. Any other exception is a defect, and fails the workflow task at once: whoever
    awaits several tasks sees the exception of one of them alone.
    """
    return asyncio.create_task(_expecting_failures(name, work, *args), name=name)


def survives_failures(
    handler: Callable[Arguments, Awaitable[Result]],
) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Decorate a `run` method or signal handler of a workflow that no failure may end.

    Temporal ends a workflow whose main coroutine or signal handler raises the failure of an
    activity. Its history then says so, and what was under way is lost. Decorated, the failure fails
    the workflow task. A cancellation is raised as it is.
    """

    @wraps(handler)
    async def surviving(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return await handler(*args, **kwargs)
        except (FailureError, TimeoutError) as error:
            if is_cancelled_exception(error):
                raise
            raise WorkflowTaskError(handler.__name__, error) from error

    return surviving


def fail_workflow_task(name: str, error: BaseException) -> None:
    """Fail the workflow task that is under way, because of what went wrong in this task.

    It fails once everything that is ready has run, within the same activation.
    """
    failed = WorkflowTaskError(name, error)

    def fail() -> bool:
        raise failed

    # The SDK lets what a condition raises fail the activation. The exception of a task or callback
    # never reaches it. The condition has a task of its own, which nobody cancels.
    asyncio.create_task(workflow.wait_condition(fail))  # noqa: RUF006 - the SDK keeps it


async def _without_result(name: str, work: Callable[..., Awaitable[None]], *args: Any) -> None:
    try:
        await work(*args)
    except (Exception, asyncio.CancelledError) as error:
        if is_cancelled_exception(error):
            raise
        fail_workflow_task(name, error)


async def _expecting_failures(
    name: str, work: Callable[..., Awaitable[Result]], *args: Any
) -> Result:
    try:
        return await work(*args)
    except (FailureError, RouterError, asyncio.CancelledError):
        raise
    except Exception as error:
        fail_workflow_task(name, error)
        raise
