"""Several things in one sentence: `昨天打车36块,今天午饭25块`, `三张打车票 58、36、32`.

The sentence is read from left to right as a row of choices, amounts, dates and numbers of
documents. A new item begins where a field would come a second time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from router.flow.model import Slot
from router.understanding.choices import find_choices
from router.understanding.dates import Days
from router.understanding.entities import Thing
from router.understanding.filling import Filling
from router.understanding.grammar import Found, compiled, group_span, only
from router.understanding.money import Money
from router.understanding.utterance import Utterance

Item = dict[str, JsonValue]

# 58、36、32 is a row of amounts where a count or a choice stands before it.
_ROW = compiled(
    r"(?P<row>\d{1,9}(?:\.\d{1,2})?(?: ?(?:、|,|和|/|;|and"
    r"|&) ?\d{1,9}(?:\.\d{1,2})?){1,19})(?:[^\d%:/.-]|$)"
)
_FIGURE = compiled(r"\d{1,9}(?:\.\d{1,2})?")
# 1,234.50 and 12,000 are an amount each, unless two receipts or more were spoken of.
_GROUPED = compiled(r"^[1-9]\d{0,2}(?:,\d{3}(?:\.\d{1,2})?|(?:,\d{3}){2,3}\.\d{1,2})$")
_SEVERAL = compiled(
    r"[两二三四五六七八九十2-9] ?[张笔份]|\b(?:two|three|four|five|six|seven|eight|nine|ten|[2-9]) "
    r"(?:[a-z]+ )?(?:receipts|tickets|invoices|bills|items|expenses|fares|rides|meals)\b"
)
_DOCUMENT = compiled(
    r"(?:发票|单据|票据|invoice|receipt)(?:号码?|代码| ?(?:number|no\.?|num|#))?(?:是|为"
    "| is)? ?[::#]? ?(?P<id>[a-z0-9][a-z0-9-]{5,29})"
)
_COUNTED = compiled(
    r"^ ?(?:[张个笔次份条人天日月年号点楼层公米]|km|people|nights?|tickets?|receipts?|items?)"
)
_NEAR = 10
# 打车费36: a figure may stand this far from what it was spent on.
_WITHIN = 3
# A longer bare figure is the number of a document or a telephone.
_LARGEST_BARE = 1_000_000
_ALTOGETHER = compiled(r"一共|总共|合计|共计|总计|\b(?:total|altogether|in all)\b")


@dataclass(frozen=True)
class _Field:
    name: str
    value: JsonValue


def is_itemised(slot: Slot) -> bool:
    """True for a list of objects, each asked for field by field."""
    return slot.type == "list" and slot.of is not None and slot.of.type == "object"


def find_items(slot: Slot, utterance: Utterance) -> tuple[list[Item], Filling]:
    """The items of a list slot that the sentence describes, and where they stand.

    A date alone describes nothing; a sum over several things belongs to none of them.
    """
    found = sorted(_fields(slot, utterance), key=lambda f: f.start)
    items = _complete(slot, _dealt(found))
    described = [item for item in items if len(item) > 1 or not _is_date(slot, item)]
    filling = Filling(used=[(f.start, f.end) for f in found] if described else [])
    if len(described) > 1 and _ALTOGETHER.search(utterance.text):
        return [], filling
    return described, filling


def _is_date(slot: Slot, item: Item) -> bool:
    fields = slot.of.fields if slot.of else {}
    return all(fields[name].type == "date" for name in item)


def _fields(slot: Slot, utterance: Utterance) -> Iterator[Found[_Field]]:
    for name, field in (slot.of.fields if slot.of else {}).items():
        if field.type == "choice":
            for choice in find_choices(field, utterance.text):
                yield Found(choice.start, choice.end, _Field(name, choice.value))
        elif field.type == "money":
            yield from _amounts(slot, name, utterance)
        elif field.type == "date":
            yield from _dates(name, utterance.spent)
        elif field.type == "text":
            yield from _documents(name, utterance)


def _amounts(slot: Slot, name: str, utterance: Utterance) -> Iterator[Found[_Field]]:
    amounts = only(Money, utterance.spent)
    for found in amounts:
        yield Found(found.start, found.end, _Field(name, dict(found.value.value())))
    if not amounts:
        yield from _bare_amounts(slot, name, utterance)


def _bare_amounts(slot: Slot, name: str, utterance: Utterance) -> Iterator[Found[_Field]]:
    """Figures without a currency: a row of them, the only one, or one after each choice."""
    row = _ROW.search(utterance.text)
    if row is not None and not _is_one_amount(utterance, row):
        yield from _row_of_amounts(name, row)
        return
    figures = [f for f in only(Decimal, utterance.spent) if _may_be_spent(utterance.text, f)]
    ends = _ends_of_choices(slot, utterance.text)
    for found in figures:
        if len(figures) == 1 or any(found.start - _WITHIN <= end <= found.start for end in ends):
            yield Found(found.start, found.end, _Field(name, dict(Money(found.value).value())))


def _is_one_amount(utterance: Utterance, row: Any) -> bool:
    """True for one figure with commas between its thousands: `，` separates, `,` may group."""
    typed = utterance.normalised.as_typed(*group_span(row, "row"))
    return bool(_GROUPED.search(typed)) and not _SEVERAL.search(utterance.text)


def _may_be_spent(text: str, figure: Found[Decimal]) -> bool:
    counted = _COUNTED.search(text[figure.end :][:_NEAR])
    return not counted and figure.value < _LARGEST_BARE


def _ends_of_choices(slot: Slot, text: str) -> list[int]:
    fields = slot.of.fields.values() if slot.of else ()
    return [c.end for field in fields if field.type == "choice" for c in find_choices(field, text)]


def _row_of_amounts(name: str, row: Any) -> Iterator[Found[_Field]]:
    offset = row.start()
    for figure in _FIGURE.finditer(row.group("row")):
        amount = Money(Decimal(figure.group()))
        start, end = offset + figure.start(), offset + figure.end()
        yield Found(start, end, _Field(name, dict(amount.value())))


def _dates(name: str, things: Iterable[Found[Thing]]) -> Iterator[Found[_Field]]:
    for found in only(Days, things):
        if found.value.first == found.value.last:
            yield Found(found.start, found.end, _Field(name, found.value.first.isoformat()))


def _documents(name: str, utterance: Utterance) -> Iterator[Found[_Field]]:
    """Numbers of invoices, as typed: a machine compares them letter by letter."""
    for match in _DOCUMENT.finditer(utterance.text):
        written = utterance.normalised.as_typed(*group_span(match, "id"))
        if any(c.isdigit() for c in written):
            yield Found(match.start(), match.end(), _Field(name, written))


def _dealt(found: Iterable[Found[_Field]]) -> list[Item]:
    """The fields dealt out to items: one that is there already begins the next.

    The same choice said twice in a row, `打车的出租车费`, is said once.
    """
    items: list[Item] = [{}]
    for field in found:
        name, value = field.value.name, field.value.value
        if items[-1].get(name) == value and not isinstance(value, dict):
            continue
        if name in items[-1]:
            items.append({})
        items[-1][name] = value
    return [item for item in items if item]


def _complete(slot: Slot, items: list[Item]) -> list[Item]:
    """What was said once for all: the choice and the date of the first hold for the others."""
    fields = slot.of.fields if slot.of else {}
    shared = {
        name: value
        for name, value in (items[0] if items else {}).items()
        if fields[name].type in {"choice", "date"} and not any(name in i for i in items[1:])
    }
    return [{**shared, **item} for item in items]
