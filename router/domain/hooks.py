"""What hooks of one's own are told, and what they may answer. Pure, and the whole of it.

A hook stands at one point. It is given that point's event and answers one of the things that the
point allows; nothing else that it returns is heard. None of these can let anything through: what
the gate, a confirmation or an approval stops, no answer goes on with.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
)

from router.domain.locale import Locale, Localised
from router.domain.messages import FlowStatus, Route, ToolCallView
from router.domain.principals import Principal
from router.domain.visible_text import legible

HookPoint = Literal[
    "before_decision",
    "after_turn",
    "before_tool",
    "after_tool",
    "before_verdict",
    "on_approval",
    "on_error",
]
"""Where a hook may stand."""

REFUSING: frozenset[HookPoint] = frozenset({"before_decision", "before_tool", "before_verdict"})
"""The points at which something may be refused; at the others hooks only look on."""
OF_TOOLS: frozenset[HookPoint] = frozenset({"before_tool", "after_tool"})
"""The points that are about one tool, and may be left to certain tools alone."""

LONGEST_WORDS = 1_000
"""Characters that a hook may have said to a person, in each language."""
LONGEST_CONTEXT = 2_000
"""Characters that all hooks of a message together may tell a model."""
MOST_HIDDEN = 50
"""Names that one hook may hide."""
LONGEST_TEXT = 8_000
"""Characters of what was said in a turn, and of why something failed, that a hook is told."""


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class HookEvent(_Told):
    """What happens, for whom, and when."""

    caller: Principal
    """Whose turn or run it is: the person who wrote, or who asked for what is to be approved."""
    locale: Locale
    """The language that whatever is said to them is in."""
    now: datetime
    """The moment of it, in the caller's time zone; the same where the hook is run again."""
    conversation: str | None = None
    """None for a run that no conversation began."""

    @property
    def tenant(self) -> str:
        """Whose people it is about."""
        return self.caller.tenant


class DecisionEvent(HookEvent):
    """A message, before anything is decided about it: no model has seen it yet."""

    point: Literal["before_decision"] = "before_decision"
    message_id: str
    text: str = ""
    """What it says; nothing, where it is a button or a form."""
    action: str = ""
    """What kind of button or form: `choose`, `confirm` or `form`."""
    files: tuple[str, ...] = ()
    """The ids of the files that came with it."""
    active_flow: str | None = None
    """The flow that is asking something, which the message may answer."""


class TurnEvent(HookEvent):
    """A turn that is over: it was written down, and its sender has the answer."""

    point: Literal["after_turn"] = "after_turn"
    message_id: str
    turn: int
    text: str = ""
    status: Literal["done", "cancelled", "failed"]
    routes: tuple[Route, ...]
    """What was decided, without what it was chosen among."""
    said: str = ""
    """The replies as plain text, one paragraph each."""
    calls: tuple[ToolCallView, ...] = ()
    """The tools that were called, without what they were given and found."""
    flow_run: str | None = None
    flow: str | None = None
    flow_status: FlowStatus | None = None


class ToolEvent(HookEvent):
    """A call of a tool that is about to be made; the gate looks at it after this."""

    point: Literal["before_tool"] = "before_tool"
    tool: str
    arguments: dict[str, JsonValue]
    writes: bool
    """Whether it changes something."""
    checking: bool = False
    """True where it is only asked whether the call would be refused, before a confirmation."""
    flow_run: str | None = None
    """The workflow id of the run that calls; None where a person or a sub-agent does."""
    message_id: str = ""


class ToolResultEvent(HookEvent):
    """A call of a tool that has come to something."""

    point: Literal["after_tool"] = "after_tool"
    tool: str
    arguments: dict[str, JsonValue]
    writes: bool
    flow_run: str | None = None
    message_id: str = ""
    result: JsonValue = None
    """What it found; a long result is its first page."""
    error: str = ""
    """Why it failed, in the caller's language; empty where it didn't."""
    attempts: int = 1


class VerdictEvent(HookEvent):
    """A decision of an approver, before it is taken. `caller` is who asked for the approval."""

    point: Literal["before_verdict"] = "before_verdict"
    approver: str
    verdict: str
    """`approve`, `reject`, `return`, `delegate` or `add`."""
    comment: str = ""
    to: str | None = None
    """To whom it is passed on, or who is added."""
    approval: str
    flow: str
    flow_run: str
    slots: dict[str, JsonValue]
    """What the run knows: what is decided on."""


class ApprovalEvent(HookEvent):
    """Somebody's decision was asked for, or was taken. `caller` is who asked for the approval."""

    point: Literal["on_approval"] = "on_approval"
    happened: Literal["requested", "decided"]
    approver: str
    verdict: str = ""
    """How it was decided; empty where it was asked for."""
    comment: str = ""
    approval: str
    title: Localised
    flow: str
    flow_run: str


class ErrorEvent(HookEvent):
    """Something broke: a turn, a call of a tool that failed for good, or a run of a flow."""

    point: Literal["on_error"] = "on_error"
    of: Literal["turn", "tool", "run"]
    name: str
    """The message's id, the tool's name, or the flow's."""
    error: str
    """Why, as far as it may be told: a library's own words are in the log alone."""
    message_id: str = ""
    flow_run: str | None = None


AnyHookEvent = Annotated[
    DecisionEvent
    | TurnEvent
    | ToolEvent
    | ToolResultEvent
    | VerdictEvent
    | ApprovalEvent
    | ErrorEvent,
    Field(discriminator="point"),
]

EVENTS: dict[HookPoint, type[HookEvent]] = {
    "before_decision": DecisionEvent,
    "after_turn": TurnEvent,
    "before_tool": ToolEvent,
    "after_tool": ToolResultEvent,
    "before_verdict": VerdictEvent,
    "on_approval": ApprovalEvent,
    "on_error": ErrorEvent,
}
"""What a hook at each point is given."""

_Pattern = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _sayable(words: Localised) -> Localised:
    """The words, which raise `ValueError` where they are none for people in both languages."""
    for locale, text in (("zh", words.zh), ("en", words.en)):
        if not text.strip():
            raise ValueError(f"{locale} has no words: write both languages")
        if len(text) > LONGEST_WORDS:
            raise ValueError(f"{locale} has over {LONGEST_WORDS} characters: say it in fewer")
        if legible(text) != text:
            raise ValueError(f"{locale} has characters that nobody sees: leave them out")
    return words


SayableText = Annotated[Localised, AfterValidator(_sayable)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Veto(_Answer):
    """It isn't done, and these are the words that a person is told why."""

    say: SayableText


class Advice(_Answer):
    """What a message is decided with besides. It adds and takes away, and can't let through."""

    say: SayableText | None = None
    """Said to the person, before what comes of the message."""
    context: str = Field("", max_length=LONGEST_CONTEXT)
    """Told to a model as material beside the message: it is nobody's instruction."""
    hide: frozenset[_Pattern] = Field(frozenset(), max_length=MOST_HIDDEN)
    """Flows, skills and tools that aren't chosen for this message, by name or as `leave_*`."""


ANSWERS: dict[HookPoint, tuple[type[_Answer], ...]] = {
    "before_decision": (Veto, Advice),
    "before_tool": (Veto,),
    "before_verdict": (Veto,),
}
"""What a hook may answer besides None; at the points that aren't here, nothing."""


def joined(contexts: Iterable[str]) -> str:
    """What several hooks tell a model, a paragraph each, as far as there is room."""
    return "\n\n".join(filter(None, contexts))[:LONGEST_CONTEXT]
