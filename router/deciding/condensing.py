"""Telling in short what a sub-agent's dialogue has no room for any more."""

import json
from collections.abc import Sequence

from router.deciding.memory import LONGEST_EARLIER
from router.deciding.prompt import material
from router.deciding.prompts import Prompt
from router.llm.chat import (
    AssistantMessage,
    ChatRequest,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

MOST_TOKENS = 1200
"""Of what a model tells: Chinese in the characters that are kept takes no more."""
_SAID, _CALLED, _FOUND = 240, 120, 120
"""Characters of each, where no model tells it."""


def request(prompt: Prompt, earlier: str, gone: Sequence[Message]) -> ChatRequest:
    """The question to a model: the note so far, and what is to be worked into it."""
    work = "\n".join(_line(message) for message in gone)
    return ChatRequest(
        messages=(
            SystemMessage(text=prompt.text),
            UserMessage(
                text=f"<earlier>\n{material(earlier)}\n</earlier>\n<work>\n{material(work)}\n</work>"
            ),
        ),
        must_call=False,
        max_tokens=MOST_TOKENS,
        prompt=prompt.fingerprint,
    )


def plain(earlier: str, gone: Sequence[Message]) -> str:
    """The same without a model: which calls were made, and what was said, the latest at most.

    >>> plain("", [UserMessage(text="The employee says meanwhile: by train")])
    '- The employee says meanwhile: by train'
    """
    lines = [earlier] if earlier else []
    lines += [f"- {_line(message, shorter=True)}" for message in gone]
    whole = "\n".join(lines)
    return whole if len(whole) <= LONGEST_EARLIER else f"…{whole[1 - LONGEST_EARLIER :]}"


def _line(message: Message, *, shorter: bool = False) -> str:
    said, called, found = (_SAID, _CALLED, _FOUND) if shorter else (None, None, None)
    if isinstance(message, ToolMessage):
        return f"{message.name} gave: {message.text[:found]}"
    if not isinstance(message, AssistantMessage):
        return message.text[:said]
    calls = (
        f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)[:called]}"
        for call in message.calls
    )
    return "; ".join(filter(None, [message.text[:said], *(f"called {call}" for call in calls)]))
