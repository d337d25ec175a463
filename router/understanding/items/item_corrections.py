"""Putting items right: `第一项改成 35`, `the second one was 46`, `删掉打车那项`, `再加一项`.

An item is meant by its place, or by what it is: its kind, its day, its amount. Where that fits
two, or nothing says which of several is meant, nothing is changed: someone has to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pydantic import JsonValue

from router.entities.booleans import yes_or_no
from router.entities.choices import find_choices
from router.entities.dates import Days
from router.entities.grammar import compiled, only
from router.entities.money import Money
from router.entities.numbers import ORDINAL, place_of
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot, filled_by, read_as
from router.flow.view import FlowView
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import says_nothing
from router.understanding.items.items import described, find_items
from router.understanding.names import word_in, words_of
from router.understanding.slots.free_text import documents_of


@lru_cache(maxsize=256)
def _place(names: tuple[str, ...]) -> Any:
    """What says which item is meant by its place; `names` are what else an item is called."""
    thing = f"{EN.item + names}s?"
    return compiled(
        "第 ?(?P<zh>[一二三四五六七八九十\\d]{1,2}) ?[个项笔张条单份]"
        rf"|\bthe (?P<en>{ORDINAL})(?: {thing})?(?:'s)?"
        r"(?:$| (?:is|was|were|should|to|be|costs?|and|,)\b|[,.])"
        rf"|\b(?P<thing>{ORDINAL}) {thing}\b"
        r"|(?:\bitem|#|^(?:change |set |make |remove |delete |drop )?(?:number|no\.?)) ?"
        r"(?P<n>\d{1,2})\b"
        rf"|(?P<last>(?:最后|上)一?[个项笔张条]|\b(?:the )?last {thing}\b|\bthe last$)"
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

    Empty where it names what isn't there; several where more are meant or fit. `loosely` leaves
    out days and amounts, where the text also gives new ones.
    """
    if _SEVERAL_PLACES.search(text.text):
        return list(range(len(items)))
    places = _numbered(slot, text.text, len(items))
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


def _numbered(slot: Slot, text: str, count: int) -> list[int] | None:
    places: list[int] = []
    found = list(_place(slot.names).finditer(text))
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


def _fields_of(slot: Slot, thing: type) -> list[str]:
    return filled_by(thing, slot.of.fields if slot.of else {})


def _kinds(slot: Slot, text: Utterance) -> list[Test]:
    fields = slot.of.fields if slot.of else {}
    named = (
        (n, {f.value for f in find_choices(fields[n].choices, text.text)})
        for n in fields
        if fields[n].choices
    )
    return [(name, set(values)) for name, values in named if values]


def _days(slot: Slot, text: Utterance) -> list[Test]:
    days: set[JsonValue] = {
        f.value.first.isoformat()
        for f in text.spent
        if isinstance(f.value, Days) and f.value.first == f.value.last
    }
    return [(name, days) for name in _fields_of(slot, Days)[:1] if days]


def _sums(slot: Slot, items: Items, text: Utterance) -> list[Test]:
    """Figures, where an item has such an amount: other figures are of something else."""
    figures = {_exactly(f.value) for f in text.spent if isinstance(f.value, Money | Decimal)}
    for name in _fields_of(slot, Money)[:1]:
        known = {_value_of(i, name, slot.of.fields if slot.of else {}) for i in items}
        if figures & known:
            return [(name, figures & known)]
    return []


def _exactly(amount: Money | Decimal) -> JsonValue:
    return (Money(amount) if isinstance(amount, Decimal) else amount).value()["amount"]


def _value_of(item: JsonValue, name: str, fields: Mapping[str, Slot]) -> JsonValue:
    value = item.get(name) if isinstance(item, dict) else None
    if fields[name].kind.takes is Money and isinstance(value, dict):
        return str(value.get("amount"))
    return value if isinstance(value, str) else None


_OPENS = compiled(
    f"^(?:对了|哦|啊|嗯|等等|等一下|不好意思|抱歉|,| )*{ZH.opens_adding}"
    r"|^(?:oh|wait|sorry|and|no|please|i|'ve|have|forgot|there'?s|[,. ])*"
    rf"{EN.opens_adding}\b"
)
_ONE_MORE = compiled(
    f"^(?:{ZH.filler}|需要|不|,| )*(?:再|还要|还想|还得)?(?:加|添|新增|增加|来|补)(?:上)?"
    "(?:别的|其他)?[一几]?[个张笔项条](?:费用|明细|东西|项目)?(?:吧|啊|呗|了|[!.。 ])*$"
    "|^(?:对了|,| )*还有(?:呢|啊|呀|的)?[!.。 ]*$"
    "|^(?:对了|,| )*还有(?:别的|其他的?)?[一几][个张笔项条](?:费用)?(?:要[加报])?"
    "(?:吧|呢|[!.。 ])*$"
    r"|^(?:no|please|i|want|need|like|would|'d|to|can|could|you|we|let'?s|wait|[,. ])*"
    r"(?:add|include)(?: in)? (?:another|one more|an?|one)(?: more| new)?"
    r"(?: [a-z]+)?(?: please)?[.! ]*$"
    r"|^(?:there(?:'s| is) )?(?:another|one more) [a-z]+(?: please)?[.! ]*$"
)


