"""What a sub-agent's model has said and been told, small enough to be sent. Pure."""

import json
from collections.abc import Mapping, Sequence

from router.contracts.activities import Finding
from router.deciding.memory import Memory
from router.llm.chat import FunctionCall, Message, ToolMessage

LONGEST_RESULT = 6_000
"""Characters of one result."""
MOST_BYTES = 120_000
"""Of a dialogue: with the skill and the caller it stays under the 256 KiB of a payload."""
SHRUNK = 200
"""Characters that are left of an old result, where there are too many."""


def result(call: FunctionCall, found: Finding) -> ToolMessage:
    """What a call came to, as the model is told."""
    if found.error is not None:
        text = f"error: {found.error}"
    else:
        text = json.dumps(found.result, ensure_ascii=False)
    return ToolMessage(call_id=call.id, name=call.name, text=_cut(text, LONGEST_RESULT))


def bounded(memory: Memory, ephemeral: Mapping[str, int]) -> Memory:
    """The memory with old results shrunk until its dialogue is small enough.

    Of an ephemeral tool only the last few results stay whole, as many as `ephemeral` says; then
    the oldest of all shrink. A call and its result are never parted.
    """
    kept = _without_ephemeral(memory.dialogue, ephemeral)
    left = sum(map(_bytes, kept)) - MOST_BYTES
    for place, message in enumerate(kept):
        if left <= 0:
            break
        if isinstance(message, ToolMessage):
            shrunk = message.model_copy(update={"text": _cut(message.text, SHRUNK)})
            left -= _bytes(message) - _bytes(shrunk)
            kept[place] = shrunk
    return memory.model_copy(update={"dialogue": tuple(kept)})


def _without_ephemeral(dialogue: Sequence[Message], ephemeral: Mapping[str, int]) -> list[Message]:
    kept: list[Message] = []
    left = {name: count for name, count in ephemeral.items() if count}
    for message in reversed(dialogue):
        if isinstance(message, ToolMessage) and message.name in left:
            left[message.name] -= 1
            if left[message.name] < 0:
                kept.append(message.model_copy(update={"text": _cut(message.text, SHRUNK)}))
                continue
        kept.append(message)
    return kept[::-1]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def _bytes(message: Message) -> int:
    return len(message.model_dump_json().encode())
