"""A flow file as values. `router.flow.loader` reads it; nothing here touches a disk.

The whole definition travels as the input of the flow's workflow, so that a run keeps the
version that it began with. Everything is therefore plain data that survives a round trip
through JSON: `FlowDefinition.model_validate_json(d.model_dump_json()) == d`.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from router.domain.durations import MAX_DURATION
from router.domain.errors import Fault, NotDeployed
from router.domain.locale import Localised
from router.domain.messages import EndStatus
from router.domain.principals import Capability, CapabilityKind
from router.extension import ExtensionConflict
from router.flow.slot_types import CORE_SLOT_TYPES
from router.flow.slot_types.slot import (
    Definition,
    SeveralNames,
    Slot,
    describe_class,
    is_file,
    name_slots,
    slot_at,
)

if TYPE_CHECKING:
    from router.flow.engine.context import StepContext

_SPAN = re.compile(r"[+-]?P")
_TOO_LARGE = "too large"
"""Pydantic's words for numbers of which it makes no duration."""


def _read_span(value: Any, read: Callable[[Any], timedelta]) -> timedelta:
    """Read an ISO 8601 duration of a hundred years at most.

    Pydantic alone would also take `3 days`, a clock's time, and a number of seconds.
    """
    if not isinstance(value, timedelta) and not (isinstance(value, str) and _SPAN.match(value)):
        raise PydanticCustomError("time_delta_parsing", "a duration is written as ISO 8601 has it")
    if isinstance(value, str) and value.startswith("-"):
        raise PydanticCustomError("time_delta_negative", "a duration isn't negative")
    try:
        span = read(value)
    except ValidationError as error:
        why = str(error.errors()[0].get("ctx", {}).get("error", ""))
        if _TOO_LARGE not in why:
            raise
        span = timedelta.max
    if span > MAX_DURATION:
        raise PydanticCustomError("time_delta_too_long", "a duration is 100 years at most")
    return span


SpanField = Annotated[timedelta, WrapValidator(_read_span)]
"""How long something takes, written `PT24H` or `P14D`: between nothing and a hundred years."""


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
    """What starts a flow. The loader writes out the `words` of patterns, so that none travel."""

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


DEFAULT_IDLE = timedelta(days=3)
"""After so long without a word a run that asks says that it is still open."""


class Branch(Definition):
    """One way on: taken where `condition` (`if` in a file) holds, or always without one."""

    to: str
    """A state."""
    condition: str | None = Field(None, alias="if")
    """An expression; the first branch whose condition holds is taken."""
    name: Localised | None = None
    """The condition in words, for pictures that people look at who don't read expressions."""


def _branches(value: Any) -> Any:
    """Read `next: review` as the single branch that it is short for."""
    return [{"to": value}] if isinstance(value, str) else value


Next = Annotated[
    tuple[Branch, ...], BeforeValidator(_branches, json_schema_input_type=str | tuple[Branch, ...])
]


class Approve(Definition):
    """Who has to agree, and what happens while they don't answer; a run never approves itself."""

    by: SeveralNames
    """Expressions that give the user ids of those who are asked."""
    title: Localised
    """What the approver reads first."""
    otherwise: str | None = None
    """Who is asked where `by` comes to nobody, or to the requester alone."""
    mode: Literal["any", "all", "sequential"] = "any"
    """Whether one of them decides, all have to agree at once, or one after the other."""
    remind_every: SpanField | None = None
    """How often those who are asked are reminded."""
    escalate_after: SpanField | None = None
    """How long until `escalate_to` is asked instead."""
    escalate_to: str | None = None
    """An expression, which may use `approver`: who is asked then."""
    expire_after: SpanField | None = None
    """How long until the state leaves by `expired`."""
    hours: Literal["calendar", "working"] = "calendar"
    """Whether durations count as the calendar has them, or in the working time of whoever is
    asked."""
    cc: SeveralNames = ()
    """Expressions of people who are told and may look, but don't decide."""
    skip_same: bool = True
    """False asks people again who have agreed to the same contents in this run."""
    bulk: bool = False
    """True lets an approver decide on several requests at once, with one comment for all."""


