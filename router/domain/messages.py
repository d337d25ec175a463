"""What goes in and out of a conversation: messages, turns and replies, as REST has them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    JsonValue,
    PlainSerializer,
    StrictBool,
    TypeAdapter,
)

from router.domain.documents import FileDocument
from router.domain.locale import Locale
from router.domain.principals import CapabilityKind
from router.domain.value import Value
from router.domain.visible_text import inline, isolated, labelled, quote_person

RouteKind = Literal["flow", "skill", "tool", "reply", "clarify", "confirm", "cancel", "handoff"]
RouteBy = Literal["pattern", "slot", "action", "llm", "retrieval", "fallback"]
FlowStatus = Literal[
    "collecting",
    "confirming",
    "running",
    "waiting_approval",
    "waiting",
    "completed",
    "rejected",
    "cancelled",
    "failed",
    "expired",
]
EndStatus = Literal["completed", "rejected", "cancelled", "failed", "expired"]
ENDED: frozenset[FlowStatus] = frozenset(get_args(EndStatus))
ASKING: frozenset[FlowStatus] = frozenset({"collecting", "confirming"})


class ValueObject(Value, extra="forbid"):
    """A value object: frozen, and closed to fields nobody declared."""


LONGEST_QUESTION = 300
Question = Annotated[str, Field(max_length=LONGEST_QUESTION, pattern=r"^[ -~]*$")]
"""Names a question as it was shown: opaque, and another as soon as anything in it is."""


class Answering(ValueObject):
    """An action that answers a reply; with that reply's `question`, no other than that one."""

    question: Question | None = None


class ChooseAction(Answering):
    """A button of a `choices` reply was pressed."""

    type: Literal["choose"]
    value: JsonValue


class ConfirmAction(Answering):
    """A `confirm` reply was answered: that one, where its `question` is named, and no other."""

    type: Literal["confirm"]
    value: StrictBool


class FormAction(Answering):
    """A `form` reply was sent; keys are field names."""

    type: Literal["form"]
    values: dict[str, JsonValue]


class StartAction(ValueObject):
    """A flow, or a tool's form, is started by name: a button of the front end's own."""

    type: Literal["start"]
    flow: Annotated[str, Field(min_length=1, max_length=128)]
    slots: dict[str, JsonValue] = {}


class ToolResultAction(ValueObject):
    """A front end answers a tool call that it was asked to make."""

    type: Literal["tool_result"]
    tool_call_id: str
    result: JsonValue
    error: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    """Why there is none, where the call failed, or its person didn't want it made."""


Action = Annotated[
    ChooseAction | ConfirmAction | FormAction | StartAction | ToolResultAction,
    Field(discriminator="type"),
]


class Message(ValueObject):
    """What a person said or did: an `action`; or `text`, `files` or both."""

    text: str | None = None
    action: Action | None = None
    files: tuple[str, ...] = ()
    """Ids of the files that were handed in with it, in their order."""
    skill: str | None = None
    """Whom the text is for, where it was addressed to one skill: that one hears what nobody has
    asked for."""

    @property
    def digest(self) -> str:
        """Sixteen hex digits that differ where the content does."""
        return digest_of(self.model_dump(mode="json"))


def digest_of(value: JsonValue) -> str:
    """Sixteen hex digits that differ where the value does."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Option(ValueObject):
    """One thing to choose."""

    label: str
    value: JsonValue


def offer_question(options: list[Option]) -> Question:
    """Names the question which of these is meant."""
    return f"offer:{digest_of([option.model_dump(mode='json') for option in options])}"


class Skippable(ValueObject):
    """A reply that may ask something which needs no answer."""

    skip: Option | None = None
    """The button that leaves it empty: `choose` with this value, and the reply's question."""


class TextReply(Skippable):
    """Text: what is listed in it stands in tables, as GitHub's Markdown has them."""

    type: Literal["text"] = "text"
    text: str
    notice: Annotated[bool, Field(exclude_if=lambda notice: not notice)] = False
    """True of what is said of how it goes here, and is no part of the talk: no model reads it."""


