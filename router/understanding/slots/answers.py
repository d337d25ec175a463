"""Answers to what a flow asks, with the benefit of the doubt for the slot being asked."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from pydantic import JsonValue

from router.entities.booleans import numbered, yes_or_no
from router.entities.choices import find_choices
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.grammar import Found, Span, compiled, only
from router.entities.money import Money
from router.entities.normalisation import normalise
from router.entities.ranges import from_weekday, interval, one_day
from router.entities.utterance import Utterance, is_far, is_unplanned
from router.flow.engine.slots import at
from router.flow.slot_types.slot import Slot, filled_by, range_slots, read_as, slot_at
from router.flow.slot_types.structures import pieces
from router.flow.view import FormView
from router.lexicon import EN, ZH
from router.understanding.corrections import values as corrections
from router.understanding.dialogue_acts import says_nothing
from router.understanding.items.item_corrections import added, opens_item
from router.understanding.items.items import find_items
from router.understanding.slots.answer_parts import beside, empty_slots, text_answer
from router.understanding.slots.free_text import clauses_of, documents_of
from router.understanding.slots.mappings import (
    SAME_DAY,
    Filling,
    Values,
    fill_days,
    half_value,
    parts_of,
)
from router.understanding.slots.prefill import reason_slot, without_doubt
from router.understanding.triggers.classifier import Blocker

_MOST_OF_A_YEAR = timedelta(days=300)


def _asked_days(view: FormView, slot: Slot, utterance: Utterance) -> Values | None:
    """The answer to one of the questions of a date range; None where it isn't one."""
    if slot.part_of_range not in {"start", "end"}:
        return None
    parts = range_slots(view.fillable)
    start = view.slots.get(parts.get("start", ""))
    if slot.part_of_range == "end" and isinstance(start, str):
        return _until(view.fillable, utterance, date.fromisoformat(start))
    # An illness of a few weeks ago isn't one of next year.
    said = [utterance.text, *(v for v in view.slots.values() if isinstance(v, str))]
    far = any(is_far(f.value.first.isoformat(), utterance.now) for f in only(Days, utterance.meant))
    things = utterance.spent if far and any(map(is_unplanned, said)) else utterance.meant
    filling = fill_days(view.fillable, things, utterance.text)
    return {n: v for n, v in filling.values.items() if n in view.fillable} or None


def _only_days(view: FormView, utterance: Utterance) -> Values | None:
    """The days of a range of which nothing is known, where the message says nothing besides."""
    names = range_slots(view.fillable).values()
    known = any(view.slots.get(name) is not None for name in names)
    if known or not corrections.is_only_times(utterance):
        return None
    days = fill_days(view.fillable, utterance.meant, utterance.text)
    return without_doubt(view.fillable, utterance, days).values or None


def _until(slots: Mapping[str, Slot], utterance: Utterance, start: date) -> Values | None:
    """An end, or how long it takes from the start that is known."""
    parts = range_slots(slots)
    if SAME_DAY.search(utterance.text) and not only(Days, utterance.things):
        return {parts["end"]: start.isoformat()}
    days = _days_until(utterance, start)
    if len(days) == 1:
        given = parts_of(replace(days[0], single=False), open_end=False)
        if days[0].first == days[0].last or days[0].first == start:
            given = {part: value for part, value in given.items() if part in {"end", "end_half"}}
        return {parts[p]: half_value(slots[parts[p]], v) for p, v in given.items() if p in parts}
    if days:
        return None
    lengths = [f for f in utterance.things if isinstance(f.value, Duration)]
    known = Found(0, 0, Days(start, start, single=True))
    values = fill_days(slots, [known, *lengths], "").values
    return {name: value for name, value in values.items() if name != parts.get("start")} or None


def _days_until(utterance: Utterance, start: date) -> list[Days]:
    """Days as an end: after the start, unless that were most of a year later.

    `下周一` of a start beyond it is the Monday after: the week was named out of habit.
    """
    found = only(Days, utterance.read(after=start))
    if len(found) > 1 and (stretch := interval(found, utterance.text)):
        found = [stretch.found]
    if len(found) != 1:
        return [f.value for f in found]
    days, named = found[0].value, utterance.text[found[0].start : found[0].end]
    if days.last - start > _MOST_OF_A_YEAR:
        before = [f.value for f in only(Days, [*utterance.things, *utterance.spent])]
        return [past for past in before if past.last < start][:1] or [days]
    return [from_weekday(days, start, named)]


