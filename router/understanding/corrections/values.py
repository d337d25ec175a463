"""Putting right what a flow already knows: `不对,是下周二`, `change the end date to Friday`.

A slot is named (`日期错了`), or the value says which it is (`no, three days`); a yes-or-no is
turned by naming it (`no video after all`). Where a flow shows what it knows and asks whether to
go on, a new value needs no word of correction: `那就下周一吧`.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal

from pydantic import JsonValue

from router.entities.booleans import leaning
from router.entities.choices import find_choices
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.grammar import compiled, group_span, only
from router.entities.money import Money
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.flow.engine.changes import CHANGE
from router.flow.slot_types.slot import Slot, each_part, range_slots, read_as
from router.flow.view import FormView
from router.lexicon import EN, ZH
from router.understanding.corrections.dates import halved, repointed, retimed, shifted
from router.understanding.items.item_corrections import OfItems, added, said_of_items
from router.understanding.names import word_in, words_of
from router.understanding.slots.mappings import Values, fill_choices
from router.understanding.slots.prefill import find_texts

_IS_WRONG = rf"(?:{ZH.wrong}|\b{EN.wrong}\b)"
_AROUND = rf"(?:\b{EN.around_wrong}\b|{ZH.around_wrong}|[ ,.!~])"
_ONLY_WRONG = compiled(f"^(?:{_AROUND}|{_IS_WRONG})*$")
_SAYS_WRONG = compiled(f"^{_AROUND}*{_IS_WRONG}{_AROUND}*$")
_IS_SUPPLIED = compiled(rf"^(?:{_AROUND}|{_IS_WRONG}|{ZH.supplies}|\b{EN.supplies}\b)*$")
_DAYS = ("日期", "时间", "dates", "date", "days", "day")


def faulted(view: FormView, text: str) -> dict[str, str] | None:
    """The slot of which a text only says `日期错了` or `上传附件`, as the answer to `change`."""
    named: dict[str, int] = {}
    for name, words in _changeable(view):
        only = _IS_SUPPLIED if view.slots.get(name) is None else _ONLY_WRONG
        found = [w for w in words if w in text and only.search(text.replace(w, " ", 1))]
        if found:
            named[name] = max(map(len, found))
    longest = max(named.values(), default=0)
    meant = [name for name, length in named.items() if length == longest]
    return {CHANGE: meant[0]} if len(meant) == 1 else None


def _changeable(view: FormView) -> Iterator[tuple[str, list[str]]]:
    """The slots that can be changed or supplied, with their names; an only item's fields."""
    for name, slot in view.fillable.items():
        known = view.slots.get(name)
        supplied = slot.skippable and slot.ask is not None
        if not supplied and (known is None or not (slot.ask or slot.of)):
            continue
        # What names a range as a whole begins it anew with its start.
        yield name, [*words_of(name, slot), *(_DAYS if slot.part_of_range == "start" else ())]
        if slot.of is not None and isinstance(known, list) and len(known) == 1:
            fields = slot.of.fields.items()
            yield from ((f"{name}.0.{field}", words_of(field, of)) for field, of in fields)


_OPENING = compiled(
    r"^(?:(?:不对|不是|错了|哦|那就?|还是|我|actually|sorry|wait|oh|well|no,)[, ]*)*(?P<rest>.+)$"
)
_SET = compiled(r"(?:改成|改为|换成|\bto) ?(?P<rest>[^ ]+)$")
_OFF = compiled(r"(?:去掉|取消|关掉|删掉)吧?$|^(?:remove|drop|skip|without|cancel)\b")


def switched(view: FormView, text: str) -> Values | None:
    """The one yes-or-no slot that a normalised text names, with what it says of it."""
    named = [
        name
        for name, slot in view.fillable.items()
        if slot.kind.takes is bool and any(word in text for word in words_of(name, slot))
    ]
    value = _said(text) if len(named) == 1 else None
    return None if value is None else {named[0]: value}


def _said(text: str) -> bool | None:
    if _OFF.search(text):
        return False
    for pattern in (_SET, _OPENING):
        match = pattern.search(text)
        said = leaning(text[group_span(match, "rest")[0] :]) if match else None
        if said is not None:
            return said
    return None


