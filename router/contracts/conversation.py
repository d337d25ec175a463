"""The conversation workflow's own interface: what the API sends it, what it answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from pydantic import JsonValue

from router.contracts.conversation_state import ConversationState
from router.contracts.payload import Payload
from router.contracts.start_options import CONTINUE_AFTER
from router.domain.hand_offs import (
    DeedKind,
    HandOffRecord,
    NamedPerson,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    FlowSummary,
    Message,
    Reply,
    Usage,
    digest_of,
)
from router.domain.principals import Principal
from router.domain.records import RecordedTurn
from router.routing.front_end_tools import FrontEndTool

WORKFLOW = "Conversation"
SUBMIT = "submit"
CANCEL = "cancel_turn"
NEWS = "news"
STATUS = "status"
STATE = "state"
"""The query for all that a conversation knows: for one whose workflow was ended from outside."""
ATTEND = "attend"
FORGET = "forget"
"""The signal by which the owner's deletion reaches the turns that wait or run."""

MAX_OPEN_TURNS = 6
"""Turns of one conversation that wait or run; ten updates in flight are Temporal's limit."""


class HandOffDeed(Payload):
    """What somebody does with the conversation that was handed over; `word` makes it one."""

    hand_off: str
    kind: DeedKind
    by: NamedPerson
    text: str = ""
    word: str
    any_agent: bool = False
    """True of an operator, who may end what somebody else has."""
    has_key: bool = True
    """False where its sender gave no key: then nothing but its text tells a repeat from a deed."""


class HandOffStanding(Payload):
    """How it stands after that."""

    record: HandOffRecord


MAX_NAMED_FILES = 40
"""Files that are left out and named; of more than these the number is said."""


class FilesLeftOut(Payload):
    """Files that don't go with a message, since it has as many as it may have: the first names."""

    names: list[str] = []
    count: int = 0

    def plus(self, names: Sequence[str]) -> Self:
        """Return these and the files of those names."""
        every = [*self.names, *names]
        return self.replace(names=every[:MAX_NAMED_FILES], count=self.count + len(names))


class Submission(Payload):
    """A message on its way in; no message of long ago can have had a `fresh` id."""

    message_id: str
    message: Message
    file_names: dict[str, str] = {}
    """What the message's files are called, by their ids."""
    files_left_out: FilesLeftOut = FilesLeftOut()
    brings_left: bool = False
    """Files that nothing took before go along: its front end keeps none beside its input."""
    caller: Principal
    on_busy: str = "queue"
    seconds: float = 60.0
    """How long models may be asked in this turn, all in all."""
    fresh: bool = False
    response_schema: dict[str, JsonValue] | None = None
    """What the answer is to be put into besides: as `router.routing.response_schema` reads it."""
    tools: list[FrontEndTool] | None = None
    """What its front end can be called for from now on; None: as before."""

    @property
    def digest(self) -> str:
        """Sixteen hex digits that differ where what was said does, or what came with it."""
        beside: list[JsonValue] = [self.response_schema] if self.response_schema else []
        if self.tools is not None:
            beside.append([tool.model_dump(mode="json") for tool in self.tools])
        return digest_of([self.message.digest, *beside]) if beside else self.message.digest


class Written(Payload):
    """That the rows are there; or the turns that are on record and unknown to who numbered this."""

    unknown: list[RecordedTurn] = []


class ConversationStart(Payload):
    """The workflow's input. `state` is there when it continues as new."""

    tenant: str
    conversation: str
    owner: str
    locale: Locale
    state: ConversationState | None = None
    continue_after: int = CONTINUE_AFTER
    """Events in a run's history after which it continues as new."""
    accepted: list[Submission] = []
    """What was taken in by the run before and not begun, in order: it comes before all else."""


class PausedFlow(Payload):
    """A flow that waits for the active one to end."""

    id: str
    name: str
    state: str


class ActiveSkill(Payload):
    """The sub-agent that isn't done. The next message is its answer where it is `asking`."""

    name: str
    title: Localised
    asking: bool


class WithPerson(Payload):
    """The person whom a conversation was handed to; `name` is empty while nobody has taken it."""

    hand_off: str
    name: str = ""
    opens_at: datetime | None = None
    """When somebody comes on duty, where nobody is."""


class ConversationStatus(Payload):
    """The answer to the `status` query."""

    running: list[str]
    """Message ids whose turns wait or run."""
    turns: int
    active_flow: FlowSummary | None
    paused_flows: list[PausedFlow]
    pending_confirmation: dict[str, JsonValue] | None
    asked: Reply | None = None
    """The question that is open and has a name: with buttons, to be confirmed, or a form."""
    active_skill: ActiveSkill | None = None
    waiting_calls: dict[str, str] = {}
    """Calls that the front end is yet to answer: which tool each is of, by its id."""
    with_person: WithPerson | None = None
    usage: Usage


def workflow_id(tenant: str, conversation: str) -> str:
    """The Temporal id of a conversation: `conversation/default/c1`."""
    return f"{_PREFIX}{tenant}/{conversation}"


def is_conversation(workflow: str) -> bool:
    """Return whether this is the Temporal id of a conversation."""
    return workflow.startswith(_PREFIX)


_PREFIX = "conversation/"


def update_id(message_id: str, digest: str) -> str:
    """The update id of a turn: a message id with another body is another update.

    With the bare message id Temporal would answer another body with the first result and
    never run the validator, which is where it is refused.
    """
    return f"{message_id}:{digest}"
