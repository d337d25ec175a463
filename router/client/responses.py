"""What a client gets: the API's answers as values. Fields that it doesn't know are left out.

Turns, replies and routes are those of `router.domain.messages`, which the API itself is made of.
"""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from router.domain.hand_offs import NamedPerson
from router.domain.locale import Locale
from router.domain.messages import FlowStatus, FlowSummary, Reply, Route, Usage
from router.domain.run_history import HistoryEntry

T = TypeVar("T")


class ApiAnswer(BaseModel):
    """An answer of the API; what a newer one adds is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ListPage(ApiAnswer, Generic[T]):
    """A page of a list; `next` is where the next one begins."""

    items: list[T]
    next: str | None = None


class ConversationItem(ApiAnswer):
    """A conversation; `title` and `latest` where it was listed."""

    id: str
    locale: Locale
    created_at: datetime
    title: str = ""
    latest: str | None = None


class ConversationAnswer(ApiAnswer):
    """How a conversation stands right now."""

    id: str
    locale: Locale
    status: Literal["idle", "running"]
    turns: int
    active_flow: FlowSummary | None = None
    pending_confirmation: dict[str, JsonValue] | None = None
    usage: Usage = Usage()


class TranscriptLine(ApiAnswer):
    """One thing that was said, by the person or to them."""

    id: str
    at: datetime
    role: Literal["user", "assistant"]
    text: str
    replies: list[Reply] = []
    route: Route | None = None
    message_id: str | None = None
    structured: dict[str, JsonValue] | None = None
    usage: Usage | None = None
    author: NamedPerson | None = None
    """Who said it, where that is a person who helps and not the desk."""


class ApiEvent(ApiAnswer):
    """Something that happened: its name, its data, and its place where it can be resumed at."""

    name: str
    data: dict[str, Any]
    id: str | None = None

    @property
    def row(self) -> str:
        """The row of the event log that it is of; events of one row belong together."""
        return (self.id or "").partition(".")[0]


class ApprovalAnswer(ApiAnswer):
    """A decision that somebody is asked for; `digest` stands for exactly what it shows."""

    id: str
    flow_run: str
    flow: str
    title: str
    summary: dict[str, str]
    requester: str
    digest: str
    since: datetime
    due: datetime | None = None
    decision: str | None = None
    comment: str | None = None


class RunState(ApiAnswer):
    """How a run stands after something was done to it."""

    id: str
    status: FlowStatus
    state: str


class FlowRunAnswer(RunState):
    """A run of a flow, with everything that happened to it."""

    flow: str
    title: str
    version: int
    slots: dict[str, JsonValue]
    summary: dict[str, str] = {}
    requester: str
    can_be_withdrawn: bool = False
    can_be_changed: bool = False
    history: list[HistoryEntry] = []
    created_at: datetime
    updated_at: datetime


class DecisionResult(ApiAnswer):
    """What a decision led to."""

    id: str
    decision: str
    flow_run: RunState


class File(ApiAnswer):
    """A file that was handed in; `id` is what a message or a slot takes."""

    id: str
    name: str
    type: str
    size: int


class DocumentField(ApiAnswer):
    """A field that was read of a file, and where it came from."""

    label: str
    value: JsonValue
    text: str
    source: str = Field(alias="from")
    confidence: float


class DocumentAnswer(ApiAnswer):
    """What was read of a file; nothing while it is `reading`."""

    status: Literal["reading", "read", "unreadable"]
    type: str | None = None
    fields: dict[str, DocumentField] = {}


class CapabilityAnswer(ApiAnswer):
    """A flow, skill or tool that the caller may use."""

    kind: Literal["flow", "skill", "tool"]
    name: str
    title: str
    description: str
    parameters: dict[str, JsonValue] | None = None
    examples: list[str] = []


class RouteExplanation(ApiAnswer):
    """Where a sentence would go, and why, without anything being done."""

    model_config = ConfigDict(extra="allow", frozen=True)

    text: str
    normalised: str
    decision: dict[str, JsonValue]
