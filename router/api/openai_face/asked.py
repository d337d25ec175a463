"""What a chat client asks of a model, in the shape of OpenAI's Chat Completions.

All that a client may set on a model (temperature, tools, seeds, formats) is let be: the router
has no use for it, and whoever sends it to every model shouldn't have to know that.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)

from router.domain.errors import FieldProblem, InvalidInput
from router.domain.messages import Line

Content = str | list[dict[str, JsonValue]] | None

MOST_SHOWN = 5
"""Faults of a body that an answer names in words."""


class Asked(BaseModel):
    """Base of what clients send: what isn't known here is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Spoken(Asked):
    """One message of the chat as the client has it."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None

    @property
    def words(self) -> str:
        """The text of it; of several parts, each on lines of its own."""
        return words_of(self.content)


class StreamOptions(Asked):
    """What a stream has besides the text."""

    include_usage: StrictBool | None = None


class Completion(Asked):
    """The body of `POST /v1/chat/completions`."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Spoken], Field(min_length=1)]
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[StrictInt | None, WithJsonSchema({"enum": [1, None]})] = None
    user: str | None = None
    metadata: dict[str, JsonValue] | None = None
    response_format: dict[str, JsonValue] | None = None

    @classmethod
    def of(cls, body: JsonValue) -> Self:
        """The body, once it is certain that it can be answered.

        Raises:
            InvalidInput: it can't, and these of its fields are why.
        """
        try:
            asked = cls.model_validate(body)
        except ValidationError as error:
            raise _unusable(_faults(error)) from None
        _check(asked)
        return asked

    @property
    def said(self) -> Spoken:
        """The message that is to be answered."""
        return self.messages[-1]

    @property
    def where(self) -> str:
        """Its place in the body."""
        return f"messages.{len(self.messages) - 1}.content"

    @property
    def dialogue(self) -> list[Line]:
        """What both sides have said, as the client tells it; what systems said is left out."""
        return [
            Line(role="user" if spoken.role == "user" else "assistant", text=spoken.words)
            for spoken in self.messages
            if spoken.role in {"user", "assistant"}
        ]

    @property
    def begins(self) -> bool:
        """True where nothing was said before."""
        return len(self.dialogue) == 1

    @property
    def wants_usage(self) -> bool:
        """True where a stream is to end with what it cost."""
        return bool(self.stream_options and self.stream_options.include_usage)


def words_of(content: Content) -> str:
    """The text of a message, in whichever way it was sent.

    >>> words_of([{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}])
    'hi'
    """
    if not isinstance(content, list):
        return plain_lines(content or "")
    texts = (part.get("text") for part in content if part.get("type") == "text")
    return plain_lines("\n".join(text for text in texts if isinstance(text, str)))


def plain_lines(text: str) -> str:
    """The text with each line's end the same, wherever it was typed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check(asked: Completion) -> None:
    if asked.n not in {None, 1}:
        raise _unusable([FieldProblem("n", "there is one answer to a message; leave it out")])


def check_said(asked: Completion) -> None:
    """Refuse a chat whose last word is nobody's; a chat UI's job may be in any message.

    Raises:
        InvalidInput: it isn't the user who has spoken last.
    """
    if asked.said.role != "user":
        where = f"messages.{len(asked.messages) - 1}.role"
        what = "the last message has to be the user's; only that one is answered"
        raise _unusable([FieldProblem(where, what)])


def _faults(error: ValidationError) -> list[FieldProblem]:
    """One a field: a union's every branch has something to say of the same value."""
    found: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        found.setdefault(_path(fault["loc"]), fault["msg"].removeprefix("Value error, "))
    return [FieldProblem(field, detail) for field, detail in found.items()]


def _path(where: Iterable[int | str]) -> str:
    """`("messages", 0, "content", "str")` as `messages.0.content`."""
    known = (str(part) for part in where if part != "str" and "[" not in str(part))
    return ".".join(known) or "body"


def _unusable(problems: list[FieldProblem]) -> InvalidInput:
    detail = "; ".join(f"{fault.field}: {fault.detail}" for fault in problems[:MOST_SHOWN])
    return InvalidInput(f"{detail}.", problems)
