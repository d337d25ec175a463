"""The one place where this project's errors become Temporal's failures, and back.

A failure's `type` is the error's class name; what it says in both languages is among its details.
Only what may work on another try is retryable.
"""

from datetime import timedelta

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError, FailureError

from router.domain import errors
from router.domain.errors import ArgumentOffer, Elicitation
from router.domain.locale import Localised

ENDED_MEANWHILE = "AcceptedUpdateCompletedWorkflow"
"""The type of Temporal's own failure where a workflow ended, or continued as new, between
accepting an update and completing it. The update changed nothing: send it again."""

RETRYABLE: tuple[type[errors.RouterError], ...] = (errors.Unavailable, errors.TransientToolError)

_BY_NAME: dict[str, type[errors.RouterError]] = {
    kind.__name__: kind
    for kind in (
        errors.InvalidInput,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.Conflict,
        errors.ApprovalClosed,
        errors.DuplicateKey,
        errors.TooManyRequests,
        errors.Unavailable,
        errors.TransientToolError,
        errors.ArgumentsToolError,
        errors.AnswersNeeded,
        errors.SeveralFit,
        errors.PermanentToolError,
        errors.UnusableResult,
        errors.OutOfReach,
        errors.UnknownOutcome,
    )
}


LONGEST_WAIT = 60.0
"""Seconds that a call waits at most where the system behind a tool asks to be left alone."""


def to_failure(error: errors.RouterError) -> ApplicationError:
    """The failure to raise inside an activity or an update's validator."""
    return ApplicationError(
        str(error),
        *_details(error),
        type=type(error).__name__,
        non_retryable=not isinstance(error, RETRYABLE),
        next_retry_delay=_delay(error),
    )


def _details(error: errors.RouterError) -> list[dict[str, JsonValue]]:
    said = error.said
    words: list[dict[str, JsonValue]] = [said.model_dump()] if said.zh != said.en else []
    if isinstance(error, errors.SeveralFit) and error.offered is not None:
        return [*words, error.offered.model_dump(mode="json")]
    asked = error.asked if isinstance(error, errors.AnswersNeeded) else []
    return [*words, *(each.model_dump(mode="json") for each in asked)]


def _delay(error: errors.RouterError) -> timedelta | None:
    wait = error.retry_after if isinstance(error, errors.TransientToolError) else None
    return None if wait is None else timedelta(seconds=min(wait, LONGEST_WAIT))


def ended_meanwhile(failure: BaseException | None) -> bool:
    """True where this is why an update failed."""
    return isinstance(failure, ApplicationError) and failure.type == ENDED_MEANWHILE


def from_failure(failure: BaseException | None) -> errors.RouterError | None:
    """The error that lies at the bottom of a failure; None where it isn't one of ours.

    >>> str(from_failure(to_failure(errors.Conflict("decided already"))))
    'decided already'
    """
    while failure is not None:
        if isinstance(failure, ApplicationError) and failure.type in _BY_NAME:
            kind, said = _BY_NAME[failure.type or ""], _said(failure)
            rest = [detail for detail in failure.details if not _is_said(detail)]
            if kind is errors.AnswersNeeded:
                return errors.AnswersNeeded(said, [Elicitation.model_validate(e) for e in rest])
            if kind is errors.SeveralFit:
                return errors.SeveralFit(
                    said, ArgumentOffer.model_validate(rest[0]) if rest else None
                )
            return kind(said)
        failure = failure.cause if isinstance(failure, FailureError) else failure.__cause__
    return None


def _said(failure: ApplicationError) -> Localised | str:
    for detail in failure.details:
        if _is_said(detail):
            return Localised.model_validate(detail)
    return failure.message


def _is_said(detail: object) -> bool:
    return (
        isinstance(detail, dict)
        and detail.keys() == Localised.model_fields.keys()
        and all(isinstance(text, str) for text in detail.values())
    )
