"""Saying what tools found: by a model, as far as its words hold, or plainly."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import activity

from activities.answer_cache import SharedAnswers
from activities.models import Models
from router.contracts import activities
from router.flow.prompts.values import in_own_words
from router.llm.fallback import FallbackChains
from router.llm.types import BudgetSpent, ModelRefused, ModelUnavailable
from router.routing import replies
from router.routing.faithfulness import Doubt
from router.routing.prompts import Prompts
from router.telemetry.metrics import UNFAITHFUL

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Phraser:
    """Puts findings into words; plainly where there is no model."""

    chains: FallbackChains
    prompts: Prompts
    models: Models
    answers: SharedAnswers | None = None
    """Wordings that are the same for everyone; None: every finding is worded anew."""

    @activity.defn(name=activities.PHRASE.name)
    async def phrase(self, given: activities.Phrase) -> activities.Phrased:
        """What tools found, said by a model; plainly where none does, or its words don't hold."""
        plainly = activities.Phrased(text=_plainly(given))
        findings, tenant = _found(given), given.account.caller.tenant
        chain = self.chains.of("phrase", tenant=tenant)
        if chain is None or all(error is not None for _, _, error in findings):
            return plainly
        account = given.account
        prompt = self.prompts.of("phrase", account.conversation, given.locale, tenant)
        scope = ""
        if self.answers is not None:
            scope = self.answers.wording_scope(given, [prompt.fingerprint, *chain.states])
            if known := await self.answers.worded_before(given, scope):
                return activities.Phrased(text=known)
        asking = self.models.asking(chain, account)
        given_for = (given.text, findings, given.history, account.now)
        # A tenth of a second where a result is long: that holds up nobody else.
        found = await asyncio.to_thread(replies.evidence, *given_for)
        question = replies.request(prompt, given.text, findings, given.history)
        try:
            answer = await asking(question, lambda said: found.doubt(said) is None)
        except (ModelUnavailable, ModelRefused, BudgetSpent):
            return plainly
        said = replies.judged(answer, found)
        if isinstance(said, Doubt):
            not_shown(answer.model, said.check, findings)
            await asking.take_back(plainly.text)
            return plainly.replace(usage=asking.usage)
        whole = replies.completed(said, findings, given.locale)
        if self.answers is not None:
            await self.answers.keep_wording(given, scope, whole)
        return activities.Phrased(text=whole, usage=asking.usage)


def not_shown(model: str, check: str, findings: Sequence[replies.Finding]) -> None:
    """Note that what a model said of these isn't shown to anybody."""
    # Its words may be anybody's: they aren't for the log.
    about = ", ".join(tool for tool, _, _ in findings)
    logger.warning("what %s said of %s isn't shown: %s", model, about, check)
    UNFAITHFUL.labels(check).inc()


def _plainly(given: activities.Phrase) -> str:
    return in_own_words(((f.result, f.error) for f in given.findings), given.locale)


def _found(given: activities.Phrase) -> list[replies.Finding]:
    return [(f.tool, f.result, f.error) for f in given.findings]
