"""One step of a skill's sub-agent: what the model is asked, and what its answer comes to.

What of its memory a sub-agent's next step is sent, so that the question fits the model.

A question has four layers: rules (the prompt and the skill's instructions), capabilities and
state (functions, notes), history (what was said before, and the dialogue of the run), and the
input (the request). All but the dialogue are as large as they are; it has the room that they
leave. Where it outgrows that, results give way first, then whole exchanges, oldest first.

What gives way is gone for good, and more than has to be: so every step is sent a bounded
question, and most of them begin with the very words of the one before, which servers keep.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from router.domain.commands import StartFlow
from router.domain.messages import SpokenLine, Usage
from router.flow.definition import FlowDefinition
from router.llm.request import estimated_prompt_tokens, estimated_tokens
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    Function,
    FunctionCall,
    Message,
    SystemMessage,
    TokenUsage,
    ToolMessage,
    UserMessage,
)
from router.routing import interpretation
from router.routing.offer import FLOW, dispatch, function
from router.routing.prompts import Prompt, material, shown
from router.routing.skill_memory import LONGEST_EARLIER, AgentMemory, Measure
from router.skill.plan import StepBrief
from router.skill.skill import Skill, listed
from router.tool.tool import Tool

ASK_USER, DONE, HAND_BACK, NOTE = "ask_user", "done", "hand_back", "note"
MISSING = "say_missing"
ENDINGS = {ASK_USER: "text", DONE: "result", MISSING: "text"}
"""The functions that end a run, and the argument of each that is said to the employee."""
_ASKING = {ASK_USER, MISSING}
MOST_CALLS = 6
"""Calls of one answer."""
LONGEST_ANSWER = 2048
"""Tokens of one answer: a page of text."""
LONGEST_CALLS = 16_000
"""Characters of their arguments together: more than a server writes that keeps to its limit."""

_TEXT = {"type": "string", "maxLength": 4000}
_ENDINGS = (
    function(ASK_USER, "Ask the employee one question that only they can answer.", text=_TEXT),
    function(DONE, "End, with the answer for the employee.", result=_TEXT),
)
_ENDINGS_OF_A_STEP = (
    function(MISSING, "End, for want of something that only the employee knows.", text=_TEXT),
    function(DONE, "End, with what you found.", result=_TEXT),
)
_NOTE = function(
    NOTE,
    "Keep something for your later steps, under a key; an empty value forgets it.",
    key={"type": "string", "maxLength": 80},
    value={"type": "string", "maxLength": 1000},
)
_HAND_BACK = function(
    HAND_BACK, "What the employee said last has nothing to do with your task: the desk takes it."
)
ASK = "ask"
"""The question of a run that works by a plan."""
WAITED_FOR = {ASK_USER, FLOW, ASK}
"""What the employee answers."""
LAST_STEP = "This is your last step: answer now, with what you have, and say what is still open."


class Task(BaseModel):
    """What a skill was chosen for: the same through all of its steps.

    With a `part` it is one step of a plan, which can neither ask the employee nor leave.
    """

    model_config = ConfigDict(frozen=True)

    skill: Skill
    request: str
    history: list[SpokenLine] = []
    now: datetime
    part: StepBrief | None = None


@dataclass(frozen=True)
class Means:
    """What a sub-agent may call, and the forms that it may send the employee to."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)


class Thought(BaseModel):
    """What one answer of the model comes to.

    `said` goes into the dialogue, with `refused` as the answers to those of its calls that
    aren't made; `calls` are those that are. Where `text` is set the sub-agent has ended: with
    its answer, or with a question where `asks`; with `flow` it leaves for a form, and where it
    `hands_back` the message was none for it. `complaint` is for the model, where its answer
    was of no use at all, and `aside` where part of it was. `measure` is how large the question
    was. `spent` says to the employee that no
    budget paid for an answer; `last` that none pays for another one.
    """

    model_config = ConfigDict(frozen=True)

    said: AssistantMessage = AssistantMessage()
    calls: tuple[FunctionCall, ...] = ()
    refused: tuple[ToolMessage, ...] = ()
    notes: dict[str, str] = {}
    text: str | None = None
    asks: bool = False
    flow: StartFlow | None = None
    hands_back: bool = False
    complaint: str | None = None
    aside: str = ""
    spent: str = ""
    last: bool = False
    usage: Usage = Usage()
    measure: Measure | None = None


