"""What a run asked of the world, what it waits for, and what came back."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from router.domain.messages import FlowStatus
from router.domain.run_approvals import RunApproval
from router.domain.value import Value
from router.flow.engine.run_parts.approvals import MAX_AGREEMENTS, MAX_GRANTED, Agreement
from router.flow.engine.run_parts.draftable import Bound, Draftable, OnePer

MAX_BATCH_PARTS = 100
"""Items of a list, or branches, that a state does side by side: each is carried with the run until
the state is left."""
MAX_TASKS = MAX_BATCH_PARTS + 2
"""The parts of a batch, a lookup, and a call that is stopped."""
MAX_LOOKUP_ANSWERS = 1_000
"""Answers to lookups that one move of a flow may need."""
MAX_KEPT_ANSWERS = 500
"""Answers to lookups that a run keeps while it waits for somebody; more are looked up again."""
MAX_EVENT_KEYS = 50
"""Idempotency keys of outside events: an earlier one that comes again is a new event."""
MAX_RELATED_RUNS = 100
"""Branches that have joined whose ids a run keeps, the last ones: what they made it may act on."""

TimerName = Literal["remind", "escalate", "expire", "wait", "retry", "idle", "lapse"]
MAX_TIMERS = 7
"""One of each name."""


class Task(Value):
    """Something the run asked of the world and waits for.

    `lookup` reads and `check` asks a tool whether it would refuse a call: both may be made
    again; `call` is a tool call whose `key` makes it happen once; `undo` takes back a call that
    succeeded; `flow` is a run of another flow, or of a `branch` of this one, whose id is `key`.
    """

    id: str
    kind: Literal["lookup", "check", "call", "undo", "flow"]
    name: str
    arguments: Annotated[dict[str, JsonValue], OnePer("argument")] = {}
    positional: Annotated[list[JsonValue], OnePer("argument")] = []
    key: str = ""
    undoes: str = ""
    slot: str = ""
    """The slot that a lookup is for, where it is for one."""
    answers: Annotated[dict[str, JsonValue], OnePer("question")] = {}
    """For `call`: what the requester said to what the tool asked back, by question."""
    part: int | None = None
    """Which part of the run's `batch` it is, where it is of one."""
    branch: str = ""
    """For `flow`: the state of this very flow that it begins at; empty for another flow."""
    detached: bool = False
    """For `flow`: it is over as soon as that run has begun."""
    stopping: bool = False
    """For `flow`: that run is to be cancelled."""
    changed: bool = False
    """For one that is: since the requester changes the request."""
    agreed: Annotated[tuple[Agreement, ...], Bound(MAX_AGREEMENTS, "refuse")] = ()
    """For a `branch`: what was agreed to in others since it began, of which it is to be told."""
    granted: Annotated[tuple[RunApproval, ...], Bound(MAX_GRANTED, "drop_oldest")] = ()
    """For a `branch`: the approvals in force when it began, which it may void."""

    @property
    def may_change_something(self) -> bool:
        """True where stopping it half-way could leave something done."""
        return self.kind in ("call", "undo", "flow")


class Timer(Value):
    """A durable timer: fires at `due` unless the run no longer has it."""

    name: TimerName
    visit: int
    due: datetime

    @property
    def id(self) -> str:
        """Unique within the run, and the name a person sees in the Temporal UI."""
        return f"{self.name}:{self.visit}:{self.due.isoformat()}"


class Leaving(Value):
    """The state is left by `exit`, once what was called at the visit `clears` is taken back."""

    kind: Literal["leaving"] = "leaving"
    exit: str
    by: str | None = None
    clears: int | None = None


class GoingBack(Value):
    """The state `to` is entered once what was done since it was left is taken back."""

    kind: Literal["going_back"] = "going_back"
    to: str
    event: str
    by: str | None = None


class Ending(Value):
    """The run ends with `status` once everything that it has done is taken back."""

    kind: Literal["ending"] = "ending"
    status: FlowStatus


class Opening(Value):
    """An approval is opened, as things were at `since`, once all is looked up for it."""

    kind: Literal["opening"] = "opening"
    since: datetime


class Rescheduling(Value):
    """Timers are set anew, counted from `since`."""

    kind: Literal["rescheduling"] = "rescheduling"
    timers: Annotated[list[TimerName], Bound(MAX_TIMERS, "replace")]
    since: datetime


ReviewReason = Literal["reminded", "nudged", "escalated"]