class ChoicesReply(Skippable):
    """A question with its possible answers; buttons where there is a screen."""

    type: Literal["choices"] = "choices"
    text: str
    options: list[Option]
    question: Question | None = None


class ConfirmReply(ValueObject):
    """What is about to be done, to be answered with yes or no."""

    type: Literal["confirm"] = "confirm"
    text: str
    summary: dict[str, str]
    told: bool = False
    """True where the text was made of the whole summary, which words then need not repeat."""
    question: Question | None = None
    files: dict[str, str] | None = None
    """What the files in it are called, by id, where there are some."""
    yes: str | None = None
    no: str | None = None
    """What the buttons say, where that is anything but that it is right or isn't."""


class FormField(ValueObject):
    """One field of a form; `options` where `type` is `choice`."""

    name: str
    type: str
    label: str
    required: bool = True
    options: list[Option] | None = None


class FormReply(Skippable):
    """A question that a screen can show as input fields and a terminal as its text."""

    type: Literal["form"] = "form"
    text: str
    fields: list[FormField]
    question: Question | None = None


Reply = Annotated[TextReply | ChoicesReply | ConfirmReply | FormReply, Field(discriminator="type")]


def question_in(replies: Sequence[Reply]) -> ChoicesReply | ConfirmReply | FormReply | None:
    """The last question named in these replies, without the ways on that have its name; or None.

    What is offered beside a question that is asked in words, which comes after it, isn't the last.
    """
    asking = [r for r in replies if not isinstance(r, TextReply) and r.question is not None]
    if asking and is_offered_beside(asking[-1], replies):
        return None
    return next((r for r in asking if r.question == asking[-1].question), None)


def without_notices(replies: Sequence[Reply]) -> list[Reply]:
    """Those that are part of the talk."""
    return [reply for reply in replies if not (isinstance(reply, TextReply) and reply.notice)]


def is_offered_beside(asked: Reply, replies: Sequence[Reply]) -> bool:
    """True for an offer of the desk's after which something else was said."""
    if not isinstance(asked, ChoicesReply) or asked.question != offer_question(asked.options):
        return False
    return asked is not replies[-1]


class Candidate(ValueObject):
    """A capability that was considered, with its score."""

    kind: CapabilityKind
    name: str
    score: float


CERTAIN = frozenset({"pattern", "slot", "action"})
"""Means by which nothing is guessed."""


class Route(ValueObject):
    """Where a message went, by which means, and why."""

    kind: RouteKind
    target: str | None = None
    by: RouteBy
    confidence: float | None = Field(
        default_factory=lambda known: 1.0 if known["by"] in CERTAIN else None
    )
    """Of rules and buttons 1; of a model's choice the share of such choices that was right, where
    that was measured, and else none."""
    reason: str = ""
    policy: str = ""
    """The rule of the reader that decided, where one did: `router.understanding.reader`."""
    prompt: str | None = None
    """The fingerprint of what a model was asked with, also where its answer was of no use."""
    candidates: list[Candidate] = []


class FlowSummary(ValueObject):
    """A flow run as a turn shows it. `awaiting` names slots, those of items as `items.0.amount`."""

    id: str
    name: str
    status: FlowStatus
    state: str
    awaiting: list[str] = []
    slots: dict[str, JsonValue] = {}


PREVIEW = 500
"""Characters of a tool's result that a turn shows."""


class ToolCallView(ValueObject):
    """One tool call of a turn, as shown to a person."""

    id: str
    name: str
    arguments: dict[str, JsonValue] = {}
    status: Literal["done", "failed", "skipped", "waiting", "unknown"]
    attempts: int = 1
    result_preview: str = ""

    @classmethod
    def of(
        cls, id_: str, name: str, arguments: dict[str, JsonValue], result: JsonValue
    ) -> "ToolCallView":
        """A call that came to this result."""
        preview = json.dumps(result, ensure_ascii=False)[:PREVIEW]
        return cls(id=id_, name=name, arguments=arguments, status="done", result_preview=preview)

    @classmethod
    def failed(
        cls, id_: str, name: str, arguments: dict[str, JsonValue], error: str, *, unknown: bool
    ) -> "ToolCallView":
        """A call that failed, or may have."""
        status: Literal["failed", "unknown"] = "unknown" if unknown else "failed"
        shown = error[:PREVIEW]
        return cls(id=id_, name=name, arguments=arguments, status=status, result_preview=shown)

    @classmethod
    def skipped(cls, id_: str, name: str, arguments: dict[str, JsonValue]) -> "ToolCallView":
        """A call that had no effect, and is made anew or not at all."""
        return cls(id=id_, name=name, arguments=arguments, status="skipped")

    @classmethod
    def stopped(cls, id_: str, name: str, arguments: dict[str, JsonValue]) -> "ToolCallView":
        """A call that had begun when its turn was stopped: what came of it isn't known."""
        return cls(id=id_, name=name, arguments=arguments, status="unknown")


