"""An answer that says more than was asked: `下周二去上海三天，拜访客户` to "where to?".

What the types of slots and their patterns recognise is taken first, for every slot that is empty;
the text that was asked for gets what is left. Of a name (a place, a city) the other things are cut
out wherever they stand; of prose (a reason) only clauses that say nothing else are, and it stays as
it was typed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from router.entities.booleans import yes_or_no
from router.entities.choices import find_choices, is_label
from router.entities.grammar import Found, Span, compiled, only
from router.entities.money import Money
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot, read_as
from router.flow.view import FormView
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import asks, says_nothing
from router.understanding.slots.free_text import (
    EDGE,
    clauses_of,
    is_purpose,
    left_over,
    remainders,
    trimmed,
)
from router.understanding.slots.mappings import (
    SAME_DAY,
    Filling,
    Values,
    happens,
)
from router.understanding.slots.prefill import CAUSES, WHOLE, find_texts, from_things, reason_slot
from router.understanding.triggers.classifier import Blocker
from router.understanding.wishes import asks_the_desk

_HOW_OR_WHAT = Blocker("how-or-what")
_NOT_KNOWN = compiled(f"^{EDGE}*(?:{ZH.not_known}|{EN.not_known}){EDGE}*$")
_CHANGE = Blocker("change")
_ENDS_ASKING = compiled("(?:[啊呀呢么嘛哈]|来着)$")
_NUMERIC = (Decimal, Money)


def empty_slots(view: FormView, asked: str) -> dict[str, Slot]:
    """The slots besides the one asked that have no value; of a range asked for, none."""
    ranged = view.fillable[asked].part_of_range is not None
    return {
        name: slot
        for name, slot in view.fillable.items()
        if name != asked and view.slots.get(name) is None and not (ranged and slot.part_of_range)
    }


def beside(view: FormView, asked: str, utterance: Utterance, used: Iterable[Span] = ()) -> Values:
    """What an answer surely says besides, of slots that are still empty.

    `used` is where it says what was asked, beyond what every reader finds.
    """
    others = empty_slots(view, asked)
    filling = _recognised(others, utterance)
    reason = reason_slot(others)
    if reason is not None:
        spans = [*used, *(f.span for f in utterance.things)]
        spans += [*filling.used, *find_texts(view.fillable, utterance.normalised).used]
        spans += _named_choices(view.fillable, utterance.text)
        spans += [found.span() for found in SAME_DAY.finditer(utterance.text)]
        rest = left_over(utterance.normalised, spans)
        if rest is not None and len(rest) < len(utterance.normalised.typed.strip()):
            filling.values |= _reason(reason, rest)
    return filling.values


def text_answer(view: FormView, asked: str, utterance: Utterance) -> Values | None:
    """The text that was asked for, and what else the answer says; None where it only asks.

    Without the text, where the answer speaks of other slots alone.
    """
    slot, said = view.fillable[asked], utterance.normalised
    is_prose = asked in CAUSES | WHOLE or reason_slot(view.fillable) == asked
    others = {} if asked in WHOLE else empty_slots(view, asked)
    found = _recognised(others, utterance)
    named = find_texts({asked: slot}, replace(said, text=_blotted(said.text, found.used)))
    if not found.values and not named.values and not _goes_on_with_purpose(others, said.text):
        unsaid = _is_question(said.text, prose=is_prose) or _NOT_KNOWN.search(said.text)
        unsaid = unsaid or any(_takes_back(clause.value) for clause in clauses_of(said.text))
        return None if unsaid else _whole(slot, asked, utterance)
    clauses = (said.text[c.start : c.end + 1] for c in clauses_of(said.text))
    if any(_is_question(clause, prose=is_prose) for clause in clauses):
        return None
    taken = [*found.used, *named.used, *_named_choices(others, said.text)]
    values = {**found.values, **named.values}
    if asked not in values:
        own = _prose(said.text, taken) if is_prose else _name(said.text, taken)
        own = [piece for piece in own if not _answers_yes(piece.value)]
        if own:
            values[asked] = _joined(utterance, own)
            taken += [piece.span for piece in own]
    reason = reason_slot(others)
    if reason is not None and reason not in values and (rest := left_over(said, taken)):
        values |= _reason(reason, rest)
    return {n: v for n, v in values.items() if _fits(view.fillable[n], v)} or None


def _reason(name: str, rest: str) -> Values:
    """What is left as a reason; nothing, where that only goes with a value: `全天`."""
    text = normalise(rest).text
    return {name: rest} if trimmed(text, (0, len(text))) else {}


def _whole(slot: Slot, name: str, utterance: Utterance) -> Values | None:
    value = read_as(slot, utterance)
    return None if value is None else {name: value}


def _fits(slot: Slot, value: object) -> bool:
    return not (slot.kind.is_text and isinstance(value, str) and len(value) > slot.max_length)


def _is_question(text: str, *, prose: bool) -> bool:
    """True where it asks; prose may well speak of how and what."""
    if asks(text) or text.rstrip().endswith("?"):
        return True
    return _HOW_OR_WHAT.stops(text) and (not prose or _ENDS_ASKING.search(text) is not None)


def _takes_back(text: str) -> bool:
    """True where a clause has the desk undo something: `刚提交的那个帮我撤回来`."""
    return _CHANGE.stops(text) and asks_the_desk(text, opened=True)


def _answers_yes(text: str) -> bool:
    return yes_or_no(text) is not None or says_nothing(text)


def _recognised(others: Mapping[str, Slot], utterance: Utterance) -> Filling:
    filling = find_texts(others, utterance.normalised)
    filling.add(from_things(others, utterance))
    unfilled = {name: slot for name, slot in others.items() if name not in filling.values}
    filling.add(_bare_number(unfilled, utterance))
    return filling


def _bare_number(slots: Mapping[str, Slot], utterance: Utterance) -> Filling:
    """`两千左右` in a clause of its own, into the only slot that a number by itself may fill.

    `开车去 1500` too, where that is for money: nothing else that is said beside is so large.
    """
    filling, text = Filling(), utterance.text
    numeric = [n for n, slot in slots.items() if slot.kind.takes in _NUMERIC]
    found = only(Decimal, utterance.things)
    if len(numeric) != 1 or len(found) != 1:
        return filling
    (number,), slot = found, slots[numeric[0]]
    clauses = clauses_of(text)
    clause = next((c for c in clauses if c.touches([number.span])), None)
    if clause is None:
        return filling
    bare = len(clauses) > 1 and not any(remainders(text, clause, [number.span]))
    large = number.value >= _LARGE and not _COUNTED.search(text[number.end :])
    if bare or (slot.kind.takes is Money and large):
        span = clause.span if bare else number.span
        value = read_as(slot, utterance.part(*span))
        if value is not None:
            filling.put(numeric[0], value, Found(*span, text[slice(*span)]))
    return filling


_LARGE = 100
_COUNTED = compiled(
    rf"^ ?(?:[个人台天点号月年件张次位楼层室房门块本车班级期]|{EN.counted}|th\b|st\b)"
)


def _blotted(text: str, spans: Iterable[Span]) -> str:
    """The text with a comma for each thing that was taken, everything else where it was."""
    for start, end in spans:
        text = f"{text[:start]},{' ' * (end - start - 1)}{text[end:]}" if start < end else text
    return text


def _goes_on_with_purpose(others: Mapping[str, Slot], text: str) -> bool:
    """True where a later clause says what for, and that wasn't what was asked."""
    later = clauses_of(text)[1:]
    return reason_slot(others) is not None and any(is_purpose(c.value) for c in later)


