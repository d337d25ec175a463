"""The model, then its fallbacks in order, until one of them answers.

A circuit breaker keeps a dead provider from costing every turn its timeout; a limiter bounds
how many questions one server is asked at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Literal, Protocol

from router.llm.types import (
    AccessRefused,
    ChatAnswer,
    ChatRequest,
    Crowded,
    Failure,
    ModelRefused,
    ModelUnavailable,
    NoModelAnswered,
    OnText,
    TextDelta,
)

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
        """What is within is a call; raises `ModelUnavailable` where none may be, with the wait."""
        state = self.state
        if state == "open" or (state == "half-open" and self._is_tried):
            wait = max(0.0, (self._until or 0.0) - self._clock())
            raise ModelUnavailable("not asked, for it failed just now", wait or self._rest)
        self._is_tried = is_trial = state == "half-open"
        try:
            yield
        except Crowded:
            raise  # it says nothing about the server
        except ModelUnavailable as error:
            self._failures += 1
            if error.retry_after:
                self._rest_for(min(error.retry_after, LONGEST_REST))
            elif is_trial or self._failures >= self._limit:
                self._rest_for(self._rest)
            raise
        except AccessRefused:
            self._rest_for(self._rest)
            raise
        except ModelRefused:
            self._failures, self._until = 0, None
            raise
        else:
            self._failures, self._until = 0, None
        finally:
            if is_trial:
                self._is_tried = False

    def _rest_for(self, seconds: float) -> None:
        self._until = self._clock() + seconds


class ConcurrencyLimiter:
    """Places at one server; whoever finds none waits for one, within their own time.

    Shared by all models at the server. Waiting is no fault of the server's: what comes of it
    is `Crowded`, which no circuit breaker counts.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def taken(self, seconds: float) -> AsyncIterator[float]:
        """A place while within, and what is left of the seconds; raises `Crowded` for none."""
        began = monotonic()
        try:
            await asyncio.wait_for(self._free.acquire(), seconds)
        except TimeoutError:
            raise Crowded(
                f"{self._at_once} questions are under way there, and none ended in {seconds:.3g} s"
            ) from None
        try:
            yield max(0.0, seconds - (monotonic() - began))
        finally:
            self._free.release()


TRY_SECONDS = 30.0


class Model(Protocol):
    """Something that answers questions; `router.llm.client.ChatModel` is one."""

    @property
    def endpoint(self) -> str:
        """Its name, for people."""

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None
    ) -> ChatAnswer:
        """Its answer within so many seconds; raises `ModelUnavailable` or `ModelRefused`."""

    async def aclose(self) -> None:
        """Give its sockets back."""


@dataclass(frozen=True)
class ChainAnswer:
    """An answer, who gave it, and who failed to before."""

    answer: ChatAnswer
    provider: str
    failures: tuple[Failure, ...] = ()


class FallbackChain:
    """Asks one model after the other, each behind a circuit breaker of its own.

    A model has at most `try_seconds`, so that one that hangs leaves time for the next.
    """

    def __init__(
        self, models: Sequence[Model], try_seconds: float = TRY_SECONDS, clock: Clock = monotonic
    ) -> None:
        self._links = [(model, CircuitBreaker(clock=clock)) for model in models]
        self._try_seconds = try_seconds
        self._clock = clock

    def below(self, model: Model) -> "FallbackChain":
        """A chain with this model first; the others keep the breakers that they have here."""
        longer = FallbackChain([model], self._try_seconds, self._clock)
        longer._links += self._links
        return longer

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None = None
    ) -> ChainAnswer:
        """The first answer within a turn's seconds; raises `NoModelAnswered`, which lists why."""
        end = self._clock() + seconds
        failures: tuple[Failure, ...] = ()
        before = last = 0

        async def tell(delta: TextDelta) -> None:
            """Number the attempts of all models in one row, so that each begins its text anew."""
            nonlocal last
            last = before + delta.attempt
            if on_text:
                await on_text(delta.model_copy(update={"attempt": last}))

        for place, (model, breaker) in enumerate(self._links):
            # What is left is shared, so that one that hangs leaves time for those below it.
            left = min(self._try_seconds, (end - self._clock()) / (len(self._links) - place))
            if left <= 0:
                late = ModelUnavailable("not asked, for the turn's time is over")
                failures += (Failure(model.endpoint, late),)
                continue
            before = last
            try:
                with breaker.call():
                    answer = await model.answer(request, left, tell if on_text else None)
                return ChainAnswer(answer, model.endpoint, failures)
            except (ModelUnavailable, ModelRefused) as error:
                failures += (Failure(model.endpoint, error),)
        raise NoModelAnswered(failures)

    @property
    def states(self) -> dict[str, str]:
        """Each model's breaker: `closed`, `open` or `half-open`."""
        return {model.endpoint: breaker.state for model, breaker in self._links}


class FallbackChains:
    """Chains over the same servers, made once and kept.

    `models` are the usual one and its fallbacks. `make` gives a model of another name at the
    first server; `for_skills` is the name of the one that skills are led by.
    """

    def __init__(
        self,
        models: Sequence[Model] = (),
        make: Callable[[str], Model] | None = None,
        for_skills: str | None = None,
    ) -> None:
        self.usual = FallbackChain(models) if models else None
        self._models = list(models)
        self._make = make
        self._for_skills = for_skills
        self._led: dict[str, FallbackChain] = {}

    def for_skill(self, model: str | None) -> FallbackChain | None:
        """The chain of a skill that wants this model, or has no wish; None without any model."""
        name = model or self._for_skills
        if self.usual is None or self._make is None or name is None:
            return self.usual
        if name not in self._led:
            leader = self._make(name)
            self._models.append(leader)
            self._led[name] = self.usual.below(leader)
        return self._led[name]

    @property
    def states(self) -> dict[str, str]:
        """How the circuit breaker of each model stands, by the model's name for people."""
        chains = [*self._led.values(), *([self.usual] if self.usual else [])]
        return {name: state for chain in chains for name, state in chain.states.items()}

    async def aclose(self) -> None:
        """Give all sockets back."""
        for model in self._models:
            await model.aclose()
