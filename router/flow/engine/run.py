"""Everything a running flow knows, as one value, its history included.

What it still owes or awaits stands in it as data (`tasks`, `timers`, `pending`): the workflow
starts what is there and not yet under way, and stops what is gone. So a run can be carried to a
new workflow run, or replayed, from this value alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Literal, Self, overload

from pydantic import Field, GetCoreSchemaHandler, JsonValue
from pydantic_core import CoreSchema, core_schema

from router.domain.documents import Document
from router.domain.errors import ArgumentOffer
from router.domain.locale import Locale, Localised
from router.domain.messages import FlowStatus
from router.domain.principals import Principal
from router.domain.run_approvals import RunApproval
from router.domain.value import Value
from router.flow.definition import SlotValues
from router.flow.slot_types.slot import Slot


class Happening(Value):
    """A line of the run's history, for people."""

    at: datetime
    state: str
    event: str
    by: str | None = None
    comment: str | None = None


class History(Sequence[Happening]):
    """The lines so far, as a value that never changes. In JSON it is a list.

    A longer one shares its lines with the one it was made from, so that a line costs the same
    however many there are; only where two go on from the same one does the second copy it.
    """

    __slots__ = ("_length", "_shared")

    def __init__(
        self, lines: Iterable[Happening] = (), *, shared: list[Happening] | None = None
    ) -> None:
        self._shared = list(lines) if shared is None else shared
        self._length = len(self._shared)

    def followed_by(self, line: Happening) -> Self:
        """The history with one more line at its end."""
        if len(self._shared) > self._length:  # another one went on from here already
            return type(self)(self).followed_by(line)
        self._shared.append(line)
        return type(self)(shared=self._shared)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Happening]:
        return islice(self._shared, self._length)

    @overload
    def __getitem__(self, place: int) -> Happening: ...
    @overload
    def __getitem__(self, place: slice) -> list[Happening]: ...
    def __getitem__(self, place: int | slice) -> Happening | list[Happening]:
        if isinstance(place, slice):
            return [self._shared[number] for number in range(self._length)[place]]
        return self._shared[range(self._length)[place]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return f"History({list(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        lines = handler.generate_schema(list[Happening])
        read = core_schema.no_info_after_validator_function(cls, lines)
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=lines
            ),
        )


TimerName = Literal["remind", "escalate", "expire", "wait", "retry", "idle", "lapse"]
HANDED_OFF = 4
"""Misses of a question after which a person is named; with the next it begins anew."""
FailureKind = Literal["arguments", "permanent", "unavailable", "unknown", "missing"]
"""Other values might do; nothing can be done; its system is out of reach; nobody knows whether
it was done; the tool, lookup or hook isn't deployed."""
HeldKind = FailureKind | Literal["data"]
"""`data`: the run can't move on with the values that it has, for a reason that nobody foresaw."""
Verdict = Literal["approve", "reject", "return", "delegate", "add"]
Position = Literal["before", "after"]


class Agreement(Value):
    """That somebody agreed, to which contents."""

    person: str
    contents: str
    counted: list[str]
    """The states in which it has counted; it counts once in each, until the next return."""
    at: datetime | None = None
    """When: tells it from another of the same person's, where branches tell each other of it."""
    voided: bool = False
    """True once somebody has decided otherwise since: it no longer approves a call of a tool."""

    def counting_in(self, *states: str) -> "Agreement":
        """The same, now that it has counted in these states."""
        return self.replace(counted=list(dict.fromkeys([*self.counted, *states])))

    def counting_anew(self) -> "Agreement":
        """The same, as if it had counted nowhere yet."""
        return self.replace(counted=[])


class Task(Value):
    """Something the run asked of the world and waits for.

    `lookup` reads and `check` asks a tool whether it would refuse a call: both may be made
    again; `call` is a tool call whose `key` makes it happen once; `undo` takes back a call that
    succeeded; `flow` is a run of another flow, or of a `branch` of this one, whose id is `key`.
    """

    id: str
    kind: Literal["lookup", "check", "call", "undo", "flow"]
    name: str
    arguments: dict[str, JsonValue] = {}
    positional: list[JsonValue] = []
    key: str = ""
    undoes: str = ""
    slot: str = ""
    """The slot that a lookup is for, where it is for one."""
    answers: dict[str, JsonValue] = {}
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
    agreed: tuple[Agreement, ...] = ()
    """For a `branch`: what was agreed to in others since it began, of which it is to be told."""
    granted: tuple[RunApproval, ...] = ()
    """For a `branch`: the approvals in force when it began, which it may void."""

    @property
    def may_change_something(self) -> bool:
        """True where stopping it half-way could leave something done."""
        return self.kind in ("call", "undo", "flow")