class RecalledCall(ValueObject):
    """A tool call of before and what it came to, as models are told: a long result is cut."""

    id: str
    name: str
    arguments: dict[str, JsonValue] = {}
    result: str
    whole_chars: int = 0
    """Characters of the result before it was cut; 0 if it wasn't."""


class SpokenLine(ValueObject):
    """Something that was said before, by either side; with the `calls` that led to it.

    `files` are the ids of those that came with it.
    """

    role: Literal["user", "assistant"]
    text: str
    files: list[str] = []
    calls: list[RecalledCall] = []
    whole_chars: int = 0
    """Characters of the text before it was cut; 0 if it wasn't."""

    @property
    def told(self) -> str:
        """The line with its calls, as a model reads it where it isn't asked in turns."""
        made = (
            f"called {c.name} {json.dumps(c.arguments, ensure_ascii=False)} ▸ {c.result}"
            for c in self.calls
        )
        return "\n".join([f"{self.role}: {self.text}", *(f"  ({one})" for one in made)])


def plain_decimal(amount: Decimal) -> str:
    """An amount as people write it: no exponent, and no zeros at its end.

    >>> plain_decimal(Decimal("1.500E-7")), plain_decimal(Decimal("10"))
    ('0.00000015', '10')
    """
    written = f"{amount:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


class Cost(ValueObject):
    """What models cost in money, to a billionth of the currency."""

    amount: Annotated[Decimal, PlainSerializer(plain_decimal, when_used="json")]
    currency: str


