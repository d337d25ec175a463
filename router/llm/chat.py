"""What a model is asked and what it answers, free of any provider's format."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from pydantic import Field, JsonValue

from router.domain.messages import Value

How = Literal["functions", "json_schema", "json_object", "text"]
"""How the functions were put to the model: as such, or as JSON to answer with."""

Finish = Literal["stop", "calls", "length", "filtered", "unknown"]


class FunctionCall(Value):
    """A call that the model asks for. Nothing about it is validated but its form."""

    id: str
    """Unique within its answer; made up where the model gave none."""
    name: str
    arguments: dict[str, JsonValue]
    known: bool = True
    """False where no such function was offered."""
    repaired: bool = False
    """True where the arguments weren't valid JSON and what they mean is certain all the same."""


class SystemMessage(Value):
    """Rules; the same bytes from turn to turn, so that servers can keep them in their cache."""

    role: Literal["system"] = "system"
    text: str


class UserMessage(Value):
    """What a person wrote, with whatever marks it as untrusted."""

    role: Literal["user"] = "user"
    text: str


class AssistantMessage(Value):
    """What the model answered before."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    calls: tuple[FunctionCall, ...] = ()


class ToolMessage(Value):
    """What a call came to."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class Function(Value):
    """Something that the model may call."""

    name: str
    description: str
    parameters: dict[str, Any] = {}
    """Any JSON Schema of an object; what is sent is made portable."""


class ChatRequest(Value):
    """One question to a model."""

    messages: tuple[Message, ...]
    functions: tuple[Function, ...] = ()
    must_call: bool = True
    """Ask for at least one call; some models answer in plain text all the same."""
    max_calls: int = Field(default=8, ge=1)
    """How many calls of one answer are taken; the rest is named among its problems."""
    spoken: dict[str, str] = {}
    """Functions whose argument is said to the user, such as `{"respond_message": "text"}`.

    Its text is streamed like plain content while it is being written.
    """
    max_tokens: int = Field(default=1024, ge=1)
    temperature: float | None = 0.0
    prompt: str = ""
    """The fingerprint of the prompt that the messages were made with; answers repeat it."""


class Usage(Value):
    """The tokens of one answer."""

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    """True where the server didn't say and the numbers are a guess from the length of the text."""

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens


class ChatAnswer(Value):
    """What came back, made usable as far as that is certain."""

    text: str
    calls: tuple[FunctionCall, ...] = ()
    refusal: str | None = None
    """The model's own words, where it declined to answer."""
    finish: Finish
    usage: Usage
    model: str
    """The model's name, as the server gives it."""
    how: How
    attempts: int = 1
    """Requests that this answer took; above one only while a server is being learned."""
    problems: tuple[str, ...] = ()
    """What of the answer couldn't be used, each exact enough to be handed back to the model."""
    prompt: str = ""


class TextDelta(Value):
    """A piece of the text that is being written.

    Another `attempt` than the last delta's means that the text begins anew.
    """

    attempt: int
    text: str


OnText = Callable[[TextDelta], Awaitable[None]]
"""Is told each piece of text that may be shown while the rest is being written."""
