"""Labelled messages: one JSON object a line, and labels out of what people chose.

{"text": "我要请年假，下周一到周三", "label": "leave_request", "slots": {"leave_type": "annual"}}

A label is the name of a flow, skill or tool; the kind of a route that leads to none of them
(`reply`: words were the answer); or `none`: nothing that the file has a label for was started,
and no flow at all. All that is wrong with a file is said at once, each with its line.

Where the router asked which of several things is meant, and the answer was one of them, the
message that led to the question has got a label, from whoever knows best.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import get_args

from pydantic import ConfigDict, Field, JsonValue, ValidationError, field_validator

from router.domain.errors import DefinitionError, InvalidInput, Problem, reason_of
from router.domain.messages import ChoicesReply, Message, Route, RouteKind, Turn
from router.domain.records import LogEntry, RecordedTurn
from router.domain.value import Value

NONE = "none"
NAMING: frozenset[RouteKind] = frozenset({"flow", "skill", "tool", "confirm"})
"""Kinds of routes that lead to what they name; a `clarify` only asks whether it is meant."""
TARGETLESS: frozenset[str] = frozenset({*get_args(RouteKind), NONE}) - {"flow", "skill", "tool"}
"""The labels that name no capability."""


def label_of(route: Route, labels: Collection[str]) -> str:
    """The label that `route` amounts to, where these are all the labels of the file."""
    named = route.target if route.kind in NAMING else None
    label = named or route.kind
    if label in labels or NONE not in labels or route.kind == "flow":
        return label
    return NONE


@dataclass(frozen=True)
class LabelledChoice:
    """A message and what it turned out to mean."""

    conversation: str
    text: str
    label: str
    at: datetime
    """When the message was said."""


@dataclass(frozen=True)
class _Asked:
    text: str
    at: datetime
    turn: Turn


class ChoiceReader:
    """Takes the log's entries, each conversation oldest first, and finds the choices.

    Only what is certain counts: a typed message (not a pressed button), asked about at once,
    and answered by one of the options that were offered.
    """

    def __init__(self) -> None:
        self._conversation: str | None = None
        self._said: dict[str | None, LogEntry] = {}
        self._asked: _Asked | None = None

    def take(self, entry: LogEntry) -> LabelledChoice | None:
        """What this entry reveals of a message before it; None where it reveals nothing."""
        if entry.conversation != self._conversation:
            self._conversation, self._said, self._asked = entry.conversation, {}, None
        if entry.kind == "message" and entry.data.get("role") == "user":
            self._said = {entry.message_id: entry}
        if entry.kind != "turn":
            return None
        recorded = RecordedTurn.model_validate(entry.data)
        choice = self._chosen(recorded.turn)
        self._asked = self._question(recorded, self._said.get(entry.message_id))
        return choice

    def _chosen(self, turn: Turn) -> LabelledChoice | None:
        asked, route = self._asked, turn.route
        took_offer = route.kind in ("flow", "skill", "tool") and route.by in ("action", "slot")
        if asked is None or not took_offer or route.target not in _options(asked.turn):
            return None
        return LabelledChoice(str(self._conversation), asked.text, str(route.target), asked.at)

    def _question(self, recorded: RecordedTurn, said: LogEntry | None) -> _Asked | None:
        if recorded.turn.route.kind != "clarify" or said is None:
            return None
        text = str(said.data.get("text", ""))
        if Message(text=text).digest != recorded.digest:
            return None
        return _Asked(text, said.at, recorded.turn)


def _options(turn: Turn) -> list[JsonValue]:
    replies = [reply for reply in turn.replies if isinstance(reply, ChoicesReply)]
    return [option.value for reply in replies for option in reply.options]


LONGEST = 64 * 1024
"""Bytes of a line, as many as the body of a request may have."""
MOST_PROBLEMS = 50
_UNTOLD = re.compile(r"^Invalid JSON: | line 1(?= )")
"""What pydantic says of a text that is no JSON, and a problem has its line from elsewhere."""
"""More than a person mends at a sitting; the rest are counted."""
SHAPE = 'write one object a line: {"text": "…", "label": "…"}'
_YEARS = range(1970, 2200)


class LabelledEntity(Value):
    """Something to be found in a text, shaped as `understanding.entities.extraction` has it."""

    model_config = ConfigDict(extra="forbid")

    type: str
    value: JsonValue


class LabelledLine(Value):
    """What a line says. It has a `label`, or `entities`, or both.

    `slots` are those that the message fills, by name or path (`items.0.amount`); null says that
    it doesn't. `user` and `now` are who says it and when, where that matters. `split` is for
    files that hold several sets; `note` is for whoever reads the file.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    label: str | None = Field(None, min_length=1)
    slots: dict[str, JsonValue] = {}
    entities: list[LabelledEntity] | None = None
    user: str | None = None
    now: str | None = None
    split: str | None = None
    note: str | None = None

    @field_validator("now")
    @classmethod
    def _is_a_time(cls, written: str | None) -> str | None:
        if written is not None and datetime.fromisoformat(written).year not in _YEARS:
            raise ValueError(f"the year isn't one from {_YEARS[0]} to {_YEARS[-1]}")
        return written