def added(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The items that the message adds to a list that is known, by path; None where it adds none.

    `items.more` where it says only that there is another. What doesn't open as people do who
    add something is one only where it says all there is to say of an item.
    """
    for name, slot in view.fillable.items():
        known = view.slots.get(name)
        if not (slot.is_itemised and isinstance(known, list) and 0 < len(known) < slot.max):
            continue
        if _ONE_MORE.search(utterance.text):
            return {f"{name}.more": True}
        items, _ = find_items(slot, utterance)
        least = 2 if _OPENS.search(utterance.text) else len(_required(slot))
        if items and all(len(item) >= least for item in items):
            return {f"{name}.{len(known) + n}": dict(item) for n, item in enumerate(items)}
    return None


def _required(slot: Slot) -> list[str]:
    """The fields without which an item isn't whole; one alone says too little to be sure."""
    fields = slot.of.fields if slot.of else {}
    return [name for name, field in fields.items() if field.required] or ["", ""]


_CHANGES = compiled(rf"{ZH.changes}|\b{EN.changes}\b")
_IS = compiled(r"是|为|\b(?:is|was|were|are|be)\b")
_SETS = compiled(r"^(?:no,? |please |actually,? |sorry,? )*(?:make|set) (?:the |item )")
_REMOVES = compiled(rf"{ZH.removes}|\b{EN.removes}\b")
_KEEPS = compiled(rf"{ZH.keeps}|\b{EN.keeps}\b|[?]$|吗$")
_ADDS = compiled(rf"{ZH.adds}|\b{EN.adds}\b")
_CLAUSE = compiled("[,;。!]")
_AROUND = compiled(f"^(?:{ZH.around_item}|{EN.around_item}|[,.! ])*$")
_LONGEST = 80


@dataclass(frozen=True)
class OfItems:
    """What was said of items that are there: the values by path, or why there are none.

    `which` says that nobody could tell which item is meant; `last` that none would be left.
    """

    slots: dict[str, JsonValue] = field(default_factory=dict)
    which: bool = False
    last: bool = False


def said_of_items(view: FlowView, utterance: Utterance, *, opens: bool) -> OfItems | None:
    """What the message corrects or removes of a flow's items; None where it does neither.

    `opens` says that it begins as people do who put something right: `不对`, `no, sorry`.
    """
    if len(utterance.text) > _LONGEST:
        return None
    for name, slot in view.fillable.items():
        items = view.slots.get(name)
        if slot.is_itemised and isinstance(items, list) and items:
            listed = _Listed(view, name, slot, items)
            return listed.removal(utterance) or listed.correction(utterance, opens=opens)
    return None


@dataclass(frozen=True)
class _Listed:
    view: FlowView
    name: str
    slot: Slot
    items: list[JsonValue]

    @property
    def asked(self) -> tuple[int | None, str]:
        """The item and the field that are being asked for."""
        path = self.view.awaiting[0].split(".") if self.view.awaiting else []
        if len(path) < 2 or path[0] != self.name or not path[1].isdigit():  # noqa: PLR2004
            return None, ""
        return int(path[1]), ".".join(path[2:])

    def removal(self, utterance: Utterance) -> OfItems | None:
        """The list without the items that are to go."""
        clauses = [c for c in _clauses(utterance) if _REMOVES.search(c.text)]
        if len(clauses) != 1 or _KEEPS.search(utterance.text) or self._names_a_field(utterance):
            return None
        others = [c.text for c in _clauses(utterance) if c.text != clauses[0].text]
        if not all(says_nothing(o) or yes_or_no(o) is not None for o in others):
            return None
        gone = designated(self.slot, self.items, clauses[0])
        if not gone:
            return None
        if len(gone) == len(self.items):
            return OfItems(last=len(gone) == 1, which=len(gone) > 1)
        if len(gone) > 1 and not links_several(clauses[0].text):
            return OfItems(which=True)
        return OfItems({self.name: [i for n, i in enumerate(self.items) if n not in gone]})

    def correction(self, utterance: Utterance, *, opens: bool) -> OfItems | None:
        """Other values for one item, by path."""
        head, tail, strong = _parted(utterance, opens=opens)
        if head is None or tail is None or (_ADDS.search(utterance.text) and not opens):
            return None
        whole = head is tail
        places = designated(self.slot, self.items, head, loosely=whole)
        named = self._field_in(head)
        if not (strong or opens or places or named):
            return None
        values = self._values(tail, named, certain=strong or opens)
        if whole:
            values, places = self._less_what_designates(values, places)
        if not values or places == []:
            return None
        place = self._meant(places, set(values), opens=opens or strong)
        if place is None:
            return OfItems(which=True) if len(self.items) > 1 else None
        return OfItems({f"{self.name}.{place}.{n}": v for n, v in values.items()})

    def _less_what_designates(
        self, values: dict[str, JsonValue], places: list[int] | None
    ) -> tuple[dict[str, JsonValue], list[int] | None]:
        """`不对,午餐 50` says which and how much; `不对,午餐` says only what it was."""
        fields = self.slot.of.fields if self.slot.of else {}
        others = {n: v for n, v in values.items() if not fields[n].choices}
        return (others, places) if others and places is not None else (values, places or None)

    def _meant(self, places: list[int] | None, names: set[str], *, opens: bool) -> int | None:
        if places:
            return places[0] if len(places) == 1 else None
        place, asked = self.asked
        about = self.items[place] if place is not None and place < len(self.items) else None
        if isinstance(about, dict) and about:
            fits = asked in names or names & set(about) or not opens
            if fits:
                return place
        able = [n for n, i in enumerate(self.items) if isinstance(i, dict) and names & set(i)]
        return able[0] if len(able) == 1 and not about else (place if not able else None)

    def _names_a_field(self, utterance: Utterance) -> bool:
        return self._field_in(utterance) is not None

    def _field_in(self, text: Utterance) -> str | None:
        fields = self.slot.of.fields if self.slot.of else {}
        named = [
            (len(word), name)
            for name, field_ in fields.items()
            if (word := word_in(text.text, words_of(name, field_))) is not None
        ]
        return max(named)[1] if named else None

    def _values(self, tail: Utterance, named: str | None, *, certain: bool) -> dict[str, JsonValue]:
        fields = self.slot.of.fields if self.slot.of else {}
        items, found = described(self.slot, tail)
        spans = [*((f.start, f.end) for f in found), *((f.start, f.end) for f in tail.spent)]
        if named is not None:
            paper = fields[named].reference is not None
            sure = certain or (_is_short(tail) if paper else _is_all(tail, spans))
            value = _value(fields[named], tail) if sure else None
            return {} if value is None else {named: value}
        if items:
            sure = len(items) == 1 and (certain or _is_all(tail, spans))
            return dict(items[0]) if sure else {}
        return dict(self._alone(tail))

    def _alone(self, tail: Utterance) -> Iterator[tuple[str, JsonValue]]:
        """What is nothing but a figure or the number of a document."""
        for name, field_ in (self.slot.of.fields if self.slot.of else {}).items():
            if field_.kind.takes is Money or field_.reference:
                value = _value(field_, tail) if _is_short(tail) else None
                if value is not None:
                    yield name, value
                    return


def _is_short(text: Utterance) -> bool:
    most_of_a_number = 32
    return len(text.text) <= most_of_a_number


def _value(slot: Slot, tail: Utterance) -> JsonValue:
    if (numbers := documents_of(slot)) is not None:
        return numbers.answered(tail)
    if slot.kind.takes is Days:
        days = only(Days, tail.spent)
        return days[0].value.last.isoformat() if len(days) == 1 else None
    return read_as(slot, tail)


def _is_all(text: Utterance, spans: list[tuple[int, int]]) -> bool:
    rest = text.text
    for start, end in sorted(spans, reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    return _AROUND.search(rest) is not None


def _parted(
    utterance: Utterance, *, opens: bool
) -> tuple[Utterance | None, Utterance | None, bool]:
    """What is spoken of, what is said of it, and True where it says that it changes."""
    text = utterance.text
    for marks, strong in ((_CHANGES, True), (_IS, False)):
        ends = [(m.start(), m.end()) for m in marks.finditer(text)]
        if ends:
            start, end = ends[-1]
            head = utterance.part(0, end if strong else start)
            return head, utterance.part(end, len(text)), strong
    if _SETS.search(text) or opens:
        return utterance, utterance, True
    return None, None, False


def _clauses(utterance: Utterance) -> list[Utterance]:
    bounds = [0, *(m.end() for m in _CLAUSE.finditer(utterance.text)), len(utterance.text)]
    parts = [utterance.part(a, b) for a, b in pairwise(bounds) if a < b]
    return [part for part in parts if part.text.strip(" ,;。!")]
