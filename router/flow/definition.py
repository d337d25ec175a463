"""A flow file as values. `router.flow.loader` reads it; nothing here touches a disk.

The whole definition travels as the input of the flow's workflow, so that a run keeps the
version that it began with. Everything is therefore plain data that survives a round trip
through JSON: `FlowDefinition.model_validate_json(d.model_dump_json()) == d`.
"""

import hashlib
import re
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from router.domain.locale import Localised
from router.domain.messages import EndStatus
from router.domain.principals import Capability
from router.flow.slot_types.slot import (
    Choice,
    Definition,
    Reference,
    Several,
    Slot,
    SlotCheck,
    slot_at,
)

_SPAN = re.compile(r"[+-]?P")


def _as_iso(value: Any) -> Any:
    """Refuse what pydantic would take besides: `3 days`, a clock's time, a number of seconds."""
    if isinstance(value, timedelta) or (isinstance(value, str) and _SPAN.match(value)):
        return value
    raise PydanticCustomError("time_delta_parsing", "a duration is written as ISO 8601 has it")


Span = Annotated[timedelta, BeforeValidator(_as_iso)]
"""How long something takes, written `PT24H` or `P14D`."""


BlockerName = Literal[
    "how-or-what",
    "question",
    "whether",
    "rules",
    "procedure",
    "status",
    "change",
    "negation",
    "past",
    "translation",
    "text",
    "others",
    "named-person",
    "reference",
    "topic",
    "quotation",
]
"""What keeps any flow from starting although its words are there: `triggers.blockers`."""


class Triggers(Definition):
    """What starts a flow. Patterns are RE2, searched in the normalised message.

    `topics` are what the flow is about: a message that names one starts it where the rest of
    the message plainly asks for something, in whatever words (`triggers.classifier`).

    `without` names guards that don't hold for this flow: one that is there for questions is
    started by them.

    A file may name pieces of its patterns in `words`. The loader writes them out, so a
    definition that was loaded has none, and none travel.
    """

    patterns: tuple[str, ...] = ()
    """RE2, searched in the normalised message: what starts the flow. A named group fills the slot
    of its name."""
    topics: tuple[str, ...] = ()
    """RE2: what the flow is about; a message that names one starts it where it plainly asks for
    something."""
    unless: tuple[str, ...] = ()
    """RE2: where one is found, the message doesn't start the flow."""
    without: tuple[BlockerName, ...] = ()
    """Guards that don't hold for this flow."""
    examples: tuple[str, ...] = ()
    """Sentences people say, for finding it where no pattern matches."""
    roles: frozenset[str] = frozenset()
    """Who may start it; empty for everyone."""
    words: dict[str, str] = Field({}, exclude=True)
    """Pieces of patterns by name, written `{NAME}` in a pattern."""


StateKind = Literal[
    "collect", "check", "call", "flow", "parallel", "confirm", "approve", "wait", "say"
]
STATE_KINDS: tuple[StateKind, ...] = get_args(StateKind)
DEFAULT_IDLE = timedelta(days=3)
"""After so long without a word a run that asks says that it is still open."""


class Branch(Definition):
    """One way on: taken where `condition` (`if` in a file) holds, or always without one."""

    to: str
    """A state."""
    condition: str | None = Field(None, alias="if")
    """An expression; the first branch whose condition holds is taken."""


def _branches(value: Any) -> Any:
    """Read `next: review` as the single branch that it is short for."""
    return [{"to": value}] if isinstance(value, str) else value


Next = Annotated[
    tuple[Branch, ...],
    BeforeValidator(_branches, json_schema_input_type=str | tuple[Branch, ...]),
]


