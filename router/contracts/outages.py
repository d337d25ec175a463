"""How an outage of the router's own database passes from an activity to its workflow.

It isn't a failure of the work: the workflow begins the activity again, with what it has so far.
"""

from collections.abc import Iterable

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError, FailureError

from router.contracts.activities import CallProgress
from router.contracts.failures import from_failure, to_failure
from router.domain.errors import BackendUnavailable

_PROGRESS = "progress"


def carried(progress: CallProgress) -> dict[str, JsonValue]:
    """Return what a failure's or a heartbeat's details carry of it."""
    return {_PROGRESS: progress.model_dump(mode="json")}


def progress_in(details: Iterable[object]) -> CallProgress | None:
    """Return what such details carry; None if it isn't among them."""
    for each in details:
        if isinstance(each, dict) and each.keys() == {_PROGRESS}:
            return CallProgress.model_validate(each[_PROGRESS])
    return None


def outage_failure(error: BackendUnavailable, progress: CallProgress) -> ApplicationError:
    """Return the failure that ends an activity, and none of its work's counted tries."""
    failure = to_failure(error)
    return ApplicationError(
        failure.message,
        *failure.details,
        carried(progress),
        type=BackendUnavailable.__name__,
        non_retryable=True,
    )


def progress_of(failure: BaseException | None) -> CallProgress | None:
    """Return what an activity had when an outage ended it; None if it failed for another reason.

    >>> progress_of(outage_failure(BackendUnavailable("away"), CallProgress())) == CallProgress()
    True
    >>> progress_of(to_failure(BackendUnavailable("away"))) == CallProgress()
    True
    """
    if not isinstance(from_failure(failure), BackendUnavailable):
        return None
    while failure is not None and not isinstance(failure, ApplicationError):
        failure = failure.cause if isinstance(failure, FailureError) else failure.__cause__
    details = failure.details if failure is not None else ()
    return progress_in(details) or CallProgress()
