"""Putting items right: `第一项改成 35`, `the second one was 46`, `删掉打车那项`, `再加一项`.

An item is meant by its place, or by what it is: its kind, its day, its amount. Where that fits
two, or nothing says which of several is meant, nothing is changed: someone has to say.
"""

from collections.abc import Mapping, Sequence
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
from router.flow.view import FormView
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import says_nothing
from router.understanding.items.items import described, fields_of, find_items
from router.understanding.names import word_in, words_of
from router.understanding.slots.free_text import documents_of
from router.understanding.slots.mappings import Values


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
# What joins things, 打车和午餐: then all that fit are meant.
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
    tests = _tests(slot, items, text, loosely=loosely)
    fields = fields_of(slot)
    if not tests:
        return None
    return [
        place
        for place, item in enumerate(items)
        if isinstance(item, dict)
        and all(_value_of(item, name, fields) in values for name, values in tests)
    ]


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


def _tests(
    slot: Slot, items: Items, text: Utterance, *, loosely: bool
) -> list[tuple[str, set[JsonValue]]]:
    """What a text says an item is, by field: its kind, its day, its amount."""
    fields = fields_of(slot)
    tests: list[tuple[str, set[JsonValue]]] = []
    for name, part in fields.items():
        named = {f.value for f in find_choices(part.choices, text.text)} if part.choices else ()
        if named:
            tests.append((name, {*named}))
    if loosely:
        return tests
    spans = [found.value for found in only(Days, text.spent)]
    days = {span.first.isoformat() for span in spans if span.first == span.last}
    tests += [(name, {*days}) for name in filled_by(Days, fields)[:1] if days]
    for name in filled_by(Money, fields)[:1]:
        # Other figures than the amount of an item are of something else.
        sums = [f.value for f in text.spent if isinstance(f.value, Money | Decimal)]
        money = (Money(sum_) if isinstance(sum_, Decimal) else sum_ for sum_ in sums)
        said = {amount.value()["amount"] for amount in money}
        known = said & {_value_of(item, name, fields) for item in items}
        tests += [(name, {*known})] if known else []
    return tests


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


def opens_item(text: str) -> bool:
    """True where a normalised clause begins as people begin who add something: `还有`, `and`."""
    return _OPENS.search(text) is not None


def added(view: FormView, utterance: Utterance) -> Values | None:
    """The items that the message adds to a list that is known, by path; None where it adds none.

    `items.more` where it says only that there is another. What doesn't open as people do who
    add something is one only where it says all there is to say of an item.
    """
    for name, slot in view.fillable.items():
        known = view.slots.get(name)
        if not (slot.is_itemised and isinstance(known, list) and known):
            continue
        if _ONE_MORE.search(utterance.text):
            return {f"{name}.more": True}
        items, _ = find_items(slot, utterance)
        # The fields without which it isn't whole; one alone says too little to be sure.
        required = [name for name, part in fields_of(slot).items() if part.required]
        least = 2 if _OPENS.search(utterance.text) else len(required) or 2
        if items and all(len(item) >= least for item in items):
            return {f"{name}.{len(known) + n}": dict(item) for n, item in enumerate(items)}
    return None


_CHANGES = compiled(rf"{ZH.changes}|\b{EN.changes}\b")
_IS = compiled(r"是|为|\b(?:is|was|were|are|be)\b")
_SETS = compiled(r"^(?:no,? |please |actually,? |sorry,? )*(?:make|set) (?:the |item )")
_REMOVES = compiled(rf"{ZH.removes}|\b{EN.removes}\b")
_KEEPS = compiled(rf"{ZH.keeps}|\b{EN.keeps}\b|[?]$|吗$")
_ADDS = compiled(rf"{ZH.adds}|\b{EN.adds}\b")
_CLAUSE = compiled("[,;。!]")
_AROUND = compiled(f"^(?:{ZH.around_item}|{EN.around_item}|[,.! ])*$")
_LONGEST = 80
_LONGEST_NUMBER = 32


@dataclass(frozen=True)
class OfItems:
    """The values by path, or why there are none of what was said of items that are there.

    `which` says that nobody could tell which is meant; `last` that none would be left.
    """

    slots: Values = field(default_factory=dict)
    which: bool = False
    last: bool = False


def said_of_items(view: FormView, utterance: Utterance, *, opens: bool) -> OfItems | None:
    """What corrects or removes a flow's items; it `opens` as people do who put something right."""
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
    view: FormView
    name: str
    slot: Slot
    items: list[JsonValue]

    def removal(self, utterance: Utterance) -> OfItems | None:
        """The list without the items that are to go."""
        clauses = [c for c in _clauses(utterance) if _REMOVES.search(c.text)]
        if len(clauses) != 1 or _KEEPS.search(utterance.text) or self._field_in(utterance):
            return None
        others = [c.text for c in _clauses(utterance) if c.text != clauses[0].text]
        if not all(says_nothing(o) or yes_or_no(o) is not None for o in others):
            return None
        gone = designated(self.slot, self.items, clauses[0])
        if not gone:
            return None
        if len(gone) == len(self.items):
            return OfItems(last=len(gone) == 1, which=len(gone) > 1)
        if len(gone) > 1 and not _LINK.search(clauses[0].text):
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
            # 不对,午餐 50 says which and how much; 不对,午餐 says only what it was.
            others = {n: v for n, v in values.items() if not fields_of(self.slot)[n].choices}
            says_which = bool(others) and places is not None
            values, places = (others, places) if says_which else (values, places or None)
        if not values or places == []:
            return None
        place = self._meant(places, set(values), opens=opens or strong)
        if place is None:
            return OfItems(which=True) if len(self.items) > 1 else None
        return OfItems({f"{self.name}.{place}.{n}": v for n, v in values.items()})

    def _meant(self, places: list[int] | None, names: set[str], *, opens: bool) -> int | None:
        if places:
            return places[0] if len(places) == 1 else None
        name, _, path = (self.view.awaiting or [""])[0].partition(".")
        number, _, asked = path.partition(".")
        place = int(number) if name == self.name and number.isdigit() else None
        about = self.items[place] if place is not None and place < len(self.items) else None
        fits = isinstance(about, dict) and (asked in names or names & set(about) or not opens)
        if about and fits:
            return place
        able = [n for n, i in enumerate(self.items) if isinstance(i, dict) and names & set(i)]
        return able[0] if len(able) == 1 and not about else (place if not able else None)

    def _field_in(self, text: Utterance) -> str | None:
        fields = fields_of(self.slot)
        named = [
            (len(word), name)
            for name, field_ in fields.items()
            if (word := word_in(text.text, words_of(name, field_))) is not None
        ]
        return max(named)[1] if named else None

    def _values(self, tail: Utterance, named: str | None, *, certain: bool) -> Values:
        fields, is_short = fields_of(self.slot), len(tail.text) <= _LONGEST_NUMBER
        items, found = described(self.slot, tail)
        is_all = _is_all(tail, [*(f.span for f in found), *(f.span for f in tail.spent)])
        if items and named is None:
            return dict(items[0]) if len(items) == 1 and (certain or is_all) else {}
        alone = [n for n, part in fields.items() if part.kind.takes is Money or part.reference]
        for name in alone if named is None else [named]:
            bare = is_short if named is None or fields[name].reference else is_all
            sure = bare or (certain and named is not None)
            value = _value(fields[name], tail) if sure else None
            if value is not None:
                return {name: value}
        return {}


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
        ends = [m.span() for m in marks.finditer(text)]
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
