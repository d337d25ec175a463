"""Lists that are longer than their slot takes: the first items are kept, the rest is named."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.domain.visible_text import one_line
from router.flow.slot_types.slot import FileNames, Slot, label_of, shown

MAX_NAMED_ITEMS = 40
"""Items that are left out and named; of more than these the number is said."""
MAX_NAMED_ITEM_CHARS = 40


@dataclass(frozen=True)
class Surplus:
    """The items of one list that are left out, and the list's name and slot."""

    name: str
    slot: Slot
    items: Sequence[JsonValue]


def keep_first_items(name: str, slot: Slot, value: JsonValue) -> tuple[JsonValue, list[Surplus]]:
    """Return the value with at most `slot.max` items in each list, and what is left out of it.

    >>> slot = Slot(type="list", of=Slot(type="text"), max=2)
    >>> kept, (surplus,) = keep_first_items("things", slot, ["a", "b", "c"])
    >>> kept, surplus.items
    (['a', 'b'], ['c'])
    """
    left_out: list[Surplus] = []
    if slot.of is not None and isinstance(value, list):
        items: list[JsonValue] = []
        for item in value[: slot.max]:
            kept, more = keep_first_items(name, slot.of, item)
            items.append(kept)
            left_out += more
        if rest := [item for item in value[slot.max :] if item not in ({}, None)]:
            left_out.append(Surplus(name, slot, rest))
        return items, left_out
    if slot.fields and isinstance(value, dict):
        fields = dict(value)
        for field, inner in value.items():
            if field in slot.fields:
                fields[field], more = keep_first_items(field, slot.fields[field], inner)
                left_out += more
        return fields, left_out
    return value, left_out


def is_full(slot: Slot, value: JsonValue) -> bool:
    """Return whether the list takes no more items."""
    return isinstance(value, list) and len(value) >= slot.max


def describe_full_list(name: str, slot: Slot) -> Localised:
    """Say that the list takes no more items, and what to do instead."""
    label, most = label_of(name, slot), slot.max
    return Localised(
        zh=f"“{label.zh}”最多 {most} 项，已经满了。请另外再提一次，或者说换掉哪一项。",
        en=f"“{label.en}” takes {most} at most and is full. Put more in another request, or say "
        "which one to replace.",
    )


def describe_surplus(surplus: Sequence[Surplus], files: FileNames) -> Localised:
    """Say how many items the list takes, which ones are left out, and what to do with them."""
    slot, items = surplus[0].slot, [item for each in surplus for item in each.items]
    label, most, count = label_of(surplus[0].name, slot), slot.max, len(items)
    zh, en = (_name_items(slot, items, files, locale) for locale in ("zh", "en"))
    were = "1 was" if count == 1 else f"{count} were"
    first = "the first is" if most == 1 else f"the first {most} are"
    them = "it" if count == 1 else "them"
    return Localised(
        zh=f"“{label.zh}”最多 {most} 项，记下了前 {most} 项。还有 {count} 项没有记下：{zh}。"
        "请另外再提一次，或者说用它换掉已记下的哪一项。",
        en=f"“{label.en}” takes {most} at most, so {first} kept. {were} left out: "
        f"{en}. Put {them} in another request, or say which of the kept ones to replace.",
    )


def _name_items(slot: Slot, items: Sequence[JsonValue], files: FileNames, locale: Locale) -> str:
    item_slot = slot.of or Slot(type="text")
    named = [
        one_line(shown(item_slot, item, locale, files), MAX_NAMED_ITEM_CHARS)
        for item in items[:MAX_NAMED_ITEMS]
    ]
    more = len(items) - len(named)
    if locale == "zh":
        return "、".join(named) + (f"，以及后面的 {more} 项" if more else "")
    return "; ".join(named) + (f"; and the {more} after that" if more else "")
