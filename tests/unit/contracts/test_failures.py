"""The house's errors as Temporal's failures."""

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from router.contracts.failures import from_failure, to_failure
from router.domain.errors import (
    AnswersNeeded,
    DefinitionError,
    Elicitation,
    Forbidden,
    PermanentToolError,
    Problem,
    TransientToolError,
    Unavailable,
)
from router.domain.locale import Localised


@pytest.mark.parametrize(
    ("wanted", "seconds"), [(None, None), (0.0, 0), (7.5, 7.5), (60.0, 60), (86400.0, 60)]
)
def test_a_tool_waits_as_asked_up_to_a_minute(wanted: float | None, seconds: float | None) -> None:
    failure = to_failure(TransientToolError("busy", wanted))
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert (failure.next_retry_delay, failure.non_retryable) == (expected, False)
    assert isinstance(from_failure(failure), TransientToolError)


def test_other_errors_wait_as_they_did() -> None:
    assert to_failure(Unavailable("down")).next_retry_delay is None


def test_what_a_tool_asks_back_arrives_with_its_form() -> None:
    seat = Elicitation(key="k", message="Which seat?", schema_={"properties": {"seat": {}}})
    failure = to_failure(AnswersNeeded("it wants a seat", [seat]))
    arrived = from_failure(failure)
    assert isinstance(arrived, AnswersNeeded)
    assert (str(arrived), arrived.asked) == ("it wants a seat", [seat])
    assert failure.non_retryable


def test_what_a_tool_asks_back_is_said_in_both_languages() -> None:
    said = Localised(zh="它要知道座位", en="it wants a seat")
    seat = Elicitation(key="k", message="Which seat?")
    arrived = from_failure(to_failure(AnswersNeeded(said, [seat])))
    assert isinstance(arrived, AnswersNeeded)
    assert (arrived.said, arrived.asked) == (said, [seat])


def test_what_is_said_in_both_languages_crosses_in_both() -> None:
    said = Localised(zh="自己的假期不能自己调整", en="nobody adjusts their own leave")
    failure = to_failure(Forbidden(said))
    assert failure.message == said.en
    error = from_failure(failure)
    assert isinstance(error, Forbidden)
    assert error.said == said


def test_what_is_said_in_english_alone_needs_no_details() -> None:
    failure = to_failure(PermanentToolError("closed for good"))
    assert failure.details == ()
    error = from_failure(failure)
    assert error is not None
    assert error.said == Localised(zh="closed for good", en="closed for good")


@pytest.mark.parametrize("detail", ["text", {"zh": "只有中文"}, {"zh": 1, "en": 2}, None, 7])
def test_details_of_another_make_are_left_aside(detail: object) -> None:
    failure = ApplicationError("closed", detail, type="PermanentToolError")
    error = from_failure(failure)
    assert error is not None
    assert error.said.zh == "closed"


def test_an_error_with_words_of_its_own_says_them_in_both_languages() -> None:
    error = DefinitionError([Problem("a.yaml", 3, "no state", "add one")])
    assert error.said.zh == "a.yaml:3: no state; add one"
