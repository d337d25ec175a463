"""The flow workflow's own interface: what conversations and approvers send it."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, JsonValue

from router.contracts.hook_calls import HookStub
from router.contracts.payload import Payload
from router.domain.locale import Locale, Localised
from router.domain.messages import FlowStatus, Reply, ToolCallView
from router.domain.principals import Principal
from router.domain.run_approvals import RunApproval
from router.flow.definition import FlowDefinition, SlotValues, Wait
from router.flow.engine import events
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Agreement
from router.flow.engine.run_parts.recovery import Done, Visit
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView

WORKFLOW = "Flow"
TELL = "tell"
DECIDE = "decide"
VIEW = "view"
HAPPEN = "happen"
HEARS = "hears"
STOP = "stop"
AMEND = "amend"
AGREED = "agreed"
OPERATE = "operate"
DEFINITION = "definition"

Told = Annotated[
    events.Began
    | events.Answered
    | events.Confirmed
    | events.Unclear
    | events.Skipped
    | events.Puzzled
    | events.StartedOver
    | events.Amended
    | events.Cancelled
    | events.PutAway
    | events.Nudged,
    Field(discriminator="type"),
]
"""What a requester may tell a run."""


class CallLimits(Payload):
    """How a tool may be called: known when the run starts, so that a replay never differs."""

    timeout: timedelta = timedelta(seconds=10)
    attempts: int = 1
    """How often it may be called with the same key at most; 0 until it works."""
    heartbeat: timedelta = timedelta(seconds=10)
    """After so long without a sign of life the call counts as lost; cancelling reaches it by
    the same way."""
    ephemeral: int = 0
    """How many of its last results a sub-agent's model sees whole; 0 is all of them."""
    return_direct: bool = False
    """True where its result is the answer as it is."""
    client: bool = False
    """True where the front end makes the call."""
    writes: bool = True
    """True where the call changes something, or may."""
    outward: bool = True
    """True where what comes back is a stranger's."""
    title: Localised | None = None
    """What people call it."""
    defaults: dict[str, JsonValue] = {}
    """What its arguments are that nobody gives."""
    hooks: tuple[HookStub, ...] = ()
    """What is called before and after it, or where it fails."""


AT_FRONT_END = CallLimits(attempts=1, client=True, writes=False)
"""Those of a tool that came with a message."""


class FlowStart(Payload):
    """The workflow's input: the definition whole, and the run where it continues as new.

    `form` says that the definition stands for a tool. `flows` are those that the definition starts,
    and those that they start. A run that another one starts has its `opening` here. `told` are the
    last few updates that it answered before it continued as new, by their ids, and `decided` are
    those of the people who decide on it.
    """

    definition: FlowDefinition
    requester: Principal
    conversation: str | None
    locale: Locale
    tools: dict[str, CallLimits] = {}
    form: bool = False
    flows: dict[str, FlowDefinition] = {}
    opening: events.Began | None = None
    run: Run | None = None
    created_at: datetime | None = None
    told: dict[str, "FlowAnswer"] = {}
    decided: dict[str, "AmendmentTaken"] = {}


class Tell(Payload):
    """One event from the requester, in the language they speak now.

    `aside` of the run's conversation, which then hears of what came of it as news.
    """

    event: Told
    locale: Locale
    aside: bool = False
    known_slot_sets: list[str] = []
    """The slot sets that the sender has: the answer leaves their slots out."""


class FlowAnswer(Payload):
    """What a run says to a `tell`: where it stands, and what to say now."""

    view: FlowView
    fillable: dict[str, Slot] = {}
    """The slots of the view's `slot_set`, unless the sender has them."""
    replies: list[Reply] = []
    calls: list[ToolCallView] = []
    """The tools that the run called since it was last heard of."""
    begun: list[str] = []
    """The runs that it had started since: each has its first word as news."""
    locked: Localised | None = None
    """Why it wasn't taken back: it can't be where it stands."""


class ApprovalDecision(Payload):
    """One decision of an approver."""

    event: events.Decided


class OperatorAction(Payload):
    """A word of an operator."""

    event: Annotated[events.Retried | events.Reassigned, Field(discriminator="type")]


class AmendmentRequest(Payload):
    """A change that a front end's person is sure of; its `word` makes it one."""

    event: events.Amended
    locale: Locale


class StopReason(Payload):
    """Why a run is cancelled by the one that started it, or by its turn."""

    comment: str | None = None
    begins_anew: bool = False
    """Since it begins anew: the requester changes the request."""


class DecisionTaken(Payload):
    """What a decision led to."""

    status: FlowStatus
    state: str


class AmendmentTaken(DecisionTaken):
    """What a change led to: it was made, or `why` it wasn't, with what is wrong by slot."""

    why: Localised | None = None
    problems: dict[str, Localised] = {}


class FlowEnded(DecisionTaken):
    """What a run hands over to the one that started it: what it knows, and what can be undone."""

    slots: SlotValues = {}
    results: dict[str, JsonValue] = {}
    done: list[Done] = []
    lasting: list[Visit] = []
    agreements: list[Agreement] = []
    granted: list[RunApproval] = []
    declined: bool = False
    related: list[str] = []


class ExternalEvent(Payload):
    """Something that happened outside, told by someone who holds these roles."""

    event: events.Arrived
    roles: frozenset[str]


class ExpectedEvents(Payload):
    """The outside events that a run's flow knows, by name: who may tell them, with what."""

    events: dict[str, Wait] = {}
    awaited: str | None = None
    """The one that the run waits for now."""
    ahead: list[str] = []
    """Those that it may come to wait for yet, by itself."""
    heard: list[str] = []
    """The words by which the last ones were told to it."""


def workflow_id(flow: str, tenant: str, run: str) -> str:
    """The Temporal id of a run: `leave_request/default/7h2k`."""
    return f"{flow}/{tenant}/{run}"
