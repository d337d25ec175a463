"""Circuit breakers: what fails again and again is left alone for a while, and then tried.

What a failure is depends on what is called, so whoever makes a breaker gives it a judge.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal, NamedTuple

CircuitState = Literal["closed", "open", "half-open"]
Clock = Callable[[], float]

REST_SECONDS = 30.0
LONGEST_REST = 300.0


class CallVerdict(NamedTuple):
    """What an error says of the system that was called.

    It is no `failure` where the system answered and refused; `wanted` are the seconds for which it
    is to be left alone at once.
    """

    failure: bool
    wanted: float = 0.0


ANSWERED, FAILED = CallVerdict(failure=False), CallVerdict(failure=True)
Judge = Callable[[Exception], CallVerdict | None]
"""None for an error that says nothing about the system."""


class CircuitBreaker:
    """Opens after `failures` in a row; then lets one call at a time try whether it is over.

    It opens at once where the verdict is that it is to be left alone. While it is `attended`,
    somebody makes trials next to the calls: those then find it closed, or nothing.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        failures: int,
        rest: float = REST_SECONDS,
        clock: Clock = monotonic,
    ) -> None:
        self._judge = judge
        self._limit = failures
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._wanted_until = 0.0
        self._is_tried = False
        self.attended = False
        self.has_answered = False
        """A call, once at least; who never has may still be reading what all of them begin with."""

    @property
    def state(self) -> CircuitState:
        """`closed` lets everything through, `open` nothing, `half-open` one call at a time."""
        if self._until is None:
            return "closed"
        if self.attended:
            return "half-open" if self._is_tried else "open"
        return "open" if self._clock() < self._until else "half-open"

    @property
    def admits(self) -> bool:
        """Whether a call may be made now."""
        is_due = self.state == "half-open" and not (self._is_tried or self.attended)
        return self.state == "closed" or is_due

    @property
    def failures(self) -> int:
        """Calls that failed since the last one that didn't."""
        return self._failures

    @property
    def wait(self) -> float:
        """Seconds that the system itself wants to be left alone for, by trials too."""
        return max(0.0, self._wanted_until - self._clock())

    @contextmanager
    def call(self, refusal: Callable[[float], Exception]) -> Iterator[None]:
        """Judge the block as a call.

        Raises what `refusal` makes of the seconds until the next trial, if no call may be made.
        """
        if not self.admits:
            wait = max(0.0, (self._until or 0.0) - self._clock())
            raise refusal(wait or self._rest)
        with self._judged(is_trial=self._until is not None):
            yield
        self.has_answered = True

    @contextmanager
    def trial(self) -> Iterator[None]:
        """What is within tries the system, whatever state it is in: an answer closes it."""
        with self._judged(is_trial=True):
            yield

    def open(self) -> None:
        """Let nothing through until a trial is answered."""
        self._until = self._clock()

    @contextmanager
    def _judged(self, *, is_trial: bool) -> Iterator[None]:
        self._is_tried = self._is_tried or is_trial
        try:
            yield
        except Exception as error:
            if (verdict := self._judge(error)) is not None:
                self._take(verdict, is_trial=is_trial)
            raise
        else:
            self._close()
        finally:
            if is_trial:
                self._is_tried = False

    def _take(self, verdict: CallVerdict, *, is_trial: bool) -> None:
        if not verdict.failure:
            self._close()
            return
        self._failures += 1
        if verdict.wanted:
            self._until = self._wanted_until = self._clock() + min(verdict.wanted, LONGEST_REST)
        elif is_trial or self._failures >= self._limit:
            self._until = self._clock() + self._rest

    def _close(self) -> None:
        self._failures, self._until = 0, None
