"""Deciding with a model: one call over a short list, at most one more where it went wrong."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from router.deciding import offer as offered
from router.deciding import prompt
from router.deciding.interpretation import Interpretation, interpret
from router.deciding.offer import Offer
from router.domain.capabilities import Capability
from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    StartFlow,
)
from router.domain.messages import Line, Route, RouteKind, Usage
from router.llm.chat import ChatAnswer, ChatRequest, Message, UserMessage

Ask = Callable[[ChatRequest], Awaitable[ChatAnswer]]
"""Puts a question to whatever model answers; raises where none does."""

Widen = Callable[[str], Awaitable[tuple[Offer, Sequence[Capability]]]]
"""What there is for a query of the model's own: a wider offer."""


@dataclass(frozen=True)
class Question:
    """All that a decision depends on."""

    text: str
    offer: Offer
    capabilities: Sequence[Capability]
    history: Sequence[Line]
    now: datetime


@dataclass
class Decision:
    """What the model decided, what it cost, and what had to be mended on the way."""

    commands: list[Command]
    usage: Usage
    model: str = ""
    problems: list[str] = field(default_factory=list)


async def decide(question: Question, ask: Ask, widen: Widen) -> Decision | None:
    """The model's decision; None where it twice gave none that can be used.

    Raises what `ask` raises.
    """
    usage = Usage()
    problems: list[str] = []
    messages = _messages(question)
    for _ in range(3):
        answer = await ask(_request(messages, question.offer))
        usage += cost(answer)
        read = interpret(answer, question.offer)
        if read.search is not None and not read.commands:
            wider, capabilities = await widen(read.search)
            question = replace(
                question, offer=replace(wider, may_search=False), capabilities=capabilities
            )
            messages = _messages(question)
            continue
        if read.commands and (read.is_sound or problems):
            return Decision(read.commands, usage, answer.model, problems + read.problems)
        if problems:
            return None
        problems = read.problems
        messages = (*messages, _complaint(read))
    return None


def _messages(question: Question) -> tuple[Message, ...]:
    return prompt.messages(
        question.text,
        question.capabilities,
        question.offer.active,
        question.history,
        question.now,
    )


def _request(messages: tuple[Message, ...], offer: Offer) -> ChatRequest:
    return ChatRequest(
        messages=messages,
        functions=offer.functions,
        spoken={offered.RESPOND: "text"},
        prompt=prompt.fingerprint(),
    )


def _complaint(read: Interpretation) -> Message:
    problems = "\n".join(f"- {problem}" for problem in read.problems[:5])
    return UserMessage(text=f"That couldn't be used:\n{problems}\nDecide again.")


def cost(answer: ChatAnswer) -> Usage:
    """What an answer cost, as turns count it."""
    return Usage(
        llm_calls=answer.attempts,
        prompt_tokens=answer.usage.prompt_tokens,
        completion_tokens=answer.usage.completion_tokens,
    )


_KINDS: dict[type, RouteKind] = {
    StartFlow: "flow",
    FillSlots: "flow",
    CancelFlow: "cancel",
    CallTool: "tool",
    Clarify: "clarify",
    HandOff: "handoff",
}


def route_of(command: Command, active: str | None, reason: str) -> Route:
    """How a command of a model's is shown."""
    target = {
        "start_flow": getattr(command, "flow", None),
        "call_tool": getattr(command, "tool", None),
    }
    return Route(
        kind=_KINDS.get(type(command), "reply"),
        target=target.get(
            command.type, active if command.type in ("fill_slots", "cancel_flow") else None
        ),
        by="llm",
        reason=reason,
    )
