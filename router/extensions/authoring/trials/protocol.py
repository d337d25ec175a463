"""A draft being tried: what it is played on, what is done, and what there is to see of it.

This is what a trial's process is sent and what it answers (`process`), so all of it is JSON. Tools
are no more than what is said of them: what they answer is given, or made up here.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.source_lines import SourceLine
from router.domain.value import Value
from router.extensions.authoring.reviews import StoryCoverage
from router.flow.definition import FlowDefinition
from router.formats.regex import compile_foreign, compiled, refused
from router.story.entries import BEGINS
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import (
    Arguments,
    ArgumentSchema,
    FunctionImplementation,
    SchemaImplementation,
)
from router.tool.tool import Permission, Tool, ToolOptions

MOST_STEPS = 200
"""Of one trial."""
_DEEPEST = 8
"""Levels of a value that is made up."""


class TrialRecord(Value, extra="forbid"):
    """What goes to or from a trial's process."""


class TrialTool(TrialRecord):
    """What is known of a tool, but for how it is called."""

    name: str
    title: Localised
    description: str
    description_zh: str = ""
    examples: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    permission: Permission
    roles: frozenset[str] = frozenset()
    confirm: bool = False
    parameters: dict[str, JsonValue]
    described: bool = False
    """Whether anybody has said what it answers."""
    answer: JsonValue = None
    """What it may answer then."""
    listed: bool = True
    request: bool = True
    undoes: str = ""

    @classmethod
    def of(cls, tool: Tool) -> Self:
        """What is known of this one."""
        own, options = cls.model_fields, vars(tool) | vars(tool.options)
        said = {name: options[name] for name in own if name in options}
        made = tool.implementation
        if isinstance(made, FunctionImplementation):
            said |= {"described": True, "answer": likely_answer(made.signature.result)}
        return cls(**said, parameters=tool.parameters)


def likely_answer(result: TypeAdapter[Any]) -> JsonValue:
    """What a tool of such results may answer, as those are written.

    A schema of what is written can say less than is so: a decimal is a text there.
    """
    schemas = [result.json_schema(mode=mode) for mode in ("serialization", "validation")]
    for schema in schemas:
        with suppress(ValidationError):
            fitting = result.validate_python(made_up(schema))
            answer: JsonValue = result.dump_python(fitting, mode="json")
            return answer
    return made_up(schemas[0])


@dataclass(frozen=True)
class TrialImplementation(SchemaImplementation):
    """What answers in a tool's place: always the same, and nothing is called for it."""

    answer: JsonValue
    kind = "trial"

    async def call(self, _: Arguments, __: ToolContext, ___: Dependencies) -> JsonValue:
        """The answer."""
        return self.answer


def stand_in(said: TrialTool, answer: JsonValue) -> Tool:
    """A tool of which nothing but what is said of it is like the other; it gives this answer."""
    own = {name: getattr(said, name) for name in TrialTool.model_fields if name in _OF_TOOLS}
    return Tool(
        **own,
        idempotent=True,
        timeout=timedelta(seconds=10),
        retries=3,
        implementation=TrialImplementation(ArgumentSchema(said.parameters, is_read=True), answer),
        source=_NOWHERE,
        options=ToolOptions(
            listed=said.listed, request=said.request, undoes=said.undoes, per_minute=None
        ),
    )


_OF_TOOLS = frozenset(Tool.__dataclass_fields__)
_NOWHERE = SourceLine("trial", 1)


NOTHING_READ: Mapping[str, JsonValue] = MappingProxyType({})


def made_up(
    schema: Mapping[str, Any] | None, read: Mapping[str, JsonValue] = NOTHING_READ
) -> JsonValue:
    """A value such as a tool may answer; the same for the same schema.

    Where nobody has said what the tool answers it has what flows `read` of it, by dotted paths.

    >>> made_up({"type": "object", "properties": {"room": {"type": "string"}}})
    {'room': 'example'}
    >>> made_up(None, {"total.amount": "10", "id": "example"})
    {'total': {'amount': '10'}, 'id': 'example'}
    """
    if schema is not None:
        return _value(schema, schema, 0)
    whole: dict[str, Any] = {}
    # The whole before its parts: of money that is read whole the amount is that of the whole.
    for path, value in sorted(read.items(), key=lambda each: each[0].count(".")):
        *above, last = path.split(".")
        within = whole
        for name in above:
            inner = within.setdefault(name, {})
            if not isinstance(inner, dict):
                inner = within[name] = {}
            within = inner
        within.setdefault(last, deepcopy(value))
    return whole