class Withdrawal(Definition):
    """How a run that was completed is taken back: who has to agree before it is undone."""

    approve: Approve
    """Who has to agree."""


class Wait(Definition):
    """Until a moment, for a while, or for an event, whose longest wait these then are."""

    until: str | None = None
    """An expression that gives a day or moment."""
    duration: SpanField | None = Field(None, alias="for")
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
    every: SpanField
    """How long after each failure."""


@dataclass(frozen=True)
class Batching:
    """What a state does side by side: calls or runs of a flow, one an item, or branches."""

    tool: str = ""
    flow: str = ""
    branches: tuple[str, ...] = ()
    each: str | None = None
    at_once: int | None = None
    detached: bool = False
    wait_for: Literal["all", "any"] | None = None
    rest: Literal["stop", "finish"] | None = None


@dataclass(frozen=True)
class Outline:
    """How a kind of state is drawn; without `corners` a rectangle with corners of this `radius`.

    `corners` from the upper left, clockwise: x in halves of the width, pixels that are cut off
    there, y in halves of the height. `mermaid` opens and closes its text; `bars` are second lines.
    """

    mermaid: tuple[str, str] = ("[", "]")
    corners: tuple[tuple[float, float, float], ...] = ()
    radius: float = 2.0
    bars: bool = False


def hexagon(cut: float) -> tuple[tuple[float, float, float], ...]:
    """The corners of one whose left and right are cut by so many slants."""
    upper = (-1, cut, -1), (1, -cut, -1), (1, 0, 0)
    return (*upper, (1, -cut, 1), (-1, cut, 1), (-1, 0, 0))


Place = tuple[str | int, ...]
"""Where in a file something stands."""

T = TypeVar("T")

KINDS: "dict[str, type[State]]" = {}
"""The kinds of states by the key that marks one, filled by `register_state_kind`."""


class _Key(Generic[T]):
    """What stands under a key of a state's, where its kind has that."""

    def __init__(self, key: str, otherwise: T) -> None:
        self._key, self._otherwise = key, otherwise

    def __get__(self, state: object, _: object = None) -> T:
        value: T = getattr(state, self._key, self._otherwise)
        return value


_SLOT_READ = re.compile(r"\bslots\.(\w+)")


