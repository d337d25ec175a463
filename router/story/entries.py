"""What a file of stories may hold: a model for a story, and one for each sort of step.

Names of people, tools and flows are held against the `StoryNames` of the validation's context.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args

import re2
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from router.domain.errors import nearest
from router.domain.locale import Locale
from router.domain.messages import FlowStatus, Message
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Telling
from router.flow.engine.run_parts.approvals import Verdict
from router.formats.regex import PatternTooCostly, compile_foreign
from router.formats.validation import Entry, misfit
from router.formats.yaml_document import Place

LONGEST_TEXT = 8_000
"""Characters, as many as a message may have."""
MOST_TIME = timedelta(days=3660)
YEARS = range(2000, 2100)
ASKED_THEN = ""
"""The question that a yes or no answers in a story: the one that is asked then."""
PRESSED = {"confirm": "value", "choose": "value", "form": "values", "start": "flow"}
"""What can be done instead of saying something, and what REST calls its content."""
BESIDE = frozenset({"comment", "to"})
"""Keys of a decision that stand beside who decides."""
NAMES_SOMEONE: frozenset[Verdict] = frozenset({"delegate", "add"})


@dataclass(frozen=True)
class StoryNames:
    """Who and what there is."""

    users: Collection[str]
    tools: Collection[str]
    flows: Mapping[str, FlowDefinition]
    prefixes: Collection[str] = ()
    """How names of tools begin that only a server knows: those of MCP servers."""


_SHORTEST_EXPRESSION = 3


def is_expression(pattern: str) -> bool:
    """True for `/…/`, which is RE2; anything else is looked for as it is written."""
    slashes = pattern.startswith("/") and pattern.endswith("/")
    return slashes and len(pattern) >= _SHORTEST_EXPRESSION


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """The expression between the slashes; `.` takes line breaks too. Raises `re2.error`."""
    return compile_foreign(pattern[1:-1], dot_all=True)


def end_of(pattern: str, said: str, start: int) -> int | None:
    """Where the first match from `start` on ends; None where there is none."""
    if not is_expression(pattern):
        found = said.find(pattern, start)
        return None if found < 0 else found + len(pattern)
    match = compiled(pattern).search(said[start:])
    return None if match is None else start + int(match.end())


Failing = Literal["permanent", "arguments", "unknown", "transient", "no"]
"""How a tool fails, in the project's own kinds of error; `no`: it works again."""

BEGINS = datetime.fromisoformat("2026-11-18T10:00+08:00")
"""A Wednesday morning. Stories begin then unless they say otherwise, so that dates in them
mean the same for ever."""

WordsField = Annotated[str, Field(pattern=r"\S")]
_DURATION: TypeAdapter[timedelta] = TypeAdapter(timedelta)


