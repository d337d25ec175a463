"""The deciding of the product, with a real model and without Temporal."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from activities.capabilities import Capabilities
from activities.decide import Decider
from router.contracts.activities import Account, Decide, RoutingDecision
from router.domain.commands import Command
from router.domain.messages import Message
from router.domain.principals import DEFAULT_TENANT, Principal
from router.flow.paused import Situation
from router.flow.prompts.question import view
from router.flow.view import FlowView
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.llm.servers import Feature, ServerMemory
from router.llm.types import ChatAnswer, ChatRequest, How, OnText
from router.runtime.composition import Parts, assembled
from router.settings import Settings
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from tests.llm import judging
from tests.llm.labelled import Active, Labelled
from tests.unit.flow.world import World

NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
PATIENCE = 300.0
"""Seconds for an answer here, where accuracy is asked for; seconds are reported beside it."""

TOOLS = (
    *("calculate", "count_workdays", "find_colleague", "get_current_time", "get_leave_balance"),
    *("get_my_claims", "get_my_leave", "get_my_requests", "is_workday", "next_workday"),
    "search_policies",
)
"""The tools there are at this desk: numbers that were measured compare with no other choice."""

SKILLS = ("policy-advisor",)
"""Likewise."""

REFUSING: dict[How, frozenset[Feature]] = {
    "functions": frozenset(),
    "json_schema": frozenset({"tools"}),
}
"""What a server is taken to refuse, so that it is asked in a certain way."""


@dataclass
class Patient:
    """A model that is given all the time it wants, and every answer of which is kept."""

    model: ChatModel
    answers: list[ChatAnswer] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return self.model.endpoint

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None
    ) -> ChatAnswer:
        answer = await self.model.answer(request, PATIENCE, on_text)
        self.answers.append(answer)
        return answer


@dataclass(frozen=True)
class Outcome:
    """What came of one request."""

    label: Labelled
    caller: Principal
    decided: RoutingDecision
    seconds: float
    answers: list[ChatAnswer]
    by_rule: bool
    """True where no model would have been asked: a rule takes the message."""

    @property
    def commands(self) -> list[Command]:
        return self.decided.commands

    @property
    def is_right(self) -> bool:
        return self.is_valid and judging.is_right(self.commands, self.label)

    @property
    def values(self) -> list[bool]:
        return judging.values_right(self.commands, self.label)

    @property
    def is_valid(self) -> bool:
        """False where the model's answers couldn't be used, and the decision is a rule's."""
        return self.decided.route.by == "llm"

    @property
    def forbidden(self) -> list[str]:
        return judging.forbidden(self.commands, self.label)


@dataclass
class Desk:
    """Asks a model about labelled requests, in one way of asking."""

    parts: Parts
    model: Patient
    known: Capabilities

    async def ask(self, label: Labelled) -> Outcome:
        """Have the request decided, rules left out."""
        caller = await self._person(label.user)
        situation = Situation(
            now=NOW, locale=label.lang, roles=caller.roles, active=self._active(label.active)
        )
        message = Message(text=label.text)
        given = Decide(
            message=message,
            situation=situation,
            account=Account(caller=caller, now=NOW, seconds=PATIENCE),
            history=label.history,
        )
        self.model.answers = []
        began = time.monotonic()
        chain = FallbackChain([self.model])
        decider = Decider(self.known, self.parts.index, chain, self.parts.prompts)
        decided = await decider.decided(given)
        seconds = time.monotonic() - began
        by_rule = self.parts.reader.read(message, situation).route is not None
        return Outcome(label, caller, decided, seconds, self.model.answers, by_rule)

    async def _person(self, user: str) -> Principal:
        found = await self.parts.directory.find(DEFAULT_TENANT, user)
        assert found is not None, user
        return found

    def _active(self, active: Active | None) -> FlowView | None:
        """The flow as the machine shows it after this beginning."""
        if active is None:
            return None
        definition = self.parts.offered.catalog.get(active.flow)
        assert definition is not None, active.flow
        return view(definition, World(definition).begin(**active.slots).run)


def few(offered: Capabilities) -> Capabilities:
    """The flows of the house with the skills and tools of this desk."""
    registry = Registry()
    for name in TOOLS:
        registry.add(offered.registry[name])
    skills = SkillCatalog(skill for skill in offered.skills if skill.name in SKILLS)
    return Capabilities(offered.catalog, skills, registry)


@asynccontextmanager
async def desk(
    url: str, name: str, how: How, data: Path, *, whole: bool = False
) -> AsyncIterator[Desk]:
    """A desk whose model is asked in this way; `whole` with every tool of the house."""
    memory = ServerMemory()
    model = ChatModel(url, name, memory=memory)
    memory.learn(model.endpoint, REFUSING[how])
    async with assembled(Settings.load(data=data)) as parts:
        known = parts.offered if whole else few(parts.offered)
        await parts.index.update(known.everything())
        yield Desk(parts, Patient(model), known)
    await model.aclose()