def request(
    prompt: Prompt, task: Task, means: Means, memory: AgentMemory, *, last: bool = False
) -> ChatRequest:
    """The question of one step; what never changes within a run comes first.

    In four layers: rules, with the skill's instructions; what can be called; what was said and
    found; and what is to be heeded right now. The `last` step has nothing to call.
    """
    return ChatRequest(
        messages=(
            SystemMessage(text=rules(prompt, task.skill)),
            UserMessage(text=opening(task)),
            *recalled(memory),
            *memory.dialogue,
            *heeded(memory, last=last),
        ),
        functions=_endings(task) if last else _functions(task, means, memory),
        must_call=False,
        max_calls=MOST_CALLS,
        spoken=ENDINGS,
        max_tokens=LONGEST_ANSWER,
        prompt=prompt.fingerprint,
    )


def rules(prompt: Prompt, skill: Skill) -> str:
    """What holds for the skill, its instructions, and the files that it brings."""
    return f"{prompt.text}\n{skill.instructions}{listed(skill)}"


def opening(task: Task) -> str:
    """When it is, what was said before, and what is wanted: the same at every question of a run."""
    before = "\n".join(f"{line.role}: {line.text}" for line in task.history)
    return (
        f"Now: {task.now:%A %Y-%m-%d %H:%M}.\n<history>\n{material(before)}\n</history>\n"
        f"<request>\n{material(task.request)}\n</request>"
    ) + (_brief(task.part) if task.part else "")


def _brief(part: StepBrief) -> str:
    """What one step of a plan is to do, what it can build on, and what of it didn't do before."""
    found = "\n".join(f"{id_}: {material(text)}" for id_, text in part.results.items())
    tried = "\n".join(f"- {material(why)}" for why in part.tries)
    return (
        f"\n<step>\n{material(part.task)}\n</step>\n<results>\n{found}\n</results>\n"
        f"<tried>\n{tried}\n</tried>"
    )


def recalled(memory: AgentMemory) -> list[Message]:
    """What is gone from the dialogue, in short."""
    text = f"<earlier>\n{material(memory.earlier)}\n</earlier>"
    return [UserMessage(text=text)] if memory.earlier else []


def heeded(memory: AgentMemory, *, last: bool) -> list[Message]:
    """Said anew at every step, and kept nowhere."""
    parts = []
    if memory.notes:
        notes = json.dumps(memory.notes, ensure_ascii=False)
        parts.append(f"<notes>\n{material(notes)}\n</notes>")
    if last:
        parts.append(LAST_STEP)
    return [UserMessage(text="\n".join(parts))] if parts else []


def _endings(task: Task) -> tuple[Function, ...]:
    return _ENDINGS_OF_A_STEP if task.part else _ENDINGS


def _functions(task: Task, means: Means, memory: AgentMemory) -> tuple[Function, ...]:
    offered = (means.tools[name] for name in sorted(means.tools))
    flows = [means.flows[name] for name in sorted(means.flows)]
    return (
        *(
            Function(name=t.name, description=t.description, parameters=dict(t.parameters))
            for t in offered
        ),
        *([dispatch(flows)] if flows else []),
        _NOTE,
        *_endings(task),
        *handing_back(memory),
    )


def handing_back(memory: AgentMemory) -> list[Function]:
    """The way back to the desk, where the employee was asked: they may have said anything."""
    heard = any(isinstance(m, ToolMessage) and m.name in WAITED_FOR for m in memory.dialogue)
    return [_HAND_BACK] if heard else []


