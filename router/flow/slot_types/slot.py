"""A slot as a flow file has it, and what a type of slots has to know of its values.

Everything that depends on a slot's type is a method or a trait of its `SlotType`: `slot.kind`. The
types of the core are classes in the modules of this package, those of extensions come from
`Extension.slot_types`; `register_slot_type` takes both.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from types import GeneratorType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from router.domain.errors import NotDeployed, RouterError
from router.domain.extension_names import EXTENSION_NAME_RULE, is_extension_name
from router.domain.locale import Locale, Localised
from router.domain.messages import digest_of
from router.domain.value import Value
from router.entities.grammar import Found
from router.entities.utterance import Utterance
from router.extension import ExtensionConflict

SKIPPABLE = "=skippable"
"""A key that no file has: what is under it comes of the rest."""
RangePart = Literal["start", "end", "start_half", "end_half"]


class Definition(Value):
    """Base of everything in a flow file: frozen, closed, and written with the file's own keys."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


SeveralNames = Annotated[
    tuple[str, ...], BeforeValidator(_several, json_schema_input_type=str | tuple[str, ...])
]


class Choice(Definition):
    """One value of a `choice` slot, and the words people use for it."""

    label: Localised
    """What people read."""
    synonyms: tuple[str, ...] = ()
    """Other words for it, in either language."""
    documents: SeveralNames = ()
    """The types of documents that mean it: a `train_ticket` is transport."""


class SlotCheck(Definition):
    """A condition that a slot must meet, in CEL, and what is said where it doesn't."""

    that: str
    """An expression; true where the value is good."""
    say: Localised
    """What is said where it isn't."""


class Reference(Definition):
    """That a `text` is the number of a document, and how one is told from other figures."""

    of: SeveralNames
    """What such a document is called in messages, in either language: `发票`, `receipt`."""
    pattern: str | None = None
    """RE2: a number that is one whatever is said around it, such as `inv-?\\d{2,12}`."""


AS_FILE: Mapping[str, bool] = {"as_file": True}
"""The context of pydantic in which a definition is read from a file, which may name only what is
deployed. The definition of a run that is under way may name what a deployment has removed since."""


def is_file(info: ValidationInfo) -> bool:
    """Return whether a definition is read in the context `AS_FILE`."""
    return bool((info.context or {}).get("as_file"))


def _known(name: Any, info: ValidationInfo) -> Any:
    if not isinstance(name, str) or (is_file(info) and name not in SLOT_TYPES):
        known = {"expected": ", ".join(SLOT_TYPES)}
        raise PydanticCustomError("literal_error", "Input should be {expected}", known)
    return name


def _enumerated(schema: dict[str, Any]) -> None:
    schema["enum"] = list(SLOT_TYPES)


class Slot(Definition):
    """Something a flow has to know.

    It is asked for, looked up, or both: then it is looked up as soon as all that the lookup reads
    is known, and asked for where it isn't.
    """

    type: Annotated[str, BeforeValidator(_known), Field(json_schema_extra=_enumerated)]
    """What kind of value it holds."""
    label: Localised | None = None
    """Its name in summaries and forms."""
    names: SeveralNames = ()
    """What else people call it: `the bill was 12` says what the amount was."""
    ask: Localised | None = None
    """The question."""
    required: bool = True
    """False where the flow goes on without it; with an `ask` it is asked for once and can be
    skipped."""
    skippable: bool = Field(False, alias=SKIPPABLE)
    """True where it is asked for although it isn't `required`: worked out by the loader. Not so
    in a tool's form."""
    choices: dict[str, Choice] = {}
    """For a `choice`: the values, and what they are called."""
    find: tuple[str, ...] = ()
    """RE2 by which a sentence names a `text`, in a group of the slot's name: `去(?P<city>…)出差`"""
    reference: Reference | None = None
    """For a `text`: that it is the number of a document."""
    check: tuple[SlotCheck, ...] = ()
    """Conditions that a value must meet."""
    warn: tuple[SlotCheck, ...] = ()
    """For a `file` that is read: conditions that the requester and whoever decides are told of
    where they don't hold; it is taken all the same."""
    documents: SeveralNames = ()
    """For a `file`: the types of documents it is meant for. It is read when it is handed in."""
    sources: SeveralNames = Field((), alias="from")
    """What of the file beside it fills it: `document` for the field of its own name, or a field,
    `document.number`, `document.type`; of several the first that is there."""
    lookup: str | None = None
    """An expression whose value fills it as soon as all that it reads is known."""
    when: str | None = None
    """A condition, in CEL, without which a `collect` doesn't ask for it; given, it is taken."""
    part_of_range: RangePart | None = Field(None, alias="range")
    """The part of a date range, said in one breath, that it takes."""
    of: "Slot | None" = None
    """What a `list` holds."""
    fields: dict[str, "Slot"] = {}
    """What an `object` holds."""
    min: int = 1
    """For a `list`: how many items at least."""
    max: int = 20
    """For a `list`: how many items at most."""
    more: Localised | None = None
    """How a `list` asks whether there is another."""
    max_length: int = 1000
    """For a `text`: characters at most."""

    @property
    def kind(self) -> "SlotType":
        """Its type, which knows how values are read, kept and shown."""
        return SLOT_TYPES.get(self.type) or UndeployedType(self.type)

    def within(self) -> "Iterator[Slot]":
        """Yield this slot and those that its values consist of, however deep."""
        yield self
        for part in (*([self.of] if self.of else ()), *self.fields.values()):
            yield from part.within()

    @property
    def is_fillable(self) -> bool:
        """False for what is looked up and never asked: it decides who must approve, as days do."""
        return self.lookup is None or self.ask is not None

    @property
    def is_itemised(self) -> bool:
        """True for a list of objects, each asked for field by field."""
        return self.of is not None and self.of.kind.made_of == "fields"

    @property
    def is_listed(self) -> bool:
        """True for a list of plain values, which one answer may name together."""
        return self.of is not None and self.of.kind.made_of not in ("fields", "of")


