"""Putting items right: `第一项改成 35`, `the second one was 46`, `删掉打车那项`, `再加一项`.

Which of several items is meant: `第2项`, `the second one`, `昨天的午餐`, `36 那笔`.

Another item where none is asked for: `再加一项`, `add another item`, `还有酒店 300，前天`.

Putting items right: `第一项改成 35`, `the second one was 46`, `午餐改成 50`, `删掉打车那项`.

An item is meant by its place, or by what it is: its kind, its day, its amount. Where that fits
two, or nothing says which of several is meant, nothing is changed: someone has to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

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
from router.understanding.dialogue_acts import says_nothing
from router.understanding.items.items import described, find_items
from router.understanding.names import word_in, words_of
from router.understanding.slots.free_text import documents_of

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
    """The item's value in a shape that can be compared."""
    value = item.get(name) if isinstance(item, dict) else None
    if fields[name].kind.takes is Money and isinstance(value, dict):
        return str(value.get("amount"))
    return value if isinstance(value, str) else None


_OPENS = compiled(
    "^(?:对了|哦|啊|嗯|等等|等一下|不好意思|抱歉|,| )*"
    "(?:还有|还要|另外|此外|再[加报来添]|加上|加[一个]|新增|补[充一]|漏了|忘了)"
    r"|^(?:oh|wait|sorry|and|no|please|i|'ve|have|forgot|there'?s|[,. ])*"
    r"(?:also|another|plus|add|one more|in addition|there was)\b"
)
_ONE_MORE = compiled(
    "^(?:我|想|要|需要|请|帮我|对了|不|好的?|,| )*(?:再|还要|还想|还得)?(?:加|添|新增|增加|来|补)"
    "(?:上)?(?:别的|其他)?(?:一|几)?[个张笔项条](?:费用|明细|东西|项目)?(?:吧|啊|呗|了|[!.。 ])*$"
    "|^(?:对了|,| )*还有(?:呢|啊|呀|的)?[!.。 ]*$"
    "|^(?:对了|,| )*还有(?:别的|其他的?)?(?:一|几)[个张笔项条](?:费用)?"
    "(?:要[加报])?(?:吧|呢|[!.。 ])*$"
    r"|^(?:no|please|i|want|need|like|would|'d|to|can|could|you|we|let'?s|wait|[,. ])*"
    r"(?:add|include)(?: in)? (?:another|one more|an?|one)(?: more| new)?"
    r"(?: (?:item|one|expense|entry|line|thing))?(?: please)?[.! ]*$"
    r"|^(?:there(?:'s| is) )?(?:another|one more) (?:item|one|expense|entry|line)"
    r"(?: please)?[.! ]*$"
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


_CHANGES = compiled(
    "改成|改为|改到|改作|换成|换到|应该是|应该为|应为|更正为?|变成|调整为|调整到|调到|修改为|修改成"
    "|设为|设成|写成|不是[^,]*是"
    r"|\b(?:should be|should have been|(?:change|set|update|correct|switch|make)\b.* to"
    r"|not .* but)\b"
)
_IS = compiled(r"是|为|\b(?:is|was|were|are|be)\b")
_SETS = compiled(r"^(?:no,? |please |actually,? |sorry,? )*(?:make|set) (?:the |item )")
_REMOVES = compiled(
    "删掉|删除|删了|删去|删|去掉|去除|拿掉|移除|撤掉|划掉|取消|不(?:用|要|想|必)?再?(?:一起)?报"
    "|别报|(?:不要|不用|不需要)(?:了|$)|不算"
    r"|\b(?:remove|delete|drop|scrap|exclude|strike(?: out)?|leave out|get rid of|cancel"
    r"|take (?:out|off|away)|without|(?:don'?t|do not|won'?t) (?:claim|include|need|want|add"
    r"|count))\b"
    r"|\b(?:take|leave|strike|cross) (?:the )?.{1,30} (?:out|off|away)\b|\bisn'?t needed\b"
    r"|\bis not needed\b"
)
_KEEPS = compiled(
    r"(?:不要|别|不用|不想|没有?)[^,]{0,4}(?:删|去掉|拿掉|移除|取消)|只[要留报]|除了|以外|之外"
    r"|\b(?:don'?t|do not|never|didn'?t) (?:\w+ )?(?:remove|delete|drop|cancel|scrap)"
    r"|\b(?:except|only|but)\b|[?]$|吗$"
)
_ADDS = compiled(
    "还有|另外|再[加报来添]|加上|新增|此外|(?:也|一)起报"
    r"|\b(?:also|another|plus|as well|one more|add(?:ing)?|in addition|new)\b"
)
_CLAUSE = compiled("[,;。!]")
_AROUND = compiled(
    r"^(?:的|了|吧|才对|啊|呀|哈|谢谢|块|元|钱|那天|花|付|yuan|rmb|please|thanks|thank you"
    r"|on|for|at|the|it"
    r"|not|actually|[,.! ])*$"
)
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
        """The one item that can be meant: named, asked about, or the only one."""
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
