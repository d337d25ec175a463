"""The house's errors as Temporal's failures."""

from datetime import timedelta

from temporalio.exceptions import ApplicationError

from router.contracts.failures import from_failure, to_failure
from router.domain.errors import (
    AnswersNeeded,
    DefinitionError,
    Elicitation,
    Forbidden,
    Problem,
    TransientToolError,
    Unavailable,
)
from router.domain.locale import Localised
from tests.table import each_row


@each_row(("wanted", "seconds"), [(None, None), (0.0, 0), (7.5, 7.5), (60.0, 60), (86400.0, 60)])
def test_a_tool_waits_as_asked_up_to_a_minute(wanted: float | None, seconds: float | None) -> None:
    failure = to_failure(TransientToolError("busy", wanted))
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert (failure.next_retry_delay, failure.non_retryable) == (expected, False)
    assert isinstance(from_failure(failure), TransientToolError)


def test_other_errors_wait_as_they_did() -> None:
    assert to_failure(Unavailable("down")).next_retry_delay is None


@each_row("said", ["it wants a seat", Localised(zh="它要知道座位", en="a seat")])
def test_what_a_tool_asks_back_arrives_with_its_form(said: Localised | str) -> None:
    seat = Elicitation(key="k", message="Which seat?", schema_={"properties": {"seat": {}}})
    error = AnswersNeeded(said, [seat])
    failure = to_failure(error)
    arrived = from_failure(failure)
    assert isinstance(arrived, AnswersNeeded)
    assert (arrived.said, arrived.asked) == (error.said, [seat])
    assert failure.non_retryable


@each_row(
    ("said", "details"),
    [
        (Localised(zh="自己的假期不能自己调整", en="nobody adjusts their own leave"), 1),
        ("closed", 0),
    ],
)
def test_what_is_said_crosses_in_each_language(said: Localised | str, details: int) -> None:
    error = Forbidden(said)
    failure = to_failure(error)
    assert (failure.message, len(failure.details)) == (error.said.en, details)
    arrived = from_failure(failure)
    assert isinstance(arrived, Forbidden)
    assert arrived.said == error.said


@each_row("detail", ["text", {"zh": "只有中文"}, {"zh": 1, "en": 2}, None, 7])
def test_details_of_another_make_are_left_aside(detail: object) -> None:
    failure = ApplicationError("closed", detail, type="PermanentToolError")
    error = from_failure(failure)
    assert error is not None
    assert error.said.zh == "closed"


def test_an_error_with_words_of_its_own_says_them_in_both_languages() -> None:
    error = DefinitionError([Problem("a.yaml", 3, "no state", "add one")])
    assert error.said.zh == "a.yaml:3: no state; add one"
