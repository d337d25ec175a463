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

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from router.domain.capabilities import Capability
from router.domain.messages import EndStatus
from router.domain.texts import Localised

SlotType = Literal[
    "choice",
    "text",
    "number",
    "integer",
    "money",
    "date",
    "datetime",
    "duration",
    "boolean",
    "file",
    "list",
    "object",
]
StateKind = Literal[
    "collect", "check", "call", "flow", "parallel", "confirm", "approve", "wait", "say"
]
STATE_KINDS: tuple[StateKind, ...] = get_args(StateKind)
GuardName = Literal[
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
"""What keeps any flow from starting although its words are there: `router.understanding.guards`."""
SKIPPABLE = "=skippable"
"""A key that no file has: what is under it comes of the rest."""
DEFAULT_IDLE = timedelta(days=3)
"""After so long without a word a run that asks says that it is still open."""
RULES = "=rules"
"""Another such key: which rules of the machine a run of the definition lives by."""
STAND_INS_AND_SKIPS = 2
"""Since these rules those who are away are stood in for, and nobody is asked for the same twice."""
HOLDS_LOOKUPS = 3
"""Since these a lookup that fails for good in an approval waits for an operator."""
LEAVES_NOTHING_DONE = 4
"""Since these a run that isn't completed leaves nothing done, unless its file says so, and isn't
over before everything is undone."""
COUNTS_IN_BRANCHES = 5
"""Since these an agreement counts in the branches of a run too, and one in a branch everywhere."""
NEWEST_RULES = COUNTS_IN_BRANCHES
RangePart = Literal["start", "end", "start_half", "end_half"]


_SPAN = re.compile(r"[+-]?P")


def _as_iso(value: Any) -> Any:
    """Refuse what pydantic would take besides: `3 days`, a clock's time, a number of seconds."""
    if isinstance(value, timedelta) or (isinstance(value, str) and _SPAN.match(value)):
        return value
    raise PydanticCustomError("time_delta_parsing", "a duration is written as ISO 8601 has it")


Span = Annotated[timedelta, BeforeValidator(_as_iso)]
"""How long something takes, written `PT24H` or `P14D`."""


class Definition(BaseModel):
    """Base of everything in a flow file: frozen, closed, and written with the file's own keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True
    )


class Choice(Definition):
    """One value of a `choice` slot, and the words people use for it."""

    label: Localised
    synonyms: tuple[str, ...] = ()


class Check(Definition):
    """A condition that a slot must meet, in CEL, and what is said where it doesn't."""

    that: str
    say: Localised


class Slot(Definition):
    """Something a flow has to know.

    It is asked for (`ask`), looked up (`lookup`), or both: then it is looked up as soon as
    everything that the lookup reads is known, and asked for where it isn't.
    `part_of_range` says which part of a date range, said in one breath, this slot takes
    (written `range: start` in a file).
    """

    type: SlotType
    label: Localised | None = None
    ask: Localised | None = None
    required: bool = True
    skippable: bool = Field(False, alias=SKIPPABLE)
    """True where it is asked for although it isn't `required`: worked out by the loader. Not so
    in a tool's form, nor in a run that began before such slots were asked for."""
    choices: dict[str, Choice] = {}
    find: tuple[str, ...] = ()
    """RE2 by which a sentence names a `text`, in a group of the slot's name: `去(?P<city>…)出差`"""
    check: tuple[Check, ...] = ()
    lookup: str | None = None
    when: str | None = None
    """A condition, in CEL, without which a `collect` doesn't ask for it; given, it is taken."""
    part_of_range: RangePart | None = Field(None, alias="range")
    of: "Slot | None" = None
    """What a `list` holds."""
    fields: dict[str, "Slot"] = {}
    """What an `object` holds."""
    min: int = 1
    max: int = 20
    more: Localised | None = None
    """How a `list` asks whether there is another."""
    max_length: int = 1000


class Branch(Definition):
    """One way on: taken where `condition` (`if` in a file) holds, or always without one."""

    to: str
    condition: str | None = Field(None, alias="if")


def _branches(value: Any) -> Any:
    """Read `next: review` as the single branch that it is short for."""
    return [{"to": value}] if isinstance(value, str) else value


Next = Annotated[tuple[Branch, ...], BeforeValidator(_branches)]


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


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

    by: Annotated[tuple[str, ...], BeforeValidator(_several)]
    title: Localised
    otherwise: str | None = None
    mode: Literal["any", "all", "sequential"] = "any"
    remind_every: Span | None = None
    escalate_after: Span | None = None
    escalate_to: str | None = None
    expire_after: Span | None = None
    hours: Literal["calendar", "working"] = "calendar"
    cc: Annotated[tuple[str, ...], BeforeValidator(_several)] = ()
    skip_same: bool = True


class Withdrawal(Definition):
    """How a run that was completed is taken back: who has to agree before it is undone."""

    approve: Approve


class Wait(Definition):
    """Until a moment (an expression that gives a date or time), for a while, or for an event.

    The `event` comes from outside, by someone who holds one of `roles`, with the `fields`; a
    moment or a while is then how long it is waited for.
    """

    until: str | None = None
    duration: Span | None = Field(None, alias="for")
    event: str | None = None
    roles: tuple[str, ...] = ()
    fields: dict[str, Slot] = {}


class Retry(Definition):
    """While a system is out of reach: how often it is called in all, and how long after each."""

    attempts: int
    every: Span


EXIT_NAMES = (
    *("next", "on_error", "confirmed", "declined", "approved", "rejected", "returned", "expired"),
    *("late", "completed", "otherwise", "join"),
)


class State(Definition):
    """One state; exactly one of the keys in `STATE_KINDS` (or a bare `end`) says its kind."""

    collect: tuple[str, ...] | None = None
    check: str | None = None
    """A tool, asked whether it would refuse the call; nothing is done."""
    call: str | None = None
    flow: str | None = None
    """Another flow of the catalogue, run for the same requester."""
    parallel: tuple[str, ...] | None = None
    """The states at which branches begin; each ends where it comes to `join`."""
    confirm: Localised | None = None
    approve: Approve | None = None
    wait: Wait | None = None
    say: Localised | None = None

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
    undo: str | None = None
    """For `call`: the tool that takes it back, called with the same arguments."""
    forget: tuple[str, ...] = ()
    end: EndStatus | None = None
    keep: bool = False
    """With an `end` other than `completed`: what was done isn't undone."""

    next: Next = ()
    on_error: Next = ()
    confirmed: Next = ()
    declined: Next = ()
    approved: Next = ()
    rejected: Next = ()
    returned: Next = ()
    expired: Next = ()
    late: Next = ()
    completed: Next = ()
    otherwise: Next = ()
    join: Next = ()

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


class Triggers(Definition):
    """What starts a flow. Patterns are RE2, searched in the normalised message.

    `topics` are what the flow is about: a message that names one starts it where the rest of
    the message plainly asks for something, in whatever words (`router.understanding.asking`).

    `without` names guards that don't hold for this flow: one that is there for questions is
    started by them.

    A file may name pieces of its patterns in `words`. The loader writes them out, so a
    definition that was loaded has none, and none travel.
    """

    patterns: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    without: tuple[GuardName, ...] = ()
    examples: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    words: dict[str, str] = Field({}, exclude=True)


class FlowDefinition(Definition):
    """One flow, whole."""

    flow: str
    version: int = 1
    title: Localised
    description: Localised
    triggers: Triggers = Triggers()
    idle: Span | None = Field(None, gt=timedelta())
    """How long a question waits for a word before that is said: the loader sets `DEFAULT_IDLE`
    where the file is silent. None waits for ever, as runs did that began before there was this."""
    slots: dict[str, Slot] = {}
    start: str
    states: dict[str, State]
    withdrawal: Withdrawal | None = None
    rules: int = Field(1, alias=RULES)
    """Runs that began before there were newer rules keep theirs: the loader gives the newest."""

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
        name, *rest = path.split(".")
        slot = self.slots.get(name)
        for part in rest:
            if slot is None:
                return None
            slot = slot.of if slot.type == "list" and part.isdigit() else slot.fields.get(part)
        return slot


SlotValues = dict[str, JsonValue]
