"""What a tool's call costs in models, from deep within it to whoever answers for the call.

    with metered(call.spent) as meter:
        result = await caller.call(call)
    Answer(value=result, usage=meter.usage)

A context variable, so that neither gate nor tool has to hand on what only a model's tools know.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from router.domain.messages import Usage


@dataclass
class Meter:
    """What the turn had spent before the call, and what the call has cost so far."""

    spent: Usage = field(default_factory=Usage)
    usage: Usage = field(default_factory=Usage)

    @property
    def total(self) -> Usage:
        """What the turn has spent by now."""
        return self.spent + self.usage

    def add(self, price: Usage) -> None:
        """Count one more answer of a model."""
        self.usage += price


_running: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered(spent: Usage) -> Iterator[Meter]:
    """Count what is spent within, by this task and by those that it starts."""
    meter = Meter(spent)
    token = _running.set(meter)
    try:
        yield meter
    finally:
        _running.reset(token)


def running() -> Meter:
    """The meter of the call that is being made; one that nobody reads where there is none."""
    return _running.get() or Meter()
