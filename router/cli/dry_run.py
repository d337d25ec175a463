"""What the desk would do with a message, with none of it done: no Temporal, no database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from activities.capabilities import Capabilities
from activities.decide import Decider
from activities.models import OnFailure
from router.api.params import SaidText
from router.contracts import activities
from router.domain.errors import InvalidInput, MisconfiguredError, reason_of
from router.domain.messages import Message
from router.domain.principals import Principal
from router.flow.paused import Situation
from router.llm.fallback import FallbackChains
from router.llm.types import ModelUnavailable
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection
from router.routing.decider import DecisionPolicy
from router.routing.prompts import Prompts
from router.runtime.composition import VECTORS, chains_of, index_of
from router.runtime.definitions import load_capabilities
from router.runtime.prompts import load_prompts
from router.settings import Settings
from router.understanding.reader import Reader
from router.understanding.reading import Reading

_SAID: TypeAdapter[str] = TypeAdapter(SaidText)


@dataclass
class DryRun:
    """A desk that only says what it would do. Make one with `dry_run_of`."""

    reader: Reader
    offered: Capabilities
    index: CapabilityIndex
    chains: FallbackChains
    prompts: Prompts
    policy: DecisionPolicy = field(default_factory=DecisionPolicy)
    _learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    _learnt: bool = False

    async def routed(
        self, text: str, caller: Principal, now: datetime, on_failure: OnFailure | None = None
    ) -> tuple[Reading, activities.RoutingDecision]:
        """What is read in `text`, and comes of it; raises `InvalidInput`, or as `on_failure`."""
        message, situation = _said(text, caller, now)
        reading = self.reader.read(message, situation)
        taken = reading.route and activities.RoutingDecision(
            route=reading.route, others=reading.others, commands=reading.commands
        )
        if taken and not reading.rest:
            return reading, taken
        await self.learn()
        left = message.replace(text=reading.rest) if taken else message
        account = activities.Account(caller=caller, now=now)
        given = activities.Decide(
            message=left, beside=bool(taken), situation=situation, account=account
        )
        asked = (self.offered, self.index, self.chains, self.prompts)
        decider = Decider(*asked, policy=self.policy)

        def insist(error: ModelUnavailable) -> None:
            raise error

        decided = await decider.decided(given, on_failure or insist)
        return reading, taken.with_rest(decided, given) if taken else decided

    async def found(self, text: str, caller: Principal, now: datetime) -> Selection | None:
        """What is searched for the text; None where rules take it and nothing is."""
        if self.reader.read(*_said(text, caller, now)).route is not None:
            return None
        await self.learn()
        usable = [capability.name for capability in self.offered.visible_to(caller)]
        return await self.index.select(text, among=usable)

    async def learn(self) -> None:
        """Fill the index. The first message that needs it does so, and most commands have none."""
        async with self._learning:
            if not self._learnt:
                await self.index.update(self.offered.everything())
                self._learnt = True


@asynccontextmanager
async def dry_run_of(
    settings: Settings, *, with_model: bool = False, quick: bool = False
) -> AsyncIterator[DryRun]:
    """A dry run; a `quick` one, for a single message, encodes nothing: that takes seconds."""
    if with_model:
        check_model(settings)
    offered = load_capabilities(settings)
    words_only = quick and not (settings.data / VECTORS).exists()
    async with chains_of(settings) as chains, index_of(settings, words_only=words_only) as index:
        yield DryRun(
            reader=Reader(offered.flows(), offered.phrases(), offered.listed(skills=with_model)),
            offered=offered,
            index=index,
            chains=chains if with_model else FallbackChains(),
            prompts=load_prompts(settings),
            policy=DecisionPolicy.of(
                settings.llm_offer, settings.llm_offer_tokens, settings.llm_steps
            ),
        )


def check_model(settings: Settings) -> None:
    """Raises `MisconfiguredError` where no model is configured."""
    if not settings.models:
        raise MisconfiguredError(
            "--llm needs a model and none is configured: set ROUTER_LLM_MODEL, and "
            "ROUTER_LLM_BASE_URL or ROUTER_LLM_API_KEY (docs/models.md), or leave --llm out"
        )


def said(text: str) -> str:
    """The text; `InvalidInput` where it can't be a message."""
    try:
        text.encode()
        return _SAID.validate_python(text)
    except UnicodeEncodeError:
        raise InvalidInput("the text isn't UTF-8: convert it first") from None
    except ValidationError as error:
        reason = reason_of(error.errors()[0])
        raise InvalidInput(f"the text can't be a message: {reason}") from None


def _said(text: str, caller: Principal, now: datetime) -> tuple[Message, Situation]:
    return Message(text=said(text)), Situation(
        now=now, locale=caller.locale, roles=caller.roles, entitlement=caller.entitlement
    )
