"""What a caller is told of an update whose answer doesn't come: never "no" for what isn't known."""

import asyncio
from collections.abc import Iterator
from itertools import chain, cycle

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.failures import to_failure
from router.domain.errors import Conflict, RouterError, TooManyRequests, Unconfirmed
from router.gateway import run_updates
from router.gateway.run_updates import RunOver, in_time
from router.gateway.update_queue import UpdateQueue
from tests.table import each_row

RESET = RPCError("transport error", RPCStatusCode.UNKNOWN, b"")
DEADLINE = WorkflowUpdateRPCTimeoutOrCancelledError()
CROWDED = RPCError(
    "limit on number of concurrent in-flight updates has been reached (10)",
    RPCStatusCode.RESOURCE_EXHAUSTED,
    b"",
)
RATE_LIMIT = RPCError("namespace rate limit exceeded", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
GONE = RPCError("workflow execution already completed", RPCStatusCode.NOT_FOUND, b"")
REFUSED = WorkflowUpdateFailedError(to_failure(Conflict("decided")))


class Answer(BaseModel):
    """What a run answers."""


ALWAYS = (
    (RESET, Unconfirmed),
    (DEADLINE, Unconfirmed),
    (CROWDED, TooManyRequests),
    (RATE_LIMIT, TooManyRequests),
    (GONE, RunOver),
    (REFUSED, Conflict),
)
"""What Temporal answers to every attempt, and what a caller is told."""
AFTER_A_RESET = (
    (CROWDED, Unconfirmed),
    (RATE_LIMIT, Unconfirmed),
    (GONE, Unconfirmed),
    (REFUSED, Conflict),
)
"""The same where the first attempt was cut short, and may have been counted."""
ROWS = [
    *(((), last, told) for last, told in ALWAYS),
    *(((RESET,), last, told) for last, told in AFTER_A_RESET),
]


@each_row(("first", "last", "told"), ROWS)
async def test_what_a_caller_is_told(
    monkeypatch: pytest.MonkeyPatch,
    first: tuple[Exception, ...],
    last: Exception,
    told: type[RouterError],
) -> None:
    monkeypatch.setattr(run_updates, "UPDATE_WINDOW_S", 0.3)
    errors = chain(first, cycle([last]))

    async def attempt() -> Answer:
        raise next(errors)

    with pytest.raises(RouterError) as raised:
        await in_time(attempt, "w", "over")
    assert type(raised.value) is told


@each_row("before", [RESET, DEADLINE, CROWDED])
async def test_an_attempt_that_failed_is_made_again_within_the_time(before: Exception) -> None:
    errors: Iterator[Exception] = iter([before])

    async def attempt() -> Answer:
        if (error := next(errors, None)) is not None:
            raise error
        return Answer()

    assert await in_time(attempt, "w", "over") == Answer()


async def test_what_never_left_the_queue_is_told_as_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_updates, "UPDATE_WINDOW_S", 0.1)
    queue = UpdateQueue(max_in_flight=1)
    monkeypatch.setattr(run_updates, "UPDATES", queue)

    async def attempt() -> Answer:
        return Answer()

    async with queue.turn("w"):
        with pytest.raises(TooManyRequests, match="hasn't been sent"):
            await in_time(attempt, "w", "over")
        assert await in_time(attempt, "another", "over") == Answer()
    assert await in_time(attempt, "w", "over") == Answer()


async def test_a_line_that_was_refused_is_narrower_and_lets_everybody_through() -> None:
    queue, at_once, most = UpdateQueue(max_in_flight=3), 0, 0

    async def send() -> None:
        nonlocal at_once, most
        async with queue.turn("w"):
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1

    async with queue.turn("w") as line:
        for _ in range(5):
            line.narrow()
        sending = asyncio.gather(*(send() for _ in range(9)))
        await asyncio.sleep(0)
    await sending
    assert line.width == 1
    assert not queue._lines
    assert most <= 2  # of those that had got through before
