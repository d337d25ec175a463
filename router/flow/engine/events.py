"""Everything that can happen to a running flow, and what a step says once of it.

An event is what the machine is told (`engine.machine.step`): by a person, by the world that
it asked something of, or by time. What it then owes stands in the run; effects are told once.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue

from router.domain.errors import ArgumentOffer
from router.domain.locale import Localised
from router.domain.messages import FlowStatus
from router.domain.run_approvals import RunApproval
from router.domain.value import Value
from router.domain.visible_text import visible
from router.flow.definition import SlotValues
from router.flow.engine.run_parts.approvals import Agreement, Position, Verdict
from router.flow.engine.run_parts.form import Inquiry
from router.flow.engine.run_parts.recovery import Done, FailureKind, Visit

Remark = Annotated[str, AfterValidator(visible)]
"""What somebody said of it."""


class Event(Value):
    """Base of what can happen to a run. `by` is a user id, or None for the world itself."""

    by: str | None = None


class Began(Event):
    """The first event of every run: what the opening sentence already named."""

    type: Literal["began"] = "began"
    slots: SlotValues = {}
    skipped: list[str] = []
    """Slots that the requester left empty in the run that this one goes on from."""


class ToQuestion(Event):
    """Base of what answers a `question`, the one last shown: once that has changed, it is void."""

    question: str | None = None


class Answered(ToQuestion):
    """The requester gave values."""

    type: Literal["answered"] = "answered"
    slots: SlotValues


class Confirmed(ToQuestion):
    """The requester answered a confirmation, perhaps with corrections."""

    type: Literal["confirmed"] = "confirmed"
    value: bool
    slots: SlotValues = {}


class Unclear(Event):
    """The requester said something that answers nothing; with `count` it counts as a miss."""

    type: Literal["unclear"] = "unclear"
    count: bool = True


class Skipped(ToQuestion):
    """The requester leaves empty what is asked."""

    type: Literal["skipped"] = "skipped"


class Puzzled(Event):
    """The requester wants to know what can be said here."""

    type: Literal["puzzled"] = "puzzled"


class StartedOver(ToQuestion):
    """The requester takes back everything they said, and begins anew."""

    type: Literal["started_over"] = "started_over"


class Cancelled(Event):
    """The requester takes it back, or an operator ends it.

    `leaving` are calls under way that only look something up: nothing waits for those.
    `by_parent`: the run that started this one is cancelled, and says so for both; `changed` where
    it begins this one anew, since the requester changes the request.
    `final`: an operator's word, by which what can't be undone is left as it is.
    """

    type: Literal["cancelled"] = "cancelled"
    comment: Remark | None = None
    leaving: tuple[str, ...] = ()
    by_parent: bool = False
    changed: bool = False
    final: bool = False


class PutAway(Event):
    """The conversation has no room for the run, which ends as one that was never answered."""

    type: Literal["put_away"] = "put_away"


class LookedUp(Event):
    """A lookup's answer."""

    type: Literal["looked_up"] = "looked_up"
    task: str
    value: JsonValue


class Called(Event):
    """A tool's result; of an `undo` as well. `lasts` where it changed something out there.

    `attempts` is how many tries the call took.
    """

    type: Literal["called"] = "called"
    task: str
    value: JsonValue
    lasts: bool = False
    attempts: int = 1


class Failed(Event):
    """A task came to nothing for good, after so many `attempts`."""

    type: Literal["failed"] = "failed"
    task: str
    error: str
    attempts: int = 1
    kind: FailureKind = "permanent"
    final: bool = False
    """It isn't tried again by itself, whatever its kind."""
    offered: ArgumentOffer | None = None
    """Of a check that can't tell which of several is meant: those."""


class AskedBack(Event):
    """A tool wants to know more before it does anything; the call had no effect."""

    type: Literal["asked_back"] = "asked_back"
    task: str
    inquiry: Inquiry


class Decided(Event):
    """An approver decided. `approval` is the assignee's id, `digest` what they were shown."""

    type: Literal["decided"] = "decided"
    approval: str
    verdict: Verdict
    name: str | None = None
    """What who decides is called, by which they are quoted."""
    comment: Remark | None = None
    to: str | None = None
    position: Position | None = None
    """For `add`: whether whoever is added decides before or after; None at the same time."""
    digest: str | None = None


class Amended(Event):
    """The requester wants what was handed in to be other. With a `word` they are sure of it."""

    type: Literal["amended"] = "amended"
    slots: SlotValues
    word: str = ""


class Nudged(Event):
    """The requester asks the approver to hurry."""

    type: Literal["nudged"] = "nudged"


class Arrived(Event):
    """Something happened outside, told once as `word`."""

    type: Literal["arrived"] = "arrived"
    name: str
    value: dict[str, JsonValue] = {}
    word: str = ""


class Finished(Event):
    """A run that this one started has ended; or has begun, where that is all that was wanted."""

    type: Literal["finished"] = "finished"
    task: str
    status: FlowStatus
    slots: SlotValues = {}
    results: dict[str, JsonValue] = {}
    done: list[Done] = []
    lasting: list[Visit] = []
    """Where it did what can't be taken back."""
    agreements: list[Agreement] = []
    granted: list[RunApproval] = []
    declined: bool = False
    related: list[str] = []
    """The workflow ids of the run and of its branches that joined, if it was a branch."""


class Agreed(Event):
    """In another branch of the same run people have agreed to something."""

    type: Literal["agreed"] = "agreed"
    agreements: list[Agreement]


class Retried(Event):
    """An operator has the call made again that failed."""

    type: Literal["retried"] = "retried"


class Reassigned(Event):
    """An operator has someone else asked to decide, in place of `instead_of`."""

    type: Literal["reassigned"] = "reassigned"
    to: str
    instead_of: str
    comment: Remark | None = None


class Fired(Event):
    """A timer came due."""

    type: Literal["fired"] = "fired"
    timer: str


Word = Began | Answered | Confirmed | Unclear | Skipped | Puzzled | StartedOver
"""What a requester says to a run that asks; anything else is the world's doing."""
Operated = Decided | Retried | Reassigned
"""What may be refused: a decision, and what operators do."""
CameBack = LookedUp | Called | Failed | AskedBack | Finished
AnyEvent = Annotated[
    Word | Operated | CameBack | Amended | Cancelled | PutAway | Nudged | Fired | Arrived | Agreed,
    Field(discriminator="type"),
]


class Say(BaseModel):
    """Effect: tell the requester, in their language."""

    type: Literal["say"] = "say"
    text: str


Telling = Literal[
    "asked", "reminded", "nudged", "escalated", "delegated", "added", "copied", "decided"
]
"""Why somebody is told of an approval."""


class Remind(BaseModel):
    """Effect: tell these people that a decision of theirs is awaited (again)."""

    type: Literal["remind"] = "remind"
    people: list[str]
    reason: Telling


class AmendmentJudged(BaseModel):
    """Effect: tell whoever waits by this `word` what came of a change; it was made without a `why`.

    `problems` are by slot or path.
    """

    type: Literal["judged"] = "judged"
    word: str
    why: Localised | None = None
    problems: dict[str, Localised] = {}


Effect = Annotated[Say | Remind | AmendmentJudged, Field(discriminator="type")]
