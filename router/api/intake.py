"""Load shedding: when this process takes no further messages, and when to send them again.

A message that is taken while others wait for a worker only makes all of them wait longer. So a new
message is refused early, with 429 and `Retry-After`, before anything is written or sent to
Temporal. The measure is how long messages wait until a worker takes them in. The time that models
and tools take afterwards doesn't count: a slow model isn't a busy machine.
"""

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from math import ceil
from time import monotonic

from router.domain.errors import TooManyRequests
from router.domain.locale import Localised
from router.telemetry.loop_stalls import LATENESS, LoopLateness
from router.telemetry.metrics import REFUSED

MIN_WAITING = 4
"""Conversations in which a message waits, below which nobody is refused: a few wait because
something is wrong with them, and say nothing of the others."""
QUEUE_AGE_S = 1.0
"""If the oldest messages have waited so long, the others queue behind them. Turns are asked after a
second whether a worker took them in, so that a younger one may have been."""
RATE_OVER_S = 5.0
"""The rate at which messages are taken in is counted over so long."""
MIN_RATE_PER_S = 2.0
"""Below it the rate says too little of how fast messages could be taken in."""
MIN_RETRY_S, MAX_RETRY_S = 1, 30
PATIENCE_FOR_ANSWERS = 3.0
"""An answer to a question (a button, a form, the result of a front end's tool) is refused only at
so many times the limit: it ends something that is under way."""


@dataclass(frozen=True)
class IntakeLimits:
    """What a new message is refused for."""

    wait_s: float = 3.0
    """Seconds until a worker takes messages in."""
    lateness_s: float = 1.0
    """Seconds by which the event loop is late."""


@dataclass(frozen=True)
class IntakeState:
    """What is known of the messages that wait for a worker now."""

    ages: tuple[float, ...] = ()
    """Seconds that messages have waited for a worker: the oldest message of each conversation."""
    taken_per_s: float = 0.0
    """How many messages a second workers have taken in lately."""
    lateness_s: float = 0.0
    """How late this process's event loop is."""

    @property
    def wait_s(self) -> float:
        """Estimate how many seconds a message that came now would wait for a worker."""
        if len(self.ages) < MIN_WAITING:
            return 0.0
        oldest = sorted(self.ages, reverse=True)[MIN_WAITING - 1]
        if oldest < QUEUE_AGE_S:
            return 0.0
        if self.taken_per_s < MIN_RATE_PER_S:
            return oldest
        return max(oldest, len(self.ages) / self.taken_per_s)


def retry_after(state: IntakeState, limits: IntakeLimits, patience: float = 1.0) -> int | None:
    """Return after how many seconds to send a message again; `None` if it can be taken now.

    >>> retry_after(IntakeState(ages=(5.2, 5.1, 5.0, 4.9), taken_per_s=2.0), IntakeLimits())
    5
    >>> retry_after(IntakeState(ages=(60.0,)), IntakeLimits()) is None
    True
    """
    wait = state.wait_s
    is_late = state.lateness_s >= limits.lateness_s * patience and len(state.ages) >= MIN_WAITING
    if wait < limits.wait_s * patience and not is_late:
        return None
    return min(max(ceil(wait), MIN_RETRY_S), MAX_RETRY_S)


@dataclass
class Intake:
    """The messages that this process has sent to Temporal, until a worker takes them in."""

    limits: IntakeLimits = field(default_factory=IntakeLimits)
    clock: Callable[[], float] = monotonic
    lateness: LoopLateness = LATENESS
    _waiting: dict[Hashable, dict[str, float]] = field(default_factory=dict)
    _taken_at: deque[float] = field(default_factory=deque)

    def begin(self, conversation: Hashable, update: str) -> None:
        """Note that a message waits for a worker from now on."""
        self._waiting.setdefault(conversation, {})[update] = self.clock()

    def end(self, conversation: Hashable, update: str, *, is_taken: bool = True) -> None:
        """Note that a message no longer waits; `is_taken` if a worker took it in."""
        waiting = self._waiting.get(conversation, {})
        if waiting.pop(update, None) is None:
            return
        if not waiting:
            del self._waiting[conversation]
        if is_taken:
            self._taken_at.append(self.clock())

    def check(self, patience: float = 1.0) -> None:
        """Return if a message can be taken now; raises `TooManyRequests` if it can't."""
        seconds = retry_after(self.state(), self.limits, patience)
        if seconds is None:
            return
        REFUSED.labels("busy").inc()
        raise TooManyRequests(_busy(seconds), retry_after=seconds)

    def state(self) -> IntakeState:
        """What is known now."""
        now = self.clock()
        while self._taken_at and now - self._taken_at[0] > RATE_OVER_S:
            self._taken_at.popleft()
        return IntakeState(
            ages=tuple(now - _oldest(messages) for messages in self._waiting.values()),
            taken_per_s=len(self._taken_at) / RATE_OVER_S,
            lateness_s=self.lateness.seconds,
        )


def _oldest(messages: Mapping[str, float]) -> float:
    return min(messages.values())


def _busy(seconds: int) -> Localised:
    return Localised(
        zh=f"现在消息太多，有点忙不过来，请 {seconds} 秒后把这条消息再发一次",
        en="There are more messages than can be answered right now; "
        f"send this one again in {seconds} s",
    )
