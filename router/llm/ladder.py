"""The model, then its fallbacks in order, until one of them answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from router.llm.breaker import CircuitBreaker, Clock
from router.llm.chat import ChatAnswer, ChatRequest, OnText, TextDelta
from router.llm.errors import Failure, ModelRefused, ModelUnavailable, NoModelAnswered

TRY_SECONDS = 30.0


class Model(Protocol):
    """Something that answers questions; `router.llm.model.ChatModel` is one."""

    @property
    def endpoint(self) -> str:
        """Its name, for people."""

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None
    ) -> ChatAnswer:
        """Its answer within so many seconds; raises `ModelUnavailable` or `ModelRefused`."""


@dataclass(frozen=True)
class LadderAnswer:
    """An answer, who gave it, and who failed to before."""

    answer: ChatAnswer
    provider: str
    failures: tuple[Failure, ...] = ()


class Ladder:
    """Asks one model after the other, each behind a circuit breaker of its own.

    A model has at most `try_seconds`, so that one that hangs leaves time for the next.
    """

    def __init__(
        self,
        models: Sequence[Model],
        try_seconds: float = TRY_SECONDS,
        clock: Clock = monotonic,
        breaker: Callable[[], CircuitBreaker] | None = None,
    ) -> None:
        made = breaker or (lambda: CircuitBreaker(clock=clock))
        self._rungs = [(model, made()) for model in models]
        self._try_seconds = try_seconds
        self._clock = clock

    def below(self, model: Model) -> "Ladder":
        """A ladder with this model on top; the others keep the breakers that they have here."""
        taller = Ladder([model], self._try_seconds, self._clock)
        taller._rungs += self._rungs
        return taller

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None = None
    ) -> LadderAnswer:
        """The first answer that one of them gives, within what is left of a turn's time.

        Raises:
            NoModelAnswered: none of them did; it lists why.
        """
        end = self._clock() + seconds
        failures: tuple[Failure, ...] = ()
        telling = _Telling(on_text)
        for rung, (model, breaker) in enumerate(self._rungs):
            # What is left is shared, so that one that hangs leaves time for those below it.
            left = min(self._try_seconds, (end - self._clock()) / (len(self._rungs) - rung))
            if left <= 0:
                late = ModelUnavailable("not asked, for the turn's time is over")
                failures += (Failure(model.endpoint, late),)
                continue
            try:
                with breaker.call():
                    answer = await model.answer(request, left, telling.next())
                return LadderAnswer(answer, model.endpoint, failures)
            except (ModelUnavailable, ModelRefused) as error:
                failures += (Failure(model.endpoint, error),)
        raise NoModelAnswered(failures)

    @property
    def states(self) -> dict[str, str]:
        """Each model's breaker: `closed`, `open` or `half-open`."""
        return {model.endpoint: breaker.state for model, breaker in self._rungs}


class _Telling:
    """Numbers the attempts of all models in one row, so that each begins its text anew."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._before = 0
        self._last = 0

    def next(self) -> OnText | None:
        """What the next model is to tell its text to."""
        self._before = self._last
        return self._tell if self._on_text else None

    async def _tell(self, delta: TextDelta) -> None:
        self._last = self._before + delta.attempt
        if self._on_text:
            await self._on_text(delta.model_copy(update={"attempt": self._last}))