class Approve(Definition):
    """Who has to agree, and what happens while they don't answer.

    `by` is one or several expressions, each of which gives a user id, a list of them, or
    nobody. Where they come to nobody, or to the requester alone, `otherwise` is asked;
    a run never approves itself.

    `cc` are told when it is asked and when it is decided, and may look at the run. With
    `hours: working` the spans count in the working time of whoever is asked: each whole day is
    a working day. `skip_same` doesn't ask those again who have agreed to the same contents in
    this run.
    """

    by: Several
    """Expressions that give the user ids of those who are asked."""
    title: Localised
    """What the approver reads first."""
    otherwise: str | None = None
    """Who is asked where `by` comes to nobody, or to the requester alone."""
    mode: Literal["any", "all", "sequential"] = "any"
    """Whether one of them decides, all have to agree at once, or one after the other."""
    remind_every: Span | None = None
    """How often those who are asked are reminded."""
    escalate_after: Span | None = None
    """How long until `escalate_to` is asked instead."""
    escalate_to: str | None = None
    """An expression, which may use `approver`: who is asked then."""
    expire_after: Span | None = None
    """How long until the state leaves by `expired`."""
    hours: Literal["calendar", "working"] = "calendar"
    """Whether durations count as the calendar has them, or in the working time of whoever is
    asked."""
    cc: Several = ()
    """Expressions of people who are told and may look, but don't decide."""
    skip_same: bool = True
    """False asks people again who have agreed to the same contents in this run."""


class Withdrawal(Definition):
    """How a run that was completed is taken back: who has to agree before it is undone."""

    approve: Approve
    """Who has to agree."""


class Wait(Definition):
    """Until a moment (an expression that gives a date or time), for a while, or for an event.

    The `event` comes from outside, by someone who holds one of `roles`, with the `fields`; a
    moment or a while is then how long it is waited for.
    """

    until: str | None = None
    """An expression that gives a day or moment."""
    duration: Span | None = Field(None, alias="for")
    """How long."""
    event: str | None = None
    """The name of what has to happen outside."""
    roles: tuple[str, ...] = ()
    """Who may tell that it has happened."""
    fields: dict[str, Slot] = {}
    """What is told with it, typed like slots."""


class Retry(Definition):
    """While a system is out of reach: how often it is called in all, and how long after each."""

    attempts: int
    """Calls in all."""
    every: Span
    """How long after each failure."""


EXIT_NAMES = (
    *("next", "on_error", "confirmed", "declined", "approved", "rejected", "returned", "expired"),
    *("late", "completed", "otherwise", "join"),
)


