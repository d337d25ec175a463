"""What a process says that has no descriptor left."""

import asyncio
import errno
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from router.runtime.server import SAID_EVERY, AcceptFailures
from tests.table import each_row

BACKLOG = 512


@dataclass
class Loop:
    """An event loop whose time stands still, and what it is left to say itself."""

    now: float = 5.0
    said: list[dict[str, Any]] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.said.append(context)


def refused(number: int) -> dict[str, Any]:
    """What asyncio tells of a connection that it couldn't accept."""
    return {"message": "out of system resource", "exception": OSError(number, "?"), "socket": 3}


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_that_nobody_can_be_let_in_is_said_once_and_what_to_do(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    loop, handler = Loop(), AcceptFailures()
    for _ in range(BACKLOG):
        handler(cast("asyncio.AbstractEventLoop", loop), refused(number))
    [said] = caplog.records
    assert "ulimit -n" in said.getMessage()
    assert said.exc_info is None
    loop.now += SAID_EVERY
    handler(cast("asyncio.AbstractEventLoop", loop), refused(number))
    assert len(caplog.records) == 2
    assert loop.said == []


@each_row(
    "context",
    [
        {"message": "Task exception was never retrieved", "exception": ValueError("?")},
        {"message": "a file isn't there", "exception": OSError(errno.EMFILE, "?")},
        {"message": "no error at all"},
        refused(errno.ECONNABORTED),
    ],
)
def test_everything_else_is_said_as_ever(context: dict[str, Any]) -> None:
    loop = Loop()
    AcceptFailures()(cast("asyncio.AbstractEventLoop", loop), context)
    assert loop.said == [context]
