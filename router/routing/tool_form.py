"""Any tool as a form: a flow that asks for its arguments, calls it and says what it found.

So every tool can be used with no model at all, through the same machine as any flow. What a
tool asks back becomes slots in the same way. Of an argument's JSON Schema all can be asked but
free objects, tuples, lists within lists and what is deeper: `Unaskable` says why.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from router.domain.errors import Elicitation
from router.domain.file_types import FILE_FORMAT
from router.domain.locale import Localised
from router.entities.dates import Days
from router.flow.definition import FlowDefinition, State, Triggers
from router.flow.engine.changes import TAKEN
from router.flow.engine.elicitation import WHOLE
from router.flow.engine.run_parts.form import Inquiry
from router.flow.prompts.values import named
from router.flow.slot_types.slot import Choice, RangePart, Slot, filled_by
from router.formats.references import Dangling, References
from router.tool.labels import choice_in, label_in
from router.tool.tool import Tool

Schema = Mapping[str, Any]

_HOPS = 16
"""References followed for one schema: a circle of them has an end too."""


def resolved(schema: Any, whole: Schema) -> Schema:
    """The schema of the value itself; empty where it only ever refers to another.

    >>> resolved({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "why"}, {})
    {'type': 'string', 'description': 'why'}
    """
    here = mapping_in(schema)
    for _ in range(_HOPS):
        elsewhere = ("$ref", "anyOf", "oneOf", "allOf")
        rest = {key: value for key, value in here.items() if key not in elsewhere}
        if isinstance(here.get("$ref"), str):
            # What stands beside a reference says it closer: it wins.
            here = {**_referred(here["$ref"], whole), **rest}
        elif (only := _only_option(here)) is not None:
            here = {**only, **rest}
        else:
            kinds = here.get("type")
            if not isinstance(kinds, list):
                return here
            real = [kind for kind in kinds if kind != "null"]
            return {**here, "type": real[0] if len(real) == 1 else "several"}
    return {}


def _only_option(schema: Schema) -> Schema | None:
    """The one thing that a value may be besides null; None where there is no such choice."""
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            real = [o for o in options if isinstance(o, Mapping) and o.get("type") != "null"]
            return real[0] if len(real) == 1 else _as_number(real)
    return None


def _as_number(options: Sequence[Schema]) -> Schema | None:
    """The number among the options, where it may also be text, as a decimal may."""
    numbers = [option for option in options if option.get("type") == "number"]
    written = [option for option in options if option.get("type") == "string"]
    return numbers[0] if len(numbers) == 1 and len(written) == len(options) - 1 else None


def _referred(reference: str, whole: Schema) -> Schema:
    """What a reference within the schema points at; nothing where it leads elsewhere."""
    try:
        return mapping_in(References(whole).target(reference))
    except Dangling:
        return {}


def mapping_in(value: Any) -> Schema:
    """The value where it is a mapping, as a stranger's schema may say it is; else an empty one."""
    return value if isinstance(value, Mapping) else {}


PLAIN = {"string": "text", **{name: name for name in ("number", "integer", "boolean")}}
DEEPEST = 2
"""Objects within objects: nobody answers further down."""
MOST_FIELDS = 20
"""Of one object. A stranger's schema may refer to itself in each, and every level multiplies."""
LONGEST_LIST = 50