_NO_MORE = compiled(
    f"^(?:好的|嗯|,| )*{ZH.that_is_all}(?:[,!.。吧了的 ]|谢谢|提交)*$"
    f"|^(?:no,? ?)?{EN.that_is_all}(?:,? (?:thanks|thank you|please))?[.!]?$"
)
_MORE = compiled(
    f"^(?:嗯|对|是的|好的|,| )*{ZH.another_one}(?:一?[个张笔项条]|别的|其他的?|的)?[。!.呢]*$"
    f"|^(?:yes,? ?)?{EN.another_one}[.!]?$"
)
# Approval of what is there is no wish for more; mere assent is neither.
_DONE = compiled(
    f"^(?:嗯|好的?|那|就|可以|,| )*{ZH.approval}[!.。 ]*$"
    f"|^(?:(?:ok(?:ay)?|yes|yep|yeah|great|all|it|that|this),? )*{EN.approval}"
    "(?:,? (?:thanks|thank you|please))?[!. ]*$"
)
_AGREED = compiled(
    "^(?:好(?:的|吧|呀|啊)?|可以(?:的|啊)?|行(?:吧|啊)?|ok(?:ay)?|k|alright|all right)[!.。 ]*$"
)

_ALSO = compiled(
    r"^(?:还有|另外|再加)(?:一?[个张笔项条])?[,: ]*|^(?:and |plus )?also:? |^another: |^plus "
)

_NONE = compiled("^(?:没有?|无|none)[.!]?$")
_OF_THE_LAST_DAY = compiled(r"最后|末日|末尾|\b(?:last|final|end)\b")

_QUESTION = compiled(
    "[?]$|吗[!. ]*$|^(?:怎么|如何|为什么|为啥|什么是|请问)"
    r"|^(?:how|what|why|who|when|where|which|can you|could you|is there|do i|does)\b"
)


_HOW_OR_WHAT, _WHETHER = Blocker("how-or-what"), Blocker("whether")
_PROPOSES = compiled(r"可以|行|好|\b(?:ok(?:ay)?|fine|alright|good|possible|works?)\b")


def answer(view: FormView, utterance: Utterance) -> Values | None:
    """What the message says about the slot being asked, and whatever else it surely says.

    Keys are slot names, or paths such as `items.0.amount`; `items.more` answers "any more?".
    None where the message doesn't answer.
    """
    path = view.awaiting[0] if view.awaiting else None
    slot = slot_at(view.fillable, path) if path else None
    if path is None or slot is None or not utterance.text or _only_asks(slot, utterance.text):
        return None
    if slot.is_itemised:
        return _another(view, path, slot, utterance)
    if slot.is_listed:
        more = _goes_on(utterance.text, yes_or_no(utterance.text))
        return _values(view, path, slot, utterance) if more is None else {f"{path}.more": more}
    above, _, last = path.rpartition(".")
    row = slot_at(view.fillable, above) if last.isdigit() else None
    if row is not None and row.is_listed:
        return _values(view, above, row, utterance)
    if "." in path:
        return _field(view, path, slot, utterance)
    return _top_level(view, path, slot, utterance)


def _only_asks(slot: Slot, text: str) -> bool:
    """True of `婚假怎么休`: it names a choice, and chooses none."""
    if slot.kind.is_text:
        return False
    return _HOW_OR_WHAT.stops(text) or (_WHETHER.stops(text) and not _PROPOSES.search(text))


def _another(view: FormView, name: str, slot: Slot, utterance: Utterance) -> Values | None:
    known = view.slots.get(name)
    count = len(known) if isinstance(known, list) else 0
    if corrections.corrected_items(view, utterance) is not None:
        return None
    # Whoever was shown a numbered list and types 1 has not spent 1 on something.
    picked = numbered(utterance.text)
    items, used = find_items(slot, utterance) if picked is None else ([], Filling())
    if not items and (called := _named_item(slot, utterance)):
        items = [called]
    if items:
        others = beside(view, name, utterance, used.used)
        return {**others, **{f"{name}.{count + n}": dict(item) for n, item in enumerate(items)}}
    if over := _no_more(view, name, utterance):
        return over
    more = _goes_on(utterance.text, yes_or_no(utterance.text) if picked is None else picked)
    if more is False or _DONE.search(utterance.text):
        return {f"{name}.more": False}
    return {f"{name}.more": True} if more and not _AGREED.search(utterance.text) else None