class Inquiry(Value):
    """What a tool asked back when it was called, as slots to be filled."""

    state: str
    """The one that calls the tool."""
    say: Localised
    slots: dict[str, Slot]
    fields: dict[str, dict[str, str]]
    """By question: which field's answer is in which slot. The field without a name stands for
    the question itself, to which one says yes or no."""


class Timer(Value):
    """A durable timer: fires at `due` unless the run no longer has it."""

    name: TimerName
    visit: int
    due: datetime

    @property
    def id(self) -> str:
        """Unique within the run, and the name a person sees in the Temporal UI."""
        return f"{self.name}:{self.visit}:{self.due.isoformat()}"


class Assignee(Value, frozen=False):
    """One person asked to decide, and what they said."""

    id: str
    """The approval's id: opaque, unique for run, visit and person."""
    person: str
    since: datetime
    verdict: Verdict | Literal["escalated", "changed"] | None = None
    """`changed`: nobody decided, since the requester changed what was to be decided on."""
    comment: str | None = None
    at: datetime | None = None
    via: Literal["asked", "stands_in", "carried", "delegated", "added", "escalated"] = "asked"
    stands_in: str | None = None
    """Who is away, and in whose place this person was asked."""
    source: str = ""
    """The expression that names who is asked in this place; empty where a person named them."""
    behind: str | None = None
    """The assignee who has to agree before it is this person's turn."""
    implied: bool = False
    """True where they agreed by adding someone after themselves; they may still say so."""

    @property
    def open(self) -> bool:
        """True while this person's decision is awaited."""
        return self.verdict is None


class Approval(Value, frozen=False):
    """The approval under way: who was asked what. A decision is bound to `digest`."""

    visit: int
    mode: Literal["any", "all", "sequential"]
    title: Localised
    summary: dict[str, Localised]
    """What the approver is shown: label by slot name, value by language."""
    labels: dict[str, Localised]
    digest: str
    assignees: list[Assignee]
    due: datetime | None = None
    cc: list[str] = []
    contents: str = ""
    """Stands for what the requester said and what came of it, whichever state shows it."""
    slots_digest: str = ""
    """The digest of all slots as they are shown: `router.flow.engine.granted`."""
    bulk: bool = False

    def draft(self) -> "Approval":
        """The same, for a step to change: what people said of it can be written into it."""
        people = [person.replace() for person in self.assignees]
        return self.replace(assignees=people)

    @property
    def asked(self) -> list[Assignee]:
        """Those whom the file asks, or who stand in for them; not those added on the way."""
        return [a for a in self.assignees if a.via != "added"]

    @property
    def agreed(self) -> bool:
        """True where those asked have agreed as `mode` wants, and everyone added has too."""
        verdicts = [a.verdict for a in self.asked if a.verdict in (None, "approve")]
        enough = "approve" in verdicts if self.mode == "any" else None not in verdicts
        # Whoever passed it on, or was passed over, is stood for by the one it went to.
        gone_on = ("approve", "delegate", "escalated")
        return enough and all(a.verdict in gone_on for a in self.assignees if a.via == "added")

    @property
    def carried_over(self) -> bool:
        """True where it came to what it did by what people had agreed to before."""
        ways = {a.via for a in self.assignees if a.verdict is not None}
        return ways == {"carried"}

    def waiting_for(self) -> list[Assignee]:
        """Those whose decision is awaited now: in sequence the first, else everyone still open.

        Whoever comes behind somebody isn't asked before that one has agreed.
        """
        added = [a for a in self.assignees if a.open and a.via == "added"]
        still = [a for a in self.asked if a.open]
        if self.mode == "any" and any(a.verdict == "approve" for a in self.asked):
            still = []
        turns = (still[:1] if self.mode == "sequential" else still) + added
        agreed = {a.id for a in self.assignees if a.verdict == "approve"}
        return [a for a in turns if a.behind is None or a.behind in agreed]

    def pass_on(self, before: Assignee, after: Assignee) -> None:
        """Have those who come behind one person come behind another."""
        for one in self.assignees:
            if one.behind == before.id and one is not after:
                one.behind = after.id


class Amendment(Value):
    """A change of what was handed in, from its wish until it is made or dropped."""

    slots: SlotValues
    """What is to be other, by slot name or path."""
    number: int
    """Names the question whether to make it."""
    visit: int
    word: str = ""
    """By what a front end waits to hear what comes of it: nobody is asked again then."""
    after: SlotValues | None = None
    """What the slots would be; None while that is looked up."""
    tasks: list[str] = []
    """The lookups for it."""


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
    timers: list[TimerName]
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