_TEXT = "example"
_TEXTS: Mapping[str, str] = {
    "date": BEGINS.date().isoformat(),
    "date-time": BEGINS.isoformat(),
    "time": "10:00:00",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "duration": "P1D",
}
_PLAIN: Mapping[str, JsonValue] = {"boolean": True, "null": None}


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> JsonValue:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    given: list[Any] = [schema[key] for key in ("const", "default") if key in schema]
    given += [schema[key][0] for key in ("examples", "enum") if schema.get(key)]
    if given and given[0] is not None:
        return given[0]  # type: ignore[no-any-return]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _value(_target(root, reference), root, depth + 1)
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        told = [each for each in alternatives if each != {"type": "null"}]
        return _value(told[0] if told else None, root, depth + 1)
    if "allOf" in schema:
        parts = [_value(each, root, depth + 1) for each in schema["allOf"]]
        mappings = (part for part in parts if isinstance(part, dict))
        whole = {name: value for each in mappings for name, value in each.items()}
        return whole or next((part for part in parts if part is not None), None)
    return _of_type(schema, root, depth)


def _target(root: Mapping[str, Any], reference: str) -> Any:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> JsonValue:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind == "object":
        declared = schema.get("properties") or {}
        if declared.keys() == _MONEY.keys():
            return dict(_MONEY)
        return {name: _value(each, root, depth + 1) for name, each in declared.items()}
    if kind == "array":
        items = schema.get("items")
        return [_value(items, root, depth + 1)] if items else []
    if kind in {"integer", "number"}:
        return _number(schema)
    if kind == "string":
        known = _TEXTS.get(str(schema.get("format")), _TEXT)
        return next((each for each in (known, *_OTHERS) if _fits(each, schema)), known)
    return _PLAIN.get(str(kind))


_NUMBER = 10
_MONEY: Mapping[str, JsonValue] = {"amount": "10.00", "currency": "CNY"}
"""As flows have it, which count with the number in the text."""
_OTHERS = ("10", "CNY", "A1", "2026-11-18")
"""Texts that one of the usual patterns admits: of amounts, currencies, numbers and days."""


def _number(schema: Mapping[str, Any]) -> JsonValue:
    least = schema.get("minimum", schema.get("exclusiveMinimum", _NUMBER - 1) + 1)
    number = max(_NUMBER, least)
    most: JsonValue = min(
        number, schema.get("maximum", schema.get("exclusiveMaximum", number + 1) - 1)
    )
    return most


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return True
    if refused(pattern) is not None:
        # One that looks around, as that of decimals does: it can only be guessed at.
        return text.isdecimal() == (r"\d" in pattern)
    return bool(compile_foreign(pattern).search(text))


_READ = re.compile(r"\bresults\.([\w.]+)")
_PATH = r"\bresults\.{}"
_END = r"(?:[^\w.(\[]|$)"
_SIGN = r" *(?:[-+*/%]|[<>]=?|[=!]=) *"
_GOES_ON = r" *(?:&&|\|\||\?)"
_LATER = (BEGINS + timedelta(days=7)).isoformat()
_USES: tuple[tuple[str, JsonValue], ...] = (
    (r"\bamount\({}\)", dict(_MONEY)),
    (r"\b(?:double|int)\({}\)", str(_NUMBER)),
    (rf"{{}}{_SIGN}-?\d|\d{_SIGN}{{}}{_END}", _NUMBER),
    (rf"{{}}{_SIGN}(?:plus_)?days?\(|plus_days\({{}}{_END}", BEGINS.date().isoformat()),
    (rf"\bday\({{}}{_END}", _LATER),
    (rf'(?:!|&&|\|\|) *{{}}(?:{_GOES_ON}|["\')])|"{{}}{_GOES_ON}', True),
    (r"{} *[=!]= *(?:true|false)", True),
    (rf'"until":"{{}}"|\bnow{_SIGN}{{}}{_END}|{{}}{_SIGN}now\b', _LATER),
    (rf"\bworking_time\([^()]*{{}}{_END}", _LATER),
)
"""How a flow reads what nobody has described, as patterns with `{}` for it, and what may stand
there: the first that fits."""
_OF_SLOTS: Mapping[str, JsonValue] = {
    "number": _NUMBER,
    "integer": _NUMBER,
    "date": BEGINS.date().isoformat(),
    "datetime": _LATER,
}
"""By the type of a slot, what may be compared with it."""


def answers_read(flow: FlowDefinition) -> dict[str, dict[str, JsonValue]]:
    """By tool, what the flow reads of its answers as dotted paths, with what may stand there."""
    whole = flow.model_dump_json()
    read = dict.fromkeys(each.rstrip(".") for each in _READ.findall(whole))
    found: dict[str, dict[str, JsonValue]] = {}
    for state in flow.states.values():
        saved = getattr(state, "save", None)
        for tool in state.tools.values() if saved else ():
            for name, _, path in (each.partition(".") for each in read):
                if name == saved and path:
                    found.setdefault(tool, {})[path] = _likely(flow, whole, f"{name}.{path}")
    return found


