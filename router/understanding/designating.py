"""Which of several items is meant: `第2项`, `the second one`, `昨天的午餐`, `36 那笔`."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from pydantic import JsonValue

from router.flow.model import Slot
from router.understanding.choices import find_choices
from router.understanding.dates import Days
from router.understanding.grammar import compiled
from router.understanding.money import Money
from router.understanding.ordinals import ORDINAL, place_of
from router.understanding.utterance import Utterance

_THING = (
    "(?:one|item|expense|receipt|ticket|invoice|bill|ride|trip|fare|meal|entry|line|taxi|lunch)s?"
)
_PLACE = compiled(
    "第 ?(?P<zh>[一二三四五六七八九十\\d]{1,2}) ?[个项笔张条单份]"
    rf"|\bthe (?P<en>{ORDINAL})(?: {_THING})?(?:'s)?(?:$| (?:is|was|were|should|to|be|costs?"
    rf"|cost|and|,)\b|[,.])"
    rf"|\b(?P<thing>{ORDINAL}) {_THING}\b"
    r"|(?:\bitem|#|^(?:change |set |make |remove |delete |drop )?(?:number"
    r"|no\.?)) ?(?P<n>\d{1,2})\b"
    r"|(?P<last>(?:最后|上)一?[个项笔张条]|\b(?:the )?last (?:one|item|expense|receipt)\b"
    r"|\bthe last$)"
)
_SEVERAL_PLACES = compiled(
    r"\b(?:first|last) (?:two|three|four|few|\d)\b|[前后][两二三四五六七八九\d]+[个项笔张条]"
)
_LINK = compiled("和|与|跟|、|及|,| and |&")

Items = Sequence[JsonValue]


def designated(
    slot: Slot, items: Items, text: Utterance, *, loosely: bool = False
) -> list[int] | None:
    """The places, from 0, of the items that a text names; None where it names none by anything.

    Empty where it names something that isn't there; several where more than one is meant, or
    where it fits more than one. `loosely` leaves out days and amounts, where the text also
    gives new ones.
    """
    if _SEVERAL_PLACES.search(text.text):
        return list(range(len(items)))
    places = _numbered(text.text, len(items))
    if places is not None:
        return places
    tests = _kinds(slot, text)
    if not loosely:
        tests += [*_days(slot, text), *_sums(slot, items, text)]
    if not tests:
        return None
    fields = slot.of.fields if slot.of else {}
    return [
        place
        for place, item in enumerate(items)
        if isinstance(item, dict)
        and all(_value_of(item, name, fields) in values for name, values in tests)
    ]


def links_several(text: str) -> bool:
    """True where a text joins things, `打车和午餐`: then all that fit are meant."""
    return _LINK.search(text) is not None


def _numbered(text: str, count: int) -> list[int] | None:
    places: list[int] = []
    found = list(_PLACE.finditer(text))
    for match in found:
        if match.group("last"):
            places.append(count - 1)
            continue
        said = next(g for g in ("zh", "en", "thing", "n") if match.group(g))
        place = place_of(match.group(said))
        if place is not None and place < count:
            places.append(place)
    return sorted(set(places)) if found else None


Test = tuple[str, set[JsonValue]]


def _fields_of(slot: Slot, kind: str) -> list[str]:
    return [n for n, f in (slot.of.fields if slot.of else {}).items() if f.type == kind]


def _kinds(slot: Slot, text: Utterance) -> list[Test]:
    fields = slot.of.fields if slot.of else {}
    named = (
        (n, {f.value for f in find_choices(fields[n], text.text)})
        for n in _fields_of(slot, "choice")
    )
    return [(name, set(values)) for name, values in named if values]


def _days(slot: Slot, text: Utterance) -> list[Test]:
    days: set[JsonValue] = {
        f.value.first.isoformat()
        for f in text.spent
        if isinstance(f.value, Days) and f.value.first == f.value.last
    }
    return [(name, days) for name in _fields_of(slot, "date")[:1] if days]


def _sums(slot: Slot, items: Items, text: Utterance) -> list[Test]:
    """Figures, where an item has such an amount: other figures are of something else."""
    figures = {_exactly(f.value) for f in text.spent if isinstance(f.value, Money | Decimal)}
    for name in _fields_of(slot, "money")[:1]:
        known = {_value_of(i, name, slot.of.fields if slot.of else {}) for i in items}
        if figures & known:
            return [(name, figures & known)]
    return []


def _exactly(amount: Money | Decimal) -> JsonValue:
    return (Money(amount) if isinstance(amount, Decimal) else amount).value()["amount"]


def _value_of(item: JsonValue, name: str, fields: Mapping[str, Slot]) -> JsonValue:
    """The item's value in a shape that can be compared."""
    value = item.get(name) if isinstance(item, dict) else None
    if fields[name].type == "money" and isinstance(value, dict):
        return str(value.get("amount"))
    return value if isinstance(value, str) else None