_TEMPLATE = re.compile(r"\{(?=[{%#])")
NAMEABLE = re.compile(r"(?!(?:in|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names of arguments are somebody else's, and stand in the form's expressions as they are."""
_FIELD = re.compile(r"(?!\d+\Z)[^.\s]{1,64}")
"""Names of fields stand in paths, where a number is an item's and a dot goes deeper."""


class Unaskable(Exception):
    """No form field fits; says why, in a few words."""


@dataclass(frozen=True)
class Askable:
    """What of a tool's arguments can be asked for, and what not."""

    slots: dict[str, Slot] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    """The name of each slot's argument: another where no expression could carry that."""
    unaskable: dict[str, str] = field(default_factory=dict)
    """Why, by the argument's name."""


def askable(parameters: Schema) -> Askable:
    """The arguments of a tool as slots."""
    found = Askable()
    properties = mapping_in(parameters.get("properties"))
    needed = parameters.get("required") or []
    taken = {*properties}
    for name, schema in properties.items():
        try:
            slot = slot_of(name, schema, required=name in needed, within=parameters)
        except Unaskable as reason:
            found.unaskable[name] = str(reason)
            continue
        taken.remove(name)
        alias = slot_name(name, taken)
        taken |= {name, alias}
        found.slots[alias] = slot
        found.arguments[alias] = name
    return found


def slot_name(name: str, taken: Collection[str]) -> str:
    """What a slot is called for a field: its own name where that can be, and isn't `taken`.

    >>> slot_name("seat-no", ()), slot_name("seat", {"seat"}), slot_name("more", ())
    ('seat_no', 'seat_2', 'more_')
    """
    stem = name
    if not NAMEABLE.fullmatch(name) or name in TAKEN:
        words = re.sub(r"[^A-Za-z0-9]+", "_", name)[:50].strip("_")
        stem = words if NAMEABLE.fullmatch(words) and words not in TAKEN else f"{words}_"
        stem = stem if NAMEABLE.fullmatch(stem) and stem != "_" else f"argument{stem}".rstrip("_")
    numbered = (f"{stem}_{n}" for n in count(2))
    return next(each for each in chain([stem], numbered) if each not in taken)


def slot_of(
    name: str, schema: Any, *, required: bool, within: Schema | None = None, depth: int = 0
) -> Slot:
    """A property as a slot; `within` is the whole schema, for what it refers to.

    Raises `Unaskable` where no form field fits it.
    """
    whole = within or {}
    schema = resolved(schema, whole)
    words = plain(str(schema.get("description") or name.replace("_", " ")))
    label = Localised(zh=plain(label_in(schema) or words), en=words)
    about: dict[str, Any] = {"label": label, "ask": _question(label), "required": required}
    kind = schema.get("type")
    if (choices := _choices(name, schema)) is not None:
        return Slot(type="choice", choices=choices, **about)
    if (format_ := schema.get("format")) in ("date", "date-time"):
        return Slot(type=format_.replace("-", ""), **about)
    if format_ == FILE_FORMAT and kind == "string":
        return Slot(type="file", **about)
    if kind == "array":
        return _list(name, schema, about, whole, depth)
    if kind == "object" or "properties" in schema:
        return Slot(type="object", fields=_fields(schema, whole, depth), **about)
    if str(kind) not in PLAIN:
        raise Unaskable("any kind of value" if kind is None else "a value of several kinds")
    return Slot.model_validate({"type": PLAIN[str(kind)], **about})


def plain(words: str) -> str:
    """Words that a form's texts may have in them: whoever wrote them, they are no template."""
    return _TEMPLATE.sub("{ ", words)


def _question(label: Localised) -> Localised:
    return Localised(zh=f"{label.zh}？", en=f"{label.en[:1].upper()}{label.en[1:]}?")


def _choices(name: str, schema: Schema) -> dict[str, Choice] | None:
    """The values to choose from; numbers are no choices but are asked for as what they are."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    texts = [value for value in values if isinstance(value, str)]
    if not texts and str(schema.get("type")) in PLAIN:
        return None
    if not texts or any(value is not None for value in values if not isinstance(value, str)):
        raise Unaskable("a choice among values that aren't texts")
    words = {value: choice_in(schema, value) or named(name, value, "zh") for value in texts}
    labels = {value: Localised(zh=plain(zh), en=value) for value, zh in words.items()}
    return {value: Choice(label=label) for value, label in labels.items()}


def _list(name: str, schema: Schema, about: dict[str, Any], whole: Schema, depth: int) -> Slot:
    """A list: of plain values, which one answer may name together, or of flat objects."""
    if depth:
        raise Unaskable("a list within something else")
    if "prefixItems" in schema or not isinstance(schema.get("items"), Mapping):
        raise Unaskable("a list whose items aren't all of one kind")
    item = slot_of(name, schema["items"], required=True, within=whole, depth=DEEPEST)
    label: Localised = about["label"]
    if not item.fields:
        ask = _question(label)
        several = Localised(
            zh=f"{ask.zh}（几项可以一起说：甲、乙、丙）",
            en=f"{ask.en} (Several may be named at once: a, b and c.)",
        )
        item = item.replace(label=label, ask=several)
    least = max(1, _count(schema.get("minItems"), 1))
    most = min(LONGEST_LIST, max(least, _count(schema.get("maxItems"), 20)))
    return Slot(type="list", of=item, min=least, max=most, **about)


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _fields(schema: Schema, whole: Schema, depth: int) -> dict[str, Slot]:
    """The fields that can be asked for; all that are needed have to be among them."""
    if depth > DEEPEST:
        raise Unaskable("an object that is nested too deep")
    needed, properties = schema.get("required") or [], mapping_in(schema.get("properties"))
    if len(properties) > MOST_FIELDS:
        raise Unaskable(f"an object of {len(properties)} fields")
    fields: dict[str, Slot] = {}
    for name, inner in properties.items():
        is_needed, unaskable = name in needed, "a name that no path can carry"
        if _FIELD.fullmatch(name) and name not in TAKEN:
            try:
                fields[name] = slot_of(
                    name, inner, required=is_needed, within=whole, depth=depth + 1
                )
            except Unaskable as reason:
                unaskable = str(reason)
        if is_needed and name not in fields:
            raise Unaskable(f"{name[:40]}: {unaskable}")
    if not fields:
        raise Unaskable("an object of any fields")
    return fields


UNKNOWN = 'results.error.kind == "unknown"'
"""Holds where a call may have had its effect, and may not."""
AMENDABLE = 'results.error.kind == "arguments"'
"""Holds where other arguments might do."""
_ABOUT = "{{% if results.about %}}{}{{{{ results.about.{} }}}}{{% endif %}}"
"""What the check says that the call is about, behind what the tool is called."""
_FIRST = ("details", "check", "review", "call")
"""The states that a form may begin with, in their order."""
_FOUND, _FAULT = "{{ results.found | told }}", "{{ results.error.message }}"
_TOLD: dict[str, Any] = {
    "tell": {"say": {"zh": _FOUND, "en": _FOUND}, "end": "completed"},
    "sorry": {
        "say": {"zh": f"没办成：{_FAULT}", "en": f"That didn't work: {_FAULT}"},
        "end": "failed",
    },
}
_STOPPED = {
    "say": {"zh": "好的，没有执行。", "en": "All right, nothing was done."},
    "end": "cancelled",
}


def form_of(tool: Tool) -> FlowDefinition | None:
    """The flow that stands for the tool; None where `obstacle` says why there is none."""
    found = askable(tool.parameters)
    if _obstacle(tool, found) is not None:
        return None
    slots = _as_range(found.slots)
    states = _states(tool, slots, _given(found))
    return FlowDefinition(
        flow=tool.name,
        title=tool.title,
        description=tool.about,
        triggers=Triggers(roles=tool.roles),
        slots=slots,
        start=_first(states),
        states=states,
    )


def obstacle(tool: Tool) -> str | None:
    """Why the tool has no form: its arguments can't be asked for. None where it has one."""
    return _obstacle(tool, askable(tool.parameters))


def _obstacle(tool: Tool, found: Askable) -> str | None:
    if tool.options.client:
        return "only a front end can call it"
    required: Any = tool.parameters.get("required") or []
    unasked = [f"{name} ({why})" for name, why in found.unaskable.items() if name in required]
    return f"no form field fits {', '.join(unasked)}" if unasked else None


def _given(found: Askable) -> dict[str, str]:
    """What the tool is given, by its own names: an expression for each argument."""
    given = {}
    for name, slot in found.slots.items():
        # An object that is needed, and nothing in it.
        needed = any(field.required for field in slot.fields.values())
        may_be_empty = slot.kind.made_of == "fields" and slot.required and not needed
        otherwise = "{}" if may_be_empty else "null"
        given[found.arguments[name]] = f"has(slots.{name}) ? slots.{name} : {otherwise}"
    return given


def _states(tool: Tool, slots: dict[str, Slot], given: dict[str, str]) -> dict[str, State]:
    """Collect, check and confirm where the tool wants that, call, tell."""
    states = _call(tool, given)
    if tool.asks_first:
        states |= _confirmation(tool)
    if tool.asks_first and tool.check:
        amended = [{"if": AMENDABLE, "to": "details"}, {"to": "sorry"}]
        check = {"check": tool.name, "with": given, "=save": "about", "next": "review"}
        states["check"] = {**check, "on_error": amended if slots else "sorry"}
    if slots:
        states["details"] = {"collect": list(slots), "next": _first(states)}
    return {name: State.model_validate(state) for name, state in states.items()}


def _first(states: Collection[str]) -> str:
    return next(name for name in _FIRST if name in states)


def _call(tool: Tool, given: dict[str, str]) -> dict[str, Any]:
    """The call, and what is said of how it went."""
    call = {"call": tool.name, "with": given, "save": "found", "next": "tell"}
    if not tool.writes:
        return {"call": {**call, "on_error": "sorry"}, **_TOLD}
    on_error = [{"if": UNKNOWN, "to": "unsure"}, {"to": "sorry"}]
    unsure = {"say": _unsure(tool), "end": "failed"}
    return {"call": {**call, "on_error": on_error}, **_TOLD, "unsure": unsure}


def _confirmation(tool: Tool) -> dict[str, Any]:
    zh, en = plain(tool.title.zh), plain(tool.title.en)
    ask = {
        "zh": zh + _ABOUT.format("：", "zh") + "，要执行吗？",
        "en": en + _ABOUT.format(", ", "en") + ": shall I go ahead?",
    }
    review = {"confirm": ask, "confirmed": "call", "declined": "stop"}
    return {"review": review, "stop": _STOPPED}


def _unsure(tool: Tool) -> dict[str, str]:
    """What is said where nobody can tell whether it was done: never that it failed."""
    zh, en = plain(tool.title.zh), plain(tool.title.en)
    return {
        "zh": f"没法确认“{zh}”办成了没有：可能已经生效，也可能没有。我不会自己再试。"
        f"请先到实际办理的系统里查一下，确认没有生效再重新办。（{_FAULT}）",
        "en": f"{en}: it may or may not have been done, and I can't tell which. I won't try it "
        "again by myself. Please look in the system where it takes effect, and ask for it anew "
        f"only if it isn't there. ({_FAULT})",
    }


_RANGE: dict[str, RangePart] = {
    **dict.fromkeys(("start", "start_date", "first", "since", "from_date"), "start"),
    **dict.fromkeys(("end", "end_date", "last", "until", "to_date"), "end"),
}


def _as_range(slots: dict[str, Slot]) -> dict[str, Slot]:
    """The slots, where two dates are the ends of one range by their names: said in one breath."""
    parts = {name: _RANGE[name] for name in filled_by(Days, slots) if name in _RANGE}
    if sorted(parts.values()) != ["end", "start"]:
        return slots
    return {
        name: slot.replace(part_of_range=parts[name]) if name in parts else slot
        for name, slot in slots.items()
    }


FormFields = dict[str, tuple[str, Slot]]
"""By field: the slot's name, and the slot."""
GO_ON = Localised(zh="可以继续吗？", en="Shall it go on?")
DONE_THERE = Localised(zh="在那里办好了吗？", en="Is it done there?")


def inquiry_of(
    asked: Sequence[Elicitation], tool: Localised, state: str, taken: Collection[str]
) -> Inquiry | None:
    """All that the tool called in `state` wants to know; None where no form can ask for it.

    `tool` is what people call it; `taken` are the names that slots of the run have already.
    """
    slots: dict[str, Slot] = {}
    fields: dict[str, dict[str, str]] = {}
    for one in asked:
        names = {*taken, *slots}
        if _properties(one):
            form = _form(one, names)
        else:
            # Nothing to fill in: whether to go on, or whether what the address is for was done.
            slot = Slot(type="boolean", ask=DONE_THERE if one.url else GO_ON)
            form = {WHOLE: (slot_name("go_on", names), slot)}
        if form is None:
            return None
        slots |= dict(form.values())
        fields[one.key] = {field: name for field, (name, _) in form.items()}
    if not slots:
        return None
    # As somebody else's: whoever asks isn't the front desk.
    each = " ".join(f"{one.message} {one.url}" if one.url else one.message for one in asked)
    say = Localised(zh=f"“{tool.zh}”想先问你：{each}", en=f"{tool.en} asks you first: {each}")
    return Inquiry(state=state, say=say, slots=slots, fields=fields)


def _form(asked: Elicitation, taken: Collection[str]) -> FormFields | None:
    """A slot for each field; None where one that has to be filled in can't be."""
    required = asked.schema_.get("required")
    # Where all may be left out, none would ever be asked.
    needed = required if isinstance(required, list) and required else list(_properties(asked))
    form: FormFields = {}
    for key, schema in _properties(asked).items():
        name = slot_name(key, {*taken, *(name for name, _ in form.values())})
        slot = _slot(name, schema, required=key in needed)
        if slot is not None:
            form[key] = (name, slot)
        elif key in needed:
            return None
    return form


def _properties(asked: Elicitation) -> dict[str, Any]:
    properties = asked.schema_.get("properties")
    return properties if isinstance(properties, dict) else {}


def _slot(name: str, schema: Any, *, required: bool) -> Slot | None:
    """A field as a slot, under its title where it has one."""
    if not isinstance(schema, dict):
        return None
    words = schema.get("title") or schema.get("description") or name
    # Values that have titles, in the old way of saying so or the new one.
    options = schema.get("oneOf")
    if isinstance(options, list):
        titled = [(o.get("const"), o.get("title")) for o in options if isinstance(o, dict)]
    else:
        titled = list(zip(schema.get("enum") or (), schema.get("enumNames") or (), strict=False))
    labels = {str(value): plain(str(title or value)) for value, title in titled}
    choices = {value: Choice(label=Localised(zh=text, en=text)) for value, text in labels.items()}
    if not choices:
        try:
            return slot_of(name, {**schema, "description": words}, required=required)
        except Unaskable:
            return None
    label = Localised(zh=plain(str(words)), en=plain(str(words)))
    ask = Localised(zh=f"{label.zh}？", en=f"{label.en}?")
    return Slot(type="choice", choices=choices, label=label, ask=ask, required=required)