class State(Definition):
    """One of the kinds of states, told by the key that it has: reading a `State` gives that kind.

    A kind declares its keys as fields, the first of which is `kind`, and its exits by `needs` and
    `may`. It has a `label` and `about`, and overrides `execute`, and those members that its keys
    don't answer.
    """

    kind: ClassVar[str] = ""
    """The key that marks it."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The ways out that it must have."""
    may: ClassVar[tuple[str, ...]] = ()
    """Those that it may have besides."""
    label: ClassVar[Localised]
    """What it does, in pictures."""
    about: ClassVar[Localised]
    """What it is for, in a sentence for whoever writes flows."""
    outline: ClassVar[Outline] = Outline()

    name: Localised | None = None
    """What it is called in pictures that people look at; without one, what its kind does."""
    locked: Localised | None = None
    """What a requester is told who wants to take the run back here, and can't: what was done
    concerns others by now. Operators can still end it."""

    fails: ClassVar[bool] = False
    """True where it may come to nothing, and says why as `results.error`."""

    collects: ClassVar[_Key[tuple[str, ...]]] = _Key("collect", ())
    """The slots that it asks for."""
    forgets: ClassVar[_Key[tuple[str, ...]]] = _Key("forget", ())
    """The slots that it empties."""
    asks: ClassVar[_Key[Approve | None]] = _Key("approve", None)
    """Who has to agree."""
    awaits: ClassVar[_Key[Wait | None]] = _Key("wait", None)
    """What it waits for."""
    gives: ClassVar[_Key[dict[str, str]]] = _Key("arguments", {})
    """An expression for each argument of its tool, or slot of its flow."""
    undoes: ClassVar[_Key[str | None]] = _Key("undo", None)
    """The tool that takes back what it called."""
    starts: ClassVar[_Key[str | None]] = _Key("flow", None)
    """The flow that it starts."""
    saves: ClassVar[_Key[str | None]] = _Key("save", None)
    """The name that its result has."""
    patience: ClassVar[_Key[Retry | None]] = _Key("retry", None)
    """How often its call is made again while a system is out of reach."""
    holds: ClassVar[_Key[bool]] = _Key("hold", False)
    """True where an operator is waited for when its call fails for good."""
    ends: ClassVar[_Key[EndStatus | None]] = _Key("end", None)
    """How the run ends there."""

    def exits(self) -> dict[str, Next]:
        """Every way out of the state, by the name of the event that takes it."""
        names = (*self.needs, *self.may)
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def targets(self) -> set[str]:
        """The states that it can lead to."""
        exits = {branch.to for branches in self.exits().values() for branch in branches}
        return exits | set(self.batch.branches if self.batch else ())

    def execute(self, context: "StepContext") -> bool:
        """Make one move of a run that is in this state.

        Change nothing before everything that the move needs is known: if an expression needs a
        lookup, `context.evaluate` raises, and the move is made again once the answer is there.

        Args:
            context: The run, which is changed in place, its flow, and the time.

        Returns:
            `True` after a move, such as `context.leave("next")`; `False` if the run now waits.
        """
        raise NotImplementedError

    def complaints(self, _: Place) -> Iterator[tuple[Place, Fault]]:
        """What is wrong with its own keys, besides its ways out; and where."""
        return iter(())

    def complaints_within(self, _: Place, __: "FlowDefinition") -> Iterator[tuple[Place, Fault]]:
        """What is wrong with it among the flow's slots and states."""
        return iter(())

    def complaints_of_ways(self, _: Place, __: "FlowDefinition") -> Iterator[tuple[Place, Fault]]:
        """What is wrong with where it leads; asked where all states could be read."""
        return iter(())

    @cached_property
    def slots_read(self) -> frozenset[str]:
        """The slots that its texts and expressions read, by name."""
        return frozenset(_SLOT_READ.findall(self.model_dump_json()))

    @property
    def shown(self) -> Localised | str:
        """With what it does that, in a picture; slots that it asks for are added there."""
        what = getattr(self, self.kind, None)
        return what if isinstance(what, str | Localised) else ""

    @property
    def rests(self) -> bool:
        """True where it waits at every visit, whatever is known already."""
        return False

    @property
    def texts(self) -> dict[tuple[str, ...], Localised]:
        """Its texts, that values are filled into, by their place in it."""
        return {}

    @property
    def tools(self) -> dict[str, str]:
        """The tools that it names, by key."""
        return {}

    @property
    def batch(self) -> Batching | None:
        """What it does side by side, where it does."""
        return None

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        if cls.kind:
            return handler(source)
        # Kinds are looked up when a state is read: extensions register theirs after models that
        # consist of states have been built.
        return core_schema.with_info_plain_validator_function(cls._read)

    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> "State":
        """Read a state as its kind, of those that are registered now."""
        if isinstance(value, State):
            return value
        found = _kinds_in(value)
        if len(found) > 1:
            raise ValueError(f"a state does one thing, but this has {' and '.join(found)}")
        if not is_file(info):
            is_known = found or not isinstance(value, dict) or value.get("end") is not None
            kind = KINDS[_kind_of(value)] if is_known else UndeployedState
            return kind.model_validate(value, context=info.context)
        if isinstance(value, dict) and not found and value.get("end") is None:
            raise ValueError(f"a state needs one of {', '.join(sorted(KINDS))} or end")
        kind = KINDS[_kind_of(value)]
        return kind.model_validate(value, context=info.context, by_alias=True, by_name=False)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        if cls.kind:
            return handler(schema)
        kinds = {name: kind.__pydantic_core_schema__ for name, kind in KINDS.items()}
        return handler(core_schema.tagged_union_schema(kinds, discriminator=_kind_of))


