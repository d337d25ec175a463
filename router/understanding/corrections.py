"""Putting right what a flow already knows: `不对,是下周二`, `change the end date to Friday`."""

from collections.abc import Iterator
from datetime import date, timedelta

from pydantic import JsonValue

from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.dates import Days
from router.understanding.faulting import is_fault
from router.understanding.filling import range_slots
from router.understanding.forms import read_as
from router.understanding.grammar import compiled, only
from router.understanding.item_corrections import OfItems, said_of_items
from router.understanding.items import is_itemised
from router.understanding.repointing import repointed
from router.understanding.retiming import halved, retimed
from router.understanding.shifting import shifted
from router.understanding.slot_names import word_in, words_of
from router.understanding.switching import switched
from router.understanding.utterance import Utterance

_YES_BUT = compiled(
    "^(?:(?:好的?|可以|行|嗯+|没问题|是的?|对)(?:啊|吧|呀)?(?:是(?:好|可以|行))?[, ]*)+"
    "(?:但是?|不过|只是|就是)?[, ]*"
    r"|^(?:yes|yeah|ok|okay|fine|sure|good|looks good)[,.]? (?:but|only|just|except)[, ]*"
)
_OPENS = compiled(
    "^(?:等等|等一下|再|请|啊|哦|抱歉|不好意思|,| )*"
    "(?:不对|不是|错了|说错|写错|弄错|搞错|填错|选错|打错"
    "|不,|更正|纠正|改|换成|应该是|应为|修改|把)"
    r"|^(?:oh,? |wait,? |hold on,? |sorry,? |please )*(?:no\b[,. ]|wrong|change|make (?:it|that"
    "|the)|set|update|correct|actually|i meant|sorry|switch|move|it should|should be|rather"
    "|instead)"
)
_TO = compiled(
    "改成|改为|改到|改作|换成|换到|应该是|应该为|应为|更正为|变成|调整为|调整到|调到|修改为|修改成"
    "|设为|设成|写成|是|为|:"
    r"|\b(?:to|should be|should have been|be|is|it|i meant|meant|actually|instead|no|sorry)\b[:,]?"
)
_CHANGED = compiled(
    "改成|改为|改到|改作|换成|换到|应该是|应为|更正为?|变成|调整为|调整到|调到|修改为|修改成|设为"
    "|设成|是|为|:"
    r"|\b(?:change|set|update|correct|make|move|switch|should be|is|to be)\b"
)
_PUT_RIGHT = {"choice", "money", "date", "number", "integer"}
_HALF_A_YEAR = timedelta(days=183)


def opens_as_correction(text: str) -> bool:
    """True where a normalised text begins as people do who put something right."""
    return _OPENS.search(text) is not None


def after_yes(text: str) -> int:
    """Where a normalised text goes on after a yes that it takes back with a but.

    >>> after_yes("好的,但是改成周二")
    5
    """
    yes = _YES_BUT.search(text)
    return yes.end() if yes else 0


def correction(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The values that a correction gives, by slot name or path; None where it is none.

    A slot that is named takes what is said of it. Without a name the message has to open as
    a correction does, and the value goes to the slot filled last that it fits.
    """
    rest = utterance.part(after_yes(utterance.text), len(utterance.text))
    named = _named(view, rest)
    if not named or not _is_end(view, named):
        named = repointed(view, rest) or named
    if named:
        return named
    items = corrected_items(view, rest)
    return items.slots or None if items else _unnamed(view, rest)


def _is_end(view: FlowView, named: dict[str, JsonValue]) -> bool:
    return [*named] == [range_slots(view.fillable).get("end")]


def corrected_items(view: FlowView, utterance: Utterance) -> OfItems | None:
    """What the message puts right of a flow's items; None where it puts none right."""
    return said_of_items(view, utterance, opens=opens_as_correction(utterance.text))


def _named(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """What is said of the slot with the longest name in the text; None where two are as long."""
    if _CHANGED.search(utterance.text) is None:
        return None
    named = [
        (len(word), utterance.text.find(word) + len(word), path, slot)
        for path, slot, words in _paths(view)
        if (word := word_in(utterance.text, words)) is not None
    ]
    longest = max((length for length, *_ in named), default=0)
    meant = [(end, path, slot) for length, end, path, slot in named if length == longest]
    if len(meant) != 1:
        return None
    end, path, slot = meant[0]
    tail = _tail(utterance, end)
    if slot.type == "boolean":
        return switched(view, utterance.text)
    value = None if is_fault(tail.text) else _value(view, slot, tail)
    return None if value is None else {path: value}


def _paths(view: FlowView) -> Iterator[tuple[str, Slot, list[str]]]:
    """Every slot that can be corrected, with the words that people call it; items apart."""
    for name, slot in view.fillable.items():
        if not is_itemised(slot):
            yield name, slot, words_of(name, slot)


def _tail(utterance: Utterance, after: int) -> Utterance:
    """What stands after the last `改成` or `to` that follows the slot's name."""
    return utterance.part(max([after, *_marks(utterance)]), len(utterance.text))


def _marks(utterance: Utterance) -> list[int]:
    """Where a new value begins; the `to` of `Dec 2 to Dec 4` is within one."""
    ranges = only(Days, utterance.meant)
    return [
        mark.end()
        for mark in _TO.finditer(utterance.text)
        if not any(f.start < mark.start() and mark.end() < f.end for f in ranges)
    ]


def _value(view: FlowView, slot: Slot, tail: Utterance) -> JsonValue:
    if slot.type == "date":
        return _date(view, slot, tail)
    return read_as(slot, tail)


def _date(view: FlowView, slot: Slot, tail: Utterance) -> JsonValue:
    """A day for this slot: an end is read as a day after the start."""
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    if slot.part_of_range == "end" and isinstance(start, str):
        return _end(tail, date.fromisoformat(start))
    days = only(Days, tail.meant)
    return days[-1].value.last.isoformat() if days else None


def _end(tail: Utterance, start: date) -> JsonValue:
    """The last day, after the start; but a day just before it isn't meant a year later."""
    found = [
        [f.value.last for f in things if isinstance(f.value, Days)]
        for things in (tail.read(after=start), tail.things)
    ]
    after, plain = (days[-1] if days else None for days in found)
    if after is not None and plain is not None and after - start > _HALF_A_YEAR:
        after = plain
    return after.isoformat() if after else None


def _unnamed(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    opening = _OPENS.search(utterance.text)
    if opening is None:
        return None
    tail = utterance.part(max([opening.end(), *_marks(utterance)]), len(utterance.text))
    return _by_type(view, tail) or _by_type(view, utterance)


def _by_type(view: FlowView, tail: Utterance) -> dict[str, JsonValue] | None:
    """The value for whatever slot can hold it and was filled last."""
    moved = shifted(view.fillable, view.slots, tail.text) or retimed(view, tail)
    if moved:
        return moved
    for path, slot in reversed(list(_filled(view))):
        if slot.type in _PUT_RIGHT and not slot.part_of_range:
            value = _value(view, slot, tail)
            if value is not None:
                return {path: value}
    return halved(view, tail)


def _filled(view: FlowView) -> Iterator[tuple[str, Slot]]:
    for name in view.slots:
        slot = view.fillable.get(name)
        if slot is None:
            continue
        if not is_itemised(slot):
            yield name, slot
