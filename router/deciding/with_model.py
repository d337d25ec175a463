"""Deciding with a model: one call over a short list, at most one more where it went wrong."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from router.deciding import offer as offered
from router.deciding import prompt
from router.deciding.interpretation import Interpretation, interpret
from router.deciding.offer import Offer
from router.deciding.prompts import Prompt
from router.domain.capabilities import Capability
from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    Misunderstood,
    RunSkill,
    StartFlow,
)
from router.domain.messages import Line, Route, RouteKind, Usage
from router.domain.texts import Locale
from router.flow.situation import Situation
from router.llm.chat import ChatAnswer, ChatRequest, Message, UserMessage

Ask = Callable[[ChatRequest], Awaitable[ChatAnswer]]
"""Puts a question to whatever model answers; raises where none does."""

Widen = Callable[[str], Awaitable[tuple[Offer, Sequence[Capability]]]]
"""What there is for a query of the model's own: a wider offer."""


MOST_TOKENS = 512
"""Of one decision, which takes 20 to 200; a small model that runs away is cut here."""


@dataclass(frozen=True)
class Question:
    """All that a decision depends on."""

    prompt: Prompt
    text: str
    offer: Offer
    capabilities: Sequence[Capability]
    history: Sequence[Line]
    situation: Situation
    earlier: Sequence[str] = ()


@dataclass
class Decision:
    """What the model decided, and what had to be mended on the way."""

    commands: list[Command]
    model: str = ""
    prompt: str = ""
    problems: list[str] = field(default_factory=list)


async def decide(question: Question, ask: Ask, widen: Widen) -> Decision | None:
    """The model's decision; None where it twice gave none that can be used.

    Raises what `ask` raises.
    """
    problems: list[str] = []
    messages = _messages(question)
    for _ in range(3):
        answer = await ask(_request(messages, question))
        read = interpret(answer, question.offer)
        if read.search is not None and not read.commands:
            wider, capabilities = await widen(read.search)
            question = replace(
                question, offer=replace(wider, may_search=False), capabilities=capabilities
            )
            messages = _messages(question)
            continue
        if read.commands and (read.is_sound or problems):
            return Decision(
                commands=read.commands,
                model=answer.model,
                prompt=question.prompt.fingerprint,
                problems=problems + read.problems,
            )
        if problems:
            return None
        problems = read.problems
        messages = (*messages, _complaint(read))
    return None


def _messages(question: Question) -> tuple[Message, ...]:
    state = prompt.state_of(question.situation, question.earlier)
    return prompt.messages(
        question.prompt, question.text, question.capabilities, question.history, state
    )


def _request(messages: tuple[Message, ...], question: Question) -> ChatRequest:
    return ChatRequest(
        messages=messages,
        functions=question.offer.functions,
        spoken={offered.RESPOND: "text"},
        max_tokens=MOST_TOKENS,
        prompt=question.prompt.fingerprint,
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


def reason_of(decision: Decision, locale: Locale) -> str:
    """Why a route is as it is: which model chose it, and what it was asked with.

    >>> reason_of(Decision([], model="qwen", prompt="router-1@3b9c1c4d"), "en")
    'qwen chose it, asked by router-1@3b9c1c4d'
    """
    if locale == "zh":
        return f"由 {decision.model} 选定，提示词 {decision.prompt}"
    return f"{decision.model} chose it, asked by {decision.prompt}"


_KINDS: dict[type, RouteKind] = {
    StartFlow: "flow",
    FillSlots: "flow",
    Misunderstood: "flow",
    CancelFlow: "cancel",
    CallTool: "tool",
    RunSkill: "skill",
    Clarify: "clarify",
    HandOff: "handoff",
}


def route_of(command: Command, active: str | None, reason: str) -> Route:
    """How a command of a model's is shown."""
    target = {
        "start_flow": getattr(command, "flow", None),
        "call_tool": getattr(command, "tool", None),
        "run_skill": getattr(command, "skill", None),
    }
    return Route(
        kind=_KINDS.get(type(command), "reply"),
        target=target.get(
            command.type,
            active if command.type in ("fill_slots", "cancel_flow", "misunderstood") else None,
        ),
        by="llm",
        reason=reason,
    )