_AROUND_RESTATED = compiled(
    rf"^(?:{ZH.filler}|{ZH.around_value}|\b(?:{EN.filler}|{EN.around_value})\b|[ ,.!~:])*$"
)

_WRONG = compiled(
    "^(?:不对|不是|错了|说错了|no|sorry|wait|actually|i mean|i meant)(?:[,.! ]|是|应该是|我|要|i'm"
    "|i am|we're)*"
    "|^(?:i'm|i am|we're|we are|it's) "
)


def restated(view: FormView, utterance: Utterance, *, ranges_only: bool = False) -> Values | None:
    """The values of what is only a new value of something known; `ranges_only` of its days."""
    if moved := shifted(view, utterance.text):
        return moved
    # Also a time of today: of a single day it is the half that is meant.
    if half := half_named(view, utterance):
        return half
    if is_only_times(utterance):
        values = retimed(view, utterance)
        start = range_slots(view.fillable).get("start", "")
        known = {name for name, value in view.slots.items() if value is not None}
        return values if values and (start in known or set(values) <= known) else None
    if ranges_only:
        return None
    filled = {n: s for n, s in view.fillable.items() if view.slots.get(n) is not None}
    chosen = _choice(filled, utterance.text) or _text(filled, view, utterance)
    return chosen or switched(view, utterance.text)


def is_only_times(utterance: Utterance) -> bool:
    """True where a message names days, or how long, and nothing besides."""
    times = [f for f in utterance.meant if isinstance(f.value, Days | Duration)]
    return bool(times) and _is_bare(utterance.text, [f.span for f in times])


def _choice(known: Mapping[str, Slot], text: str) -> Values | None:
    for name, value in fill_choices(known, text).values.items():
        if _is_bare(text, [f.span for f in find_choices(known[name].choices, text)]):
            return {name: value}
    return None


def _text(known: Mapping[str, Slot], view: FormView, utterance: Utterance) -> Values | None:
    """`还是去北京吧`: another place than the one that is known, named as the flow's file says."""
    named = find_texts(known, utterance.normalised)
    changed = {n: value for n, value in named.values.items() if value != view.slots[n]}
    said = _WRONG.sub("", utterance.text)
    gone = len(utterance.text) - len(said)
    spans = [(start - gone, end - gone) for start, end in named.used]
    return changed if changed and _is_bare(said, spans) else None


def half_named(view: FormView, utterance: Utterance) -> Values | None:
    """The half of a single day that a message names, which says nothing besides; else None."""
    found = [
        f.span
        for slot in view.fillable.values()
        if slot.part_of_range == "start_half"
        for f in find_choices(slot.choices, utterance.text)
    ]
    return halved(view, utterance) if found and _is_bare(utterance.text, found) else None