def _likely(flow: FlowDefinition, whole: str, read: str) -> JsonValue:
    flag = _flag(flow, f"results.{read}")
    if flag is not None:
        return flag
    path = _PATH.format(re.escape(read))
    for use, value in _USES:
        if compiled(use.replace("{}", path)).search(whole):
            return value
    beside = compiled(rf"\bslots\.(\w+){_SIGN}{path}{_END}|{path}{_SIGN}slots\.(\w+)").search(whole)
    slot = flow.slots.get(beside[1] or beside[2]) if beside else None
    return _OF_SLOTS.get(slot.type, _TEXT) if slot else _TEXT


def _flag(flow: FlowDefinition, read: str) -> bool | None:
    """What it is as a condition by itself: whatever doesn't end the flow there; None where none."""
    for state in flow.states.values():
        for branch in (each for branches in state.exits().values() for each in branches):
            if branch.condition in {read, f"!{read}"} and branch.to in flow.states:
                goes_on = flow.states[branch.to].ends is None
                return goes_on == (branch.condition == read)
    return None


class TrialStage(TrialRecord):
    """What a trial is played on: all that its tenant has, the draft in its place."""

    flows: tuple[FlowDefinition, ...]
    people: tuple[Principal, ...]
    tools: tuple[TrialTool, ...]

    def answers(self) -> dict[str, JsonValue]:
        """What each tool answers where nobody says."""
        read: dict[str, dict[str, JsonValue]] = {}
        for flow in self.flows:
            for tool, paths in answers_read(flow).items():
                read[tool] = paths | read.get(tool, {})
        return {
            each.name: each.answer if each.described else made_up(None, read.get(each.name, {}))
            for each in self.tools
        }


class TrialPlay(TrialRecord):
    """What is done in a trial, from its beginning."""

    user: str
    steps: tuple[dict[str, JsonValue], ...]
    answers: dict[str, JsonValue] = {}
    """What tools answer, by name; the others' answers are made up."""
    anew: bool = False
    """Whether all of it is played again, though some of it was just played."""


class PlayedCall(TrialRecord):
    """A call of a tool, as far as its flow is concerned."""

    tool: str
    arguments: dict[str, JsonValue]
    result: JsonValue = None
    error: str | None = None
    """Why it came to nothing; null where it came to a result."""


class PlayedTelling(TrialRecord):
    """Who was told of a decision, and of what: asked, reminded, escalated and so on."""

    person: str
    how: str


class TrialStanding(TrialRecord):
    """Where the newest run stands."""

    flow: str
    status: str
    state: str
    slots: dict[str, JsonValue]
    awaiting: tuple[str, ...]
    approvers: tuple[str, ...]
    """Whose decision it waits for."""
    waits_until: datetime | None = None
    """When something happens by itself, in the trial's time; null: nothing does."""


class PlayedStep(TrialRecord):
    """What there was to see of one step."""

    said: tuple[dict[str, JsonValue], ...] = ()
    """What the desk said, as in a conversation."""
    calls: tuple[PlayedCall, ...] = ()
    told: tuple[PlayedTelling, ...] = ()
    standing: TrialStanding | None = None


class FailedStep(TrialRecord):
    """The step that went no further, counted from 0, and why."""

    step: int
    message: Localised


class PlayedTrial(TrialRecord):
    """All that there was to see: a step each, up to one that failed."""

    steps: tuple[PlayedStep, ...]
    standing: TrialStanding | None
    failed: FailedStep | None


class TrialStories(TrialRecord):
    """Stories to be run, as a story file has them; what fails is told in that language."""

    flow: str
    stories: str
    locale: Locale


class StoryVerdict(TrialRecord):
    """What became of one story."""

    name: str
    ok: bool
    told: tuple[str, ...]
    """Its line and, where it failed, the difference."""


class StoriesReport(TrialRecord):
    """What became of all stories of a draft."""

    passed: int
    failed: int
    stories: tuple[StoryVerdict, ...]
    coverage: StoryCoverage


class TrialRequest(TrialRecord):
    """One line to a trial's process: another stage first, where it is one, and what to do."""

    stage: TrialStage | None = None
    play: TrialPlay | None = None
    stories: TrialStories | None = None


RefusalKind = Literal["invalid", "unavailable"]


class TrialRefusal(TrialRecord):
    """Why it wasn't done."""

    kind: RefusalKind
    message: Localised
    fields: tuple[tuple[str, Localised], ...] = ()
    """What is at fault, each with what is wrong with it."""


class TrialAnswer(TrialRecord):
    """One line from a trial's process: `ready` once, then an answer to each request."""

    ready: bool = False
    played: PlayedTrial | None = None
    report: StoriesReport | None = None
    refused: TrialRefusal | None = None