class Visit(Value):
    """A state that was entered, and for which time."""

    state: str
    visit: int


class Done(Value):
    """A call that succeeded and has an `undo`, made by this run or by one that it started."""

    visit: int
    state: str
    tool: str
    arguments: dict[str, JsonValue]
    key: str
    part: int | None = None
    undo: str
    """The tool that takes it back."""
    task: str | None = None
    """The task that tried to: whatever is gone by the next try, it keeps its id."""
    failed: FailureKind | None = None
    """Why it couldn't be taken back, until that is tried again."""
    tries: int = 0
    """How often that came to nothing."""
    again: int = 0
    """How often an operator had it taken back under a key of its own."""


class Withdraws(Value):
    """The completed run that this one takes back, once that is agreed to."""

    run: str
    done: list[Done]


class BatchPart(Value):
    """One of the things that a state does side by side: for an item, or a branch."""

    arguments: dict[str, JsonValue] = {}
    branch: str = ""
    status: Literal["waiting", "under_way", "done", "failed", "stopped"] = "waiting"
    value: JsonValue = None
    """What it came to; where it failed, why."""
    ended: FlowStatus | None = None
    """How a run that was started ended."""
    results: dict[str, JsonValue] = {}
    """For a branch: the results that it added."""
    declined: bool = False
    """True if an approval in that run ended otherwise, or unanswered, and nobody has approved
    since."""


class Batch(Value, frozen=False):
    """What a state does side by side, as far as it is."""

    visit: int
    parts: list[BatchPart]

    def draft(self) -> "Batch":
        """The same, for a step to change: its parts can be replaced."""
        return self.replace(parts=list(self.parts))

    def those(self, *statuses: str) -> list[BatchPart]:
        """The parts that stand so, in their order."""
        return [part for part in self.parts if part.status in statuses]


