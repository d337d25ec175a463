"""What a model is asked and answers, in no provider's format, and how asking can fail.

RouterError
├── Unavailable
│   └── ModelUnavailable     try again, after `retry_after` seconds where it is known
│       ├── NoModelAnswered  the model and every fallback failed; lists them
│       ├── Crowded          too much is asked there from here; the server was left alone
│       └── TurnTimeOver     they may answer, but not within this turn
├── BudgetSpent              no model is asked, for nobody would pay for it
└── ModelRefused             the request won't do; sending it again can't help
    ├── ContextTooLong       it is longer than the model can read: shorten and send again
    └── AccessRefused        the key is missing, wrong, or not good for this model
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from router.domain.budgets import Scope
from router.domain.errors import RouterError, Unavailable
from router.domain.locale import Localised
from router.domain.messages import Cost, ValueObject

How = Literal["functions", "json_schema", "json_object", "text"]
"""How the functions were put to the model: as such, or as JSON to answer with."""
Finish = Literal["stop", "calls", "length", "filtered", "unknown"]


AnswerProblemKind = Literal[
    "incomplete", "nameless", "not_json", "repeated", "surplus", "unoffered", "unreadable"
]
"""The answer ended early; a call names no function; the answer isn't JSON; a call came twice; there
are more calls than are taken; no such function was offered; nobody knows what a call says."""


class AnswerProblem(ValueObject):
    """What of a model's answer couldn't be used."""

    kind: AnswerProblemKind
    text: str
    """For the model, exact enough for it to answer better."""
    names: str = ""
    """The functions of `surplus` calls, which weren't taken."""

    def __str__(self) -> str:
        return self.text


class FunctionCall(ValueObject):
    """A call that the model asks for. Nothing about it is validated but its form."""

    id: str
    """Unique within its answer; made up where the model gave none."""
    name: str
    arguments: dict[str, JsonValue]
    known: bool = True
    """False where no such function was offered."""
    repaired: bool = False
    """True where the arguments weren't valid JSON and what they mean is certain all the same."""


class SystemMessage(ValueObject):
    """Rules; the same bytes from turn to turn, so that servers can keep them in their cache."""

    role: Literal["system"] = "system"
    text: str


class ShownPicture(ValueObject):
    """A picture that a model is shown: small enough for every server."""

    name: str
    """Of the file that it is of."""
    media_type: Literal["image/png", "image/jpeg"]
    content: bytes = Field(repr=False)


Author = Literal["person", "router"]


class UserMessage(ValueObject):
    """What a person wrote, with whatever marks it as untrusted, and the pictures beside it.

    The `author` is the router if it tells the model something in between, such as what was wrong
    with its answer. `unseen` is told instead where the model can't see. Neither that nor the
    pictures are carried or kept: whoever keeps the message keeps its text, and the pictures are
    looked up anew where they are wanted again.
    """

    role: Literal["user"] = "user"
    text: str
    author: Author = "person"
    pictures: tuple[ShownPicture, ...] = Field((), exclude=True, repr=False)
    unseen: str = Field("", exclude=True)

    @property
    def unseeing(self) -> str:
        """The whole of it in words."""
        return "\n".join(filter(None, (self.unseen, self.text)))


class ReasoningPiece(ValueObject):
    """A piece of what a model thought, as its protocol writes it: opaque, often sealed."""

    content: dict[str, JsonValue]
    before: str = ""
    """The id of the call that it stands before; empty: before the text and all calls."""


class Reasoning(ValueObject):
    """What a model thought before an answer, which it alone wants to be given back."""

    by: str = ""
    """Whose they are, by the name of its endpoint: to another model they mean nothing."""
    pieces: tuple[ReasoningPiece, ...] = ()

    def at(self, call: str = "") -> list[dict[str, JsonValue]]:
        """Those that stand before the call with this id; before everything, without one."""
        return [each.content for each in self.pieces if each.before == call]


NO_REASONING = Reasoning()
KeptReasoning = Annotated[Reasoning, Field(exclude_if=lambda reasoning: not reasoning.pieces)]
"""What a model thought, where it is carried: nothing is written where there is nothing."""


class AssistantMessage(ValueObject):
    """What the model answered before."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    reasoning: KeptReasoning = NO_REASONING


class ToolMessage(ValueObject):
    """What a call came to."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str
    refused: bool = False
    """True if the call was never made, since it can't be; the text says why."""


ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class Function(ValueObject):
    """Something that the model may call."""

    name: str
    description: str
    parameters: dict[str, Any] = {}
    """Any JSON Schema of an object; what is sent is made portable."""


class ChatRequest(ValueObject):
    """One question to a model."""

    messages: tuple[ChatMessage, ...]
    functions: tuple[Function, ...] = ()
    must_call: bool = True
    """Ask for at least one call; some models answer in plain text all the same."""
    max_calls: int = Field(default=8, ge=1)
    """How many calls of one answer are taken; the rest is named among its problems."""
    spoken: dict[str, str] = {}
    """Functions whose argument is said to the user, and streamed: `{"respond_message": "text"}`."""
    max_tokens: int = Field(default=1024, ge=1)
    temperature: float | None = 0.0
    effort: str | None = None
    """How hard to think, in the provider's own word (`low`, `high`); None: as the model does."""
    needs_sight: bool = False
    """It is about its pictures: who can't see them refuses, and isn't asked in words."""
    prompt: str = ""
    """The fingerprint of the prompt that the messages were made with; answers repeat it."""
    cache_key: str = ""
    """The same for questions that begin alike, for servers that keep what they read by it."""