def _no_more(view: FormView, name: str, utterance: Utterance) -> Values | None:
    """`就这些，新人入职`: the list is over, and what comes after that is said as well."""
    clauses = clauses_of(utterance.text)
    if len(clauses) == 1 or not any(_NO_MORE.search(first.value) for first in clauses[:1]):
        return None
    said = utterance.part(clauses[1].start, len(utterance.text))
    if says_nothing(said.text):
        return None
    reason = reason_slot(empty_slots(view, name))
    others = beside(view, name, said) if reason is None else text_answer(view, reason, said)
    return {**(others or {}), f"{name}.more": False}


def _goes_on(text: str, said: bool | None) -> bool | None:
    """Whether a list does, by its own words or by yes and no; None where neither is said."""
    if _NO_MORE.search(text) or said is False:
        return False
    return True if said or _MORE.search(text) else None


def _named_item(slot: Slot, utterance: Utterance) -> Values | None:
    """`还有丙`, of items that are asked for by a text first: the next one, called so."""
    first = next(iter(slot.of.fields.items()), None) if slot.of else None
    also = _ALSO.search(utterance.text)
    if first is None or not first[1].kind.is_text or first[1].reference or also is None:
        return None
    if _MORE.search(utterance.text) or _QUESTION.search(utterance.text):
        return None
    typed = utterance.normalised.as_typed(also.end(), len(utterance.text)).strip(" ,，。.")
    return {first[0]: typed} if typed and not says_nothing(typed) else None


def _values(view: FormView, name: str, slot: Slot, utterance: Utterance) -> Values | None:
    """The next value of a list, or all that are left where several are named in a row."""
    whole = view.slots.get(name)
    known = [value for value in whole if value is not None] if isinstance(whole, list) else []
    if known and _NO_MORE.search(utterance.text):
        return {f"{name}.more": False}
    if slot.of is None or (slot.of.kind.is_text and _QUESTION.search(utterance.text)):
        return None
    named = [Utterance.of(piece, utterance.now) for piece in pieces(utterance.normalised.typed)]
    values = [read_as(slot.of, one) for one in named]
    if not values or any(value is None for value in values):
        return None
    if len(values) == 1:
        return {f"{name}.{len(known)}": values[0]}
    return {name: [*known, *values]}


def _field(view: FormView, path: str, slot: Slot, utterance: Utterance) -> Values | None:
    """A field of an item or an object, with its siblings where the answer names them."""
    prefix = path.rpartition(".")[0]
    parent = slot_at(view.fillable, prefix)
    unnamed = slot.kind.made_of == "choices" and not find_choices(slot.choices, utterance.text)
    picked = read_as(slot, utterance) if unnamed else None
    if picked is not None or parent is None or not parent.fields:
        return _only(path, picked if unnamed else _read_field(slot, utterance))
    if corrections.corrected_items(view, utterance) is not None:
        return None
    numbers = documents_of(slot)
    if numbers is not None or slot.kind.is_text:
        own, others = _and_more(view, utterance)
        said = numbers.answered(own) if numbers is not None else _read_field(slot, own)
        if numbers is not None and said is not None:
            others = {**beside(view, _root(path), own, _saying(own, said)), **others}
        return {**others, **(_only(path, said) or {})} or None
    return _with_siblings(view, path, slot, Slot(type="list", of=parent), utterance)


def _saying(utterance: Utterance, value: JsonValue) -> list[Span]:
    """The clauses in which the value stands."""
    written = normalise(str(value)).text
    return [clause.span for clause in clauses_of(utterance.text) if written in clause.value]


def _and_more(view: FormView, utterance: Utterance) -> tuple[Utterance, Values]:
    """The answer to what is asked, and the items that are added after it: `还有午饭 45.5`."""
    at = next((c.start for c in clauses_of(utterance.text) if opens_item(c.value)), None)
    if at is None:
        return utterance, {}
    others = added(view, utterance.part(at, len(utterance.text)))
    return (utterance, {}) if others is None else (utterance.part(0, at), others)


def _with_siblings(
    view: FormView, path: str, slot: Slot, row: Slot, utterance: Utterance
) -> Values | None:
    """The field with whatever else the answer says of its item, and of those after it."""
    prefix, _, name = path.rpartition(".")
    items, used = find_items(row, utterance)
    first = dict(items[0]) if items else {}
    asked = first.get(name)
    if asked is None:
        asked = _read_field(slot, utterance)
        if asked is not None and slot.kind.takes is Decimal and not only(Money, utterance.things):
            first = _unpriced(row, first)
    if asked is None:
        # What is said of the item though not what was asked: kept, and that is asked again.
        known = at(view.slots, prefix) or {}
        if len(items) != 1 or not isinstance(known, dict) or _QUESTION.search(utterance.text):
            return None
        new = {k: value for k, value in first.items() if known.get(k) is None}
        return {f"{prefix}.{key}": value for key, value in new.items()} or None
    following = _following(view, prefix, items[1:])
    if following is None:
        return None
    own = {f"{prefix}.{key}": value for key, value in {**first, name: asked}.items()}
    return {**beside(view, _root(path), utterance, used.used), **own, **following}