@dataclass(frozen=True)
class NumberedLine:
    """A line and its number, counted from 1."""

    number: int
    line: LabelledLine


@dataclass(frozen=True)
class KnownLabels:
    """What lines may name, and what may be a message."""

    slots: Mapping[str, frozenset[str]]
    """The slots of every capability, by its name."""
    users: frozenset[str]
    check_text: Callable[[str], object]
    """Raises `InvalidInput` for what can't be a message."""


@dataclass
class LabelledFile:
    """The lines of a file; those that say the same as one before are counted once."""

    lines: list[NumberedLine] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    """The numbers of the lines that only repeat another."""


def read_labelled(content: bytes, file: str, known: KnownLabels) -> LabelledFile:
    """The labelled lines of a file; raises `DefinitionError` with every problem of every line."""
    reader = _Reader(file, known)
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.strip():
            reader.take(number, raw.strip())
    if not reader.problems and not reader.read.lines:
        reader.problem(1, "has no labelled line", SHAPE)
    if more := reader.problems[MOST_PROBLEMS:]:
        left = Problem(file, more[0].line, f"and {len(more):,} more from here", "mend these")
        raise DefinitionError([*reader.problems[:MOST_PROBLEMS], left])
    if reader.problems:
        raise DefinitionError(reader.problems)
    return reader.read


class _Reader:
    """Takes one line after the other, and remembers what is wrong with them."""

    def __init__(self, file: str, known: KnownLabels) -> None:
        self._file = file
        self._known = known
        self._first: dict[tuple[str, str | None, str | None], NumberedLine] = {}
        self.read = LabelledFile()
        self.problems: list[Problem] = []

    def problem(self, number: int, what: str, remedy: str) -> None:
        self.problems.append(Problem(self._file, number, what, remedy))

    def take(self, number: int, raw: bytes) -> None:
        line = self._parsed(number, raw)
        if line is None:
            return
        wrong = list(_wrong(line, self._known))
        for what, remedy in wrong:
            self.problem(number, what, remedy)
        if not wrong:
            self._keep(NumberedLine(number, line))

    def _parsed(self, number: int, raw: bytes) -> LabelledLine | None:
        if len(raw) > LONGEST:
            self.problem(number, f"has {len(raw):,} bytes", f"a line may have {LONGEST:,}")
            return None
        try:
            raw.decode()
            return LabelledLine.model_validate_json(raw)
        except UnicodeDecodeError as error:
            self.problem(number, f"isn't UTF-8 from byte {error.start + 1} on", "convert the file")
        except ValidationError as error:
            for found in error.errors(include_url=False, include_input=False):
                place = ".".join(str(part) for part in found["loc"])
                message = _UNTOLD.sub("", reason_of(found))
                self.problem(number, f"{place}: {message}" if place else message, _shape(place))
        return None

    def _keep(self, labelled: NumberedLine) -> None:
        line = labelled.line
        first = self._first.setdefault((line.text, line.user, line.now), labelled)
        if first is labelled:
            self.read.lines.append(labelled)
        elif _says(first.line) == _says(line):
            self.read.repeated.append(labelled.number)
        else:
            self.problem(
                labelled.number,
                f"contradicts line {first.number}, which has the same text",
                "take one of them out, or say what differs with `user` or `now`",
            )


def _wrong(line: LabelledLine, known: KnownLabels) -> Iterator[tuple[str, str]]:
    """What is wrong with a line that has the right shape, and what would be right."""
    try:
        known.check_text(line.text)
    except InvalidInput as error:
        yield str(error), "write what a person might say"
    if line.label is None and line.entities is None:
        yield "has neither `label` nor `entities`", SHAPE
    if line.label is not None and line.label not in {*known.slots, *TARGETLESS}:
        yield f"label {line.label[:60]!r} is nothing that can be done here", _meant(line, known)
    elif line.slots:
        there = known.slots.get(line.label or "", frozenset())
        for name in line.slots:
            if name.split(".")[0] not in there:
                has = f"{line.label} has {_list(there)}" if there else f"{line.label} has no slots"
                yield f"slot {name[:60]!r} isn't one of {line.label}", has
    if line.user is not None and line.user not in known.users:
        yield f"user {line.user[:60]!r} isn't in the directory", f"it has {_list(known.users)}"


def _meant(line: LabelledLine, known: KnownLabels) -> str:
    if close := get_close_matches(line.label or "", [*known.slots, *TARGETLESS], n=1):
        return f"did you mean {close[0]}?"
    return f"there are {_list(known.slots)}, and {_list(TARGETLESS)}"


def _shape(place: str) -> str:
    if place.startswith("now"):
        return "write it like 2026-11-18T10:00+08:00"
    return f"a line may have {_list(LabelledLine.model_fields)}" if place else SHAPE


def _list(names: Mapping[str, object] | frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _says(line: LabelledLine) -> LabelledLine:
    return line.replace(note=None, split=None)