class Usage(ValueObject):
    """What a turn, or a conversation so far, cost: model calls, tokens, and money where known."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    """All that models read, from a cache or not."""
    completion_tokens: int = 0
    """All that models wrote, thoughts included."""
    cached_tokens: int = 0
    """Those of the prompts that came out of a provider's cache."""
    cache_write_tokens: int = 0
    """Those of the prompts that were written into one."""
    reasoning_tokens: int = 0
    """Those of the completions that were thoughts."""
    cost: Annotated[Cost | None, Field(exclude_if=lambda cost: cost is None)] = None
    """At the prices of the moment; absent where no call had a price."""
    priced_calls: Annotated[int, Field(exclude_if=lambda calls: not calls)] = 0
    """Of how many calls that is the cost: where there were more, it cost at least so much."""
    model: Annotated[str, Field(exclude_if=lambda name: not name)] = ""
    """The model that answered last, by its configured name; absent where none did."""

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return self._with(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._with(other, -1)

    def _with(self, other: "Usage", sign: int) -> "Usage":
        """Both together. Of two currencies the newer one's cost is told, as a part of the whole."""
        counts = {n: was + sign * getattr(other, n) for n, was in self if n not in _NO_COUNTS}
        if self.cost is None or other.cost is None:
            cost = self.cost or (other.cost and _times(other.cost, sign))
        elif self.cost.currency == other.cost.currency:
            amount = self.cost.amount + sign * other.cost.amount
            cost = Cost(amount=amount, currency=self.cost.currency)
        else:
            cost = _times(other.cost, sign)
            counts["priced_calls"] = sign * other.priced_calls
        model = other.model or self.model if sign > 0 else self.model
        return Usage(**counts, cost=cost, model=model)


_NO_COUNTS = ("cost", "model")


def _times(cost: Cost, sign: int) -> Cost:
    return Cost(amount=sign * cost.amount, currency=cost.currency)


RefusalCode = Literal[
    "asks",
    "unanswered",
    "no_model",
    "budget",
    "time",
    "missing",
    "unfit",
    "unfaithful",
    "too_long",
    "stopped",
]
"""Why an answer isn't put into the schema that was asked for: `router.routing.structured`."""


class StructuredRefusal(ValueObject):
    """Why there is no object of the schema that was asked for, in the conversation's language.

    Where the turn `asks` something, the question is the message.
    """

    code: RefusalCode
    message: str


class Turn(ValueObject):
    """The answer to one message. `routes` is there where a turn had several commands."""

    message_id: str
    turn: int
    status: Literal["done", "cancelled", "failed"] = "done"
    route: Route
    routes: list[Route] | None = None
    replies: list[Reply] = []
    flow: FlowSummary | None = None
    tool_calls: list[ToolCallView] = []
    files_left: list[str] | None = None
    """Of the message's files those that nothing took: they can be sent again, with any message."""
    documents: list[FileDocument] | None = None
    """What was read of the message's files by the end of the turn."""
    structured: dict[str, JsonValue] | None = None
    """The answer as the `response_schema` of the message has it, where there was one."""
    structured_refusal: StructuredRefusal | None = None
    """Why it isn't there all the same."""
    usage: Usage = Usage()

    @property
    def missed(self) -> bool:
        """True where it went nowhere: nothing was chosen, or an error ended it."""
        route = self.route
        return self.status == "failed" or (route.kind == "clarify" and route.target is None)

    def shown(self) -> dict[str, Any]:
        """The turn as JSON, without what it doesn't have."""
        return self.model_dump(mode="json", exclude_none=True)


_REPLIES: TypeAdapter[list[Reply]] = TypeAdapter(list[Reply])

_ANSWER_YES_OR_NO = {"zh": "回复“确认”或“取消”。", "en": "Answer “yes” or “no”."}
_ATTACH = {"zh": "请附上图片或 PDF。", "en": "Attach a picture or a PDF."}
_REQUIRED = {"zh": "必填", "en": "required"}


def as_plain_text(replies: Sequence[Reply], locale: Locale) -> str:
    """All of it as paragraphs, to be answered by typing; a form of one field is its question."""
    return "\n\n".join(filter(None, (_plain(reply, locale) for reply in replies)))


def replies_of(row: Mapping[str, JsonValue]) -> list[Reply]:
    """Return the replies that a row of the transcript holds; of one that has none, its text.

    What a person said who isn't the assistant is quoted under their name.
    """
    author = row.get("author")
    if isinstance(author, dict):
        return [TextReply(text=quote_person(str(author.get("name")), str(row.get("text", ""))))]
    found = row.get("replies")
    if found is None:
        return [TextReply(text=str(row.get("text", "")))]
    return _REPLIES.validate_python(found)


def _plain(reply: Reply, locale: Locale) -> str:
    lines: list[str] = []
    closing = ""
    if isinstance(reply, ChoicesReply):
        called = (isolated(inline(option.label)) for option in reply.options)
        lines = [f"{number}. {label}" for number, label in enumerate(called, 1)]
    elif isinstance(reply, ConfirmReply):
        lines = [f"- {labelled(*field)}" for field in unsaid(reply).items()]
        closing = _ANSWER_YES_OR_NO[locale]
    elif isinstance(reply, FormReply):
        if len(reply.fields) > 1 or any(f.options for f in reply.fields):
            lines = [_field(field, locale) for field in reply.fields]
        closing = _ATTACH[locale] if any(f.type == "file" for f in reply.fields) else ""
    return "\n\n".join(filter(None, (reply.text, "\n".join(lines), closing)))


def _field(field: FormField, locale: Locale) -> str:
    required = f" ({_REQUIRED[locale]})" if field.required else ""
    options = " / ".join(isolated(inline(option.label)) for option in field.options or [])
    return f"- {inline(field.label)}{required}" + (f": {options}" if options else "")


def unsaid(reply: ConfirmReply) -> dict[str, str]:
    """What is told of the summary besides the text: all of it, unless the text is made of all."""
    return {} if reply.told else reply.summary