K = TypeVar("K", bound=type[State])


def register_state_kind(kind: K) -> K:
    """Let flow files have states of this kind. Registering it again changes nothing.

    Args:
        kind: A subclass of `State`. Its first field is the key that marks such a state, `kind`,
            which no state of another kind may have.

    Raises:
        TypeError: It lacks something that every kind has.
        ExtensionConflict: Its key, or the key of another kind, would mean two things.
    """
    if not (isinstance(kind, type) and issubclass(kind, State)):
        raise TypeError(f"{kind!r} is no subclass of router.sdk.State; derive it from that")
    _check_kind(kind)
    for name, other in KINDS.items():
        if other is not kind and (kind.kind in keys_of(other) or name in keys_of(kind)):
            raise ExtensionConflict(
                f"{describe_class(other)} and {describe_class(kind)} can't both be kinds of "
                f"states: {kind.kind if kind.kind in keys_of(other) else name!r} is a key of both; "
                "rename it"
            )
    KINDS.setdefault(kind.kind, kind)
    return kind


def _check_kind(kind: type[State]) -> None:
    if kind.execute is State.execute:
        raise TypeError(f"{kind.__name__} has no execute, which says what a run does in it")
    own = [key for key, (name, _) in keys_of(kind).items() if name not in State.model_fields]
    if own[:1] != [kind.kind]:
        raise TypeError(
            f"{kind.__name__} has the kind {kind.kind!r}; declare the field of this key, and "
            "before any other field"
        )
    for words in ("label", "about"):
        if not isinstance(vars(kind).get(words), Localised):
            raise TypeError(f"{kind.__name__} has no {words} of its own for whoever writes flows")


class UndeployedState(State):
    """A state of a kind that the process doesn't have: its extension was removed.

    It has all keys that the run carries of it, so that nothing of them is lost. A run that has to
    do what such a state does is held (`NotDeployed`).
    """

    model_config = ConfigDict(extra="allow")

    kind: ClassVar[str] = "undeployed"
    label: ClassVar[Localised] = Localised(zh="未部署的步骤", en="does what isn't deployed")
    about: ClassVar[Localised] = Localised(
        zh="这里没有部署的步骤。", en="Of a kind that isn't deployed here."
    )

    def exits(self) -> dict[str, Next]:
        """Return what looks like ways out among its keys."""
        found: dict[str, Next] = {}
        for key, value in (self.model_extra or {}).items():
            with suppress(ValidationError):
                found[key] = _NEXT.validate_python(value)
        return found

    def execute(self, context: "StepContext") -> bool:  # noqa: ARG002
        """Raise `NotDeployed`, which names the kind."""
        known = {key for kind in KINDS.values() for key in keys_of(kind)}
        # A kind's own key is declared, and so written, before its other keys.
        name = next((key for key in self.model_extra or {} if key not in known), "?")[:80]
        zh = f"现在的部署里没有步骤类型“{name}”，请管理员把它部署回来"
        en = f"this deployment has no kind of state {name!r}; deploy it again"
        raise NotDeployed(Localised(zh=zh, en=en))


_NEXT = TypeAdapter(tuple[Branch, ...])


def keys_of(model: type[BaseModel]) -> dict[str, tuple[str, FieldInfo]]:
    """By each key that a file may have there (of `State` those of all kinds) its name and field."""
    models = KINDS.values() if model is State else (model,)
    fields = [named for each in models for named in each.model_fields.items()]
    found = {info.alias or name: (name, info) for name, info in fields}
    return {key: field for key, field in found.items() if not key.startswith("=")}


