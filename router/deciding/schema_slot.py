"""A tool's arguments as slots: what of a JSON Schema can be asked of a person, and why not.

string, number, integer, boolean, enum, date, date-time    one question
an array of these                                          one answer with all, or one by one
an object of these, objects within it                      a question for each field needed
an array of flat objects                                   item by item
free objects, tuples, lists within lists, what is deeper   nothing: `Unaskable` says why
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from router.deciding.resolved_schema import mapping_in, resolved
from router.domain.texts import Localised
from router.flow.changing import TAKEN
from router.flow.model import Choice, Slot
from router.flow.wording import named
from router.tool.labels import choice_in, label_in

PLAIN: dict[str, str] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
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


def askable(parameters: Mapping[str, Any]) -> Askable:
    """The arguments of a tool as slots.

    >>> askable({"properties": {"file-path": {"type": "string"}}}).arguments
    {'file_path': 'file-path'}
    """
    found = Askable()
    properties = mapping_in(parameters.get("properties"))
    needed = parameters.get("required") or []
    for name, schema in properties.items():
        try:
            slot = slot_of(name, schema, required=name in needed, within=parameters)
        except Unaskable as reason:
            found.unaskable[name] = str(reason)
            continue
        alias = slot_name(name, ({*properties} - {name}) | found.slots.keys())
        found.slots[alias] = slot
        found.arguments[alias] = name
    return found


def slot_name(name: str, taken: Collection[str]) -> str:
    """What a slot is called for a field: its own name where that can be, and isn't `taken`.

    >>> slot_name("seat-no", ()), slot_name("seat", {"seat"}), slot_name("more", ())
    ('seat_no', 'seat_2', 'more_')
    """
    if NAMEABLE.fullmatch(name) and name not in TAKEN:
        return _free(name, taken)
    words = re.sub(r"[^A-Za-z0-9]+", "_", name)[:50].strip("_")
    stem = words if NAMEABLE.fullmatch(words) and words not in TAKEN else f"{words}_"
    stem = stem if NAMEABLE.fullmatch(stem) and stem != "_" else f"argument{stem}".rstrip("_")
    return _free(stem, taken)


def _free(stem: str, taken: Collection[str]) -> str:
    numbered = (f"{stem}_{n}" for n in count(2))
    return next(name for name in chain([stem], numbered) if name not in taken)


def slot_of(
    name: str,
    schema: Any,
    *,
    required: bool,
    within: Mapping[str, Any] | None = None,
    depth: int = 0,
) -> Slot:
    """A property as a slot; `within` is the whole schema, for what it refers to.

    Raises `Unaskable` where no form field fits it.

    >>> slot_of("days", {"type": "integer"}, required=True).type
    'integer'
    """
    whole = within or {}
    schema = resolved(schema, whole)
    words = plain(str(schema.get("description") or name.replace("_", " ")))
    label = Localised(zh=plain(label_in(schema) or words), en=words)
    about: dict[str, Any] = {"label": label, "ask": _question(label), "required": required}
    kind = schema.get("type")
    if (choices := _choices(name, schema)) is not None:
        return Slot(type="choice", choices=choices, **about)
    if schema.get("format") in ("date", "date-time"):
        return Slot(type="date" if schema["format"] == "date" else "datetime", **about)
    if kind == "array":
        return _list(name, schema, about, whole, depth)
    if kind == "object" or "properties" in schema:
        return Slot(type="object", fields=_fields(schema, whole, depth), **about)
    if str(kind) not in PLAIN:
        raise Unaskable("any kind of value" if kind is None else "a value of several kinds")
    return Slot.model_validate({"type": PLAIN[str(kind)], **about})


def plain(words: str) -> str:
    """Words that a form's texts may have in them: whoever wrote them, they are no template.

    >>> plain("Reads {{ slots.salary }}")
    'Reads { { slots.salary }}'
    """
    return _TEMPLATE.sub("{ ", words)


def _question(label: Localised) -> Localised:
    return Localised(zh=f"{label.zh}？", en=f"{label.en[:1].upper()}{label.en[1:]}?")


def _choices(name: str, schema: Mapping[str, Any]) -> dict[str, Choice] | None:
    """The values to choose from; numbers are no choices but are asked for as what they are."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    texts = [value for value in values if isinstance(value, str)]
    if not texts and str(schema.get("type")) in PLAIN:
        return None
    if not texts or any(value is not None for value in values if not isinstance(value, str)):
        raise Unaskable("a choice among values that aren't texts")
    return {value: Choice(label=_choice(name, schema, value)) for value in texts}


def _choice(name: str, schema: Mapping[str, Any], value: str) -> Localised:
    words = choice_in(schema, value) or named(name, value, "zh")
    return Localised(zh=plain(words), en=value)


def _list(
    name: str,
    schema: Mapping[str, Any],
    about: dict[str, Any],
    whole: Mapping[str, Any],
    depth: int,
) -> Slot:
    """A list: of plain values, which one answer may name together, or of flat objects."""
    if depth:
        raise Unaskable("a list within something else")
    if "prefixItems" in schema or not isinstance(schema.get("items"), Mapping):
        raise Unaskable("a list whose items aren't all of one kind")
    item = slot_of(name, schema["items"], required=True, within=whole, depth=DEEPEST)
    label: Localised = about["label"]
    if item.type != "object":
        item = item.model_copy(update={"label": label, "ask": _several(label)})
    least = max(1, _count(schema.get("minItems"), 1))
    most = min(LONGEST_LIST, max(least, _count(schema.get("maxItems"), 20)))
    return Slot(type="list", of=item, min=least, max=most, **about)


def _several(label: Localised) -> Localised:
    ask = _question(label)
    return Localised(
        zh=f"{ask.zh}（几项可以一起说：甲、乙、丙）",
        en=f"{ask.en} (Several may be named at once: a, b and c.)",
    )


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _fields(schema: Mapping[str, Any], whole: Mapping[str, Any], depth: int) -> dict[str, Slot]:
    """The fields that can be asked for; all that are needed have to be among them."""
    if depth > DEEPEST:
        raise Unaskable("an object that is nested too deep")
    needed, properties = schema.get("required") or [], mapping_in(schema.get("properties"))
    if len(properties) > MOST_FIELDS:
        raise Unaskable(f"an object of {len(properties)} fields")
    fields: dict[str, Slot] = {}
    for name, inner in properties.items():
        try:
            fields[name] = _field(name, inner, name in needed, whole, depth)
        except Unaskable as reason:
            if name in needed:
                raise Unaskable(f"{name[:40]}: {reason}") from None
    if not fields:
        raise Unaskable("an object of any fields")
    return fields


def _field(name: str, schema: Any, needed: bool, whole: Mapping[str, Any], depth: int) -> Slot:
    if not _FIELD.fullmatch(name) or name in TAKEN:
        raise Unaskable("a name that no path can carry")
    return slot_of(name, schema, required=needed, within=whole, depth=depth + 1)
