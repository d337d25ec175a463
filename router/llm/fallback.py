"""The model, then its fallbacks in order, until one of them answers.

A circuit breaker keeps a dead provider from costing every turn its timeout.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal, NamedTuple, Protocol

from router.domain.circuit import ANSWERED, REST_SECONDS, CallVerdict, CircuitBreaker, Clock
from router.domain.messages import Usage
from router.domain.principals import DEFAULT_TENANT
from router.llm.prices import ModelPrice
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
from router.settings.models import ModelRole

FAILURES = 3


def judge_model_error(error: Exception) -> CallVerdict | None:
    """Judge by what a model raised whether its server works.

    A server whose key is refused, or that says how long to stay away, is left alone at once. A
    request that is refused for its own sake is an answer, and no failure.
    """
    match error:
        case Crowded():
            return None  # it says nothing about the server
        case ModelUnavailable(retry_after=wanted):
            return CallVerdict(failure=True, wanted=wanted or 0.0)
        case AccessRefused():
            return CallVerdict(failure=True, wanted=REST_SECONDS)
        case ModelRefused():
            return ANSWERED
    return None


def refuse_question(wait: float) -> ModelUnavailable:
    """Return the error of a model that isn't asked for so many seconds."""
    return ModelUnavailable("not asked, for it failed just now", wait)


class Model(Protocol):
    """Something that answers questions; `router.llm.client.ChatModel` is one."""

    @property
    def endpoint(self) -> str:
        """Its name, for people."""

    @property
    def name(self) -> str:
        """The model's own name, as it is configured."""

    @property
    def price(self) -> ModelPrice | None:
        """What its tokens cost; None where nobody said."""

    @property
    def may_see(self) -> bool:
        """False where it is known to take no pictures."""

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None
    ) -> ChatAnswer:
        """Its answer within so many seconds; raises `ModelUnavailable` or `ModelRefused`."""

    async def aclose(self) -> None:
        """Give its sockets back."""


class Link(NamedTuple):
    """A model of a chain, and the breaker that it is behind."""

    model: Model
    breaker: CircuitBreaker


def _may_answer(link: Link, request: ChatRequest) -> bool:
    return link.breaker.admits and (link.model.may_see or not request.needs_sight)


@dataclass(frozen=True)
class ChainAnswer:
    """An answer, who gave it, and who failed to before."""

    answer: ChatAnswer
    provider: str
    failures: tuple[Failure, ...] = ()


class FallbackChain:
    """Asks one model after the other, each behind a circuit breaker of its own.

    Time is shared among those that can be asked, so that one that hangs leaves some for the next;
    a sole one may take it all.
    """

    def __init__(self, models: Sequence[Model], clock: Clock = monotonic) -> None:
        self.links = [
            Link(model, CircuitBreaker(judge_model_error, failures=FAILURES, clock=clock))
            for model in models
        ]
        self._clock = clock

    def below(self, model: Model) -> "FallbackChain":
        """A chain with this model first; the others keep the breakers that they have here."""
        longer = FallbackChain([model], self._clock)
        longer.links += [link for link in self.links if link.model.endpoint != model.endpoint]
        return longer

    @property
    def name(self) -> str:
        """The name of the model that is asked first."""
        return self.links[0].model.name if self.links else ""

    def ahead(self, tokens: int) -> Usage:
        """One question of so many tokens, before it is answered: by the dearest that may be."""
        prices = (link.model.price for link in self.links)
        costs = [price.ahead(tokens) for price in prices if price is not None]
        dearest = max(costs, key=lambda cost: cost.amount, default=None)
        return Usage(llm_calls=1, prompt_tokens=tokens, cost=dearest, priced_calls=len(costs[:1]))

    @property
    def may_see(self) -> bool:
        """True where one of them that can be asked isn't known to take no pictures."""
        return any(model.may_see and breaker.admits for model, breaker in self.links)

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
                await on_text(delta.replace(attempt=last))

        for place, (model, breaker) in enumerate(self.links):
            able = sum(_may_answer(link, request) for link in self.links[place + 1 :])
            left = (end - self._clock()) / (1 + able)
            if left <= 0:
                late = ModelUnavailable("not asked, for the turn's time is over")
                failures += (Failure(model.endpoint, late),)
                continue
            before = last
            try:
                with breaker.call(refuse_question):
                    answer = await model.answer(request, left, tell if on_text else None)
                return ChainAnswer(answer, model.endpoint, failures)
            except (ModelUnavailable, ModelRefused) as error:
                failures += (Failure(model.endpoint, error),)
        raise NoModelAnswered(failures)

    @property
    def states(self) -> dict[str, str]:
        """Each model's breaker: `closed`, `open` or `half-open`."""
        return {model.endpoint: breaker.state for model, breaker in self.links}