def _kinds_in(value: Any) -> list[str]:
    keys = value if isinstance(value, dict) else {}
    return [kind for kind in sorted(KINDS) if keys.get(kind) is not None]


def _kind_of(value: Any) -> str:
    """What the state does; a bare `end` says nothing and is a `say`."""
    return next(iter(_kinds_in(value)), "say")


def find_kind(name: str) -> type[State]:
    """Return the kind of states of this name, or what stands for one that isn't deployed."""
    return KINDS.get(name, UndeployedState)


_OF_CORE = re.compile(r"router\.flow\.states\.")
"""The modules of kinds that every process has."""
LAST_VERSION = 2**31 - 1
"""More doesn't fit where versions are kept."""


def may_ask(states: Mapping[str, State], start: str, join: str) -> bool:
    """Return whether a branch that begins at `start` may ask for an approval before `join`.

    A flow that the branch starts and waits for may ask for one too.
    """
    found, waiting = {join}, [start]
    while waiting:
        name = waiting.pop()
        if name in found or name not in states:
            continue
        found.add(name)
        state = states[name]
        awaited = state.batch is not None and state.batch.flow and not state.batch.detached
        if state.asks is not None or awaited:
            return True
        waiting += state.targets()
    return False


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
    names: SeveralNames = ()
    """What people call it besides its title, or what it is about: `pto`. By these it is cancelled,
    taken up again, asked after and withdrawn: `how is my pto doing`."""
    verbs: SeveralNames = ()
    """What somebody does who wants it: `休`, `travel`. `不休了` cancels it."""
    triggers: Triggers = Triggers()
    """What starts it."""
    idle: SpanField = Field(DEFAULT_IDLE, gt=timedelta())
    """How long a question waits for a word before that is said."""
    slots: dict[str, Slot] = {}
    """What it has to know."""
    start: str
    """The state it begins in."""
    states: dict[str, State]
    """All its states."""
    amend: bool = True
    """False where its requester can't change it while it waits for approval."""
    withdrawal: Withdrawal | None = None
    """How a completed run is taken back; without it, not at all."""

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the content: what tells an edited file from the one before."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @cached_property
    def fillable(self) -> dict[str, Slot]:
        """The slots that a person may fill."""
        return {name: slot for name, slot in self.slots.items() if slot.is_fillable}

    @cached_property
    def slot_set(self) -> str:
        """The name of `fillable`: once for all runs of the definition."""
        return name_slots(self.fillable)

    @cached_property
    def is_extended(self) -> bool:
        """True if runs of the flow need slot types or kinds of states that extensions have.

        The answer is the same in a process in which the extension is no longer installed.
        """
        waits = [state.awaits for state in self.states.values() if state.awaits]
        slots = [*self.slots.values(), *(slot for wait in waits for slot in wait.fields.values())]
        types = {part.type for slot in slots for part in slot.within()}
        kinds = {type(state).__module__ for state in self.states.values()}
        return not (types <= CORE_SLOT_TYPES and all(map(_OF_CORE.match, kinds)))

    @property
    def needs(self) -> Sequence[tuple[CapabilityKind, str]]:
        """The tools and flows that its states name, each once."""
        tools = {tool for state in self.states.values() for tool in state.tools.values()}
        flows = {state.starts for state in self.states.values() if state.starts}
        return [*(("tool", name) for name in sorted(tools)), *(("flow", n) for n in sorted(flows))]

    @cached_property
    def stands_for(self) -> CapabilityKind:
        """Whether it is a flow, or the form of the `tool` of its name."""
        return "tool" if ("tool", self.flow) in self.needs else "flow"

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
        """The slot of `items.0.amount` or `reason`; None where there is none such."""
        return slot_at(self.slots, path)


SlotValues = dict[str, JsonValue]
