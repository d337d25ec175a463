"""Putting an answered turn into the schema that its caller gave: by rules, else by a model."""

import asyncio
from dataclasses import dataclass
from functools import partial

from pydantic import JsonValue
from temporalio import activity

from activities.models import ModelQuestions, Models
from activities.phrase import not_shown
from router.contracts import activities
from router.domain.messages import RefusalCode
from router.formats.check_threads import check_off_loop
from router.llm.fallback import FallbackChains
from router.llm.request import compact
from router.llm.types import BudgetSpent, ModelRefused, ModelUnavailable, TurnTimeOver
from router.routing import structured
from router.routing.prompts import Prompts
from router.routing.response_schema import ResponseSchema
from router.routing.structured import AnsweredTurn, Rejection

TRIES = 2
"""Answers of a model that are looked at: the second knows what was wrong with the first."""


@dataclass(frozen=True)
class Structurer:
    """Puts answers into schemas; by rules alone where nobody words what was found."""

    chains: FallbackChains
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.STRUCTURE.name)
    async def structure(self, given: activities.Structure) -> activities.Structured:
        """The turn as an object of the schema, or why there is none. It changes nothing."""
        schema, turn = ResponseSchema(given.response_schema), _turn_of(given)
        certain = await check_off_loop(partial(structured.by_rules, schema, turn))
        if certain is not None:
            if len(compact(certain)) <= structured.MAX_LENGTH:
                return activities.Structured(value=certain)
            return _refused(given, "too_long")
        if turn.asks:
            return _refused(given, "asks")
        chain = self.chains.of("phrase", tenant=given.account.caller.tenant)
        if chain is None:
            return _refused(given, "no_model")
        asking = self.models.asking(chain, given.account)
        made = await self._asked(asking, given, schema, turn)
        if isinstance(made, str):
            return _refused(given, made).replace(usage=asking.usage)
        return activities.Structured(value=made, usage=asking.usage)

    async def _asked(
        self,
        asking: ModelQuestions,
        given: activities.Structure,
        schema: ResponseSchema,
        turn: AnsweredTurn,
    ) -> dict[str, JsonValue] | RefusalCode:
        """What a model makes of it, or the code of why that is nothing."""
        account = given.account
        tenant = account.caller.tenant
        prompt = self.prompts.of("structure", account.conversation, given.locale, tenant)
        question = structured.request(prompt, schema, turn)
        # A tenth of a second where a result is long: that holds up nobody else.
        evidence = await asyncio.to_thread(turn.evidence, account.now)
        code: RefusalCode = "unfit"
        for _ in range(TRIES):
            try:
                answer = await asking(question)
            except BudgetSpent:
                return "budget"
            except TurnTimeOver:
                return "time"
            except (ModelUnavailable, ModelRefused):
                return "no_model"
            made = await check_off_loop(partial(structured.judged, answer, schema, evidence))
            if not isinstance(made, Rejection):
                return made
            if made.check:
                not_shown(answer.model, made.check, turn.findings)
            code = made.code
            if made.final:
                break
            question = structured.again(question, answer, made.words)
        return code


def _turn_of(given: activities.Structure) -> AnsweredTurn:
    return AnsweredTurn(
        text=given.text,
        said=given.said,
        asks=given.asks,
        route=given.route,
        findings=[(f.tool, f.result, f.error) for f in given.findings],
        flow=given.flow,
        history=given.history,
        locale=given.locale,
    )


def _refused(given: activities.Structure, code: RefusalCode) -> activities.Structured:
    return activities.Structured(refusal=structured.refused(code, given.locale, given.said))
