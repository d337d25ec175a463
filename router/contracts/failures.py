"""The one place where this project's errors become Temporal's failures, and back.

A failure's `type` is the error's class name; what it says in both languages is among its details.
Only what may work on another try is retryable.
"""

from collections.abc import Mapping
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

_KEPT_AT_HOME = (errors.MisconfiguredError, errors.DefinitionError)
"""What nothing is told of that runs already."""
_BY_NAME: dict[str, type[errors.RouterError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.RouterError)
    if not issubclass(kind, _KEPT_AT_HOME) and kind not in (errors.RouterError, errors.ToolError)
}

LONGEST_WAIT = 60.0
"""Seconds that a call waits at most where the system behind a tool asks to be left alone."""


def to_failure(error: errors.RouterError, attempt: int = 1) -> ApplicationError:
    """The failure to raise inside an activity, at this try of it, or an update's validator."""
    wait = error.retry_after if isinstance(error, errors.TransientToolError) else None
    return ApplicationError(
        str(error),
        *_details(error),
        *([{_ATTEMPTS: attempt}] if attempt > 1 else []),
        type=type(error).__name__,
        non_retryable=not isinstance(error, RETRYABLE),
        next_retry_delay=None if wait is None else timedelta(seconds=min(wait, LONGEST_WAIT)),
    )


def _details(error: errors.RouterError) -> list[dict[str, JsonValue]]:
    said = error.said
    words: list[dict[str, JsonValue]] = [said.model_dump()] if said.zh != said.en else []
    if isinstance(error, errors.SeveralFit) and error.offered is not None:
        return [*words, error.offered.model_dump(mode="json")]
    asked = error.asked if isinstance(error, errors.AnswersNeeded) else []
    return [*words, *(each.model_dump(mode="json") for each in asked)]


def to_json(error: errors.RouterError) -> dict[str, JsonValue]:
    """Return the error as a payload can carry it."""
    details: list[JsonValue] = [*_details(error)]
    return {"type": type(error).__name__, "message": str(error), "details": details}


def from_json(kept: Mapping[str, JsonValue]) -> errors.RouterError:
    """Return the error that `to_json` made this of.

    >>> from_json(to_json(errors.PermanentToolError("the account is closed")))
    PermanentToolError('the account is closed')
    """
    details = kept["details"]
    message, type_ = str(kept["message"]), str(kept["type"])
    failure = ApplicationError(message, *(details if isinstance(details, list) else ()), type=type_)
    return from_failure(failure) or errors.PermanentToolError(message)


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
            kind, told = _BY_NAME[failure.type or ""], filter(_is_said, failure.details)
            said = next(map(Localised.model_validate, told), failure.message)
            rest = [detail for detail in failure.details if not _is_about(detail)]
            if kind is errors.AnswersNeeded:
                return errors.AnswersNeeded(said, [Elicitation.model_validate(e) for e in rest])
            if kind is errors.SeveralFit:
                offered = ArgumentOffer.model_validate(rest[0]) if rest else None
                return errors.SeveralFit(said, offered)
            return kind(said)
        failure = failure.cause if isinstance(failure, FailureError) else failure.__cause__
    return None


_ATTEMPTS = "attempts"


def attempts_in(failure: BaseException | None) -> int | None:
    """How many tries the activity took that failed so; None where no failure of ours says it.

    >>> attempts_in(to_failure(errors.PermanentToolError("no"), attempt=3))
    3
    """
    while failure is not None:
        if isinstance(failure, ApplicationError) and failure.type in _BY_NAME:
            counted = [d[_ATTEMPTS] for d in failure.details if _counts(d)]
            return int(counted[0]) if counted else 1
        failure = failure.cause if isinstance(failure, FailureError) else failure.__cause__
    return None


def _counts(detail: object) -> bool:
    return isinstance(detail, dict) and detail.keys() == {_ATTEMPTS}


def _is_about(detail: object) -> bool:
    """Whether it says something of the failure itself, and is none of its own details."""
    return _is_said(detail) or _counts(detail)


def _is_said(detail: object) -> bool:
    return (
        isinstance(detail, dict)
        and detail.keys() == Localised.model_fields.keys()
        and all(isinstance(text, str) for text in detail.values())
    )
