"""Deciding what no rule could: with a model, by nearness, or honestly not at all.

A model gets one call over a short list, and at most one more where it went wrong. Without one
the nearest capabilities are offered to choose from, or what there is.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from typing import Literal, Self, TypeGuard

from pydantic import JsonValue

from router.domain.commands import (
    Amend,
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
    RecalledCall,
    Route,
    RouteKind,
    SpokenLine,
    Usage,
)
from router.domain.principals import Capability
from router.flow import paused
from router.flow.engine.run_parts.question import HANDED_OFF
from router.flow.paused import Situation
from router.formats.check_threads import check_off_loop
from router.llm.types import NO_REASONING, ChatAnswer, ChatRequest, Reasoning, UserMessage
from router.llm.types import ChatMessage as ModelMessage
from router.retrieval.index import MOST, CapabilityIndex
from router.retrieval.selection import SearchVerdict, Selection, within_budget
from router.routing import offer as offered
from router.routing import prompts, replies
from router.routing.choice import ChoiceExplanation, Nearness, chosen
from router.routing.interpretation import interpret
from router.routing.message_files import NO_FILES, MessageFiles
from router.routing.offer import Offer
from router.routing.prompts import Prompt, Prompts

LOST = Localised(
    zh="这句我没把握。这里可以办这些，选一个就行：",
    en="I'm not sure what you mean. This is what can be done here; just choose one:",
)
MEANT = Localised(zh="你是想办这个吗？", en="Is it this that you mean?")
BESIDE = Localised(
    zh="另外，“{words}”是想办哪一项？", en="And “{words}”: which of these do you mean?"
)
NEAR_OPTIONS = 3
REASONS: dict[SearchVerdict, Localised] = {
    "clear": Localised(
        zh="有一项很接近，没有模型来判断", en="one capability is near, and no model decided"
    ),
    "several": Localised(
        zh="最接近的那项领先得不多，也没有模型来判断",
        en="the nearest isn't far ahead, and no model decided",
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
    situation: Situation,
    capabilities: Sequence[Capability],
    verdict: SearchVerdict = "none",
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
            confidence=None,
            reason=NO_ANSWER.within(locale),
        )
        return route, [Misunderstood()]
    if not capabilities:
        reason = NOTHING_OPEN.within(locale)
        route = Route(kind="handoff", by="fallback", reason=reason)
        return route, [ReplyText(text=NOTHING.within(locale))]
    return _offered(situation, capabilities, verdict)


def _offered(
    situation: Situation, capabilities: Sequence[Capability], verdict: SearchVerdict
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
        reason=REASONS[verdict].within(locale),
    )
    return route, [Clarify(text=(LOST if far else MEANT).within(locale), options=options)]


AskModel = Callable[[ChatRequest], Awaitable[ChatAnswer]]
"""Puts a question to whatever model answers; raises where none does."""
Widen = Callable[[str], Awaitable[Offer]]
"""What there is for a query of the model's own: another offer."""


@dataclass(frozen=True)
class DecisionPolicy:
    """What a model is asked with, and how its answers are looked at.

    `offer` are the capabilities that it is told of, the nearest, in so many `tokens` at most; None
    is everything, or no end. `steps` are the rounds of reading tools. The last two are there to
    measure what they do: a choice is `checked` against what is near, and values are `grounded` in
    what was said.
    """

    offer: int | None = 5
    tokens: int | None = 2500
    steps: int = 3
    checked: bool = True
    grounded: bool = True

    @classmethod
    def of(cls, offer: int | Literal["everything"], tokens: int | None, steps: int) -> Self:
        """The policy that settings ask for."""
        if offer == "everything":
            return cls(offer=None, tokens=tokens, steps=steps)
        return cls(offer=offer, tokens=tokens or cls.tokens, steps=steps)


MOST_TOKENS = 512
"""Of one decision, which takes 20 to 200; a small model that runs away is cut here."""


@dataclass(frozen=True)
class RoutingQuestion:
    """All that a decision depends on: the model is told of `offer`, and may name all `usable`."""

    prompt: Prompt
    text: str
    offer: Offer
    usable: Offer
    history: Sequence[SpokenLine]
    situation: Situation
    earlier: Sequence[str] = ()
    files: MessageFiles = NO_FILES
    remembered: Sequence[str] = ()
    """What the person asked to have remembered, as far as it is near to the message."""
    context: str = ""
    """What the house's hooks tell about the message."""
    so_far: Sequence[ModelMessage] = ()
    """What was called for the message already, and what it came to."""


@dataclass
class ModelDecision:
    """What the model decided, and what had to be mended on the way."""

    commands: list[Command]
    model: str = ""
    prompt: str = ""
    problems: list[str] = field(default_factory=list)
    answer: ChatAnswer | None = None

    @property
    def reasoning(self) -> Reasoning:
        """What the model thought, where it calls tools whose results it will be told."""
        is_called = any(isinstance(command, CallTool) for command in self.commands)
        return self.answer.reasoning if self.answer and is_called else NO_REASONING


