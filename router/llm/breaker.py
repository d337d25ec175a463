"""Keeps a dead provider from costing every turn its timeout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

from router.llm.errors import AccessRefused, Crowded, ModelRefused, ModelUnavailable

State = Literal["closed", "open", "half-open"]
Clock = Callable[[], float]

FAILURES = 3
REST_SECONDS = 30.0
LONGEST_REST = 300.0


class CircuitBreaker:
    """Opens after failures in a row; then lets one call at a time try whether it is over.

    It opens at once where the key is refused, and where the server says how long to stay
    away. A request that is refused for its own sake is an answer, and no failure.
    """

    def __init__(
        self, failures: int = FAILURES, rest: float = REST_SECONDS, clock: Clock = monotonic
    ) -> None:
        self._limit = failures
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._is_tried = False

    @property
    def state(self) -> State:
        """`closed` lets everything through, `open` nothing, `half-open` one call at a time."""
        if self._until is None:
            return "closed"
        return "open" if self._clock() < self._until else "half-open"

    @contextmanager
    def call(self) -> Iterator[None]:
        """What is within is a call: how it ends decides what the next one meets.

        Raises:
            ModelUnavailable: the breaker is open, or another call is trying; with the wait.
        """
        is_trial = self._enter()
        try:
            yield
        except Crowded:
            raise  # it says nothing about the server
        except ModelUnavailable as error:
            self._failed(error.retry_after, is_trial)
            raise
        except AccessRefused:
            self._open(self._rest)
            raise
        except ModelRefused:
            self._worked()
            raise
        else:
            self._worked()
        finally:
            if is_trial:
                self._is_tried = False

    def _enter(self) -> bool:
        state = self.state
        if state == "open" or (state == "half-open" and self._is_tried):
            wait = max(0.0, (self._until or 0.0) - self._clock())
            raise ModelUnavailable("not asked, for it failed just now", wait or self._rest)
        self._is_tried = state == "half-open"
        return self._is_tried

    def _failed(self, retry_after: float | None, is_trial: bool) -> None:
        self._failures += 1
        if retry_after:
            self._open(min(retry_after, LONGEST_REST))
        elif is_trial or self._failures >= self._limit:
            self._open(self._rest)

    def _open(self, seconds: float) -> None:
        self._until = self._clock() + seconds

    def _worked(self) -> None:
        self._failures = 0
        self._until = None
