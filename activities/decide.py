"""Deciding what no rule could: by a model or its fallbacks, or without where none answers."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from temporalio import activity

from activities import understand
from activities.answer_cache import SharedAnswers
from activities.capabilities import Capabilities
from activities.grounded import GroundedCommands
from activities.memories import MemoryRecall
from activities.models import ModelQuestions, Models, OnFailure, again_soon, is_too_long
from activities.phrase import not_shown
from activities.writer import within_means
from router.contracts import activities
from router.contracts.flow import AT_FRONT_END, CallLimits
from router.contracts.tool_rounds import ToolRound, settled
from router.domain.commands import (
    CallTool,
    Clarify,
    Command,
    HandOff,
    ReplyText,
    RunSkill,
)
from router.domain.messages import ChooseAction, RecalledCall, Route, Usage
from router.domain.principals import ANYBODY, DEFAULT_TENANT
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.flow.prompts.values import in_own_words
from router.llm.fallback import FallbackChain, FallbackChains
from router.llm.types import BudgetSpent, ChatAnswer, ChatRequest, ModelRefused, ModelUnavailable
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection
from router.routing import decider, replies
from router.routing.choice import ChoiceExplanation, Nearness, chosen
from router.routing.decider import DecisionPolicy, RoutingQuestion
from router.routing.faithfulness import Doubt, Evidence
from router.routing.message_files import NO_FILES, MessageFiles
from router.routing.offer import Offer
from router.routing.prompts import Prompt, Prompts
from router.routing.replies import ADDRESSED, BUDGET_SPENT, GONE_ON, MODEL_AWAY
from router.telemetry.metrics import ESCALATIONS
from router.tool.tool import Tool
from router.understanding import wishes
from router.understanding.dialogue_acts import asks, refers
from router.understanding.memory_wishes import memory_signs
from router.understanding.slots.prefill import prefill_offered
from router.understanding.triggers.classifier import Blocker, objection

logger = logging.getLogger(__name__)


@dataclass
class Retrieved:
    """What is near a message."""

    selections: list[Selection]
    """To it with what it refers to, where it refers to something, and to it; then to what a model
    searched for besides."""
    parts: dict[str, Selection]
    """To each of its clauses that anything is near to, by its words, where it has several."""


@dataclass(frozen=True)
class Decider:
    """Decides over what the caller may use; without a model where `chains` has none."""

    capabilities: Capabilities
    index: CapabilityIndex
    chains: FallbackChains
    prompts: Prompts
    models: Models = field(default_factory=Models)
    policy: DecisionPolicy = field(default_factory=DecisionPolicy)
    files: MessageFiles = NO_FILES
    """Those that came with the message, once that is known."""
    tenant: str = DEFAULT_TENANT
    """Whose models are asked."""
    answers: SharedAnswers | None = None
    """Answers that are the same for everyone; None: every question is put to a model."""
    memories: MemoryRecall | None = None
    remembered: Sequence[str] = ()
    """What the person asked to have remembered that is near to the message, once that is known."""

    @property
    def chain(self) -> FallbackChain | None:
        """What is asked; None without a model."""
        return self.chains.of("router", tenant=self.tenant)

    @activity.defn(name=activities.DECIDE.name)
    async def decide(self, given: activities.Decide) -> activities.RoutingDecision:
        """Routes and commands, for every message there is."""
        return await self.decided(given, again_soon)

    async def decided(
        self, given: activities.Decide, on_failure: OnFailure = lambda _: None
    ) -> activities.RoutingDecision:
        """The same outside Temporal; `on_failure` may raise to have nothing decided."""
        caller = given.account.caller
        tenant = caller.tenant
        chain = self.chains.of("router", tenant=tenant)
        asking = self.models.asking(chain, given.account)
        offered = await within_means(self.capabilities.of(tenant, caller.id), asking)
        words, near = decider.words_of(given.message), list[str]()
        if chain is not None and self.memories is not None:
            near = await self.memories.told(caller, words)
        these = replace(
            self,
            capabilities=offered,
            index=self.index.of(tenant, caller.id),
            tenant=tenant,
            files=await asking.files(),
            remembered=near,
        )
        scope = await these.scope(given)
        if self.answers and (known := await self.answers.given_again(given, scope)):
            return known
        told = given.replace(history=await asking.told(given.history))
        decided = await these.decided_over_these(told, asking, on_failure)
        if self.answers and scope:
            await self.answers.keep(given, scope, decided.commands)
        looks_up = all(isinstance(command, CallTool) for command in decided.commands)
        return decided.replace(scope=scope) if scope and looks_up else decided

    async def scope(self, given: activities.Decide) -> str:
        """What an answer depends on that is the same for everyone; empty where it is somebody's."""
        if self.answers is None or self.chain is None or given.front_end or given.context:
            return ""
        asked_with = [self._prompt(given).fingerprint, *self.chain.states]
        return await self.answers.scope(given, self.remembered, asked_with)

    async def decided_over_these(
        self, given: activities.Decide, asking: ModelQuestions, on_failure: OnFailure
    ) -> activities.RoutingDecision:
        """The same, over all that there is here, whatever is left to spend."""
        if self.chain is not None and not given.rounds and (addressed := self._addressed(given)):
            return addressed
        found = await self._found(given)
        if self.chain is not None and (gone_on := self._gone_on(given, found)):
            return gone_on
        notice, decision = "", None
        answered = None if self.chain is None else True
        prompt = None if self.chain is None else self._prompt(given).fingerprint
        try:
            if self.chain is not None:
                decision = await self._within_context(given, found, asking)
                decision = await self._escalated(given, decision, found, asking)
        except ModelUnavailable as error:
            on_failure(error)
            notice, answered, prompt = MODEL_AWAY.within(given.situation.locale), False, None
        except ModelRefused:
            logger.exception("the model refuses to decide")
        except BudgetSpent as spent:
            notice = BUDGET_SPENT[spent.scope].within(given.situation.locale)
            answered = prompt = None
        if given.rounds:
            return await self._after_rounds(given, decision, found, asking)
        if decision is None:
            decided = self._without_model(given, found.selections[0], asking.usage, notice)
            # Of a model's answer that was of no use its prompt is told too.
            decided = decided.replace(route=decided.route.replace(prompt=prompt))
        else:
            decided = self._decided(given, decision, found, asking.usage)
        return decided.replace(model_answered=answered)

    async def _after_rounds(
        self,
        given: activities.Decide,
        decision: decider.ModelDecision | None,
        found: Retrieved,
        asking: ModelQuestions,
    ) -> activities.RoutingDecision:
        """What comes after tools were called: other calls, or words that hold.

        Else nothing, and what was found is said plainly: no model is asked for it once more.
        """
        first = next(iter(decision.commands), None) if decision else None
        if decision and decision.answer and isinstance(first, ReplyText | None):
            decision.commands = await self._in_words(given, decision.answer, asking)
        if decision and decision.commands:
            return self._decided(given, decision, found, asking.usage)
        plainly = Route(kind="reply", by="fallback")
        return activities.RoutingDecision(
            route=plainly, commands=[], usage=asking.usage, plainly=True
        )

    async def _in_words(
        self, given: activities.Decide, answer: ChatAnswer, asking: ModelQuestions
    ) -> list[Command]:
        """What the model says of what was found; nothing, where that doesn't hold."""
        findings, locale = _found_in(given.rounds), given.situation.locale
        said = next((str(c.arguments.get("text", "")) for c in answer.calls), answer.text)
        worded = answer.replace(text=said)
        judged = replies.judged(worded, self._evidence(given), of_facts=self._facts)
        if isinstance(judged, Doubt):
            not_shown(answer.model, judged.check, findings)
            await asking.take_back(in_own_words([found[1:] for found in findings], locale))
            return []
        return [ReplyText(text=replies.completed(judged, findings, locale))]

    def _evidence(self, given: activities.Decide) -> Evidence:
        findings = _found_in(given.rounds)
        known = [*self.files.words, *self.remembered, given.context]
        text = "\n".join([decider.words_of(given.message), *known])
        return replies.evidence(text, findings, given.history, given.account.now)

    def beginnings(self) -> list[ChatRequest]:
        """What all questions that it asks begin with; everything, where everybody is told that."""
        usable = self.capabilities.choosable_by(ANYBODY) if self.policy.offer is None else ()
        named = {one.name: "" for one in sorted(usable, key=lambda one: (one.kind, one.name))}
        return decider.fixed_questions(
            self.prompts, self.capabilities.offer(ANYBODY, named, active=None)
        )

    def _addressed(self, given: activities.Decide) -> activities.RoutingDecision | None:
        caller, message = given.account.caller, given.message
        pressed = str(message.action.value) if isinstance(message.action, ChooseAction) else None
        named = message.skill or pressed
        usable = self.capabilities.skills.visible_to(caller)
        skill = next((one for one in usable if one.name == named), None)
        if skill is None:
            return None
        reason = ADDRESSED.within(given.situation.locale)
        words = message.text or given.situation.offered_for
        tools = self.capabilities.tools_of(skill, caller)
        return activities.RoutingDecision(
            route=Route(kind="skill", target=skill.name, by="action", reason=reason),
            commands=[RunSkill(skill=skill.name, request=words)],
            tools={each: self.capabilities.limits(each) for each in sorted(tools)},
            skills={skill.name: skill},
        )

    async def _found(self, given: activities.Decide) -> Retrieved:
        text = decider.words_of(given.message)
        own = await self._near(text, given)
        said = Utterance.of(text, given.situation.now)
        clauses = wishes.clauses(said) if self.chain is not None else []
        words = [said.normalised.as_typed(c.start, c.end) for c in clauses]
        parts = {each: await self._near(each, given) for each in words}
        near = {each: part for each, part in parts.items() if part.is_probable}
        before = next((line.text for line in reversed(given.history) if line.role == "user"), "")
        if not before or not refers(normalise(text).text):
            return Retrieved([own], near)
        return Retrieved([await self._near(f"{before[:_BEFORE]}\n{text}", given), own], near)

    def _gone_on(
        self, given: activities.Decide, found: Retrieved
    ) -> activities.RoutingDecision | None:
        """The skill that has just answered, where the message is about that and nothing else."""
        name, text = given.situation.answered, decider.words_of(given.message)
        if not name or given.rounds or len(found.selections) == 1:
            return None
        own = found.selections[-1]
        other = own.candidates[0].name != name if own.candidates else False
        if own.verdict == "clear" or (own.is_probable and other):
            return None
        usable_skills = self.capabilities.skills.visible_to(given.account.caller)
        skill = next((one for one in usable_skills if one.name == name), None)
        if skill is None:
            return None
        reason = GONE_ON.within(given.situation.locale)
        return activities.RoutingDecision(
            route=Route(kind="skill", target=name, by="slot", reason=reason),
            commands=[RunSkill(skill=name, request=text)],
        )

    async def _near(self, text: str, given: activities.Decide) -> Selection:
        usable = self.capabilities.choosable_by(given.account.caller)
        offer = self.policy.offer
        return await decider.find(self.index, usable, text, given.situation, offer)

    async def _escalated(
        self,
        given: activities.Decide,
        decision: decider.ModelDecision | None,
        found: Retrieved,
        asking: ModelQuestions,
    ) -> decider.ModelDecision | None:
        """The decision of a stronger model, where the first is unsure and one may be asked."""
        doubt = self._doubt(given, decision, found)
        stronger = self.chains.stronger
        # Instead of it a cheaper one would be asked, the same question perhaps twice.
        if stronger is None or not doubt or await asking.is_thrifty(stronger):
            return decision
        try:
            better = await self._with_model(given, found, asking, stronger)
        except (ModelUnavailable, ModelRefused, BudgetSpent) as error:
            logger.warning("no stronger model decided: %s", error)
            ESCALATIONS.labels(doubt, "failed").inc()
            return decision
        still = self._doubt(given, better, found)
        ESCALATIONS.labels(doubt, "unsure" if still else "sure").inc()
        return better or decision

    def _doubt(
        self, given: activities.Decide, decision: decider.ModelDecision | None, found: Retrieved
    ) -> str:
        """Why the decision would be put to the person, or to nobody; empty where it wouldn't.

        What was found is said by itself, and words for it are held against it.
        """
        if given.rounds:
            return ""
        if decision is None:
            return "unusable"
        active = given.situation.active.flow if given.situation.active else None
        wished = [name for c in decision.commands if (name := chosen(c, active))]
        near = self._nearness(given, found, len(wished))
        own, usable, holds = decision.commands, self._usable(given), self._holds(given)
        commands = decider.checked(decision, near, active, usable, holds)
        if any(isinstance(c, Clarify) for c in own):
            return "asks"
        if any(isinstance(c, HandOff) for c in own):
            return "gives_up"
        return "doubted" if any(isinstance(c, Clarify) for c in commands) else ""

    async def _within_context(
        self, given: activities.Decide, found: Retrieved, asking: ModelQuestions
    ) -> decider.ModelDecision | None:
        """The model's decision; where all of it is more than it can read, over half the history."""
        try:
            return await self._with_model(given, found, asking)
        except (ModelUnavailable, ModelRefused) as error:
            half = given.history[(len(given.history) + 1) // 2 :]
            if not is_too_long(error) or not given.history:
                raise
            logger.warning("the history is halved to %s lines: %s", len(half), error)
            return await self._with_model(given.replace(history=half), found, asking)

    async def _with_model(
        self,
        given: activities.Decide,
        found: Retrieved,
        asking: ModelQuestions,
        of: FallbackChain | None = None,
    ) -> decider.ModelDecision | None:
        """The model's decision; what it searched for besides is found then too."""

        async def widen(query: str) -> Offer:
            found.selections.append(await self._near(query, given))
            return self._offered(given, found.selections[-1:])

        question = RoutingQuestion(
            prompt=self._prompt(given),
            text=decider.words_of(given.message),
            offer=self._offered(given, [found.selections[0], *found.parts.values()]),
            usable=self._usable(given),
            history=given.history,
            situation=given.situation,
            earlier=given.earlier,
            files=self.files,
            remembered=self.remembered,
            context=given.context,
            so_far=decider.called_so_far(
                (_recalled(each), each.reasoning) for each in given.rounds
            ),
        )
        evidence = self._evidence(given) if given.rounds else None
        by_itself = self._holds(given)

        async def ask(request: ChatRequest) -> ChatAnswer:
            if evidence is None:
                return await asking(request, by_itself, of)
            holds = partial(evidence.doubt, of_facts=self._facts)
            return await asking(request, lambda said: holds(said) is None, of)

        return await decider.decide_with_model(question, ask, widen)

    def _prompt(self, given: activities.Decide) -> Prompt:
        locale, of = given.situation.locale, given.account
        return self.prompts.of("router", of.conversation, locale, of.caller.tenant)

    def _usable(self, given: activities.Decide) -> Offer:
        caller = given.account.caller
        every = {one.name: "" for one in self.capabilities.choosable_by(caller)}
        return self._offer(given, every)

    def _without_model(
        self, given: activities.Decide, found: Selection, usage: Usage, notice: str
    ) -> activities.RoutingDecision:
        text, usable = given.message.text or "", self.capabilities.visible_to(given.account.caller)
        who, options = given.account.caller.tenant, understand.without_skills(usable)
        greeted = understand.greeting(text, given.situation, options, self.prompts.persona_of(who))
        decided = greeted or self._begun(given, found)
        if decided is None and given.beside:
            decided = decider.decide_beside(given.message, given.situation, found)
        route, commands = decided or decider.decide_by_nearness(given.situation, found)
        return activities.RoutingDecision(
            route=route, commands=commands, usage=usage, notice=notice, plainly=self.chain is None
        )

    def _begun(
        self, given: activities.Decide, found: Selection
    ) -> tuple[Route, list[Command]] | None:
        """The flow that is so near that nobody has to be asked, and that nothing speaks against."""
        situation, said = given.situation, Utterance.of(given.message.text or "", given.account.now)
        asking = situation.active is not None and situation.active.asking
        if asking or not found.is_certain or objection(said.text) is not None:
            return None
        flow = self.capabilities.startable(found.candidates[0].name, given.account.caller)
        if flow is None or found.candidates[0].kind != "flow":
            return None
        return decider.begun(flow.flow, prefill_offered(flow.slots, said), found, situation.locale)

    def _offered(self, given: activities.Decide, found: Sequence[Selection]) -> Offer:
        caller = given.account.caller
        listed = decider.listed(found, self.capabilities.choosable_by(caller), self.policy)
        return self._offer(given, listed)

    def _offer(self, given: activities.Decide, near: Mapping[str, str]) -> Offer:
        """These of the house, with what waits to be changed and what the message asks to keep."""
        offer = self.capabilities.offer(given.account.caller, near, given.situation.active_form)
        offer = replace(offer, handed_in=given.situation.handed_in_forms)
        offer = replace(offer, tools={**offer.tools, **self._front_end(given)})
        words = decider.words_of(given.message)
        signs = memory_signs(normalise(words).text)
        asks = bool(signs) and self.memories is not None
        return replace(offer, memory=signs, said=words) if asks else offer

    def _front_end(self, given: activities.Decide) -> dict[str, Tool]:
        """What the front end can be called for, less what is called as something of the house."""
        return {t.name: t.tool for t in given.front_end if t.name not in self.capabilities.names}

    def _limits(self, given: activities.Decide, tool: str) -> CallLimits:
        return AT_FRONT_END if tool in self._front_end(given) else self.capabilities.limits(tool)

    def _decided(
        self,
        given: activities.Decide,
        decision: decider.ModelDecision,
        found: Retrieved,
        usage: Usage,
    ) -> activities.RoutingDecision:
        situation = given.situation
        active = situation.active.flow if situation.active else None
        wished = [name for c in decision.commands if (name := chosen(c, active))]
        near = self._nearness(given, found, len(wished))
        # What nobody said goes first: a call that lacks it becomes a form, and a form is doubted.
        means = (self.capabilities, self.policy, self.files, self.remembered)
        decision.commands = GroundedCommands(given, *means).held(decision.commands)
        commands, usable = decision.commands, self._usable(given)
        if self.policy.checked:
            commands = decider.checked(decision, near, active, usable, self._holds(given))
            if given.beside:
                own, words = decision.commands, decider.words_of(given.message)
                commands = [
                    c if c in own else decider.of_the_rest(c, words, situation.locale)
                    for c in commands
                ]
            if rest := self._left(given, found, commands):
                commands = [*commands, rest]
        why = ChoiceExplanation(decision.model, decision.prompt, near)
        asked_about = decider.doubted_in(decision.commands, near, active)
        routes = [decider.explained(c, active, why, asked_about) for c in commands]
        skills = self.capabilities.skills_of(c.skill for c in commands if isinstance(c, RunSkill))
        called = {c.tool for c in commands if isinstance(c, CallTool)}
        for skill in skills.values():
            called |= set(self.capabilities.tools_of(skill, given.account.caller))
        return activities.RoutingDecision(
            route=routes[0].replace(candidates=decider.shown(found.selections[0])),
            others=routes[1:],
            commands=commands,
            usage=usage,
            tools={name: self._limits(given, name) for name in sorted(called)},
            skills=skills,
            steps=self.policy.steps,
            reasoning=decision.reasoning,
            notice=replies.left_out(decision.answer, situation.locale),
        )

    def _left(
        self, given: activities.Decide, found: Retrieved, commands: Sequence[Command]
    ) -> Clarify | None:
        """What a clause wishes for that nothing was done for, to choose from; else None.

        Not while the model sees what its calls find: it may call what is missing then.
        """
        if any(isinstance(c, Clarify | HandOff) for c in commands):
            return None
        calls = [c for c in commands if isinstance(c, CallTool)]
        seen = any(not self.capabilities.limits(c.tool).return_direct for c in calls)
        if seen and len(calls) == len(commands) and len(given.rounds) + 1 < self.policy.steps:
            return None
        done = {call.tool for made in given.rounds for call in made.calls}
        done |= {name for c in commands if (name := chosen(c, None))}
        return decider.left_undone(found.parts, done, given.situation.locale) if done else None

    def _nearness(self, given: activities.Decide, found: Retrieved, wished: int) -> Nearness:
        """What is near; in later rounds every tool is, for what they are called with was found."""
        situation, in_play = given.situation, frozenset(given.situation.in_play)
        unwanted, text = frozenset[str](), normalise(decider.words_of(given.message)).text
        if any(each.stops(text) for each in _WANTS_NONE):
            unwanted = frozenset(self.capabilities.catalog.flows)
        return Nearness(
            found.selections,
            [*found.parts.values()],
            in_play,
            frozenset(self.capabilities.registry.names if given.rounds else ()),
            frozenset(self._front_end(given)),
            max(1, wished),
            unwanted,
            situation.active.flow if situation.active and asks(text) else None,
            _HOW_OR_WHAT.stops(text),
            situation.locale,
        )

    def _holds(self, given: activities.Decide) -> Callable[[str], bool]:
        """Whether what a model says by itself holds: it knows what was said and found before.

        What it says of results was looked at with them.
        """
        if given.rounds:
            return lambda _: True
        before = [line.told for line in given.history]
        words = decider.words_of(given.message)
        said_before = [*before, words, *self.files.words, *self.remembered, given.context]
        known, facts = cache(lambda: Evidence([], said_before, given.account.now)), self._facts
        return lambda said: known().doubt(said, of_names=False, of_facts=facts) is None

    @property
    def _facts(self) -> bool:
        """Whether facts are held against what is known: a model may see more than was read."""
        return not self.files.is_unread


_WANTS_NONE = (Blocker("change"), Blocker("negation"))
"""Something is taken back, or isn't wanted: no flow is to begin."""
_HOW_OR_WHAT = Blocker("how-or-what")
_BEFORE = 400
"""Characters of what was said before that a message which refers to it is searched with."""


def _recalled(made: ToolRound) -> list[RecalledCall]:
    """The calls of a round, each with what a model is told that it came to."""
    return [
        RecalledCall(
            id=call.id,
            name=call.tool,
            arguments=call.arguments,
            result=f"error: {f.error}" if f.error is not None else replies.told_of(f.result),
        )
        for call, f in zip(made.calls, made.findings, strict=True)
        # Of what merely failed there is nothing to say, and it is told plainly.
        if f.error is None or f.mendable
    ]


def _found_in(rounds: Sequence[ToolRound]) -> list[replies.Finding]:
    return [(f.tool, f.result, f.error) for f in settled(rounds)]