class State(Definition):
    """One state; exactly one of the keys in `STATE_KINDS` (or a bare `end`) says its kind."""

    collect: tuple[str, ...] | None = None
    """The slots that are asked for, in this order, where they are empty."""
    check: str | None = None
    """A tool, asked whether it would refuse the call; nothing is done."""
    call: str | None = None
    """A tool."""
    flow: str | None = None
    """Another flow of the catalogue, run for the same requester."""
    parallel: tuple[str, ...] | None = None
    """The states at which branches begin; each ends where it comes to `join`."""
    confirm: Localised | None = None
    """Shows this and the slots, and asks yes or no."""
    approve: Approve | None = None
    """Asks other people."""
    wait: Wait | None = None
    """Waits for a day, a while or an event."""
    say: Localised | None = None
    """Says it."""

    arguments: dict[str, str] = Field({}, alias="with")
    """For `call` and `check`: an expression for each argument; for `flow`: for each slot."""
    retry: Retry | None = None
    """For `call`: beyond what the tool itself tries within its minute."""
    hold: bool = False
    """For `call`: where it fails for good the run waits for an operator."""
    each: str | None = None
    """For `call` and `flow`: a list, for each `item` of which it is made."""
    at_once: int | None = None
    """With `each`: how many may be under way at once."""
    detached: bool = False
    """For `flow`: what becomes of it is not waited for."""
    wait_for: Literal["all", "any"] | None = None
    """For `parallel`: whether all branches have to come to `join`, or one is enough."""
    rest: Literal["stop", "finish"] | None = None
    """For `parallel`: what becomes of the other branches once it is decided without them."""
    save: str | None = None
    """The name that the result has in `results`."""
    undo: str | None = None
    """For `call`: the tool that takes it back, called with the same arguments."""
    forget: tuple[str, ...] = ()
    """For `say`: slots that are emptied."""
    end: EndStatus | None = None
    """With `say`, or alone: how the run ends."""
    keep: bool = False
    """With an `end` other than `completed`: what was done isn't undone."""

    next: Next = ()
    """Where it goes on."""
    on_error: Next = ()
    """Where a `call` or `check` goes on that was refused or failed for good."""
    confirmed: Next = ()
    """Where a `confirm` goes on after a yes."""
    declined: Next = ()
    """Where it goes on after a no."""
    approved: Next = ()
    """Where an `approve` goes on that was agreed to."""
    rejected: Next = ()
    """Where it goes on after a no."""
    returned: Next = ()
    """Where it goes on when the approver sends it back for changes."""
    expired: Next = ()
    """Where it goes on when nobody has decided in time."""
    late: Next = ()
    """Where a `wait` for an event goes on when it hasn't come in time."""
    completed: Next = ()
    """Where a `flow` goes on whose run was completed."""
    otherwise: Next = ()
    """Where a `flow` or `parallel` goes on after any other end."""
    join: Next = ()
    """The state at which the branches of a `parallel` are done."""

    @property
    def kind(self) -> StateKind:
        """What the state does; a bare `end` says nothing and is a `say`."""
        return next((k for k in STATE_KINDS if getattr(self, k) is not None), "say")

    @model_validator(mode="after")
    def _exactly_one_kind(self) -> Self:
        present = [k for k in STATE_KINDS if getattr(self, k) is not None]
        if len(present) > 1:
            raise ValueError(f"a state does one thing, but this has {' and '.join(present)}")
        if not present and self.end is None:
            raise ValueError(f"a state needs one of {', '.join(STATE_KINDS)} or end")
        return self

    def exits(self) -> dict[str, Next]:
        """Every way out of the state, by the name of the event that takes it."""
        return {name: getattr(self, name) for name in EXIT_NAMES if getattr(self, name)}


class FlowDefinition(Definition):
    """One flow, whole."""

    flow: str
    """Its name, the same as the file's."""
    version: int = 1
    """Counted up when its runs are to do something else."""
    title: Localised
    """Its name for people."""
    description: Localised
    """What it is for; messages are compared with it."""
    names: Several = ()
    """What people call it besides its title, or what it is about: `pto`. By these it is cancelled,
    taken up again, asked after and withdrawn: `how is my pto doing`."""
    verbs: Several = ()
    """What somebody does who wants it: `休`, `travel`. `不休了` cancels it."""
    triggers: Triggers = Triggers()
    """What starts it."""
    idle: Span = Field(DEFAULT_IDLE, gt=timedelta())
    """How long a question waits for a word before that is said."""
    slots: dict[str, Slot] = {}
    """What it has to know."""
    start: str
    """The state it begins in."""
    states: dict[str, State]
    """All its states."""
    withdrawal: Withdrawal | None = None
    """How a completed run is taken back; without it, not at all."""

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the content: what tells an edited file from the one before."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def capability(self) -> Capability:
        """How the flow is listed and found."""
        return Capability(
            kind="flow",
            name=self.flow,
            title=self.title,
            description=self.description,
            examples=self.triggers.examples,
            roles=self.triggers.roles,
        )

    def slot_at(self, path: str) -> Slot | None:
        """The slot of `items.0.amount` or `reason`; None where there is none such.

        >>> definition.slot_at("items.0.amount").type  # doctest: +SKIP
        'money'
        """
        return slot_at(self.slots, path)


FILE_MODELS: tuple[type[Definition], ...] = (
    *(
        FlowDefinition,
        Triggers,
        Slot,
        Reference,
        Choice,
        SlotCheck,
        State,
        Branch,
        Approve,
        Wait,
        Retry,
    ),
    Withdrawal,
)
"""What a flow file is made of, in the order in which it is explained."""

SlotValues = dict[str, JsonValue]