class Reviewing(Value):
    """It is looked who of those waited for is gone, as things were at `since`.

    The others are told, where there is a `reason` to; `then` is what waits for that.
    """

    kind: Literal["reviewing"] = "reviewing"
    since: datetime
    reason: ReviewReason | None = None
    then: Rescheduling | None = None


Pending = Annotated[
    Leaving | GoingBack | Ending | Opening | Rescheduling | Reviewing, Field(discriminator="kind")
]


class BatchPart(Value):
    """One of the things that a state does side by side: for an item, or a branch."""

    arguments: Annotated[dict[str, JsonValue], OnePer("argument")] = {}
    branch: str = ""
    status: Literal["waiting", "under_way", "done", "failed", "stopped"] = "waiting"
    value: JsonValue = None
    """What it came to; where it failed, why."""
    ended: FlowStatus | None = None
    """How a run that was started ended."""
    results: Annotated[dict[str, JsonValue], OnePer("result")] = {}
    """For a branch: the results that it added."""
    declined: bool = False
    """True if an approval in that run ended otherwise, or unanswered, and nobody has approved
    since."""


class Batch(Value, frozen=False):
    """What a state does side by side, as far as it is."""

    visit: int
    parts: Annotated[list[BatchPart], Bound(MAX_BATCH_PARTS, "fail")]

    def draft(self) -> "Batch":
        """The same, for a step to change: its parts can be replaced."""
        draft = self.replace()
        draft.parts = list(self.parts)
        return draft

    def those(self, *statuses: str) -> list[BatchPart]:
        """The parts that stand so, in their order."""
        return [part for part in self.parts if part.status in statuses]


class Work(Draftable):
    """What the run still owes or awaits, and what it got.

    The workflow starts the tasks and timers that aren't under way, and stops those that are gone.
    """

    max_bytes: ClassVar[int] = 704 * 1024

    tasks: Annotated[dict[str, Task], Bound(MAX_TASKS, "refuse")] = {}
    timers: Annotated[dict[str, Timer], Bound(MAX_TIMERS, "replace")] = {}
    pending: Pending | None = None
    """What the run is about to do, while a lookup, a call or an undo for it is awaited."""
    batch: Batch | None = None
    lookup_answers: Annotated[dict[str, JsonValue], Bound(MAX_LOOKUP_ANSWERS, "fail")] = {}
    """Answers to lookups of this visit, by call."""
    results: Annotated[dict[str, JsonValue], OnePer("result")] = {}
    """What tools, decisions and events gave, by the name under which the file saves it."""
    early_events: Annotated[dict[str, dict[str, JsonValue]], OnePer("event")] = {}
    """Outside events that no state has waited for yet, by name."""
    event_keys: Annotated[list[str], Bound(MAX_EVENT_KEYS, "drop_oldest")] = []
    """The idempotency keys of the last outside events, so that none counts twice."""
    related_runs: Annotated[list[str], Bound(MAX_RELATED_RUNS, "drop_oldest")] = []
    """The workflow ids of the runs whose branch this one is, and of its branches that have joined:
    what they made is this run's own."""

    def draft(self) -> Self:
        """Copy the part, and the batch, whose parts are replaced as they come back."""
        draft = super().draft()
        if self.batch is not None:
            draft.batch = self.batch.draft()
        return draft

    def trim(self) -> None:
        """Drop what is over a bound; lookups' answers only while none is awaited.

        Otherwise a move that needs many would ask for the same ones again and again.
        """
        super().trim()
        if not self.tasks and len(self.lookup_answers) > MAX_KEPT_ANSWERS:
            self.lookup_answers = {}

    @property
    def ending(self) -> FlowStatus | None:
        """The status that the run ends with once everything that it did is taken back."""
        return self.pending.status if isinstance(self.pending, Ending) else None

    @property
    def departs(self) -> bool:
        """True if it is settled that the run goes elsewhere from its state, or ends."""
        return isinstance(self.pending, Leaving | GoingBack | Ending)

    def begin_visit(self) -> None:
        """Forget what was awaited in the state that was left, but for tasks under way."""
        self.lookup_answers, self.timers, self.pending, self.batch = {}, {}, None, None

    def end(self) -> None:
        """Owe and await nothing any longer."""
        self.tasks, self.timers, self.pending, self.batch = {}, {}, None, None

    def drop_timers(self, *names: TimerName) -> None:
        """Have no timer of these names any longer."""
        self.timers = {name: timer for name, timer in self.timers.items() if name not in names}