LedRole = ModelRole | Literal["escalate"]
Lead = Callable[[LedRole, str | None, str], Model | None]


class FallbackChains:
    """Chains over the same servers, made once and kept.

    `models` are the usual one and its fallbacks. `lead` gives the model of a role, of this name
    where a skill wishes for one, for this tenant; None where the usual one has it. `thrift` has
    cheaper ones, each with the share of a budget below which it is asked first.
    """

    def __init__(
        self,
        models: Sequence[Model] = (),
        lead: Lead = lambda *_: None,
        thrift: Sequence[tuple[float, Model]] = (),
    ) -> None:
        self.usual = FallbackChain(models) if models else None
        self._models = list(models)
        self._lead = lead
        self._made: list[FallbackChain] = []
        ordered = sorted(thrift, key=lambda one: one[0])
        self._thrift = [(below, self._chain(model)) for below, model in ordered]
        self._led: dict[tuple[LedRole, str | None, str], FallbackChain] = {}

    def of(
        self, role: LedRole, model: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> FallbackChain | None:
        """The chain of a role, for this tenant; None without any model."""
        if self.usual is None:
            return None
        key = (role, model, tenant)
        if key not in self._led:
            self._led[key] = self._chain(self._lead(*key))
        return self._led[key]

    def thrifty(self, left: float) -> FallbackChain | None:
        """The chain to ask where this share of a budget is left; None: as at any other time."""
        return next((chain for below, chain in self._thrift if left < below), None)

    def forget(self) -> None:
        """Ask anew who leads: what tenants have is another. Chains keep their breakers."""
        self._led.clear()

    @property
    def stronger(self) -> FallbackChain | None:
        """What is asked where the usual model is unsure; None where nothing is."""
        chain = self.of("escalate")
        return None if chain is self.usual else chain

    def decides(self, model: object) -> bool:
        """Whether it is asked to decide on messages; others needn't read what decisions begin with.

        Below the model of any role come the usual ones, which decide where none is set for that.
        """
        deciding = [
            chain for (role, *_), chain in self._led.items() if role in {"router", "escalate"}
        ]
        usual = self.usual.links if self.usual else []
        return any(link.model is model for link in [*usual, *(c.links[0] for c in deciding)])

    def _chain(self, leader: Model | None) -> FallbackChain:
        assert self.usual is not None  # noqa: S101 - whoever calls has looked
        if leader is None:
            return self.usual
        for chain in self._made:
            if chain.links[0].model is leader:
                return chain
        self._models.append(leader)
        self._made.append(self.usual.below(leader))
        return self._made[-1]

    @property
    def links(self) -> list[Link]:
        """Every model that there is by now: the usual ones in order, then those of roles."""
        links = list(self.usual.links) if self.usual else []
        for chain in [*self._led.values(), *(chain for _, chain in self._thrift)]:
            links += [link for link in chain.links[:1] if link not in links]
        return links

    @property
    def states(self) -> dict[str, str]:
        """How the circuit breaker of each model stands, by the model's name for people."""
        return {model.endpoint: breaker.state for model, breaker in self.links}

    async def aclose(self) -> None:
        """Give all sockets back."""
        for model in self._models:
            await model.aclose()
