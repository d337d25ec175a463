"""What is made of other slots: lists and objects."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import (
    FileNames,
    Schema,
    Slot,
    SlotType,
    Unfit,
    ValuePart,
    coerced,
    fitted,
    form_values,
    missing,
    plain,
    register_slot_type,
    shown,
)

_SEPARATOR = re.compile(r"[、，;；\n]|(?<!\d),|,(?!\d{3}(?!\d))")
"""A comma between thousands, `1,200`, separates nothing."""
_BULLET = re.compile(r"^(?:[-*•·–]|\d{1,3}[.)])\s{1,9}(?=\S)")
"""Before each line of a list that is written as one: `- milk`, `2. eggs`."""
_AND = re.compile(r"\s{1,99}(?:and|&)\s{1,99}", re.IGNORECASE)
_LAST = re.compile(r"(?<=\S)\s{0,99}(?:以及|和|及)\s{0,99}(?=\S)")
"""Between the last two of a row only: by itself it is part of many a word, `和平`, `以及格`."""
_LEADING = re.compile(r"^(?:and|&)\s+|^(?:以及|和)\s*", re.IGNORECASE)


def pieces(typed: str) -> list[str]:
    r"""The things that are named in a row; one alone where nothing separates any.

    >>> pieces("milk, 1,200 eggs and bread"), pieces("张三、李四和王五")
    (['milk', '1,200 eggs', 'bread'], ['张三', '李四', '王五'])
    >>> pieces("- milk\n- eggs"), pieces("1. milk\n2. eggs")
    (['milk', 'eggs'], ['milk', 'eggs'])
    """
    row = [_BULLET.sub("", piece.strip()) for piece in _SEPARATOR.split(typed) if piece.strip()]
    if not row:
        return []
    *before, last = row
    if before:
        last = _LEADING.sub("", last)
        ends = _AND.split(last) if _AND.search(last) else _LAST.split(last, maxsplit=1)
    else:
        ends = _AND.split(last)
    return [*before, *(end.strip() for end in ends if end.strip())]


class _Structure(SlotType):
    """What no one answer fills: its parts are asked for."""

    is_recognised = False

    def read(self, slot: Slot, utterance: Utterance) -> None:
        """Nothing."""


@register_slot_type
class ListType(_Structure):
    """Several values of one slot."""

    name = "list"
    label = Localised(zh="多项", en="several")
    about = Localised(
        zh="同一种内容的多项，一项一项地问。", en="Several of one kind, asked for one by one."
    )
    made_of = "of"

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """Also of plain values that are named in a row."""
        if isinstance(value, str) and slot.is_listed:
            value = [*pieces(value)]
        if not isinstance(value, list) or slot.of is None:
            return value
        return [coerced(slot.of, item, now) for item in value]

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """No more than the slot takes, each of which fits."""
        if not isinstance(value, list) or slot.of is None:
            raise Unfit(Localised(zh="这里需要一项或几项。", en="This needs one or several items."))
        if len(value) > slot.max:
            zh, en = f"最多 {slot.max} 项。", f"That is too many: {slot.max} at most."
            raise Unfit(Localised(zh=zh, en=en))
        return [fitted(slot.of, item) for item in value]

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """Objects numbered, a line each; anything else in a row."""
        if not isinstance(value, list):
            return plain(value)
        items = [shown(slot.of, item, locale, files) if slot.of else plain(item) for item in value]
        if slot.is_itemised:
            return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
        return ("、" if locale == "zh" else ", ").join(items)

    def hint(self, slot: Slot) -> Localised:
        """What answers the question whether there is another."""
        if slot.is_itemised:
            return Localised(
                zh="还有就说“还有”，或者“还有”加上是什么；没有了就说“没有了”。",
                en="Say “another one”, or “also” and what it is; say “that's all” when there is"
                " none.",
            )
        return Localised(
            zh="直接说下一项，或者回答“还有”；没有了就说“没有了”。",
            en="Just say the next one, or “another one”; say “that's all” when there is none.",
        )

    advice = hint

    def options(self, slot: Slot) -> list[tuple[Localised, JsonValue]]:
        """Whether there is another."""
        another = Localised(zh="再加一项", en="Add another")
        return [(another, True), (Localised(zh="没有了", en="That's all"), False)]

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """An array."""
        items = _titled(slot.of, locale) if slot.of else {}
        return {"type": "array", "items": items, "maxItems": slot.max}

    def quoted(self, slot: Slot) -> Schema:
        """An array."""
        items = slot.of.kind.quoted(slot.of) if slot.of else {}
        return {"type": "array", "items": items, "maxItems": slot.max}

    def parts(self, slot: Slot, value: JsonValue) -> Iterator[ValuePart]:
        """Its items, by their numbers."""
        if slot.of is not None and isinstance(value, list):
            yield from ((str(number), slot.of, item) for number, item in enumerate(value))

    def gap(self, slot: Slot, value: JsonValue, path: str) -> str | None:
        """Within an item, or one that is needed and isn't there."""
        items = [] if value is None else value
        if not isinstance(items, list) or slot.of is None:
            return None if value is not None else path
        needed = [*items, *([None] * (slot.min - len(items)))]
        gaps = (missing(slot.of, item, f"{path}.{n}") for n, item in enumerate(needed))
        return next((gap for gap in gaps if gap), None)