def _unpriced(row: Slot, item: Values) -> Values:
    """The item without amounts: `5`, asked how many, is how many and no price as well."""
    parts = row.of.fields if row.of else {}
    return {name: v for name, v in item.items() if parts[name].kind.takes is not Money}


def _root(path: str) -> str:
    return path.split(".", maxsplit=1)[0]


def _following(view: FormView, prefix: str, items: list[Values]) -> Values | None:
    """What goes to the items after the one asked about; None where they have other values."""
    head, _, number = prefix.rpartition(".")
    known = view.slots.get(head)
    if not number.isdigit():
        return {}
    filled: Values = {}
    for place, item in enumerate(items, int(number) + 1):
        there = known[place] if isinstance(known, list) and place < len(known) else None
        if not isinstance(there, dict):
            filled[f"{head}.{place}"] = dict(item)
        elif any(there.get(key) not in (None, value) for key, value in item.items()):
            return None
        else:
            filled |= {f"{head}.{place}.{key}": value for key, value in item.items()}
    return filled


def _read_field(slot: Slot, utterance: Utterance) -> JsonValue:
    """A field by itself; a date of something paid for is a past one."""
    if slot.kind.is_text:
        return None if _QUESTION.search(utterance.text) else read_as(slot, utterance)
    if slot.kind.takes is not Days:
        return read_as(slot, utterance)
    days = only(Days, utterance.spent)
    day = days[0].value.first if len(days) == 1 else one_day(days, utterance.text)
    return day.isoformat() if day else None


def _only(path: str, value: JsonValue) -> Values | None:
    return None if value is None else {path: value}


def _top_level(view: FormView, name: str, slot: Slot, utterance: Utterance) -> Values | None:
    if slot.kind.is_text:
        return _free_text(view, name, utterance)
    if slot.part_of_range == "start_half" and _OF_THE_LAST_DAY.search(utterance.text):
        # 上午 of the last day, asked of the first: that is whole, and the last ends at noon.
        end = range_slots(view.fillable).get("end_half")
        morning = half_value(slot, "am")
        is_morning = end is not None and read_as(slot, utterance) == morning
        return {name: morning, str(end): morning} if is_morning else None
    if slot.kind.is_file:
        return _only(name, read_as(slot, utterance))
    values = _asked_days(view, slot, utterance)
    if values is None:
        value = _last_choice(slot, utterance) if slot.choices else read_as(slot, utterance)
        if value is None:
            return _only_days(view, utterance)
        values = {name: value}
    return {**beside(view, name, utterance), **values}


def _free_text(view: FormView, name: str, utterance: Utterance) -> Values | None:
    """What was said, as it is; never a greeting or a yes, and a reason is no new dates."""
    if _takes_half_a_day(view) and (half := corrections.half_named(view, utterance)):
        # What the flow works out from the one half is left to it.
        return {n: v for n, v in half.items() if view.fillable[n].lookup is None}
    empty = yes_or_no(utterance.text) is not None and not _NONE.search(utterance.text)
    if empty or says_nothing(utterance.text):
        return None
    if more := added(view, utterance):
        return more
    if name == reason_slot(view.fillable) and (
        again := corrections.restated(view, utterance, ranges_only=True)
    ):
        return again
    return text_answer(view, name, utterance)


def _takes_half_a_day(view: FormView) -> bool:
    """True where half a day was said and not which: then `下午` is no greeting and no reason."""
    halves = [n for part, n in range_slots(view.fillable).items() if part.endswith("half")]
    if any(view.slots.get(name) is not None for name in halves):
        return False
    lengths = (view.slots.get(name) for name in filled_by(Duration, view.fillable))
    return any(length == {"days": 0.5} for length in lengths)


def _last_choice(slot: Slot, utterance: Utterance) -> JsonValue:
    """The choice that is meant; after a no, `不是年假,是病假`, the one named last."""
    value = read_as(slot, utterance)
    if value is not None or not corrections.opens_as_correction(utterance.text):
        return value
    named = find_choices(slot.choices, utterance.text)
    return named[-1].value if named else None
