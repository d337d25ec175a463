"""What a sub-agent's model has said and been told, small enough to be sent. Pure."""

import json
from collections.abc import Sequence

from router.contracts.activities import Finding
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


def bounded(dialogue: Sequence[Message]) -> list[Message]:
    """The dialogue with its oldest results shrunk until it is small enough.

    A call and its result are never parted.
    """
    kept = list(dialogue)
    left = sum(map(_bytes, kept)) - MOST_BYTES
    for place, message in enumerate(kept):
        if left <= 0:
            break
        if isinstance(message, ToolMessage):
            shrunk = message.model_copy(update={"text": _cut(message.text, SHRUNK)})
            left -= _bytes(message) - _bytes(shrunk)
            kept[place] = shrunk
    return kept


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def _bytes(message: Message) -> int:
    return len(message.model_dump_json().encode())