async def decide_with_model(
    question: RoutingQuestion, ask: AskModel, widen: Widen
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
            must_call=not question.so_far,
            spoken={offered.RESPOND: "text"},
            max_tokens=replies.MOST_TOKENS if question.so_far else MOST_TOKENS,
            prompt=question.prompt.fingerprint,
        )
        answer = await ask(request)
        usable = replace(question.usable, may_search=question.offer.may_search)
        read = await check_off_loop(partial(interpret, answer, usable, last=bool(problems)))
        if read.search is not None and not read.commands:
            wider = replace(await widen(read.search), may_search=False)
            question = replace(question, offer=wider)
            messages = _messages(question)
            continue
        # With results at hand no answer is waited for that is better: the tools' own words do.
        if question.so_far or (read.commands and (read.is_sound or problems)):
            return ModelDecision(
                commands=read.commands if read.is_sound or not question.so_far else [],
                model=answer.model,
                prompt=question.prompt.fingerprint,
                problems=problems + read.problems,
                answer=answer,
            )
        if problems:
            return None
        problems = read.problems
        listed = "\n".join(f"- {problem}" for problem in problems[:5])
        complaint = f"That couldn't be used:\n{listed}\nDecide again."
        messages = (*messages, UserMessage(text=complaint))
    return None


def fixed_questions(rules: Prompts, offer: Offer) -> list[ChatRequest]:
    """What every decision begins with, as nobody's questions: one for each of the rules in use.

    `offer` is what is offered at every message. Servers read it ahead: a token is answer enough.
    """
    return [
        ChatRequest(
            messages=prompts.messages(prompt, "", (), ""),
            functions=offer.functions,
            max_tokens=1,
            prompt=prompt.fingerprint,
        )
        for prompt in rules.shared("router")
    ]


def _messages(question: RoutingQuestion) -> tuple[ModelMessage, ...]:
    told_of = (question.earlier, question.remembered, question.context)
    state = prompts.state_of(question.situation, *told_of)
    beside = question.files.beside
    told = prompts.messages(question.prompt, question.text, question.history, state, beside)
    return (*told, *question.so_far)


def called_so_far(
    rounds: Iterable[tuple[Sequence[RecalledCall], Reasoning]],
) -> list[ModelMessage]:
    """Calls that were made for the message, round by round, each with what it came to."""
    return [message for calls, reasoning in rounds for message in prompts.made(calls, reasoning)]


def cost(answer: ChatAnswer) -> Usage:
    """What an answer cost, as turns count it."""
    return Usage(
        llm_calls=answer.attempts,
        **answer.usage.model_dump(exclude={"estimated"}),
        cost=answer.cost,
        priced_calls=answer.attempts if answer.cost else 0,
        model=answer.asked or answer.model,
    )


_KINDS: dict[type, RouteKind] = {
    StartFlow: "flow",
    FillSlots: "flow",
    Amend: "flow",
    Misunderstood: "flow",
    CancelFlow: "cancel",
    CallTool: "tool",
    RunSkill: "skill",
    Clarify: "clarify",
    HandOff: "handoff",
}


def route_of(
    command: Command, active: str | None, reason: str, confidence: float | None = None
) -> Route:
    """How a command of a model's is shown."""
    target = None
    match command:
        case StartFlow(flow=name) | CallTool(tool=name) | RunSkill(skill=name):
            target = name
        case FillSlots() | CancelFlow() | Misunderstood():
            target = active
        case Amend(flow=name):
            target = name
    kind = _KINDS.get(type(command), "reply")
    return Route(kind=kind, target=target, by="llm", confidence=confidence, reason=reason)


async def find(
    index: CapabilityIndex,
    usable: Iterable[Capability],
    text: str,
    situation: Situation,
    offer: int | None = None,
) -> Selection:
    """What the text may be for among what the caller may use, at least so much as is offered.

    The active flow is always there, and what the last answer came from.
    """
    among = [one.name for one in usable]
    always = [*([situation.active.flow] if situation.active else []), *situation.in_play]
    most = max(MOST, offer or 0)
    return await index.select(text, among=among, always=always, budget=None, most=most)


def answers(command: Command, active: str) -> TypeGuard[FillSlots | StartFlow]:
    """Whether it is for the flow that asks: starting that one anew means answering it."""
    if isinstance(command, StartFlow):
        return command.flow == active and bool(command.slots)
    return isinstance(command, FillSlots)


def explained(
    command: Command, active: str | None, why: ChoiceExplanation, asked_about: Sequence[str]
) -> Route:
    """How a command of a model's is shown, and why it is this one."""
    confidence = None
    if isinstance(command, Clarify) and asked_about:
        reason = why.of(asked_about[0], doubted=True)
    elif isinstance(command, FillSlots | CancelFlow | Misunderstood):
        reason = why.of_answer
    elif isinstance(command, Amend):
        reason = why.of_amendment
    else:
        name = chosen(command, active)
        reason, confidence = why.of(name), why.near.confidence(name)
    route = route_of(command, active, reason, confidence)
    return route.replace(prompt=why.prompt or None)


