"""Several things in one sentence: `昨天打车36块,今天午饭25块`, `三张打车票 58、36、32`.

The sentence is read from left to right as a row of choices, counts, amounts, dates and numbers of
documents, which are then dealt out to the items that they describe.
"""

from collections.abc import Iterable, Iterator

from router.flow.model import Slot
from router.understanding.amounts import find_amounts
from router.understanding.choices import find_choices
from router.understanding.counting import count_field, find_counts
from router.understanding.dates import Days
from router.understanding.dealing import Item, Value, dealt, marks_of_correction
from router.understanding.documents import documents_of_items, find_documents, holds_documents
from router.understanding.entities import Thing
from router.understanding.filling import Filling
from router.understanding.grammar import Found, compiled, only
from router.understanding.money import Money
from router.understanding.utterance import Utterance

_ALTOGETHER = compiled(r"一共|总共|合计|共计|总计|\b(?:total|altogether|in all)\b")


def is_itemised(slot: Slot) -> bool:
    """True for a list of objects, each asked for field by field."""
    return slot.type == "list" and slot.of is not None and slot.of.type == "object"


def find_items(slot: Slot, utterance: Utterance) -> tuple[list[Item], Filling]:
    """The items of a list slot that the sentence describes, and where they stand.

    A date alone describes nothing; a sum over several things belongs to none of them.
    """
    items, found = described(slot, utterance)
    items = [item for item in items if len(item) > 1 or not _is_date(slot, item)]
    marks = marks_of_correction(found, utterance.text)
    filling = Filling(used=[*((f.start, f.end) for f in found), *marks] if items else [])
    if len(items) > 1 and _ALTOGETHER.search(utterance.text):
        return [], filling
    return items, filling


def described(slot: Slot, utterance: Utterance) -> tuple[list[Item], list[Found[Value]]]:
    """Whatever the sentence says of items, even a date alone, and every value in order."""
    papers = _papers(slot)
    placed = documents_of_items(utterance) if papers else []
    found = sorted(_fields(slot, utterance, papers, placed), key=lambda f: f.start)
    items = _complete(slot, dealt(found, utterance.text), found)
    for place, document in placed:
        if place < len(items):
            items[place][papers[0]] = document.value
            value = Value(papers[0], document.value)
            found.append(Found(document.start, document.end, value))
    return items, found


def _is_date(slot: Slot, item: Item) -> bool:
    fields = slot.of.fields if slot.of else {}
    return all(fields[name].type == "date" for name in item)


def _papers(slot: Slot) -> list[str]:
    fields = slot.of.fields if slot.of else {}
    return [name for name, field in fields.items() if holds_documents(name, field)]


def _fields(
    slot: Slot, utterance: Utterance, papers: list[str], placed: list[tuple[int, Found[str]]]
) -> Iterator[Found[Value]]:
    fields = slot.of.fields if slot.of else {}
    elsewhere = [(f.start, f.end) for _, f in placed]
    beside_money = any(isinstance(f.value, Money) for f in utterance.spent)
    documents = find_documents(utterance, beside_money=beside_money) if papers else []
    documents = [f for f in documents if not _within(f, elsewhere)]
    taken = [*elsewhere, *((f.start, f.end) for f in documents)]
    choices = list(_choices(slot, utterance.text, taken))
    yield from choices
    if counted := count_field(fields):
        for count in find_counts(utterance.text, choices):
            yield Found(count.start, count.end, Value(counted, count.value, nearest=True))
    for name in papers[:1]:
        yield from (Found(f.start, f.end, Value(name, f.value)) for f in documents)
    spans = [(f.start, f.end) for f in choices]
    for name, field in fields.items():
        if field.type == "money":
            for found in find_amounts(utterance, taken, spans):
                yield Found(found.start, found.end, Value(name, dict(found.value.value())))
        elif field.type == "date":
            yield from (f for f in _dates(name, utterance.spent) if not _within(f, taken))


def _choices(slot: Slot, text: str, taken: list[tuple[int, int]]) -> Iterator[Found[Value]]:
    for name, field in (slot.of.fields if slot.of else {}).items():
        if field.type == "choice":
            for choice in find_choices(field, text):
                if not _within(choice, taken):
                    yield Found(choice.start, choice.end, Value(name, choice.value, shared=True))


def _dates(name: str, things: Iterable[Found[Thing]]) -> Iterator[Found[Value]]:
    for found in only(Days, things):
        if found.value.first == found.value.last:
            day = found.value.first.isoformat()
            yield Found(found.start, found.end, Value(name, day, shared=True))


def _within(found: Found[object], spans: list[tuple[int, int]]) -> bool:
    return any(start < found.end and found.start < end for start, end in spans)


def _complete(slot: Slot, items: list[Item], found: list[Found[Value]]) -> list[Item]:
    """What was said once for all: the kind of the first, a day before or after everything."""
    fields = slot.of.fields if slot.of else {}
    shared: Item = {}
    for name, field in fields.items():
        values = [item[name] for item in items if name in item]
        once = len(values) == 1 and (
            (field.type == "choice" and name in items[0])
            or (field.type == "date" and _frames(name, found, fields))
        )
        if once:
            shared[name] = values[0]
    return [{**shared, **item} for item in items]


def _frames(name: str, found: list[Found[Value]], fields: dict[str, Slot]) -> bool:
    """True where the only such value is said before everything else, or after it."""
    names = [f.value.name for f in found if fields[f.value.name].type != "text"]
    return names.count(name) == 1 and name in (names[0], names[-1])
