"""What crosses the border of a workflow or an activity, and how a workflow names an activity.

It does so by a typed stub, never by importing what the activity does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from pydantic import BaseModel

from router.domain.value import Value


class Payload(Value):
    """Base of it: never changed once it is made."""


In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out")


@dataclass(frozen=True)
class ActivityStub(Generic[In, Out]):
    """An activity's name, types and limits.

    A `local` one runs within the workflow task, on the same worker: for what takes a few
    milliseconds and may be repeated. `timeout` is for one try, `heartbeat` for a worker's silence;
    either may depend on what is given.

    `attempts` None retries until the activity succeeds, or until `total` is over. An activity that
    may be repeated has a `total` and no number of attempts: a try that a busy machine cuts short
    says nothing about the next one, and must not count as a failure of the turn.
    """

    name: str
    takes: type[In]
    gives: type[Out]
    timeout: timedelta | Callable[[In], timedelta]
    local: bool = False
    attempts: int | None = None
    heartbeat: timedelta | Callable[[In], timedelta] | None = None
    total: timedelta | Callable[[In], timedelta] | None = None