def read(answer: ChatAnswer, means: Means) -> Thought:
    """What the answer comes to. Its calls are untrusted: none is made that doesn't fit."""
    if (length := sum(len(json.dumps(call.arguments)) for call in answer.calls)) > LONGEST_CALLS:
        most = f"{length} characters of arguments, where {LONGEST_CALLS} are the most"
        return Thought(complaint=f"That couldn't be used: {most}. Go on.")
    ended = _ending_of(answer) or _leaving(answer, means)
    if ended is not None:
        return ended
    if not answer.calls:
        what = "; ".join(answer.problems) or "it called nothing and said nothing"
        return Thought(complaint=f"That couldn't be used: {what}. Go on.")
    problems = {call.id: _problem(call, means) for call in answer.calls}
    fine = [call for call in answer.calls if problems[call.id] is None]
    noted = [call for call in fine if call.name == NOTE]
    return Thought(
        said=AssistantMessage(text=answer.text, calls=answer.calls),
        calls=tuple(_tidied(call, means.tools) for call in fine if call.name != NOTE),
        refused=(
            *(
                _told(call, f"error: {problem}")
                for call in answer.calls
                if (problem := problems[call.id]) is not None
            ),
            *(_told(call, "noted") for call in noted),
        ),
        aside=_left_out(answer),
        notes={str(call.arguments["key"]): str(call.arguments["value"]) for call in noted},
    )


def _left_out(answer: ChatAnswer) -> str:
    """What of the answer was dropped before anybody could look at it: calls beyond the most."""
    dropped = [each for each in answer.problems if not each.startswith("there is no function")]
    return f"Of your answer was left out: {'; '.join(dropped)}." if dropped else ""


def _ending_of(answer: ChatAnswer) -> Thought | None:
    """Where the answer ends the run. Calls beside the ending aren't made: it has its result."""
    for call in answer.calls:
        argument = ENDINGS.get(call.name)
        said = call.arguments.get(argument) if argument else None
        if isinstance(said, str) and shown(said):
            about = _waiting_on(call, answer) if call.name in _ASKING else {}
            return Thought(text=shown(said), asks=call.name in _ASKING, **about)
    said = shown(answer.text) or shown(answer.refusal or "")
    if not said or answer.calls:
        return None
    return Thought(text=said, said=AssistantMessage(text=said))


def _leaving(answer: ChatAnswer, means: Means) -> Thought | None:
    """Where the answer sends the employee to a form, or the message back to the desk."""
    for call in answer.calls:
        if call.name == HAND_BACK:
            return Thought(hands_back=True, **_waiting_on(call, answer))
        name, slots = call.arguments.get("flow_name"), call.arguments.get("slots")
        if call.name == FLOW and isinstance(name, str) and name in means.flows:
            given = slots if isinstance(slots, dict) else {}
            return Thought(flow=StartFlow(flow=name, slots=given), **_waiting_on(call, answer))
    return None


def _waiting_on(call: FunctionCall, answer: ChatAnswer) -> dict[str, Any]:
    """What goes into the dialogue where one call's result comes later, and no other is made."""
    others = (other for other in answer.calls if other.id != call.id)
    return {
        "said": AssistantMessage(text=answer.text, calls=answer.calls),
        "refused": tuple(_told(other, "skipped: one thing at a time") for other in others),
    }


def _told(call: FunctionCall, text: str) -> ToolMessage:
    return ToolMessage(call_id=call.id, name=call.name, text=text)


def _tidied(call: FunctionCall, tools: Mapping[str, Tool]) -> FunctionCall:
    given = interpretation.known(tools[call.name], call.arguments)
    return call.model_copy(update={"arguments": given})


def _problem(call: FunctionCall, means: Means) -> str | None:
    """Why the call can't be made."""
    if call.name in ENDINGS:
        return f"{ENDINGS[call.name]} has to be text"
    if call.name == NOTE:
        texts = (call.arguments.get("key"), call.arguments.get("value"))
        return None if all(isinstance(t, str) for t in texts) else "key and value have to be text"
    if call.name == FLOW and means.flows:
        return f"flow_name has to be one of: {', '.join(sorted(means.flows))}"
    tool = means.tools.get(call.name)
    if tool is None:
        return f"there is no tool {call.name[:60]!r}; there are: {', '.join(sorted(means.tools))}"
    return interpretation.problem(tool, interpretation.known(tool, call.arguments))