class Run(Value, frozen=False, extra="forbid"):
    """A running flow, whole. See the module."""

    id: str
    """The public id: opaque, URL-safe. The workflow's is `<flow>/<tenant>/<this>`."""
    requester: Principal
    conversation: str | None = None
    locale: Locale = "zh"
    parent: str | None = None
    """The workflow id of the run that started this one and waits for it."""

    status: FlowStatus = "running"
    state: str = ""
    visit: int = 0
    slots: SlotValues = {}
    derived: list[str] = []
    """Slots that a lookup filled: they are looked up anew when what they come from changes."""
    replaced: SlotValues = {}
    """What slots had that a word for something else empties: said once they are looked up anew."""
    latest: list[str] = []
    """The slots that the requester gave last, all with one word."""
    results: dict[str, JsonValue] = {}
    files: dict[str, str] = {}
    """What the requester's files in the slots are called, by id: people are shown names."""

    documents: dict[str, Document] = {}
    """What was read of files in the slots, by id."""
    remarks: dict[str, list[Localised]] = {}
    """What the flow has to say of a file that it took, by id."""

    offered: SlotValues = {}
    """Values that were given and aren't checked yet."""
    pending: Pending | None = None
    """What the run is about to do, while a lookup, a call or an undo for it is awaited."""
    closed: list[str] = []
    """Lists that the requester has no more items for."""
    skipped: list[str] = []
    """Slots that the requester left empty: they aren't asked for again."""
    wanted: list[str] = []
    """Slots that the requester wants to supply: they are asked for whatever their `when` says."""
    changing: bool = False
    """True where the requester declined, and is asked what to change."""
    choosing: str = ""
    """What holds what is to be changed, where that is asked step by step: `items`, `items.0`."""
    known: dict[str, JsonValue] = {}
    """Answers to lookups of this visit, by call."""
    tasks: dict[str, Task] = {}
    timers: dict[str, Timer] = {}
    approval: Approval | None = None
    amendment: Amendment | None = None
    confirmed: SlotValues | None = None
    """The slots that a change was confirmed to: while they are these, and nothing is asked, what
    was confirmed before isn't asked to be confirmed again."""
    lasting: list[Visit] = []
    """Where something was done that can't be taken back."""
    settled: Approval | None = None
    """The approval before that, as it ended."""
    settled_before: list[Approval] = []
    """Those from which what people agreed to there was carried over, as they ended."""
    agreements: list[Agreement] = []
    granted: list[RunApproval] = []
    """The approvals in force, for the tool gate: see `router.flow.engine.granted`."""
    declined: bool = False
    """True from a rejection, a return or an expiry until somebody approves."""
    related: list[str] = []
    """The workflow ids of the runs whose branch this one is, and of its branches that have joined:
    what they made is this run's own."""
    copied: list[str] = []
    """Everyone who was ever told of an approval as `cc`."""
    before: SlotValues | None = None
    """The slots as they were when the run was last sent back for changes."""
    withdraws: Withdraws | None = None

    asked: str | None = None
    """The slot path being asked for."""
    no_matches: int = 0
    """Answers in a row that didn't answer it."""
    times_asked: dict[str, int] = {}
    """How often each path was asked for."""
    quiet: bool = False
    """True where the last event left the question to be asked another time."""
    told_elsewhere: bool = False
    """True where a run that this one is a part of, or a part of it, says that it is cancelled."""
    says_cancelled: bool = False
    """True where the requester heard that it is being taken back, and waits to hear that it was."""
    lapsed: bool = False
    """True where it ends since its requester said nothing more."""
    trail: list[Visit] = []
    options: dict[str, ArgumentOffer] = {}
    """What a check would have the requester choose from, by slot."""
    inquiries: list[Inquiry] = []
    """All that tools asked back. Their slots are as good as the file's from then on."""
    done: list[Done] = []
    batch: Batch | None = None
    tries: int = 0
    """Calls of this visit that came back without an answer."""
    missing_tries: int = 0
    """How often this visit looks again by itself for code that isn't deployed."""
    held: HeldKind | None = None
    """Why the call failed, or an approval's lookup, that an operator has to see to."""
    again: int = 0
    """How often an operator had the call of this visit made under a key of its own."""
    arrived: dict[str, dict[str, JsonValue]] = {}
    """Outside events that no state has waited for yet, by name."""
    heard: list[str] = []
    """The words by which the last outside events were told, so that none counts twice."""
    owes: Literal["later", "operator"] | None = None
    """Who is to take back what couldn't be, as the requester was told: a later try, or somebody."""
    history: History = History()
    events: int = 0
    """How many events were taken in: orders the views of a run."""

    def draft(self) -> "Run":
        """The same run, for a step to change in place; this one then stays as it is.

        Only the containers are new. What is in them is shared, and therefore replaced where it
        has to be different, never changed: so a step costs the same whatever was said before.
        """
        draft = self.replace()
        for name, value in self.__dict__.items():
            if isinstance(value, dict | list):
                setattr(draft, name, copy(value))
        draft.approval = self.approval and self.approval.draft()
        draft.batch = self.batch and self.batch.draft()
        return draft

    @property
    def ending(self) -> FlowStatus | None:
        """The status that the run ends with once everything in `done` is taken back."""
        return self.pending.status if isinstance(self.pending, Ending) else None

    @property
    def departs(self) -> bool:
        """True where it is settled that the run goes elsewhere from its state, or ends."""
        return isinstance(self.pending, Leaving | GoingBack | Ending)

    @property
    def asks_to_amend(self) -> bool:
        """True while the requester is asked whether a change of what waits is to be made."""
        return self.amendment is not None and self.amendment.after is not None

    def close_approval(self) -> None:
        """Nobody is asked any more: what was decided until then is on record as it stands."""
        ended, self.approval = self.approval, None
        if ended is not None:
            # What ends as soon as it is opened mustn't hide whose decision had led to it.
            self.settled_before = self.ended_approvals if ended.carried_over else []
            self.settled = ended

    @property
    def ended_approvals(self) -> list[Approval]:
        """The last that ended, behind those that led to it without anybody's being asked."""
        return [*self.settled_before, *([self.settled] if self.settled else [])]

    def void_approval(self, now: datetime) -> None:
        """Nobody decides any more what is asked now: it is changed."""
        for one in self.approval.assignees if self.approval else ():
            if one.open:
                one.verdict, one.at = "changed", now

    def no_match(self) -> None:
        """Count one more answer that didn't answer what is asked."""
        self.no_matches = self.no_matches % HANDED_OFF + 1
        self._count_asked()

    def ask(self, path: str) -> None:
        """Have this path asked for, where it isn't what is asked already."""
        if path != self.asked:
            self.asked, self.no_matches = path, 0
            self._count_asked()

    def _count_asked(self) -> None:
        if self.asked is not None:
            self.times_asked[self.asked] = self.times_asked.get(self.asked, 0) + 1

    @property
    def question(self) -> str:
        """Names what is being asked, so that a late answer to an earlier question is noticed."""
        if self.asks_to_amend and self.amendment is not None:
            return f"{self.state}:{self.visit}:amend.{self.amendment.number}"
        within = f":{self.choosing}" if self.choosing else ""
        return f"{self.state}:{self.visit}:{self.asked or ''}{within}"