class TokenUsage(ValueObject):
    """The tokens of one answer."""

    prompt_tokens: int
    """All that was read, from a cache or not."""
    completion_tokens: int
    """All that was written, thoughts included."""
    cached_tokens: int = 0
    """Those of the prompt that came out of the server's cache, as far as it says so."""
    cache_write_tokens: int = 0
    """Those of the prompt that were written into that cache, where that has a price of its own."""
    reasoning_tokens: int = 0
    """Those of the completion that nobody sees, as far as the server says so."""
    estimated: bool = False
    """True where the server didn't say and the numbers are a guess from the length of the text."""

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """What both answers took together."""
        return TokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


class ChatAnswer(ValueObject):
    """What came back, made usable as far as that is certain."""

    text: str
    calls: tuple[FunctionCall, ...] = ()
    refusal: str | None = None
    """The model's own words, where it declined to answer."""
    finish: Finish
    usage: TokenUsage
    model: str
    """The model's name, as the server gives it."""
    asked: str = ""
    """Its name, as it is configured; empty where nobody asked a server."""
    cost: Cost | None = None
    """What it cost, at the price of the moment; None where the model has none."""
    how: How
    attempts: int = 1
    """Requests that this answer took; above one only while a server is being learned."""
    problems: tuple[AnswerProblem, ...] = ()
    """What of the answer couldn't be used."""
    prompt: str = ""
    reasoning: Reasoning = NO_REASONING
    reasoned: bool = False
    """True where the model thought before it answered, whether or not it says what."""

    @property
    def said(self) -> AssistantMessage:
        """The answer as it is told to the model in the next question."""
        return AssistantMessage(text=self.text, calls=self.calls, reasoning=self.reasoning)

    def calling(self, call: FunctionCall) -> AssistantMessage:
        """The answer with this one of its calls alone, as it is told to the model."""
        kept = [each for each in self.reasoning.pieces if each.before in ("", call.id)]
        reasoning = Reasoning(by=self.reasoning.by, pieces=tuple(kept))
        return AssistantMessage(calls=(call,), reasoning=reasoning)

    @property
    def was_still_reasoning(self) -> bool:
        """True where it was cut while the model still thought: nothing was said yet."""
        return self.finish == "length" and self.reasoned and not (self.text or self.calls)


class TextDelta(ValueObject):
    """A piece of the text that is being written; with another `attempt` it begins anew."""

    attempt: int
    text: str


OnText = Callable[[TextDelta], Awaitable[None]]
"""Is told each piece of text that may be shown while the rest is being written."""


class ModelUnavailable(Unavailable):
    """The model server can't answer now: busy, broken, too slow, or out of reach.

    `retry_after` is the wait in seconds that the server asked for; None where it asked for none.
    """

    def __init__(self, detail: str | Localised, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Crowded(ModelUnavailable):
    """Too many questions of this process are under way there: it wasn't asked at all."""


class TurnTimeOver(ModelUnavailable):
    """A turn has so much time, and it is over: what comes next is done without a model."""


class BudgetSpent(RouterError):
    """Models may be asked no more in `scope` (a turn; a user's, a tenant's or everybody's day)."""

    def __init__(self, scope: Scope, detail: str) -> None:
        super().__init__(f"budget of the {scope}: {detail}")
        self.scope = scope


class ModelRefused(RouterError):
    """The server won't answer this request, however often it is sent."""


class ContextTooLong(ModelRefused):
    """The messages and functions are longer than the model's context."""


class AccessRefused(ModelRefused):
    """The server refuses the key, or refuses it this model: an operator has to act."""


@dataclass(frozen=True)
class Failure:
    """One provider that was asked and didn't answer."""

    provider: str
    error: ModelUnavailable | ModelRefused

    def __str__(self) -> str:
        return f"{self.provider}: {self.error}"


class NoModelAnswered(ModelUnavailable):
    """The model and all of its fallbacks failed; `failures` has them in the order of asking.

    `retry_after` is the shortest wait that any of them asked for.
    """

    def __init__(self, failures: tuple[Failure, ...]) -> None:
        waits = [
            failure.error.retry_after
            for failure in failures
            if isinstance(failure.error, ModelUnavailable) and failure.error.retry_after is not None
        ]
        told = "; ".join(map(str, failures)) or "none is configured"
        said = Localised(zh=f"没有模型能回答（{told}）", en=f"no model answered: {told}")
        super().__init__(said, min(waits, default=None))
        self.failures = failures

    @property
    def worth_retrying(self) -> bool:
        """True where one of them may answer in a moment; else all refused for good."""
        return any(isinstance(failure.error, ModelUnavailable) for failure in self.failures)
