"""What of its memory a sub-agent's next step is sent, so that the question fits the model.

A question has four layers: rules (the prompt and the skill's instructions), capabilities and
state (functions, notes), history (what was said before, and the dialogue of the run), and the
input (the request). All but the dialogue are as large as they are; it has the room that they
leave. Where it outgrows that, results give way first, then whole exchanges, oldest first.

What gives way is gone for good, and more than has to be: so every step is sent a bounded
question, and most of them begin with the very words of the one before, which servers keep.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from router.domain.sizes import measure_bytes
from router.llm.request import estimated_prompt_tokens, estimated_tokens
from router.llm.types import (
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    FunctionCall,
    TokenUsage,
    ToolMessage,
)
from router.routing.skill_memory import LONGEST_EARLIER, AgentMemory, Measure
from router.routing.skill_step import WAITED_FOR, heeded, recalled

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
    gone: tuple[ChatMessage, ...] = ()


def fitted(memory: AgentMemory, ephemeral: Mapping[str, int], budget: int = STEP_TOKENS) -> Fitted:
    """The memory for a question of at most `budget` tokens, as the server counts them.

    Of a tool in `ephemeral` only so many of its last results stay whole. Then old results
    shrink to their beginnings, then the oldest exchanges go. What the model said last, and
    everything after it, stays as it is even where that is too much: without it there is
    nothing to go on from. A call and its result are never parted.
    """
    room = Room.of(memory, budget)
    kept = _without_ephemeral(memory.dialogue, ephemeral)
    if not room.takes(ContextSize.of(*kept)):
        kept = _shrunk(kept, room.low)
    gone = 0 if room.takes(ContextSize.of(*kept)) else _outgrown(kept, room.low)
    left = memory.replace(dialogue=tuple(kept[gone:]))
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
    return memory.replace(most=int(tokens * memory.ratio / 2))


def measured(question: ChatRequest, memory: AgentMemory, usage: TokenUsage) -> Measure:
    """How large the question was that was made from this memory."""
    estimated = estimated_prompt_tokens(question.messages, question.functions)
    return Measure(
        estimated=estimated,
        fixed=estimated - _tokens([*recalled(memory), *memory.dialogue, *_notes(memory)]),
        counted=None if usage.estimated else usage.prompt_tokens,
    )


class ContextSize(NamedTuple):
    """Of a message or of several: tokens as they are estimated, and bytes as they are sent."""

    tokens: int
    bytes: int

    @classmethod
    def of(cls, *messages: ChatMessage) -> "ContextSize":
        """The size of these messages together."""
        written = measure_bytes(*messages)
        return cls(_tokens(messages), written)


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

    def takes(self, size: ContextSize) -> bool:
        """True where so much fits."""
        return size.tokens <= self.tokens and size.bytes <= self.bytes


def _notes(memory: AgentMemory) -> list[ChatMessage]:
    return heeded(memory, last=False)


def _without_ephemeral(
    dialogue: Sequence[ChatMessage], ephemeral: Mapping[str, int]
) -> list[ChatMessage]:
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


def _shrunk(dialogue: Sequence[ChatMessage], low: Room) -> list[ChatMessage]:
    """The dialogue with so many of its oldest results shrunk as it takes, up to all of them."""
    kept, whole = list(dialogue), ContextSize.of(*dialogue)
    for place in range(_latest(dialogue)):
        if low.takes(whole):
            break
        before, kept[place] = ContextSize.of(kept[place]), _stub(kept[place])
        less = ContextSize.of(kept[place])
        whole = ContextSize(*(w - s + n for w, s, n in zip(whole, before, less, strict=True)))
    return kept


def _outgrown(dialogue: Sequence[ChatMessage], low: Room) -> int:
    """How many of the first messages have to go: whole exchanges, and never the latest."""
    begins = _latest(dialogue)
    left = ContextSize.of(*dialogue[begins:])
    for place in reversed(range(begins)):
        tokens, written = ContextSize.of(dialogue[place])
        left = ContextSize(left.tokens + tokens, left.bytes + written)
        if not low.takes(left):
            break
        if not isinstance(dialogue[place], ToolMessage):
            begins = place
    return begins


def _latest(dialogue: Sequence[ChatMessage]) -> int:
    """Where the latest exchange begins: what the model said last, and what came after it."""
    said = (n for n in reversed(range(len(dialogue))) if isinstance(dialogue[n], AssistantMessage))
    return next(said, max(0, len(dialogue) - 1))


def _stub(message: ChatMessage) -> ChatMessage:
    """An old result as its beginning, and what it was. What the employee said stays whole."""
    if not isinstance(message, ToolMessage) or message.name in WAITED_FOR:
        return message
    if len(message.text) <= SHRUNK_FROM:
        return message
    what = f"{len(message.text)} characters of {message.name[:64]}, shortened since"
    return message.replace(text=f"{message.text[:SHRUNK]}… ({what})")


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


def _tokens(messages: Sequence[ChatMessage]) -> int:
    return estimated_prompt_tokens(messages, ())