@register_slot_type
class ObjectType(_Structure):
    """Fields, each a slot of its own."""

    name = "object"
    label = Localised(zh="一组内容", en="a group")
    about = Localised(
        zh="放在一起的几项内容，每项单独问。",
        en="What belongs together, each part asked for by itself.",
    )
    made_of = "fields"
    fits = Localised(zh="这一项没看明白。", en="That couldn't be read.")

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """Field by field."""
        return form_values(slot.fields, value, now) if isinstance(value, dict) else value

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """Fields that are known and fit; those left empty are left out."""
        if not isinstance(value, dict):
            raise Unfit(self.fits)
        unknown = sorted(set(value) - set(slot.fields))
        if unknown:
            zh, en = f"没有“{unknown[0]}”这一项。", f"There is no field “{unknown[0]}”."
            raise Unfit(Localised(zh=zh, en=en))
        return {name: fitted(slot.fields[name], v) for name, v in value.items() if v is not None}

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """One line: what explains itself first, the rest in brackets."""
        if not isinstance(value, dict):
            return plain(value)
        given = [(field, value[n]) for n, field in slot.fields.items() if value.get(n) is not None]
        head = [shown(field, v, locale, files) for field, v in given if field.kind.leads]
        rest = [f.kind.in_brackets(f, v, locale, files) for f, v in given if not f.kind.leads]
        return _bracketed(" ".join(head), rest, locale)

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """An object of its fields."""
        needed: list[JsonValue] = [name for name, field in slot.fields.items() if field.required]
        return {**schema_of_slots(slot.fields, locale), "required": needed}

    def quoted(self, slot: Slot) -> Schema:
        """An object of its fields, less files: nothing that is said is one."""
        said = {name: field for name, field in slot.fields.items() if not field.kind.is_file}
        fields: Schema = {name: field.kind.quoted(field) for name, field in said.items()}
        return {"type": "object", "properties": fields}

    def parts(self, slot: Slot, value: JsonValue) -> Iterator[ValuePart]:
        """Its fields, by their names."""
        if isinstance(value, dict):
            yield from ((n, f, value[n]) for n, f in slot.fields.items() if n in value)

    def gap(self, slot: Slot, value: JsonValue, path: str) -> str | None:
        """Within a field that is required."""
        given = {} if value is None else value
        if not isinstance(given, dict):
            return None
        needed = [(name, field) for name, field in slot.fields.items() if field.required]
        gaps = (missing(field, given.get(name), f"{path}.{name}") for name, field in needed)
        return next((gap for gap in gaps if gap), None)


def _bracketed(head: str, rest: list[str], locale: Locale) -> str:
    inner = ("，" if locale == "zh" else ", ").join(rest)
    if not head or not inner:
        return head or inner
    return f"{head}（{inner}）" if locale == "zh" else f"{head} ({inner})"


def schema_of_slots(slots: Mapping[str, Slot], locale: Locale) -> Schema:
    """JSON Schema of an object of these slots' values, each under its label."""
    properties: Schema = {name: _titled(slot, locale) for name, slot in slots.items()}
    return {"type": "object", "properties": properties}


def _titled(slot: Slot, locale: Locale) -> Schema:
    title: Schema = {"title": slot.label.within(locale)} if slot.label else {}
    return {**title, **slot.kind.schema(slot, locale)}
