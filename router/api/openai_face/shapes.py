"""Answers in the shape of OpenAI's Chat Completions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from router.domain.messages import Usage

OWNER = "intent-router"
Finish = Literal["stop"]


def usage_of(spent: Usage) -> dict[str, int]:
    """What models cost; nothing, where rules knew the answer.

    >>> usage_of(Usage())["total_tokens"]
    0
    """
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "total_tokens": spent.tokens,
    }


@dataclass(frozen=True)
class Envelope:
    """What every part of one answer has in common: its id, its time in seconds, its model."""

    id: str
    created: int
    model: str

    def completion(self, text: str, spent: Usage) -> dict[str, Any]:
        """The whole answer at once."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage_of(spent)}

    def delta(self, finish: Finish | None = None, **delta: str) -> bytes:
        """A piece of the answer, or its end."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._event([choice])

    def cost(self, spent: Usage) -> bytes:
        """What it cost: the last piece, where that was asked for."""
        return self._event([], usage=usage_of(spent))

    def _event(self, choices: Sequence[dict[str, Any]], **more: Any) -> bytes:
        return event({**self._head("chat.completion.chunk"), "choices": [*choices], **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def event(data: dict[str, Any]) -> bytes:
    r"""An event as it goes over the wire. In ASCII: some clients end lines at odd letters.

    >>> event({"a": "\u2028"})
    b'data: {"a":"\\u2028"}\n\n'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


DONE = b"data: [DONE]\n\n"
STILL_THERE = b": ping\n\n"
"""A comment: clients pass over it, and proxies see that the answer is still on its way."""


def model(id_: str) -> dict[str, Any]:
    """A model in a list. It was never trained, so that `created` is the beginning of time."""
    return {"id": id_, "object": "model", "created": 0, "owned_by": OWNER}
