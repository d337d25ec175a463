"""A draft of a flow out of a paragraph, by a model, on the account of the author who asks."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from activities.models import ModelQuestions, Models
from router.api.dependencies import Services
from router.contracts.activities import Account
from router.domain.errors import InvalidInput, TooManyRequests, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.extensions.importers.beginning import Beginning, BeginningContext
from router.extensions.importers.paragraph import ReadAnswer, UnusableAnswer, question
from router.llm.fallback import FallbackChains
from router.llm.types import BudgetSpent, ChatRequest, ModelRefused, ModelUnavailable
from router.routing.prompts import Prompts
from router.routing.structured import again

TRIES = 2
"""Answers of a model that are looked at: the second knows what was wrong with the first."""
SECONDS = 100.0
"""For both, of which questions get nine tenths: an author looks on meanwhile."""


@dataclass(frozen=True)
class FlowSketcher:
    """Asks for sketches of flows. The model is the one that has skills: it is a longer answer."""

    chains: FallbackChains
    prompts: Prompts
    models: Models

    @classmethod
    def from_services(cls, services: Services) -> Self:
        """Ask the models of a process of the API, within the budgets of its settings."""
        budgets, spending = services.settings.llm_budgets, services.store.spending
        models = Models(budgets, spending, thrifty=services.chains.thrifty)
        return cls(services.chains, services.prompts, models)

    async def beginning_of(
        self, author: Principal, paragraph: str, around: BeginningContext, read: ReadAnswer
    ) -> Beginning:
        """The draft that a model makes of the paragraph; nothing is kept of it.

        Its answers are read by `read`, which keeps nobody else waiting.

        Raises:
            InvalidInput: it tells of no process, or of one that is too large.
            TooManyRequests: nobody would pay for the question today.
            Unavailable: no model answers, or what it answers is of no use, twice.
        """
        now = datetime.now(ZoneInfo(author.timezone))
        account = Account(caller=author, now=now, seconds=SECONDS)
        asking = self.models.asking(self.chains.of("skill", tenant=author.tenant), account)
        asked = self.question(author, paragraph, around)
        try:
            return await self._asked(asking, asked, around, read)
        except BudgetSpent as error:
            if error.scope == "turn":
                raise InvalidInput.at("paragraph", _TOO_DEAR) from error
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            left = midnight.astimezone(UTC) - now.astimezone(UTC)
            raise TooManyRequests(_SPENT, max(1, int(left.total_seconds()))) from error
        except (ModelUnavailable, ModelRefused) as error:
            raise Unavailable(str(error), _AWAY) from error

    def question(self, author: Principal, paragraph: str, around: BeginningContext) -> ChatRequest:
        """What a model is asked about the paragraph, in the author's language."""
        locale: Locale = author.locale
        prompt = self.prompts.of("sketch", author.id, locale, author.tenant)
        return question(paragraph, around.roles, prompt.text, prompt.fingerprint)

    async def _asked(
        self,
        asking: ModelQuestions,
        asked: ChatRequest,
        around: BeginningContext,
        read: ReadAnswer,
    ) -> Beginning:
        for _ in range(TRIES):
            answer = await asking(asked)
            result = await read(answer, around)
            if not isinstance(result, UnusableAnswer):
                return result
            if result.why == "no_process":
                raise InvalidInput.at("paragraph", _NO_PROCESS)
            asked = again(asked, answer, result.words)
        raise Unavailable("the model's answers are of no use", _UNUSABLE)


_NO_PROCESS = Localised(
    zh="没有看出是什么流程：请说说谁来申请、要填什么、谁审批、之后做什么",
    en="no process is seen in it: say who asks, what they fill in, who agrees, and what is done "
    "then",
)
_TOO_DEAR = Localised(
    zh="这段话要用的模型额度超过一次提问的上限：请写短一点，或请管理员调高 ROUTER_LLM_BUDGETS",
    en="it takes more of the model than one question may: shorten it, or have an operator raise "
    "ROUTER_LLM_BUDGETS",
)
_SPENT = Localised(
    zh="今天的模型额度用完了，明天恢复；从文件、现成的流程或空白开始都不需要模型。",
    en="Today's model budget is spent and is back tomorrow. A file, the gallery or a flow from "
    "nothing take no model.",
)
_AWAY = Localised(
    zh="现在没有模型能回答，请稍后再试；从文件、现成的流程或空白开始都不需要模型。",
    en="No model answers right now: try again in a moment. A file, the gallery or a flow from "
    "nothing take no model.",
)
_UNUSABLE = Localised(
    zh="模型两次都没有给出能用的草稿：请再试一次，或换个说法。什么都没有保存。",
    en="The model gave no draft of any use, twice: try again, or say it in other words. Nothing "
    "was saved.",
)
