"""Putting right what a flow already knows: `不对,是下周二`, `change the end date to Friday`."""

from collections.abc import Iterator
from datetime import date, timedelta

from pydantic import JsonValue

from router.flow.model import Slot
from router.flow.view import FlowView
from router.understanding.dates import Days
from router.understanding.filling import fill_days, range_slots
from router.understanding.forms import read_as
from router.understanding.grammar import compiled, cuts_a_word
from router.understanding.items import is_itemised
from router.understanding.normalise import normalise
from router.understanding.numbers import parse_number
from router.understanding.utterance import Utterance

_OPENS = compiled(
    "^(?:等等|等一下|啊|哦|抱歉|不好意思|,| )*(?:不对|不是|错了|说错|写错|弄错|搞错|填错|选错|打错"
    "|更正|纠正|改|换成|应该是|应为|修改|把)"
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
_UNTIL = compiled(r"^ ?(?:到|至)|\b(?:until|till|through)\b")
_ITEM = compiled(
    "第 ?(?P<zh>[一二三四五六七八九十\\d]{1,2}) ?[个项笔张条]|(?P<last>最后(?:一)?[个项笔张条])"
    r"|\b(?:item|number|no\.?) ?(?P<en>\d{1,2})\b"
)
_HALF_A_YEAR = timedelta(days=183)
_PARTS = {"start": "开始 起始 start from beginning", "end": "结束 截止 end until return"}
_COMMON = {
    "reason": "原因 理由 事由 reason",
    "amount": "金额 价格 钱数 amount price",
    "date": "日期 date",
    "category": "类别 类型 分类 category type",
    "invoice": "发票 发票号 invoice",
}


def opens_as_correction(text: str) -> bool:
    """True where a normalised text begins as people do who put something right."""
    return _OPENS.search(text) is not None


def correction(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The values that a correction gives, by slot name or path; None where it is none.

    A slot that is named takes what is said of it. Without a name the message has to open as
    a correction does, and the value goes to the slot filled last that it fits.
    """
    return _named(view, utterance) or _unnamed(view, utterance)


def _named(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """What is said of the slot with the longest name in the text; None where two are as long."""
    if _CHANGED.search(utterance.text) is None:
        return None
    named = [
        (len(word), utterance.text.find(word) + len(word), path, slot)
        for path, slot, words in _paths(view, utterance.text)
        if (word := _word_in(utterance.text, words)) is not None
    ]
    longest = max((length for length, *_ in named), default=0)
    meant = [(end, path, slot) for length, end, path, slot in named if length == longest]
    if len(meant) != 1:
        return None
    end, path, slot = meant[0]
    value = _value(view, path, slot, _tail(utterance, end))
    return None if value is None else {path: value}


def _word_in(text: str, words: list[str]) -> str | None:
    """The longest of the words that the text has as a word of its own."""
    for word in sorted(words, key=len, reverse=True):
        start = text.find(word)
        if start >= 0 and not cuts_a_word(text, start) and not cuts_a_word(text, start + len(word)):
            return word
    return None


def _paths(view: FlowView, text: str) -> Iterator[tuple[str, Slot, list[str]]]:
    """Every slot that can be corrected, by path, with the words that people call it."""
    for name, slot in view.fillable.items():
        if is_itemised(slot):
            yield from _item_paths(view, name, slot, text)
        else:
            yield name, slot, _words(name, slot)


def _item_paths(
    view: FlowView, name: str, slot: Slot, text: str
) -> Iterator[tuple[str, Slot, list[str]]]:
    items = view.slots.get(name)
    count = len(items) if isinstance(items, list) else 0
    number = _item_number(text, count)
    if number is None or slot.of is None:
        return
    for field_name, field in slot.of.fields.items():
        yield f"{name}.{number}.{field_name}", field, _words(field_name, field)


def _item_number(text: str, count: int) -> int | None:
    """The item that is meant, from 0: the one numbered, else the last."""
    match = _ITEM.search(text)
    if match is None or match.group("last"):
        return count - 1 if count else None
    number = int(parse_number(match.group("zh") or match.group("en")) or 0)
    return number - 1 if 0 < number <= count else None


def _words(name: str, slot: Slot) -> list[str]:
    words = [name.replace("_", " "), *_COMMON.get(name, "").split()]
    words += _PARTS.get(slot.part_of_range or "", "").split()
    if slot.label is not None:
        # What a Chinese noun is comes last: 请假类型 is a 类型.
        words += [slot.label.zh, slot.label.zh[-2:], slot.label.en]
    return [normalise(word).text for word in words]


def _tail(utterance: Utterance, after: int) -> Utterance:
    """What stands after the last `改成` or `to` that follows the slot's name."""
    marks = [mark.end() for mark in _TO.finditer(utterance.text[after:])]
    return utterance.part(after + marks[-1] if marks else after, len(utterance.text))


def _value(view: FlowView, path: str, slot: Slot, tail: Utterance) -> JsonValue:
    if slot.type == "date":
        return _date(view, path, slot, tail)
    return read_as(slot, tail)


def _date(view: FlowView, path: str, slot: Slot, tail: Utterance) -> JsonValue:
    """A day for this slot: an end is read as a day after the start, an item's as a past one."""
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    if slot.part_of_range == "end" and isinstance(start, str):
        return _end(tail, date.fromisoformat(start))
    things = tail.spent if "." in path else tail.things
    days = [f.value for f in things if isinstance(f.value, Days)]
    return days[-1].last.isoformat() if days else None


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
    marks = [mark.end() for mark in _TO.finditer(utterance.text)]
    tail = utterance.part(max([opening.end(), *marks]), len(utterance.text))
    return _by_type(view, tail) or _by_type(view, utterance)


def _by_type(view: FlowView, tail: Utterance) -> dict[str, JsonValue] | None:
    """The value for whatever slot can hold it and was filled last."""
    ranged = _ranged(view, tail)
    if ranged:
        return ranged
    for path, slot in reversed(list(_filled(view))):
        if slot.type in {"choice", "money", "date"} and not slot.part_of_range:
            value = _value(view, path, slot, tail)
            if value is not None:
                return {path: value}
    return None


def _filled(view: FlowView) -> Iterator[tuple[str, Slot]]:
    for name, value in view.slots.items():
        slot = view.fillable.get(name)
        if slot is None:
            continue
        if is_itemised(slot) and isinstance(value, list) and value and slot.of:
            for field_name, field in slot.of.fields.items():
                yield f"{name}.{len(value) - 1}.{field_name}", field
        else:
            yield name, slot


def _ranged(view: FlowView, tail: Utterance) -> dict[str, JsonValue] | None:
    """Days for the slots of a range; one day moves what was given last, or both of a single day."""
    parts = range_slots(view.fillable)
    values = fill_days(view.fillable, tail.things, tail.text).values
    start, end = parts.get("start", ""), parts.get("end", "")
    if start not in values:
        return values or None
    if end in values or end not in view.slots:
        return values
    if end in view.latest and start not in view.latest:
        return {end: values[start]}
    if view.slots.get(end) == view.slots.get(start):
        return {**values, end: values[start]}
    return {end: values[start]} if _UNTIL.search(tail.text) else values
