"""A model that tools may ask to write something, on the account of whoever calls them."""

from dataclasses import dataclass

from activities.asking import Asking, Models
from activities.capabilities import Capabilities
from activities.metering import running
from router.contracts.activities import Account
from router.deciding.prompt import material
from router.deciding.prompts import Job, Prompts
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.llm.chat import ChatAnswer, ChatRequest, SystemMessage, UserMessage
from router.llm.errors import BudgetSpent, ContextTooLong, ModelRefused
from router.llm.ladder import Ladder
from router.tool.context import ToolContext
from router.tool.dependencies import Provider

SECONDS = 40.0
MOST_TOKENS = 4096
"""Of an answer: as much as any model writes in that time."""


@dataclass(frozen=True)
class Writer:
    """Writes texts about texts; `ladder` is None where no model is configured.

    Budgets and the day's spending are the caller's; what it costs is the call's, and so the
    turn's. Nothing is streamed: a tool's text isn't the turn's answer yet.
    """

    models: Models
    ladder: Ladder | None
    prompts: Prompts

    async def write(self, job: Job, ctx: ToolContext, **sections: str) -> str:
        """What a model writes, given these sections, each marked as material under its name.

        Raises:
            PermanentToolError: no model is configured, it declines, or nobody would pay for it.
            ArgumentsToolError: the text is longer than it can read, or write about whole.
            ModelUnavailable: none answers right now.
        """
        if self.ladder is None:
            raise PermanentToolError(
                "no model is configured here; an operator sets ROUTER_LLM_BASE_URL and "
                "ROUTER_LLM_MODEL"
            )
        meter = running()
        account = Account(caller=ctx.caller, now=ctx.now, seconds=SECONDS, spent=meter.total)
        asking = self.models.asking(self.ladder, account)
        try:
            return _text(await asking(self._request(job, ctx, sections)))
        except ContextTooLong as error:
            raise ArgumentsToolError(f"text: {error}; give it part by part") from error
        except (BudgetSpent, ModelRefused) as error:
            raise PermanentToolError(str(error)) from error
        finally:
            meter.add(asking.usage)

    def _request(self, job: Job, ctx: ToolContext, sections: dict[str, str]) -> ChatRequest:
        prompt = self.prompts.of(job, ctx.conversation or "", ctx.caller.locale)
        given = "\n".join(
            f"<{name}>\n{material(text)}\n</{name}>" for name, text in sections.items()
        )
        return ChatRequest(
            messages=(SystemMessage(text=prompt.text), UserMessage(text=given)),
            must_call=False,
            max_tokens=MOST_TOKENS,
            prompt=prompt.fingerprint,
        )


writer: Provider[Writer] = Provider("writer")
"""What tools name it by. They are offered to nobody where there is no model."""


async def within_means(offered: Capabilities, asking: Asking) -> Capabilities:
    """What may be offered to a model that is about to be asked, or would be.

    A tool that asks one itself isn't, where the question alone uses up what may be spent.
    """
    affordable = asking.ladder is None or await asking.affords(2)
    return offered if affordable else offered.without(writer)


def _text(answer: ChatAnswer) -> str:
    if answer.finish == "length":
        raise ArgumentsToolError("text: what is written of it is too long; give it part by part")
    text = answer.text.strip()
    if answer.refusal or not text:
        raise PermanentToolError(f"the model declines: {answer.refusal or 'it says nothing'}"[:500])
    return text
