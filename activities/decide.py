"""Deciding what no rule could: by a model or its fallbacks, or without where none answers."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from temporalio import activity

from activities import understand
from activities.capabilities import Capabilities
from activities.models import ModelQuestions, Models, OnFailure, again_soon
from activities.writer import within_means
from router.contracts import activities
from router.domain.commands import CallTool, Command, FillSlots, Misunderstood, RunSkill, StartFlow
from router.domain.messages import Route, Usage
from router.domain.principals import Capability
from router.llm.fallback import FallbackChain
from router.llm.types import BudgetSpent, ModelRefused, ModelUnavailable
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection
from router.routing import decider, replies
from router.routing.decider import RoutingQuestion
from router.routing.offer import Offer
from router.routing.prompts import Prompts, shown
from router.routing.replies import ADDRESSED, BUDGET_SPENT
from router.understanding.grounding import changed, stated

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Decider:
    """Decides over what the caller may use; without a model where `chain` is None."""

    capabilities: Capabilities
    index: CapabilityIndex
    chain: FallbackChain | None
    prompts: Prompts
    models: Models = field(default_factory=Models)

    @activity.defn(name=activities.DECIDE.name)
    async def decide(self, given: activities.Decide) -> activities.RoutingDecision:
        """Routes and commands, for every message there is."""
        return await self.decided(given, again_soon)

    async def decided(
        self, given: activities.Decide, on_failure: OnFailure = lambda _: None
    ) -> activities.RoutingDecision:
        """The same outside Temporal; `on_failure` may raise to have nothing decided."""
        asking = self.models.asking(self.chain, given.account)
        offered = await within_means(self.capabilities, asking)
        these = replace(self, capabilities=offered)
        return await these.decided_over_these(given, asking, on_failure)

    async def decided_over_these(
        self, given: activities.Decide, asking: ModelQuestions, on_failure: OnFailure
    ) -> activities.RoutingDecision:
        """The same, over all that there is here, whatever is left to spend."""
        if self.chain is not None and (addressed := self._addressed(given)):
            return addressed
        found = await self._near(decider.words_of(given.message), given)
        notice, decision = "", None
        try:
            if self.chain is not None:
                decision = await self._with_model(given, found, asking)
        except ModelUnavailable as error:
            on_failure(error)
        except ModelRefused:
            logger.exception("the model refuses to decide")
        except BudgetSpent as spent:
            notice = BUDGET_SPENT[spent.scope].within(given.situation.locale)
        if decision is None:
            return self._without_model(given, found, asking.usage, notice)
        return self._decided(given, decision, found, asking.usage)

    @activity.defn(name=activities.PHRASE.name)
    async def phrase(self, given: activities.Phrase) -> activities.Phrased:
        """What tools found, said by a model, or plainly where none answers."""
        plainly = await self.phrase_plainly(given)
        if self.chain is None:
            return plainly
        prompt = self.prompts.of("phrase", given.account.conversation, given.locale)
        asking = self.models.asking(self.chain, given.account)
        findings = _found(given)
        try:
            answer = await asking(replies.request(prompt, given.text, findings, given.history))
        except (ModelUnavailable, ModelRefused, BudgetSpent):
            return plainly
        said = replies.with_links(shown(answer.text) or plainly.text, findings, given.locale)
        return activities.Phrased(text=said, usage=asking.usage)

    @activity.defn(name=activities.PHRASE_PLAINLY.name)
    async def phrase_plainly(self, given: activities.Phrase) -> activities.Phrased:
        """What tools found, in the words that they give themselves."""
        return activities.Phrased(text=replies.plain(_found(given), given.locale))

    def _addressed(self, given: activities.Decide) -> activities.RoutingDecision | None:
        caller, named = given.account.caller, given.message.skill
        usable = self.capabilities.skills.visible_to(caller)
        skill = next((one for one in usable if one.name == named), None)
        if skill is None:
            return None
        reason = ADDRESSED.within(given.situation.locale)
        tools = self.capabilities.tools_of(skill, caller)
        return activities.RoutingDecision(
            route=Route(kind="skill", target=skill.name, by="action", reason=reason),
            commands=[RunSkill(skill=skill.name, request=given.message.text or "")],
            tools={each: self.capabilities.limits(each) for each in sorted(tools)},
            skills={skill.name: skill},
        )

    async def _near(self, text: str, given: activities.Decide) -> Selection:
        usable = self.capabilities.visible_to(given.account.caller)
        return await decider.find(self.index, usable, text, given.situation)

    async def _with_model(
        self, given: activities.Decide, found: Selection, asking: ModelQuestions
    ) -> decider.ModelDecision | None:
        async def widen(query: str) -> tuple[Offer, Sequence[Capability]]:
            return self._offered(given, await self._near(query, given))

        offer, listed = self._offered(given, found)
        question = RoutingQuestion(
            prompt=self.prompts.of("router", given.account.conversation, given.situation.locale),
            text=decider.words_of(given.message),
            offer=offer,
            capabilities=listed,
            history=given.history,
            situation=given.situation,
            earlier=given.earlier,
        )
        return await decider.decide_with_model(question, asking, widen)

    def _without_model(
        self, given: activities.Decide, found: Selection, usage: Usage, notice: str
    ) -> activities.RoutingDecision:
        text, usable = given.message.text or "", self.capabilities.visible_to(given.account.caller)
        greeted = understand.greeting(text, given.situation, usable)
        route, commands = greeted or decider.decide_by_nearness(
            given.message, given.situation, found
        )
        return activities.RoutingDecision(
            route=route, commands=commands, usage=usage, notice=notice, plainly=self.chain is None
        )

    def _offered(
        self, given: activities.Decide, found: Selection
    ) -> tuple[Offer, list[Capability]]:
        listed = decider.listed(found, self.capabilities.visible_to(given.account.caller))
        names = {capability.name for capability in listed}
        return self.capabilities.offer(given.account.caller, names, given.situation.active), listed

    def _decided(
        self,
        given: activities.Decide,
        decision: decider.ModelDecision,
        found: Selection,
        usage: Usage,
    ) -> activities.RoutingDecision:
        active = given.situation.active.flow if given.situation.active else None
        alone = sum(isinstance(command, StartFlow) for command in decision.commands) == 1
        commands = [self._shaped(command, given, alone) for command in decision.commands]
        reason = decider.reason_of(decision, given.situation.locale)
        route, *others = [decider.route_of(c, active, reason) for c in commands]
        skills = self.capabilities.skills_of(c.skill for c in commands if isinstance(c, RunSkill))
        called = {c.tool for c in commands if isinstance(c, CallTool)}
        for skill in skills.values():
            called |= set(self.capabilities.tools_of(skill, given.account.caller))
        return activities.RoutingDecision(
            route=route.model_copy(update={"candidates": decider.shown(found)}),
            others=others,
            commands=commands,
            usage=usage,
            tools={name: self.capabilities.limits(name) for name in sorted(called)},
            skills=skills,
        )

    def _shaped(self, command: Command, given: activities.Decide, alone: bool) -> Command:
        now, active = given.situation.now, given.situation.active
        text = decider.words_of(given.message)
        if active is not None and active.asking and _answers(command, active.flow):
            values = changed(active, command.slots, text, now)
            return FillSlots(slots=values) if values else Misunderstood()
        if isinstance(command, StartFlow):
            slots = self.capabilities.slots(command.flow)
            # Of several flows rules can't tell which of them is to have what they read.
            values = stated(slots, command.slots, text if alone else "", now)
            return command.model_copy(update={"slots": values})
        return command


def _answers(command: Command, active: str) -> TypeGuard[FillSlots | StartFlow]:
    """Whether it is for the flow that asks: starting that one anew means answering it."""
    if isinstance(command, StartFlow):
        return command.flow == active and bool(command.slots)
    return isinstance(command, FillSlots)


def _found(given: activities.Phrase) -> list[replies.Finding]:
    return [(f.tool, f.result, f.error) for f in given.findings]
