"""Deciding what no rule could: with a model, by nearness, or honestly not at all.

A model gets one call over a short list, and at most one more where it went wrong. Without one
the nearest capabilities are offered to choose from, or what there is.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    Misunderstood,
    ReplyText,
    RunSkill,
    StartFlow,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    Candidate,
    ChooseAction,
    Message,
    Option,
    Route,
    RouteKind,
    SpokenLine,
    Usage,
)
from router.domain.principals import Capability
from router.flow import paused
from router.flow.engine.run import HANDED_OFF
from router.flow.paused import Situation
from router.llm.types import ChatAnswer, ChatRequest, UserMessage
from router.llm.types import Message as ModelMessage
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection, Verdict, within_budget
from router.routing import offer as offered
from router.routing import prompts
from router.routing.interpretation import interpret
from router.routing.offer import Offer
from router.routing.prompts import Prompt

_ASKS_FOR_A_PERSON = re.compile(
    r"人工|真人|(?:找|跟|和|让)(?:个|一个)?人(?:说|聊|谈|来)|客服"
    r"|\b(?:talk|speak|chat)\b.{0,20}\b(?:human|person|agent|someone)\b"
    r"|\b(?:real|live) (?:human|person|agent)\b|\bhuman (?:agent|operator)\b"
    r"|^(?:human|agent|operator)\W*$",
    re.IGNORECASE,
)
"""A person is asked for by name, and no model is there to tell whether something else is meant."""

LOST = Localised(
    zh="这句我没把握。这里可以办这些，选一个就行：",
    en="I'm not sure what you mean. This is what can be done here; just choose one:",
)
MEANT = Localised(zh="你是想办这个吗？", en="Is it this that you mean?")
FOR_A_PERSON = Localised(zh="想找人工", en="asks for a person")
NEAR_OPTIONS = 3
REASONS: dict[Verdict, Localised] = {
    "clear": Localised(
        zh="有一项很接近，没有模型来判断", en="one capability is near, and no model decided"
    ),
    "several": Localised(
        zh="有几项接近，没有模型来判断", en="several capabilities are near, and no model decided"
    ),
    "none": Localised(
        zh="没有接近的，也没有模型来判断", en="nothing is near, and no model decided"
    ),
}
NO_ANSWER = Localised(
    zh="不像是对流程所问的回答", en="not understood as an answer to what the flow asks"
)
NOTHING_OPEN = Localised(zh="没有对此人开放的事项", en="nothing is open to this person")
NOTHING = Localised(
    zh="这句我没把握，而且目前没有对你开放的流程。请联系管理员。",
    en="I'm not sure what you mean, and nothing is open to you here yet. "
    "Please ask an administrator.",
)


def decide_without_model(
    message: Message,
    situation: Situation,
    capabilities: Sequence[Capability],
    verdict: Verdict = "none",
) -> tuple[Route, list[Command]]:
    """A route and its commands for a message that no rule took.

    While a flow asks something the message is taken for an answer that wasn't understood,
    and the flow asks again. Otherwise what the caller may do is offered, nearest first: as
    what was probably meant where `verdict` says that something is near, else as what there
    is; flows are always among it. What is chosen then starts, a tool as its form. Where it
    was asked which open flow to go on with, those come before it all.
    """
    active, locale = situation.active, situation.locale
    if active is not None and active.asking:
        # The flow hands off itself, by what it says to one miss too many.
        lost = active.no_matches + 1 == HANDED_OFF
        route = Route(
            kind="handoff" if lost else "flow",
            target=active.flow,
            by="slot",
            confidence=0.0,
            reason=NO_ANSWER.within(locale),
        )
        return route, [Misunderstood()]
    if _ASKS_FOR_A_PERSON.search(message.text or ""):
        reason = FOR_A_PERSON.within(locale)
        return Route(kind="handoff", by="fallback", reason=reason), [HandOff(reason=reason)]
    if not capabilities:
        reason = NOTHING_OPEN.within(locale)
        route = Route(kind="handoff", by="fallback", confidence=0.0, reason=reason)
        return route, [ReplyText(text=NOTHING.within(locale))]
    return _offered(situation, capabilities, verdict)


def _offered(
    situation: Situation, capabilities: Sequence[Capability], verdict: Verdict
) -> tuple[Route, list[Command]]:
    """The nearest and the flows to choose from, behind the open ones that were asked about."""
    locale, far = situation.locale, verdict == "none"
    near = list(capabilities[: offered.MOST_OPTIONS if far else NEAR_OPTIONS])
    flows = [c for c in capabilities if c.kind == "flow" and c not in near]
    shown = [*near, *flows][: offered.MOST_OPTIONS]
    options = [
        *(option for option in situation.offered if paused.run_meant(option.value)),
        *(Option(label=c.title.within(locale), value=c.name) for c in shown),
    ]
    route = Route(
        kind="clarify",
        target=capabilities[0].name if verdict == "clear" else None,
        by="fallback" if far else "retrieval",
        confidence=0.0 if far else 0.5,
        reason=REASONS[verdict].within(locale),
    )
    return route, [Clarify(text=(LOST if far else MEANT).within(locale), options=options)]


Ask = Callable[[ChatRequest], Awaitable[ChatAnswer]]
"""Puts a question to whatever model answers; raises where none does."""
Widen = Callable[[str], Awaitable[tuple[Offer, Sequence[Capability]]]]
"""What there is for a query of the model's own: a wider offer."""