def doubted_in(commands: Iterable[Command], near: Nearness, active: str | None) -> list[str]:
    """The capabilities that commands are for and that aren't near enough."""
    return [
        name
        for command in commands
        if (name := chosen(command, active))
        if near.doubts(name, starts=isinstance(command, StartFlow))
    ]


def checked(
    decision: ModelDecision,
    near: Nearness,
    active: str | None,
    usable: Offer,
    holds: Callable[[str], bool] = lambda _: True,
) -> list[Command]:
    """The commands, with those that are doubted put to the person as one question, said last.

    Words that don't hold aren't said, nor asked with; where nothing else is left, it is asked what
    is meant.
    """
    doubted = doubted_in(decision.commands, near, active)
    said = [c for c in decision.commands if (words := _words_of(c)) and not holds(words)]
    sure = [c for c in decision.commands if chosen(c, active) not in doubted and c not in said]
    gives_up = len(sure) == 1 and near.contradicts(sure[0])
    if not doubted and sure and not gives_up:
        return sure
    done = [c for c in sure if not isinstance(c, Clarify | ReplyText | HandOff)]
    return [*([] if gives_up else done), near.question(doubted, usable.capabilities)]


def _words_of(command: Command) -> str:
    """What of a command a model put into words that the person reads."""
    match command:
        case ReplyText(text=text) | HandOff(reason=text):
            return text
        case Clarify(text=text, options=options):
            return "\n".join([text, *(option.label for option in options)])
    return ""


def decide_by_nearness(situation: Situation, found: Selection) -> tuple[Route, list[Command]]:
    """A route, with what was considered, and its commands, where no model decides."""
    # A skill is a model's work: without one there is nothing to offer of it.
    listed = [c.capability for c in found.candidates if c.kind != "skill"]
    route, commands = decide_without_model(situation, listed, found.verdict)
    return route.replace(candidates=shown(found)), commands


NEAREST = Localised(
    zh="它比别的都近得多：这么近的，一百次里有九十九次是它",
    en="nothing else is nearly as near: of those that are, 99 in 100 are meant",
)


def begun(
    flow: str, slots: Mapping[str, JsonValue], found: Selection, locale: Locale
) -> tuple[Route, list[Command]]:
    """The route and the start of a flow that `Selection.is_certain` speaks for."""
    reason = NEAREST.within(locale)
    route = Route(kind="flow", target=flow, by="retrieval", reason=reason, candidates=shown(found))
    return route, [StartFlow(flow=flow, slots=dict(slots))]


def decide_beside(
    message: Message, situation: Situation, found: Selection
) -> tuple[Route, list[Command]]:
    """The same for what is left of a message: a flow that asks has its answer, or none in it."""
    alone = situation.replace(active=None, offered=[])
    route, commands = decide_by_nearness(alone, found)
    return route, [of_the_rest(c, words_of(message), situation.locale) for c in commands]


def of_the_rest(command: Command, words: str, locale: Locale) -> Command:
    """The command; a question which is meant names the words that it is about."""
    which = BESIDE.within(locale).format(words=words)
    return command.replace(text=which) if isinstance(command, Clarify) else command


def left_undone(
    parts: Mapping[str, Selection], done: Collection[str], locale: Locale
) -> Clarify | None:
    """The question which is meant by the first clause that none of what was done is near to."""
    for words, near in parts.items():
        if not {c.name for c in near.candidates[: near.thresholds.places]} & set(done):
            options = [
                Option(label=c.capability.title.within(locale) or c.name, value=c.name)
                for c in near.candidates[:NEAR_OPTIONS]
            ]
            which = BESIDE.within(locale).format(words=words)
            return Clarify(text=which, options=options, about=words)
    return None


def listed(
    found: Sequence[Selection], usable: Sequence[Capability], policy: DecisionPolicy
) -> dict[str, str]:
    """What a model is told of, by name, with what was once said that is nearest to the message.

    The nearest come first, in turn where several were found: each has its first. Everything reads
    the same at every message, for servers' caches: it is in a fixed order, without examples, and
    less what is far where it is too much.
    """
    in_turn = zip_longest(*(one.candidates for one in found))
    candidates = list(filter(None, chain.from_iterable(in_turn)))
    near = list({one.name: one.capability for one in candidates}.values())
    if policy.offer is not None:
        few = within_budget(near, policy.tokens, policy.offer)
        said = {one.name: one.example for one in reversed(candidates)}
        return {one.name: said[one.name] for one in few}
    every = sorted(usable, key=lambda one: (one.kind, one.name))
    ranked = [*near, *(one for one in every if one not in near)]
    kept = within_budget(ranked, policy.tokens, len(ranked))
    return {one.name: "" for one in every if one in kept}


def shown(found: Selection) -> list[Candidate]:
    """What was considered, as routes show it."""
    return [Candidate(kind=c.kind, name=c.name, score=c.score) for c in found.candidates]


def words_of(message: Message) -> str:
    """What was said; of a pressed option, its value."""
    if isinstance(message.action, ChooseAction):
        return str(message.action.value)
    return message.text or ""
