from collections.abc import Awaitable, Callable

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from activities.tell_flow import told
from tests.table import each_row

ENDED = ApplicationError("ended under it", type="AcceptedUpdateCompletedWorkflow")
BROKEN = ApplicationError("broken", type="Broken")


def failing_first(*failures: ApplicationError) -> Callable[[], Awaitable[str]]:
    left = list(failures)

    async def tell() -> str:
        if left:
            raise WorkflowUpdateFailedError(left.pop(0))
        return "heard"

    return tell


async def test_what_a_run_ended_under_is_told_to_the_one_that_it_continued_as() -> None:
    assert await told(failing_first()) == "heard"
    assert await told(failing_first(ENDED)) == "heard"


@each_row("failures", [(ENDED, ENDED), (BROKEN,), (ENDED, BROKEN)])
async def test_a_run_that_is_over_or_refuses_is_told_no_third_time(
    failures: tuple[ApplicationError, ...],
) -> None:
    with pytest.raises(WorkflowUpdateFailedError) as failed:
        await told(failing_first(*failures))
    assert failed.value.cause is failures[-1]