STEP_TOKENS = 24_000
"""Of one question. It leaves room for the answer in a context of 32,000."""
MOST_BYTES = 120_000
"""Of a dialogue: with the skill and the caller it stays under the 256 KiB of a payload."""
LOW_WATER = 0.7
"""The share of its room that an outgrown dialogue is brought back to: were it only just made to
fit, every later step would change its beginning again."""
LONGEST_RESULT = 8_000
"""Characters of one result: a page of a long one, with what is written around it."""
RESULTS_SHARE = 0.5
"""The share of the room that the results of one answer may take together."""
LEAST_RESULT = 100
"""Tokens that each of them may have even so."""
TAIL = 200
"""Characters of the end of a result that is cut: a page says there how to read on."""
SHRUNK_FROM = 500
"""Characters: a shorter result isn't worth shrinking."""
SHRUNK = 240
"""Characters that are left of the beginning of a result that is."""
EARLIER_TOKENS = estimated_tokens("字" * LONGEST_EARLIER) + 10
"""Room that is kept for what tells of the exchanges that are gone, with the tags around it."""


@dataclass(frozen=True)
class Fitted:
    """A memory that fits, once what is `gone` from its dialogue is told in its `earlier`."""

    memory: AgentMemory
    gone: tuple[Message, ...] = ()


def fitted(memory: AgentMemory, ephemeral: Mapping[str, int], budget: int = STEP_TOKENS) -> Fitted:
    """The memory for a question of at most `budget` tokens, as the server counts them.

    Of a tool in `ephemeral` only so many of its last results stay whole. Then old results
    shrink to their beginnings, then the oldest exchanges go. What the model said last, and
    everything after it, stays as it is even where that is too much: without it there is
    nothing to go on from. A call and its result are never parted.
    """
    room = Room.of(memory, budget)
    kept = _without_ephemeral(memory.dialogue, ephemeral)
    if not room.takes(_size(kept)):
        kept = _shrunk(kept, room.low)
    gone = 0 if room.takes(_size(kept)) else _outgrown(kept, room.low)
    left = memory.model_copy(update={"dialogue": tuple(kept[gone:])})
    return Fitted(left, tuple(kept[:gone]))


def longest_result(memory: AgentMemory, results: int, budget: int = STEP_TOKENS) -> int:
    """Tokens that each of so many results may have that come in at the same time."""
    share = RESULTS_SHARE * Room.of(memory, budget).tokens / max(1, results)
    return max(LEAST_RESULT, int(share))


def result(call: FunctionCall, text: str, longest: int) -> ToolMessage:
    """What a call came to, without its middle where it is longer than so many tokens."""
    return ToolMessage(call_id=call.id, name=call.name, text=_cut(text, longest))


def refused(memory: AgentMemory) -> AgentMemory:
    """The memory once a server has found the question too long: half of that from now on."""
    beside = [*recalled(memory), *_notes(memory)]
    tokens = memory.fixed + _tokens([*beside, *memory.dialogue])
    return memory.model_copy(update={"most": int(tokens * memory.ratio / 2)})


def measured(question: ChatRequest, memory: AgentMemory, usage: TokenUsage) -> Measure:
    """How large the question was that was made from this memory."""
    estimated = estimated_prompt_tokens(question.messages, question.functions)
    return Measure(
        estimated=estimated,
        fixed=estimated - _tokens([*recalled(memory), *memory.dialogue, *_notes(memory)]),
        counted=None if usage.estimated else usage.prompt_tokens,
    )


class Size(NamedTuple):
    """Of a message or of several: tokens as they are estimated, and bytes as they are sent."""

    tokens: int
    bytes: int

    @classmethod
    def of(cls, message: Message) -> "Size":
        """The size of one message."""
        return cls(_tokens([message]), len(message.model_dump_json().encode()))

    @classmethod
    def sum(cls, sizes: "Iterable[Size]") -> "Size":
        """The size of all of them together."""
        every = list(sizes)
        return cls(sum(size.tokens for size in every), sum(size.bytes for size in every))