def _is_bare(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """True where nothing but words of answering stands around these spans."""
    rest, reached = "", 0
    for start, end in sorted(spans):
        rest += text[reached:start] + " "
        reached = max(reached, end)
    return _AROUND_RESTATED.search(rest + text[reached:]) is not None


_YES_BUT = compiled(
    "^(?:(?:好的?|可以|行|嗯+|没问题|是的?|对)(?:啊|吧|呀)?(?:是(?:好|可以|行))?[, ]*)+"
    "(?:但是?|不过|只是|就是)?[, ]*"
    r"|^(?:yes|yeah|ok|okay|fine|sure|good|looks good)[,.]? (?:but|only|just|except)[, ]*"
)
_OPENS = compiled(
    f"^(?:等等|等一下|再|请|啊|哦|抱歉|不好意思|,| )*{ZH.opens_correction}"
    rf"|^(?:oh,? |wait,? |hold on,? |sorry,? |please )*(?:no\b[,. ]|{EN.opens_correction})"
)
_TO = compiled(rf"{ZH.changes}|是|为|:|\b{EN.leads_to}\b[:,]?")
_CHANGED = compiled(
    rf"{ZH.changes}|是|为|:|\b(?:change|set|update|correct|make|move|switch|should be|is|to be)\b"
)
_HALF_A_YEAR = timedelta(days=183)


def opens_as_correction(text: str) -> bool:
    """True where a normalised text begins as people do who put something right."""
    return _OPENS.search(text) is not None


def after_yes(text: str) -> int:
    """Where a normalised text goes on after a yes that it takes back: `好的,但是改成周二`, 5."""
    yes = _YES_BUT.search(text)
    return yes.end() if yes else 0


def correction(view: FormView, utterance: Utterance) -> Values | None:
    """The values that a correction gives, by slot name or path; None where it is none.

    A slot that is named takes what is said of it. Without a name the message has to open as
    a correction does, and the value goes to the slot filled last that it fits.
    """
    rest = utterance.part(after_yes(utterance.text), len(utterance.text))
    if anew := contrasted(view, rest):
        return anew
    named = _named(view, rest)
    if not named or [*named] != [range_slots(view.fillable).get("end")]:
        named = repointed(view, rest) or named
    if named:
        return named
    if (items := corrected_items(view, rest)) is not None:
        return items.slots or None
    opening = _OPENS.search(rest.text)
    if opening is None:
        return None
    return _by_type(view, _tail(rest, opening.end())) or _by_type(view, rest)


_CONTRAST = compiled(
    r"(?P<new>[^,.;!?]+?),? ?(?:而?不是|\b(?:not|instead of|rather than)\b) ?"
    r"(?P<old>[^,.;!?]+?)[,.! ]*$"
)
_ANEW = compiled(
    r"^(?:(?:actually|no|oh|sorry|wait|please|不对|哦|等等|还是)[, ]*)*"
    r"(?:(?:make|change) (?:it|that)(?: to)?|改成|改为|换成|要|改) ?(?P<new>[^,.;!?]{1,20})[.! ]*$"
)
_LONGEST_CONTRAST = 60


def contrasted(view: FormView, utterance: Utterance) -> Values | None:
    """The one value that is denied, `85 not 58`, `去的是苏州不是杭州`, as what it is said to be.

    None where no value that is known is the one denied, or several are. `make it 3` is for the one
    number that is known.
    """
    if numbered := _numbered_anew(view, utterance):
        return numbered
    match = _CONTRAST.search(utterance.text) if len(utterance.text) <= _LONGEST_CONTRAST else None
    if match is None:
        return None
    new, old = (utterance.part(*group_span(match, name)) for name in ("new", "old"))
    changed: Values = {
        path: value
        for path, slot, known in _known(view)
        if _is_said(slot, known, old)
        if (value := _said_for(slot, new, known)) not in (None, known)
    }
    return changed if len(changed) == 1 else None


def _numbered_anew(view: FormView, utterance: Utterance) -> Values | None:
    found = _ANEW.search(utterance.text)
    if found is None:
        return None
    numbers = [(path, slot) for path, slot, _ in _known(view) if slot.kind.takes is Decimal]
    new = utterance.part(*group_span(found, "new"))
    if len(numbers) != 1 or len(only(Decimal, new.things)) != 1 or len(new.things) != 1:
        return None
    path, slot = numbers[0]
    value = read_as(slot, new)
    return None if value is None else {path: value}


def _known(view: FormView) -> Iterator[tuple[str, Slot, JsonValue]]:
    """Every value that is known, of items too, with its path and its slot."""
    for name, slot in view.fillable.items():
        value = view.slots.get(name)
        parts = each_part(slot, value, name) if slot.is_itemised else [(name, slot, value)]
        for path, part, known in parts:
            if known is not None and not (slot.is_itemised and (part.of or part.fields)):
                yield path, part, known


def _is_said(slot: Slot, known: JsonValue, old: Utterance) -> bool:
    if slot.kind.is_text:
        return normalise(str(known)).text == old.text
    if slot.kind.takes is Days:
        days = [*only(Days, old.meant), *only(Days, old.spent)]
        weekday = {f.value.first.weekday() for f in days}
        return len(weekday) == 1 and date.fromisoformat(str(known)[:10]).weekday() in weekday
    return read_as(slot, old) == known


def _said_for(slot: Slot, new: Utterance, known: JsonValue) -> JsonValue:
    if slot.kind.is_text:
        lead = _TO_NEW.search(new.text)
        return new.normalised.as_typed(lead.end() if lead else 0, len(new.text)).strip() or None
    if slot.kind.takes is not Days:
        return read_as(slot, new)
    days = only(Days, new.meant)
    if not days:
        return None
    day, named = days[-1].value.first, new.text[days[-1].start : days[-1].end]
    if _A_WEEKDAY_ALONE.search(named):
        # Of the week that is spoken of.
        had = date.fromisoformat(str(known)[:10])
        day = had + timedelta(days=day.weekday() - had.weekday())
    return day.isoformat()


_A_WEEKDAY_ALONE = compiled(r"^(?:周|星期|礼拜).$|^[a-z]+$")
_TO_NEW = compiled(r"^.*(?:是|去|到)|^.*\b(?:is|was|to|it's)\b ?")


def corrected_items(view: FormView, utterance: Utterance) -> OfItems | None:
    """What the message puts right of a flow's items; None where it puts none right."""
    return said_of_items(view, utterance, opens=opens_as_correction(utterance.text))


def _named(view: FormView, utterance: Utterance) -> Values | None:
    """What is said of the slot with the longest name in the text; None where two are as long."""
    if _CHANGED.search(utterance.text) is None:
        return None
    named = [
        (len(word), utterance.text.find(word) + len(word), name, slot)
        for name, slot in view.fillable.items()
        if not slot.is_itemised
        and (word := word_in(utterance.text, words_of(name, slot))) is not None
    ]
    longest = max((length for length, *_ in named), default=0)
    meant = [(end, name, slot) for length, end, name, slot in named if length == longest]
    if len(meant) != 1:
        return None
    end, name, slot = meant[0]
    if slot.kind.takes is bool:
        return switched(view, utterance.text)
    tail = _tail(utterance, end)
    value = None if _SAYS_WRONG.search(tail.text) else _value(view, slot, tail)
    return None if value is None else {name: value}


def _tail(utterance: Utterance, after: int) -> Utterance:
    """What stands after the last `改成` or `to` that follows, where a new value begins.

    The `to` of `Dec 2 to Dec 4` is within one.
    """
    ranges = only(Days, utterance.meant)
    marks = [
        mark.end()
        for mark in _TO.finditer(utterance.text)
        if not any(f.start < mark.start() and mark.end() < f.end for f in ranges)
    ]
    return utterance.part(max([after, *marks]), len(utterance.text))


def _value(view: FormView, slot: Slot, tail: Utterance) -> JsonValue:
    """What is said for this slot: an end is read as a day after the start."""
    if slot.kind.takes is not Days:
        return read_as(slot, tail)
    start = view.slots.get(range_slots(view.fillable).get("start", ""))
    if slot.part_of_range == "end" and isinstance(start, str):
        return _end(tail, date.fromisoformat(start))
    days = only(Days, tail.meant)
    return days[-1].value.last.isoformat() if days else None


def _end(tail: Utterance, start: date) -> JsonValue:
    """The last day, after the start; but a day just before it isn't meant a year later."""
    after, plain = (
        [f.value.last for f in only(Days, things)][-1:]
        for things in (tail.read(after=start), tail.things)
    )
    if after and plain and after[0] - start > _HALF_A_YEAR:
        after = plain
    return after[0].isoformat() if after else None


def _by_type(view: FormView, tail: Utterance) -> Values | None:
    """The value for whatever slot can hold it and was filled last."""
    if moved := shifted(view, tail.text) or retimed(view, tail):
        return moved
    for name in reversed([*view.slots]):
        slot = view.fillable.get(name)
        if slot is None or slot.is_itemised or slot.part_of_range:
            continue
        if slot.kind.takes in (Money, Days, Decimal) or slot.kind.made_of == "choices":
            value = _value(view, slot, tail)
            if value is not None:
                return {name: value}
    return halved(view, tail)


def put_right(view: FormView, utterance: Utterance) -> Values | None:
    """The values that stand corrected, by slot name or path; None where nothing is.

    A new value needs no word of correction here, `那就下周一吧`; with `日期错了` it is `change`d.
    """
    corrected = correction(view, utterance) or added(view, utterance) or restated(view, utterance)
    if corrected:
        return corrected
    wrong = faulted(view, utterance.text[after_yes(utterance.text) :])
    return None if wrong is None else {**wrong}
