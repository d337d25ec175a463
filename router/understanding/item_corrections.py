"""Putting items right: `第一项改成 35`, `the second one was 46`, `午餐改成 50`, `删掉打车那项`.

An item is meant by its place, or by what it is: its kind, its day, its amount. Where that fits
two, or nothing says which of several is meant, nothing is changed: someone has to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import JsonValue

from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.booleans import yes_or_no
from router.understanding.dates import Days
from router.understanding.designating import designated, links_several
from router.understanding.documents import answered_document, holds_documents
from router.understanding.forms import read_as
from router.understanding.grammar import compiled, only
from router.understanding.items import described, is_itemised
from router.understanding.pleasantries import says_nothing
from router.understanding.slot_names import word_in, words_of
from router.understanding.utterance import Utterance

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
        if is_itemised(slot) and isinstance(items, list) and items:
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
        others = {n: v for n, v in values.items() if fields[n].type != "choice"}
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
            paper = holds_documents(named, fields[named])
            sure = certain or (_is_short(tail) if paper else _is_all(tail, spans))
            value = _value(named, fields[named], tail) if sure else None
            return {} if value is None else {named: value}
        if items:
            sure = len(items) == 1 and (certain or _is_all(tail, spans))
            return dict(items[0]) if sure else {}
        return dict(self._alone(tail))

    def _alone(self, tail: Utterance) -> Iterator[tuple[str, JsonValue]]:
        """What is nothing but a figure or the number of a document."""
        for name, field_ in (self.slot.of.fields if self.slot.of else {}).items():
            if field_.type == "money" or holds_documents(name, field_):
                value = _value(name, field_, tail) if _is_short(tail) else None
                if value is not None:
                    yield name, value
                    return


def _is_short(text: Utterance) -> bool:
    most_of_a_number = 32
    return len(text.text) <= most_of_a_number


def _value(name: str, slot: Slot, tail: Utterance) -> JsonValue:
    if holds_documents(name, slot):
        return answered_document(tail)
    if slot.type == "date":
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