@dataclass(frozen=True)
class Room:
    """How large a dialogue may be."""

    tokens: float
    bytes: float = MOST_BYTES

    @classmethod
    def of(cls, memory: AgentMemory, budget: int) -> "Room":
        """What a question of so many real tokens leaves to the dialogue."""
        told = max(EARLIER_TOKENS, _tokens(recalled(memory)))
        beside = memory.fixed + told + _tokens(_notes(memory))
        most = min(filter(None, (budget, memory.most)))
        return cls(most / memory.ratio - beside)

    @property
    def low(self) -> "Room":
        """What an outgrown dialogue is brought back to."""
        return Room(LOW_WATER * self.tokens, LOW_WATER * self.bytes)

    def takes(self, size: Size) -> bool:
        """True where so much fits."""
        return size.tokens <= self.tokens and size.bytes <= self.bytes


def _notes(memory: AgentMemory) -> list[Message]:
    return heeded(memory, last=False)


def _without_ephemeral(dialogue: Sequence[Message], ephemeral: Mapping[str, int]) -> list[Message]:
    kept = list(dialogue)
    left = {name: count for name, count in ephemeral.items() if count}
    latest = _latest(dialogue)
    for place in reversed(range(len(kept))):
        message = kept[place]
        if isinstance(message, ToolMessage) and message.name in left:
            left[message.name] -= 1
            if left[message.name] < 0 and place < latest:
                kept[place] = _stub(message)
    return kept


def _shrunk(dialogue: Sequence[Message], low: Room) -> list[Message]:
    """The dialogue with so many of its oldest results shrunk as it takes, up to all of them."""
    kept, sizes = list(dialogue), [Size.of(message) for message in dialogue]
    whole = Size.sum(sizes)
    for place in range(_latest(dialogue)):
        if low.takes(whole):
            break
        kept[place] = _stub(kept[place])
        less = Size.of(kept[place])
        whole = Size(*(w - s + n for w, s, n in zip(whole, sizes[place], less, strict=True)))
    return kept


def _outgrown(dialogue: Sequence[Message], low: Room) -> int:
    """How many of the first messages have to go: whole exchanges, and never the latest."""
    begins = _latest(dialogue)
    left = _size(dialogue[begins:])
    for place in reversed(range(begins)):
        left = Size.sum((left, Size.of(dialogue[place])))
        if not low.takes(left):
            break
        if not isinstance(dialogue[place], ToolMessage):
            begins = place
    return begins


def _latest(dialogue: Sequence[Message]) -> int:
    """Where the latest exchange begins: what the model said last, and what came after it."""
    said = (n for n in reversed(range(len(dialogue))) if isinstance(dialogue[n], AssistantMessage))
    return next(said, max(0, len(dialogue) - 1))


def _stub(message: Message) -> Message:
    """An old result as its beginning, and what it was. What the employee said stays whole."""
    if not isinstance(message, ToolMessage) or message.name in WAITED_FOR:
        return message
    if len(message.text) <= SHRUNK_FROM:
        return message
    what = f"{len(message.text)} characters of {message.name[:64]}, shortened since"
    return message.model_copy(update={"text": f"{message.text[:SHRUNK]}… ({what})"})


def _cut(text: str, longest: int) -> str:
    if len(text) <= LONGEST_RESULT and estimated_tokens(text) <= longest:
        return text
    lengths = range(min(LONGEST_RESULT, len(text)))
    too_long = bisect_left(
        lengths, True, key=lambda kept: estimated_tokens(_around(text, kept)) > longest
    )
    return _around(text, max(0, too_long - 1))


def _around(text: str, kept: int) -> str:
    """So many characters of the text, from its beginning and its end."""
    tail = min(TAIL, kept // 2)
    head = kept - tail
    left_out = len(text) - kept
    end = text[len(text) - tail :]
    return f"{text[:head]}… ({left_out} of {len(text)} characters left out) …{end}"


def _tokens(messages: Sequence[Message]) -> int:
    return estimated_prompt_tokens(messages, ())


def _size(dialogue: Sequence[Message]) -> Size:
    return Size.sum(map(Size.of, dialogue))