class Unfit(RouterError):
    """A value that a slot can't hold; `say` tells the person what would fit."""

    def __init__(self, say: Localised) -> None:
        super().__init__(say.en)
        self.say = say


Example = tuple[JsonValue, Localised]
"""A value, and how it may be said."""
ValuePart = tuple[str, Slot, JsonValue]
"""A part of a value: its key or number, its slot, and what is there."""
Schema = dict[str, JsonValue]
FileNames = Mapping[str, str]
"""Names of files, by their ids."""
NO_FILES: FileNames = {}
Values = Mapping[str, JsonValue]


class SlotType(ABC):
    """A type of slots: how values are read, stored and shown.

    A type has a `name`, a `label` and `about`, the methods `read`, `fit` and `word`, and `fits` and
    `stored` unless it overrides `hint` and `schema`. It is created once, without arguments.
    Workflows call it: it does no I/O, and returns the same for the same arguments.
    """

    name: ClassVar[str]
    """What it is called in a flow file."""
    label: ClassVar[Localised]
    """What people call it who write flows."""
    about: ClassVar[Localised]
    """What it is for, in a sentence for them."""
    made_of: ClassVar[Literal["choices", "of", "fields"] | None] = None
    """The key without which such a slot is none, and which no other type has."""
    range_parts: ClassVar[tuple[RangePart, ...]] = ()
    """The parts of a date range that such a slot can take."""
    takes: ClassVar[type | None] = None
    """The kind of thing, of those recognised in a sentence, that fills it."""
    is_text: ClassVar[bool] = False
    """True where whatever was said fills it."""
    is_file: ClassVar[bool] = False
    is_recognised: ClassVar[bool] = True
    """False where nothing in a message is known to be one, unless it is asked for."""
    leads: ClassVar[bool] = False
    """True where it explains itself, and so leads the line of an item."""
    has_field: ClassVar[bool] = False
    """True where a screen can offer a better field for it than a line of text."""
    fits: ClassVar[Localised]
    """What would fit, as a request: for `hint`."""
    stored: ClassVar[Schema]
    """JSON Schema of the values that are kept: for `schema`."""
    said: ClassVar[Schema] = {"type": "string", "description": "as it was said"}
    """JSON Schema of values as they were said: for `quoted`."""

    @abstractmethod
    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """Read the answer to a question for this slot.

        Args:
            slot: The slot as the flow file has it.
            utterance: What somebody said.

        Returns:
            A value that `fit` takes; `None` if the answer has none.
        """

    @abstractmethod
    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """Return a value as the slot stores it, which survives JSON.

        Raises:
            Unfit: The slot can't store it. The exception says what would fit.
        """

    @abstractmethod
    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """Return a value as people read it, or as it is if it isn't of this type.

        Args:
            slot: The slot as the flow file has it.
            value: What the slot stores.
            locale: The reader's language.
            files: The names of files, by id.
        """

    def hint(self, slot: Slot) -> Localised:
        """What would fit, as a request."""
        return self.fits

    def examples(self, known: list[date], today: date) -> Iterator[Example]:
        """Values that people mean, beyond those in its hint; `known` are the flow's other days."""
        yield from ()

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """JSON Schema of the values that are kept; titles are in the language of `locale`."""
        return self.stored

    def quoted(self, slot: Slot) -> Schema:
        """JSON Schema of what a model gives: values as they were said, which are read here."""
        return self.said

    def mentions(self, utterance: Utterance) -> list[Found[JsonValue]]:
        """Values that a sentence surely names though nobody asked for any."""
        return []

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """A form's or a model's value in the slot's shape, or as it was where that can't be."""
        if not isinstance(value, str):
            return value
        read = self.read(slot, Utterance.of(value, now))
        return value if read is None else read

    def options(self, slot: Slot) -> list[tuple[Localised, JsonValue]]:
        """What may be picked in answer, by its label; empty where nothing is to pick from."""
        return [(choice.label, value) for value, choice in slot.choices.items()]

    def advice(self, slot: Slot) -> Localised | None:
        """How it is answered, where that says more than examples would."""
        return None

    def in_brackets(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """The value among the details of an item: with its label before it."""
        label = slot.label.within(locale) if slot.label else ""
        return f"{label} {shown(slot, value, locale, files)}".strip()

    def parts(self, slot: Slot, value: JsonValue) -> Iterator[ValuePart]:
        """What a value of several parts is made of, as far as there is something."""
        yield from ()

    def gap(self, slot: Slot, value: JsonValue, path: str) -> str | None:
        """The path of the first thing still to be asked within the value; None where whole."""
        return path if value is None else None


class UndeployedType(SlotType):
    """A type that the process doesn't have: its extension was removed while runs depend on it.

    What people answer is passed on as they typed it, and values are shown as they are stored. A
    value can't be checked, so the run that would store one is held (`NotDeployed`).
    """

    label = Localised(zh="未部署的类型", en="a type that isn't deployed")
    about = Localised(zh="这里没有部署的类型。", en="A type that isn't deployed here.")
    fits = Localised(zh="请直接回答。", en="Please answer in your own words.")
    stored: ClassVar[Schema] = {}
    is_recognised = False

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """Return the answer as it was typed."""
        return utterance.normalised.typed

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """Raise `NotDeployed`, which names the type."""
        zh = f"现在的部署里没有槽位类型“{self.name:.80}”，请管理员把它部署回来"
        en = f"this deployment has no slot type {self.name[:80]!r}; deploy it again"
        raise NotDeployed(Localised(zh=zh, en=en))

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """Return the value as it is stored."""
        return plain(value)


SLOT_TYPES: dict[str, SlotType] = {}
"""Every type, by its name in a flow file."""
T = TypeVar("T", bound=type[SlotType])


_OTHERWISE = {"fits": "hint", "stored": "schema", "said": "quoted"}
"""What a type may leave out, and what it has to answer itself then."""


def register_slot_type(kind: T) -> T:
    """Let flow files name this type of slots. Registering it again changes nothing.

    Args:
        kind: A subclass of `SlotType` that can be created without arguments.

    Raises:
        TypeError: It lacks something that every type has.
        ExtensionConflict: Another type has its name, or is made of the same key.
    """
    made = _create(kind)
    for taken in SLOT_TYPES.values():
        same_name = taken.name == kind.name
        if type(taken) is kind or not (same_name or (kind.made_of or "") == taken.made_of):
            continue
        what = f"is called {kind.name!r}" if same_name else f"is made of {kind.made_of}"
        raise ExtensionConflict(
            f"{describe_class(type(taken))} {what} already; change {describe_class(kind)}"
        )
    SLOT_TYPES.setdefault(kind.name, made)
    return kind


def _create(kind: type[SlotType]) -> SlotType:
    if not (isinstance(kind, type) and issubclass(kind, SlotType)):
        raise TypeError(f"{kind!r} is no subclass of router.sdk.SlotType; derive it from that")
    for value, method in _OTHERWISE.items():
        if not hasattr(kind, value) and getattr(kind, method) is getattr(SlotType, method):
            raise TypeError(f"{kind.__name__} has neither {value} nor {method}")
    made = kind()
    if not is_extension_name(getattr(kind, "name", None)):
        raise TypeError(f"{kind.__name__} needs a name of {EXTENSION_NAME_RULE}")
    for words in ("label", "about"):
        if not isinstance(vars(kind).get(words), Localised):
            raise TypeError(f"{kind.__name__} has no {words} of its own for whoever writes flows")
    return made


def describe_class(kind: type) -> str:
    """Return the full name of a class, such as `acme_badges.slots.BadgeType`."""
    return f"{kind.__module__}.{kind.__qualname__}"


def fitted(slot: Slot, value: JsonValue) -> JsonValue:
    """The value as it is kept in this slot; raises `Unfit` where it can't be."""
    return slot.kind.fit(slot, value)


def read_as(slot: Slot, utterance: Utterance) -> JsonValue:
    """What the utterance says as the answer to a question for this very slot; None if nothing."""
    return slot.kind.read(slot, utterance)


def coerced(slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
    """The value in the slot's shape, or as it was given where that can't be made of it."""
    return slot.kind.coerce(slot, value, now)


def form_values(slots: Mapping[str, Slot], values: Values, now: datetime) -> dict[str, JsonValue]:
    """The fields of a form as slot values, by names or paths (`items.0.amount`).

    What can't be read, or isn't known, stays as it was given: the flow refuses it with a message.
    """
    shaped: dict[str, JsonValue] = {}
    for name, value in values.items():
        slot = slot_at(slots, name)
        shaped[name] = value if slot is None else coerced(slot, value, now)
    return shaped


def shown(slot: Slot, value: JsonValue, locale: Locale, files: FileNames = NO_FILES) -> str:
    """The value of a slot as people read it; `files` has the names of files by their ids."""
    return "" if value is None else slot.kind.word(slot, value, locale, files)


def label_of(name: str, slot: Slot) -> Localised:
    """What people call the slot."""
    return slot.label or Localised(zh=name, en=name)


_TEMPLATE = ("{{", "{%")
_ENDS = "？?。.！!：: "


def caption_of(name: str, slot: Slot) -> Localised:
    """What stands before the slot's value: its label, else the question's words, else its name.

    >>> caption_of("since", Slot(type="date", ask=Localised(zh="从哪天起？", en="Since when?"))).zh
    '从哪天起'
    """
    asked = slot.ask
    if slot.label is not None or asked is None or any(m in asked.zh + asked.en for m in _TEMPLATE):
        return label_of(name, slot)
    zh, en = (" ".join(words.split()).strip(_ENDS) for words in (asked.zh, asked.en))
    return Localised(zh=zh or name, en=en or name)


def range_slots(slots: Mapping[str, Slot]) -> dict[RangePart, str]:
    """The names of the slots that share a date range, by the part that each takes."""
    return {slot.part_of_range: name for name, slot in slots.items() if slot.part_of_range}


HALF_DAY = Localised(zh="半天", en="Half day")
"""What people call the half of a single day, of which a range has one at each end."""


def both_halves(
    slots: Mapping[str, Slot], values: Mapping[str, JsonValue]
) -> tuple[str, str] | None:
    """The slots of the halves of a single day, which are one to a person; else None.

    >>> both_halves({}, {}) is None
    True
    """
    parts = range_slots(slots)
    start, end, first, last = (parts.get(part, "") for part in get_args(RangePart))
    one_day = values.get(start) is not None and values.get(start) == values.get(end)
    half = values.get(first)
    return (first, last) if one_day and half is not None and half == values.get(last) else None


def slot_at(slots: Mapping[str, Slot], path: str) -> Slot | None:
    """The slot of `items.0.amount` or `reason` among these; None where there is none such."""
    name, *rest = path.split(".")
    slot = slots.get(name)
    for part in rest:
        if slot is None:
            return None
        slot = slot.of if slot.of is not None and part.isdigit() else slot.fields.get(part)
    return slot


def filled_by(thing: type, slots: Mapping[str, Slot]) -> list[str]:
    """The names of the slots that such a thing, of those recognised in a sentence, fills."""
    return [name for name, slot in slots.items() if slot.kind.takes is thing]


def each_part(slot: Slot, value: JsonValue, path: str) -> Iterator[ValuePart]:
    """A value and all that it is made of, however deep, each with its path."""
    yield path, slot, value
    for key, part, inner in slot.kind.parts(slot, value):
        yield from each_part(part, inner, f"{path}.{key}")


def files_in(slot: Slot, value: JsonValue) -> Iterator[str]:
    """The ids of all files within a value that fits its slot, however deep."""
    for _, part, inner in each_part(slot, value, ""):
        if part.kind.is_file and isinstance(inner, str):
            yield inner


def missing(slot: Slot, value: JsonValue, path: str) -> str | None:
    """The path of the first thing still to be asked within a slot's value; None where whole."""
    return slot.kind.gap(slot, value, path)


def plain(value: Any) -> str:
    """A value that nothing is known of: null as nothing, 5.0 as 5, several with commas.

    What isn't data is shown as nothing: its `str` would differ from one process to the next.
    """
    match value:
        case str():
            return value
        case float():
            return f"{value:.12g}"
        case bool() | int() | dict():
            return str(value)
        case list() | tuple() | GeneratorType():
            return ", ".join(plain(inner) for inner in value)
    return ""


def name_slots(slots: Mapping[str, Slot]) -> str:
    """Return the name of a set of slots: the same for the same definitions in the same order."""
    if not slots:
        return ""
    told: JsonValue = {name: slot.model_dump(mode="json") for name, slot in slots.items()}
    # Their order is part of what they are, and the digest doesn't see it.
    return digest_of([told, list(slots)])
