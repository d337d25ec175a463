"""What a flow may be started with, as JSON Schema for front ends that draw their own forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from router.domain.messages import FormField, Option
from router.domain.texts import Locale
from router.flow.model import Slot

_TEXT: dict[str, JsonValue] = {"type": "string"}
_PLAIN: dict[str, dict[str, JsonValue]] = {
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "money": {
        "type": "object",
        "properties": {"amount": _TEXT, "currency": {"type": "string", "default": "CNY"}},
        "required": ["amount"],
    },
    "duration": {
        "type": "object",
        "properties": {unit: {"type": "number"} for unit in ("days", "weeks", "hours")},
        "minProperties": 1,
        "maxProperties": 1,
    },
}


def schema_of_slots(slots: Mapping[str, Slot], locale: Locale) -> dict[str, JsonValue]:
    """An object of those slots that a person may fill, titled in the reader's language.

    Nothing in it is required: what is left out, the flow asks for.
    """
    fillable = {name: slot for name, slot in slots.items() if slot.is_fillable}
    return {"type": "object", "properties": _properties(fillable, locale)}


def schema_of_form(fields: Sequence[FormField]) -> dict[str, JsonValue]:
    """An object of a form's values, by its fields' names."""
    needed: list[JsonValue] = [field.name for field in fields if field.required]
    properties: dict[str, JsonValue] = {field.name: _schema_of_field(field) for field in fields}
    return {"type": "object", "properties": properties, "required": needed}


def _schema_of_field(field: FormField) -> dict[str, JsonValue]:
    if field.options is not None:
        return {"title": field.label, **schema_of_options(field.options)}
    return {"title": field.label, **_PLAIN.get(field.type, _TEXT)}


def schema_of_options(options: Sequence[Option]) -> dict[str, JsonValue]:
    """One of these values, each under the words that are shown for it."""
    return {"oneOf": [{"const": option.value, "title": option.label} for option in options]}


def _properties(slots: Mapping[str, Slot], locale: Locale) -> dict[str, JsonValue]:
    return {name: _schema_of(slot, locale) for name, slot in slots.items()}


def _schema_of(slot: Slot, locale: Locale) -> dict[str, JsonValue]:
    title: dict[str, Any] = {"title": slot.label.within(locale)} if slot.label else {}
    if slot.type == "choice":
        return {**title, "type": "string", "enum": list(slot.choices)}
    if slot.type == "list" and slot.of is not None:
        items = _schema_of(slot.of, locale)
        return {**title, "type": "array", "items": items, "maxItems": slot.max}
    if slot.type == "object":
        needed: list[JsonValue] = [name for name, field in slot.fields.items() if field.required]
        fields = _properties(slot.fields, locale)
        return {**title, "type": "object", "properties": fields, "required": needed}
    return {**title, **_PLAIN.get(slot.type, {**_TEXT, "maxLength": slot.max_length})}