def quoted(value: Any) -> str:
    """A value as a complaint names it, however long it is."""
    if value is None:
        return "empty"
    shown = repr(value) if isinstance(value, str) else str(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"  # noqa: PLR2004


def one_of(value: Any, known: Iterable[str], what: str) -> Any:
    """The value, which has to be among those known; raises pydantic's error."""
    names = sorted(known)
    if isinstance(value, str) and value in names:
        return value
    remedy = nearest(str(value), names) or f"there are {', '.join(names) or 'none'}"
    raise misfit(f"{quoted(value)} is no {what}", remedy)


def _context(info: ValidationInfo) -> StoryNames:
    assert isinstance(info.context, StoryNames)  # noqa: S101 - the loader gives it
    return info.context


def _known(what: str, names: Callable[[StoryNames], Iterable[str]]) -> BeforeValidator:
    def check(value: Any, info: ValidationInfo) -> Any:
        return one_of(value, names(_context(info)), what)

    return BeforeValidator(check, json_schema_input_type=WordsField)


def _tool_name(value: Any, info: ValidationInfo) -> Any:
    known = _context(info)
    if isinstance(value, str) and any(
        value.startswith(prefix) and value != prefix for prefix in known.prefixes
    ):
        return value
    return one_of(value, [*known.tools, *(f"{prefix}…" for prefix in known.prefixes)], "tool")


def _among(what: str, values: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: one_of(value, get_args(values), what))


def _text(what: str) -> BeforeValidator:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise misfit(f"{what} is {quoted(value)}", "write a text, in quotes")
        if len(value) > LONGEST_TEXT:
            raise misfit(f"{what} is over {LONGEST_TEXT:,} characters", "shorten it")
        return value

    return BeforeValidator(check, json_schema_input_type=WordsField)


def _mapping(example: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise misfit(f"{quoted(value)} are no keys and values", f"write {example}")
        return value

    return BeforeValidator(check)


def _duration(value: Any) -> timedelta:
    # A number has no unit.
    if isinstance(value, str) and value.startswith("P"):
        with suppress(ValidationError):
            found = _DURATION.validate_python(value)
            if timedelta() < found <= MOST_TIME:
                return found
    remedy = "write it like PT24H or P3D, ten years at most"
    raise misfit(f"{quoted(value)} is no time that can pass", remedy)


def _moment(value: Any) -> datetime:
    with suppress(TypeError, ValueError):
        found = datetime.fromisoformat(value)
        if found.year in YEARS:
            return found
    remedy = "write it like 2026-11-18T10:00+08:00"
    raise misfit(f"{quoted(value)} is no date and time of this century", remedy)


def _pattern(text: str) -> str:
    if is_expression(text):
        try:
            compiled(text)
        except PatternTooCostly as error:
            raise misfit(
                f"the expression {text[:80]} {error.fault.what}", error.fault.remedy
            ) from None
        except re2.error as error:
            why = error.args[0] if error.args else error
            told = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
            raise misfit(f"{text} is no RE2 expression: {told}", "mend it") from None
    return text


def _message(said: Any) -> Message:
    """What was said, or done instead: in short or as REST writes it."""
    if not isinstance(said, dict):
        return Message(text=_SPOKEN.validate_python(said))
    action = dict(said)
    if len(said) == 1 and (kind := next(iter(said))) in PRESSED:
        action = {"type": kind, PRESSED[kind]: said[kind]}
        if kind == "confirm":
            action["question"] = ASKED_THEN
    try:
        return Message.model_validate({"action": action})
    except ValidationError:
        remedy = "write {confirm: true}, {choose: …}, {form: {…}} or {start: <flow>}"
        raise misfit(f"{quoted(written(said))} is nothing to press", remedy) from None


_SPOKEN: TypeAdapter[str] = TypeAdapter(Annotated[str, _text("what the user says")])


def _true(value: Any) -> bool:
    if value is not True:
        raise misfit(f"it is {quoted(value)}", "write true, or leave the step out")
    return True


def _times(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise misfit(f"{quoted(value)} is no number of times", "write 0, 1, 2, …")
    return value


UserField = Annotated[str, _known("user of the directory", lambda known: known.users)]
ToolName = Annotated[str, BeforeValidator(_tool_name, json_schema_input_type=WordsField)]
CommentField = Annotated[str, _text("the comment")]
ArgumentsField = Annotated[dict[str, Any], _mapping("{days: 3}")]
DecisionField = Annotated[Verdict, _among("decision", Verdict)]
# YAML's `no` is a text since 1.2, and many hands still write `false`.
FailureField = Annotated[
    Failing,
    BeforeValidator(
        lambda how: one_of("no" if how is False else how, get_args(Failing), "way to fail"),
        json_schema_input_type=Failing | Annotated[bool, Field(json_schema_extra={"const": False})],
    ),
]
Failures = Annotated[dict[ToolName, FailureField], _mapping("{record_leave: permanent}")]
Answers = Annotated[dict[ToolName, JsonValue], _mapping("{reserve_room: {room: A1}}")]
PatternField = Annotated[str, AfterValidator(_pattern), _text("what the bot says")]
PatternsField = Annotated[
    tuple[PatternField, ...],
    BeforeValidator(
        lambda value: value if value and isinstance(value, list) else [value],
        json_schema_input_type=WordsField | Annotated[list[WordsField], Field(min_length=1)],
    ),
]
"""One, or several that come in this order."""
Yes = Annotated[bool, BeforeValidator(_true), Field(json_schema_extra={"const": True})]


def _calls(value: Any) -> Any:
    """Calls as pairs of a name and arguments; `{name: {…}}`, or a list of such."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict) or not one:
            raise misfit(f"{quoted(one)} is no call", "write {get_weather: {city: Rome}}")
        for name, arguments in one.items():
            if not isinstance(arguments or {}, dict):
                remedy = f"write {{{name}: {{…}}}}"
                raise misfit(f"what {name} is called with is {quoted(arguments)}", remedy)
            found.append((str(name), arguments or {}))
    if not found:
        raise misfit("nothing is called", "write {get_weather: {city: Rome}}")
    return tuple(found)


_CALLED = Annotated[dict[str, dict[str, Any] | None], Field(min_length=1)]


class ModelAnswer(Entry):
    """What a model answers to one question, in the place of a real one."""

    says: Annotated[str, _text("what the model says")] | None = None
    """In words."""
    call: (
        Annotated[
            tuple[tuple[str, dict[str, Any]], ...],
            BeforeValidator(_calls, json_schema_input_type=_CALLED | list[_CALLED]),
        ]
        | None
    ) = None
    """Functions, each with its arguments; of a list the same may be called twice."""
    sees: PatternsField = ()
    """Stands in what it is asked; /…/ is RE2; of a list all, in order."""

    @model_validator(mode="after")
    def _answers_something(self) -> Self:
        if self.says is None and self.call is None:
            raise misfit("it answers nothing", "write {says: …} or {call: {name: {…}}}")
        return self


def _answers(value: Any) -> Any:
    if not isinstance(value, list):
        raise misfit(f"{quoted(value)} is no list", "write [{says: …}, {call: {name: {…}}}]")
    return value


class UserStep(Entry):
    """What the user says, or does instead."""

    user: Annotated[
        Message,
        BeforeValidator(
            _message,
            json_schema_input_type=WordsField | Annotated[dict[str, Any], Field(min_length=1)],
        ),
    ]
    """A text, {confirm: true}, {choose: …} or {form: {…}}."""
    model: Annotated[tuple[ModelAnswer, ...], BeforeValidator(_answers)] = ()
    """What a model answers, question by question: these are asked, and no other. Where no step has
    it the story is without a model."""


class BotStep(Entry):
    """What was said since the last act."""

    bot: PatternsField
    """/…/ is RE2; of a list all, in order."""


def _approvers(value: Any, info: ValidationInfo) -> Any:
    for one in value if isinstance(value, list) else [value]:
        one_of(one, _context(info).users, "user of the directory")
    return value


class RunExpectation(Entry):
    """How a run stands, as far as it is said."""

    flow: Annotated[Any, Field(json_schema_extra={"type": "string"})] = None
    """The flow's name; otherwise it is the newest run, and one that only looks something up where
    there is no other."""
    status: Annotated[FlowStatus, _among("status", FlowStatus)] = "running"
    """How it is."""
    state: Annotated[Any, Field(json_schema_extra={"type": "string"})] = None
    """Where it is."""
    slots: ArgumentsField = {}
    """Some of what it knows."""
    awaiting: Annotated[Any, Field(json_schema_extra={"type": ["array", "string"]})] = None
    """What it waits for."""
    approvers: Annotated[
        Any, BeforeValidator(_approvers), Field(json_schema_extra={"type": ["array", "string"]})
    ] = None
    """Who is asked."""

    @model_validator(mode="before")
    @classmethod
    def _expects_something(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise misfit(f"{quoted(data)} are no keys and values", "write {status: completed}")
        if not data:
            raise misfit("nothing is expected", f"say {', '.join(cls.model_fields)}")
        return data

    def names(self, flow: FlowDefinition) -> Iterator[tuple[Place, Any, Iterable[str], str]]:
        """What is named of its flow: where, the name, those that there are, what they are."""
        if "state" in self.model_fields_set:
            yield ("state",), self.state, flow.states, f"state of {flow.flow}"
        for slot in self.slots:
            yield ("slots", slot), slot, flow.slots, f"slot of {flow.flow}"


class ExpectStep(Entry):
    """How the newest run stands, or that of the flow named."""

    expect: RunExpectation
    """As far as it is said."""


class ApproverStep(Entry):
    """Who decides on what waits for them, and how: `{bob: approve}`."""

    approver: Annotated[
        UserField,
        Field(
            json_schema_extra={
                "type": ["string", "object"],
                "maxProperties": 1,
                "additionalProperties": {"enum": list(get_args(Verdict))},
            }
        ),
    ]
    """A user of the directory; or who and how at once."""
    decides: DecisionField = Field(None, validate_default=True)
    """How."""
    comment: CommentField | None = None
    """What they say to it."""
    to: UserField | None = None
    """Whom `delegate` and `add` name."""

    @model_validator(mode="before")
    @classmethod
    def _who_and_how(cls, data: Any) -> Any:
        person = data.get("approver")
        if isinstance(person, dict) and (within := BESIDE & person.keys()):
            remedy = "`comment:` and `to:` go beside `approver:`, as keys of the step"
            raise misfit(f"{' and '.join(sorted(within))} stands within approver", remedy)
        if isinstance(person, dict) and len(person) == 1 and data.get("decides") is None:
            ((person, verdict),) = person.items()
            return {**data, "approver": person, "decides": verdict}
        return data

    @model_validator(mode="after")
    def _names_whom_it_has_to(self) -> Self:
        if (self.decides in NAMES_SOMEONE) != (self.to is not None):
            remedy = "add to: <user>" if self.to is None else "take it out"
            named = "nobody" if self.to is None else "someone"
            raise misfit(f"who {self.decides}s names {named} in to", remedy)
        return self


class AfterStep(Entry):
    """So much time passes, with all that is due in it."""

    after: Annotated[
        timedelta,
        BeforeValidator(
            _duration,
            json_schema_input_type=Annotated[
                str, Field(pattern="^[+-]?P", examples=["PT24H", "P14D"])
            ],
        ),
    ]
    """PT24H, P14D."""


class ToolStep(Entry):
    """A tool that was called in this story."""

    tool: ToolName
    """Its name."""
    arguments: ArgumentsField = Field({}, alias="with")
    """At least these arguments."""
    times: Annotated[
        int | None, BeforeValidator(_times, json_schema_input_type=Annotated[int, Field(ge=0)])
    ] = None
    """How often; 0 is never."""


def _fields(value: Any) -> Any:
    """What a card shows, by label, each as `bot` has it: a number is written as people read it."""
    if not isinstance(value, dict):
        raise misfit(f"{quoted(value)} are no labels and values", "write {Until: December 23}")
    return {label: each if isinstance(each, str) else str(each) for label, each in value.items()}


def _changes(value: Any) -> Any:
    if not isinstance(value, dict):
        raise misfit(f"{quoted(value)} are no labels and values", "write {Until: [22nd, 23rd]}")
    for label, both in value.items():
        if not isinstance(both, list) or len(both) != len(("was", "is")):
            remedy = f"write {label}: [what was there, what is there now]"
            raise misfit(f"the change of {label} is {quoted(both)}", remedy)
    return {label: tuple(_pattern(str(each)) for each in both) for label, both in value.items()}


Shown = Annotated[
    dict[str, PatternField],
    BeforeValidator(_fields, json_schema_input_type=dict[str, str | float]),
]
Changed = Annotated[
    dict[str, tuple[str, str]],
    BeforeValidator(
        _changes,
        json_schema_input_type=dict[
            str, Annotated[list[str | float], Field(min_length=2, max_length=2)]
        ],
    ),
]


class CardStep(Entry):
    """What waits for somebody's decision, as it is shown to them, in their language."""

    card: UserField
    """A user of the directory; of several cards it is the one that has waited longest."""
    shows: Shown = {}
    """Some of what is decided on, by its labels; /…/ is RE2."""
    changes: Changed = {}
    """All that differs from what was shown before, by label: [what was, what is], each as `bot` has
    it; {} is nothing."""


class ToldStep(Entry):
    """Somebody was told of a decision since the last act: theirs, or one that they are copied."""

    told: UserField
    """A user of the directory."""
    how: Annotated[Telling, _among("way to be told", Telling)] = Field(None, validate_default=True)
    """Of what: asked, reminded, nudged, escalated, delegated, added, copied or decided."""


class ToolFailsStep(Entry):
    """Tools that fail from here on, and how."""

    tool_fails: Failures
    """How, by the tool's name."""


class ToolAnswersStep(Entry):
    """What tools answer from here on: none of them is called, nor asked whether it may be."""

    tool_answers: Answers
    """The result, by the tool's name."""


class WithdrawStep(Entry):
    """The requester takes it back, outside the conversation."""

    withdraw: Yes
    comment: CommentField | None = None
    """What they say to it."""


class NudgeStep(Entry):
    """The requester reminds the approvers."""

    nudge: Yes


class EventBody(Entry):
    """What happened: its name, and its fields beside it."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, _text("the event's name")] = Field(None, validate_default=True)
    """What it is called."""


class EventStep(Entry):
    """Something happens outside."""

    event: Annotated[EventBody, _mapping("{name: paid, …}")]
    """Its name; the rest are its fields."""


ToolsStep = ToolFailsStep | ToolAnswersStep
"""Says how tools do from here on, and so is no event."""
StepEntry = UserStep | ApproverStep | AfterStep | ToolsStep | WithdrawStep | NudgeStep | EventStep
Expectation = BotStep | ExpectStep | ToolStep | CardStep | ToldStep
STEPS: Mapping[str, type[StepEntry | Expectation]] = {
    next(iter(each.model_fields)): each
    for each in (
        *(UserStep, BotStep, ExpectStep, CardStep, ToldStep, ApproverStep, AfterStep),
        *(ToolStep, ToolFailsStep, ToolAnswersStep, WithdrawStep, NudgeStep, EventStep),
    )
}
"""The sorts of steps by the key that tells them, which is a model's first."""


class StoryEntry(Entry):
    """One dialogue."""

    story: Annotated[str, _text("the story's name")]
    """Its name."""
    user: UserField = "alice"
    """A user of the directory; alice where it is left out."""
    locale: Annotated[Locale, _among("language", Locale)] | None = None
    """What is spoken; else the user's language."""
    now: Annotated[
        datetime,
        BeforeValidator(
            _moment,
            json_schema_input_type=Annotated[str, Field(examples=["2026-11-18T10:00+08:00"])],
        ),
    ] = BEGINS
    """When it begins; otherwise Wednesday, 2026-11-18T10:00+08:00."""
    tool_fails: Failures = {}
    """Tools that fail from the beginning, and how."""
    tool_answers: Answers = {}
    """What tools answer from the beginning, in the place of being called."""
    steps: Any
    """What happens, and what is to come of it."""


def written(given: Mapping[str, Any]) -> str:
    """A step on one line, much as it stands in its file."""
    return ", ".join(f"{key}: {_value(value)}" for key, value in given.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{written(value)}}}"
    if isinstance(value, str):
        return value.replace("\n", "⏎")
    return json.dumps(value, ensure_ascii=False, default=str)