def _prose(text: str, taken: Sequence[Span]) -> list[Found[str]]:
    """The clauses that say anything besides what was taken, each whole."""
    return [clause for clause in clauses_of(text) if any(remainders(text, clause, taken))]


def _name(text: str, taken: Sequence[Span]) -> list[Found[str]]:
    """What is left of the first clause that says a name, not what for.

    The clause whole, where its words run on around something that was taken.
    """
    clauses = [(clause, list(remainders(text, clause, taken))) for clause in clauses_of(text)]
    said = [(clause, left) for clause, left in clauses if left]
    names = [one for one in said if not is_purpose(one[0].value)] or said
    return [left[0] if len(left) == 1 else clause for clause, left in names[:1]]


def _named_choices(slots: Mapping[str, Slot], text: str) -> list[Span]:
    """Where a choice is named; what happens to people only hints at one, and is a reason too."""
    choices = [slot.choices for slot in slots.values() if slot.kind.made_of == "choices"]
    found = [(each, f.span) for each in choices for f in find_choices(each, text)]
    return [
        span
        for each, span in found
        if is_label(each, text[slice(*span)]) or not happens(text[slice(*span)])
    ]


def _joined(utterance: Utterance, pieces: Sequence[Found[str]]) -> str:
    typed = [utterance.normalised.as_typed(*piece.span).strip(" ,，。") for piece in pieces]
    return (", " if utterance.text.isascii() else "，").join(typed)