MOST_TOKENS = 512
"""Of one decision, which takes 20 to 200; a small model that runs away is cut here."""


@dataclass(frozen=True)
class RoutingQuestion:
    """All that a decision depends on."""

    prompt: Prompt
    text: str
    offer: Offer
    capabilities: Sequence[Capability]
    history: Sequence[SpokenLine]
    situation: Situation
    earlier: Sequence[str] = ()


@dataclass
class ModelDecision:
    """What the model decided, and what had to be mended on the way."""

    commands: list[Command]
    model: str = ""
    prompt: str = ""
    problems: list[str] = field(default_factory=list)


async def decide_with_model(
    question: RoutingQuestion, ask: Ask, widen: Widen
) -> ModelDecision | None:
    """The model's decision; None where it twice gave none that can be used.

    Raises what `ask` raises.
    """
    problems: list[str] = []
    messages = _messages(question)
    for _ in range(3):
        request = ChatRequest(
            messages=messages,
            functions=question.offer.functions,
            spoken={offered.RESPOND: "text"},
            max_tokens=MOST_TOKENS,
            prompt=question.prompt.fingerprint,
        )
        answer = await ask(request)
        read = interpret(answer, question.offer)
        if read.search is not None and not read.commands:
            wider, there = await widen(read.search)
            last = replace(wider, may_search=False)
            question = replace(question, offer=last, capabilities=there)
            messages = _messages(question)
            continue
        if read.commands and (read.is_sound or problems):
            return ModelDecision(
                commands=read.commands,
                model=answer.model,
                prompt=question.prompt.fingerprint,
                problems=problems + read.problems,
            )
        if problems:
            return None
        problems = read.problems
        listed = "\n".join(f"- {problem}" for problem in problems[:5])
        complaint = f"That couldn't be used:\n{listed}\nDecide again."
        messages = (*messages, UserMessage(text=complaint))
    return None


def _messages(question: RoutingQuestion) -> tuple[ModelMessage, ...]:
    state = prompts.state_of(question.situation, question.earlier)
    return prompts.messages(
        question.prompt, question.text, question.capabilities, question.history, state
    )


def cost(answer: ChatAnswer) -> Usage:
    """What an answer cost, as turns count it."""
    return Usage(
        llm_calls=answer.attempts,
        prompt_tokens=answer.usage.prompt_tokens,
        completion_tokens=answer.usage.completion_tokens,
    )


def reason_of(decision: ModelDecision, locale: Locale) -> str:
    """Why a route is as it is: which model chose it, and what it was asked with.

    >>> reason_of(ModelDecision([], model="qwen", prompt="router-1@3b9c1c4d"), "en")
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
    target = None
    match command:
        case StartFlow(flow=name) | CallTool(tool=name) | RunSkill(skill=name):
            target = name
        case FillSlots() | CancelFlow() | Misunderstood():
            target = active
    kind = _KINDS.get(type(command), "reply")
    return Route(kind=kind, target=target, by="llm", reason=reason)


EVERYTHING = 4000
"""Tokens that all capabilities may take together to be told of at every message. More than a
selection may: what is always the same is read once and then cached, by servers small and large."""


async def find(
    index: CapabilityIndex, usable: Iterable[Capability], text: str, situation: Situation
) -> Selection:
    """What the text may be for among what the caller may use; the active flow is always there."""
    always = [situation.active.flow] if situation.active else []
    return await index.select(text, among=[one.name for one in usable], always=always)


def decide_by_nearness(
    message: Message, situation: Situation, found: Selection
) -> tuple[Route, list[Command]]:
    """A route, with what was considered, and its commands, where no model decides."""
    # A skill is a model's work: without one there is nothing to offer of it.
    listed = [c.capability for c in found.candidates if c.kind != "skill"]
    route, commands = decide_without_model(message, situation, listed, found.verdict)
    return route.model_copy(update={"candidates": shown(found)}), commands


def listed(found: Selection, usable: Sequence[Capability]) -> list[Capability]:
    """What a model is told of: all that is usable where it fits into a prompt, else the nearest.

    All of it reads the same at every message, and what reads the same is in the server's cache.
    """
    everything = within_budget(usable, EVERYTHING, len(usable))
    if len(everything) == len(usable):
        return everything
    return [candidate.capability for candidate in found.candidates]


def shown(found: Selection) -> list[Candidate]:
    """What was considered, as routes show it."""
    return [Candidate(kind=c.kind, name=c.name, score=c.score) for c in found.candidates]


def words_of(message: Message) -> str:
    """What was said; of a pressed option, its value."""
    if isinstance(message.action, ChooseAction):
        return str(message.action.value)
    return message.text or ""
