"""Deciding what no rule could: an activity of its own, since it may take its time.

The model and its fallbacks are asked in order; where they can't answer right now Temporal
tries again in a moment, and where that doesn't help the deciding goes on without a model.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.capabilities import Capabilities
from activities.stated import stated
from router.contracts import activities
from router.deciding import nearest, phrasing, with_model
from router.deciding.offer import Offer
from router.deciding.with_model import Question
from router.domain.capabilities import Capability
from router.domain.commands import CallTool, Command, FillSlots, StartFlow
from router.llm.chat import ChatAnswer, ChatRequest
from router.llm.errors import ModelRefused, ModelUnavailable, NoModelAnswered
from router.llm.ladder import Ladder
from router.selection.index import CapabilityIndex
from router.selection.selected import Selection
from router.understanding.forms import form_values

MODEL_SECONDS = 40.0
"""For all models together, in one try of a decision."""
MODEL_TRIES = 2
"""Tries of a decision with models, before it is made without one."""
LONGEST_WAIT = 5.0
"""Seconds; a server that wants to be left alone for longer is done without."""

OnFailure = Callable[[ModelUnavailable], None]
"""Told why no model answered; may raise."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Decider:
    """Decides over what the caller may use; without a model where `ladder` is None."""

    capabilities: Capabilities
    index: CapabilityIndex
    ladder: Ladder | None

    @activity.defn(name=activities.DECIDE.name)
    async def decide(self, given: activities.Decide) -> activities.Decided:
        """Routes and commands, for every message there is."""
        return await self.decided(given, _again_soon)

    async def decided(
        self, given: activities.Decide, on_failure: OnFailure = lambda _: None
    ) -> activities.Decided:
        """The same outside Temporal, where nobody tries again.

        `on_failure` is told why no model answered, before the decision is made without one;
        it may raise to have none made.
        """
        found = await self._near(nearest.words_of(given.message), given)
        decision = await self._with_model(given, found, on_failure) if self.ladder else None
        if decision is None:
            route, commands = nearest.decide(given.message, given.situation, found)
            return activities.Decided(route=route, commands=commands)
        return self._decided(given, decision, found)

    @activity.defn(name=activities.PHRASE.name)
    async def phrase(self, given: activities.Phrase) -> activities.Phrased:
        """What tools found, said by a model, or plainly where none answers."""
        findings = [(f.tool, f.result, f.error) for f in given.findings]
        plainly = activities.Phrased(text=phrasing.plain(findings, given.locale))
        if self.ladder is None:
            return plainly
        try:
            answer = await self._ask(phrasing.request(given.text, findings, given.history))
        except (ModelUnavailable, ModelRefused):
            return plainly
        text = answer.text.strip()
        return activities.Phrased(text=text, usage=with_model.cost(answer)) if text else plainly

    async def _ask(self, request: ChatRequest) -> ChatAnswer:
        if self.ladder is None:
            raise NoModelAnswered(())
        return (await self.ladder.answer(request, MODEL_SECONDS)).answer

    async def _near(self, text: str, given: activities.Decide) -> Selection:
        usable = self.capabilities.visible_to(given.caller)
        return await nearest.find(self.index, usable, text, given.situation)

    async def _with_model(
        self, given: activities.Decide, found: Selection, on_failure: OnFailure
    ) -> with_model.Decision | None:
        """The model's decision; None where none can be had, or none that can be used."""
        offer, listed = self._offered(given, found)
        question = Question(
            text=nearest.words_of(given.message),
            offer=offer,
            capabilities=listed,
            history=given.history,
            now=given.situation.now,
        )
        try:
            return await with_model.decide(question, self._ask, self._widen_for(given))
        except ModelUnavailable as error:
            on_failure(error)
        except ModelRefused:
            logger.exception("the model refuses to decide")
        return None

    def _offered(
        self, given: activities.Decide, found: Selection
    ) -> tuple[Offer, list[Capability]]:
        listed = nearest.listed(found, self.capabilities.visible_to(given.caller))
        names = {capability.name for capability in listed}
        return self.capabilities.offer(given.caller, names, given.situation.active), listed

    def _widen_for(self, given: activities.Decide) -> with_model.Widen:
        async def widen(query: str) -> tuple[Offer, Sequence[Capability]]:
            return self._offered(given, await self._near(query, given))

        return widen

    def _decided(
        self, given: activities.Decide, decision: with_model.Decision, found: Selection
    ) -> activities.Decided:
        """The decision with its values in the shapes that slots have."""
        active = given.situation.active.flow if given.situation.active else None
        alone = sum(isinstance(command, StartFlow) for command in decision.commands) == 1
        commands = [self._shaped(command, given, alone) for command in decision.commands]
        reason = f"{decision.model} chose it"
        route, *others = [with_model.route_of(c, active, reason) for c in commands]
        called = {c.tool for c in commands if isinstance(c, CallTool)}
        return activities.Decided(
            route=route.model_copy(update={"candidates": nearest.shown(found)}),
            others=others,
            commands=commands,
            usage=decision.usage,
            tools={name: self.capabilities.limits(name) for name in sorted(called)},
        )

    def _shaped(self, command: Command, given: activities.Decide, alone: bool) -> Command:
        now = given.situation.now
        if isinstance(command, StartFlow):
            slots = self.capabilities.slots(command.flow)
            # Of several flows rules can't tell which of them is to have what they read.
            text = nearest.words_of(given.message) if alone else ""
            return command.model_copy(update={"slots": stated(slots, command.slots, text, now)})
        if isinstance(command, FillSlots) and given.situation.active is not None:
            slots = given.situation.active.fillable
            return command.model_copy(update={"slots": form_values(slots, command.slots, now)})
        return command


def _again_soon(error: ModelUnavailable) -> None:
    """Have Temporal try again, where that may help and nobody waits too long for it."""
    wait = error.retry_after if error.retry_after is not None else 1.0
    hopeless = isinstance(error, NoModelAnswered) and not error.worth_retrying
    if hopeless or wait > LONGEST_WAIT or activity.info().attempt >= MODEL_TRIES:
        return
    raise ApplicationError(
        str(error), type=type(error).__name__, next_retry_delay=timedelta(seconds=wait)
    ) from error
