"""What cases of prompts are done with: one version, over what the house has, its answers kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from activities.capabilities import Capabilities
from activities.models import ModelQuestions, Models
from router.contracts.activities import Account
from router.domain.errors import InvalidInput
from router.domain.locale import Locale
from router.domain.messages import SpokenLine
from router.domain.principals import DEFAULT_TENANT, Principal
from router.formats.validation import Entry
from router.llm.fallback import ChainAnswer, FallbackChain, FallbackChains, LedRole
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    OnText,
)
from router.retrieval.index import CapabilityIndex
from router.routing.decider import DecisionPolicy
from router.routing.prompt_cases import CaseInput, Observed
from router.routing.prompts import Prompts
from router.skill.skill import Skill

SECONDS = 600.0
"""For one question: nobody waits, and a small model on a busy machine takes its time."""
SAID = "said"
"""The route of words that are shown to the person."""


class HeardChain(FallbackChain):
    """A chain whose answers are kept, for what they say and cost."""

    def __init__(self, chain: FallbackChain, heard: list[ChatAnswer]) -> None:
        self.__dict__.update(chain.__dict__)
        self.heard = heard

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None = None
    ) -> ChainAnswer:
        """As the chain answers; it is kept."""
        found = await super().answer(request, seconds, on_text)
        self.heard.append(found.answer)
        return found


class HeardChains(FallbackChains):
    """The chains of a house, whose answers are kept; none is a stronger one to fall back on."""

    def __init__(self, chains: FallbackChains, heard: list[ChatAnswer]) -> None:
        self._chains, self.heard = chains, heard
        self.usual = HeardChain(chains.usual, heard) if chains.usual else None

    def of(
        self, role: LedRole, model: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> FallbackChain | None:
        """The chain of a role, as the house has it."""
        if role == "escalate":
            return self.usual
        chain = self._chains.of(role, model, tenant)
        return HeardChain(chain, self.heard) if chain else None


@dataclass
class Bench:
    """What one run of a case is done with: one version's prompts, over what the house has."""

    offered: Capabilities
    index: CapabilityIndex
    chains: HeardChains
    prompts: Prompts
    people: Mapping[str, Principal]
    policy: DecisionPolicy
    locale: Locale
    folder: Path
    """Where files are that the case names."""
    models: Models = field(default_factory=Models)

    def person(self, user: str) -> Principal:
        """Who speaks, in the case's language; `InvalidInput` where the directory has no such."""
        if user not in self.people:
            known = ", ".join(sorted(self.people))
            raise InvalidInput(f"user {user!r} isn't in the directory: it has {known}")
        return self.people[user].replace(locale=self.locale)

    def account(self, user: str, now: datetime) -> Account:
        """On whose account a question is asked."""
        return Account(caller=self.person(user), now=now, seconds=SECONDS)

    def asking(self, role: LedRole | None, account: Account) -> ModelQuestions:
        """What questions go through; without a role to the usual model."""
        chain = self.chains.of(role) if role else self.chains.usual
        return self.models.asking(chain, account)

    async def ask(
        self, role: LedRole | None, request: ChatRequest, user: str, now: datetime
    ) -> ChatAnswer:
        """Return the answer of the model of a role, without one of the usual model."""
        return await self.asking(role, self.account(user, now))(request)

    def skill(self, name: str) -> Skill:
        """The skill of this name; `InvalidInput` where there is none."""
        found = next((one for one in self.offered.skills if one.name == name), None)
        if found is None:
            raise InvalidInput(f"skill {name!r} isn't there: {_names(self.offered.skills)}")
        return found


def _names(skills: Any) -> str:
    return ", ".join(sorted(one.name for one in skills)) or "there is none"


class SaidLine(Entry):
    """Something that was said before."""

    role: Literal["user", "assistant"]
    text: str


@runtime_checkable
class ObservableCase(Protocol):
    """What a case gives, of whatever job."""

    async def observed(self, bench: Bench) -> Observed:
        """Have the model do the case, and return what its answer comes to."""


class BenchInput(CaseInput):
    """What a case of a job gives that isn't an extension's."""

    job: ClassVar[str]
    """Whose cases are read into it."""

    async def observed(self, bench: Bench) -> Observed:
        """Have the model do the case, and return what its answer comes to."""
        raise NotImplementedError


def spoken(history: Sequence[SaidLine]) -> list[SpokenLine]:
    """What was said before, as questions are told it."""
    return [SpokenLine(role=line.role, text=line.text) for line in history]
