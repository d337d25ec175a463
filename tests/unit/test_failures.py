"""The house's errors as Temporal's failures."""

from datetime import timedelta

import pytest

from router.contracts.failures import from_failure, to_failure
from router.domain.elicitation import Elicitation
from router.domain.errors import AnswersNeeded, TransientToolError, Unavailable


@pytest.mark.parametrize(
    ("wanted", "seconds"), [(None, None), (0.0, 0), (7.5, 7.5), (60.0, 60), (86400.0, 60)]
)
def test_a_tool_is_left_alone_for_as_long_as_it_asks_within_a_minute(
    wanted: float | None, seconds: float | None
) -> None:
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
