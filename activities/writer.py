"""A model that tools may ask to write something, on the account of whoever calls them.

What that costs goes from deep within the tool to whoever answers for the call by a context
variable: `with metered(call.spent) as meter`, and then `meter.usage`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from activities.capabilities import Capabilities
from activities.models import ModelQuestions, Models
from router.contracts.activities import Account
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import Localised
from router.domain.messages import Usage
from router.llm.fallback import FallbackChain
from router.llm.types import (
    BudgetSpent,
    ChatAnswer,
    ChatRequest,
    ContextTooLong,
    ModelRefused,
    SystemMessage,
    UserMessage,
)
from router.routing.prompts import Prompts, material
from router.routing.replies import BUDGET_SPENT
from router.tool.context import Provider, ToolContext


@dataclass
class Meter:
    """What the turn had spent before the call, and what the call has cost so far."""

    spent: Usage = field(default_factory=Usage)
    usage: Usage = field(default_factory=Usage)


_running: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered(spent: Usage) -> Iterator[Meter]:
    """Count what is spent within, by this task and by those that it starts."""
    meter = Meter(spent)
    token = _running.set(meter)
    try:
        yield meter
    finally:
        _running.reset(token)


def spent_here() -> Usage:
    """Return what was spent so far within the nearest `metered`; nothing outside of any."""
    meter = _running.get()
    return meter.usage if meter else Usage()


SECONDS = 44.0
"""Of which a question gets nine tenths, as in a turn."""
MOST_TOKENS = 4096
"""Of an answer: as much as any model writes in that time."""


@dataclass(frozen=True)
class Writer:
    """Writes texts about texts, unstreamed; `chain` is None where no model is configured."""

    models: Models
    chain: FallbackChain | None
    prompts: Prompts

    async def write(self, job: str, ctx: ToolContext, **sections: str) -> str:
        """What a model writes, given these sections, each marked as material under its name.

        Raises `PermanentToolError` where there is no model, it declines, or nobody would pay,
        `ArgumentsToolError` where the text is too long, `ModelUnavailable` where none answers now.
        """
        if self.chain is None:
            raise PermanentToolError(_NO_MODEL)
        meter = _running.get() or Meter()
        spent = meter.spent + meter.usage
        account = Account(caller=ctx.caller, now=ctx.now, seconds=SECONDS, spent=spent)
        asking = self.models.asking(self.chain, account)
        try:
            return _text(await asking(self._request(job, ctx, sections)))
        except ContextTooLong as error:
            zh = f"text：模型一次读不完，请分段给（{error}）"
            en = f"text: {error}; give it part by part"
            raise ArgumentsToolError(Localised(zh=zh, en=en)) from error
        except BudgetSpent as error:
            said = Localised(zh=BUDGET_SPENT[error.scope].zh, en=str(error))
            raise PermanentToolError(said) from error
        except ModelRefused as error:
            said = Localised(zh=f"模型不接受这个请求：{error}", en=str(error))
            raise PermanentToolError(said) from error
        finally:
            meter.usage += asking.usage

    def _request(self, job: str, ctx: ToolContext, sections: dict[str, str]) -> ChatRequest:
        prompt = self.prompts.of(job, ctx.conversation or "", ctx.locale, ctx.caller.tenant)
        given = "\n".join(
            f"<{name}>\n{material(text)}\n</{name}>" for name, text in sections.items()
        )
        return ChatRequest(
            messages=(SystemMessage(text=prompt.text), UserMessage(text=given)),
            must_call=False,
            max_tokens=MOST_TOKENS,
            prompt=prompt.fingerprint,
        )


_NO_MODEL = Localised(
    zh="这里没有配置模型，请管理员设置 ROUTER_LLM_BASE_URL 和 ROUTER_LLM_MODEL",
    en="no model is configured here; an operator sets ROUTER_LLM_BASE_URL and ROUTER_LLM_MODEL",
)


writer: Provider[Writer] = Provider(
    "writer", unset=lambda settings: "" if settings.models else "ROUTER_LLM_MODEL"
)
"""What tools name it by. They are offered to nobody where there is no model."""


async def within_means(offered: Capabilities, asking: ModelQuestions) -> Capabilities:
    """What may be offered to a model: no tool that asks one itself, where one question is all."""
    affordable = asking.chain is None or await asking.affords(2)
    return offered if affordable else offered.without(writer)


def _text(answer: ChatAnswer) -> str:
    if answer.finish == "length":
        zh = "text：要写出来的太长了，请分段给"
        en = "text: what is written of it is too long; give it part by part"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    text = answer.text.strip()
    if answer.refusal or not text:
        words = (answer.refusal or "")[:400]
        zh = f"模型拒绝了：{words or '它什么也没说'}"
        en = f"the model declines: {words or 'it says nothing'}"
        raise PermanentToolError(Localised(zh=zh, en=en))
    return text
