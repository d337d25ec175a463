"""What a message states of the slots that a model gave for it: checked, and read again by rules.

A model is good at which words answer which slot and bad at arithmetic: what it worked out by itself
gives way to what rules read. Texts count as they stand there, numbers however they are written, but
not the figures of a date; yes and no count of what is named.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, time
from decimal import Decimal

from pydantic import JsonValue

from router.entities.ambiguity import Ambiguous
from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.extraction import entities_of
from router.entities.grammar import Found, compiled, cuts_a_word
from router.entities.money import Money
from router.entities.normalisation import normalise
from router.entities.numbers import DIGITS, EN_NUMBER, ZH_NUMBER, parse_number
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot, SlotType, form_values, slot_at
from router.flow.view import FlowView
from router.understanding.dialogue_acts import says_nothing
from router.understanding.slots.prefill import prefill

_NUMBER = compiled(f"{EN_NUMBER}|{ZH_NUMBER}")
_FIGURES = compiled(f"^{DIGITS}$")
_NUMERIC = (Decimal, Money, Duration)
_MINUS = compiled("(?:-|负|minus )$")
_SET_TO = r"(?:\b(?:to|as|is)\b|[=:]|[改设]?[为成是])"
_SETS = compiled(rf"(?:{_SET_TO}|\b(?:make|set) it) ?$")
_SETS_YES = compiled(rf"{_SET_TO} ?(?:(?:yes|true|on)\b|[是对真])")
_SETS_NO = compiled(rf"{_SET_TO} ?(?:(?:no|false|off)\b|[否假])")
_DENIES = compiled(r"\b(?:no|not|without|never|don'?t|doesn'?t|isn'?t|needn'?t)\b|[不没非别无]")
_SHORTEST_NAME = 4
"""Letters of a slot's name that say by themselves what is meant."""


def says(utterance: Utterance, name: str, slot: Slot | None, value: JsonValue) -> bool:
    """Whether the message states this value for the slot, which is called `name`."""
    match value:
        case bool():
            return _says_whether(utterance.text, name, slot, value)
        case int() | float():
            return _says_number(utterance, Decimal(str(value)))
        case str() if value.strip():
            numeric = slot is not None and slot.kind.takes in _NUMERIC
            number = parse_number(value) if numeric and _FIGURES.search(value.strip()) else None
            quoted = value.strip() in utterance.normalised.typed
            # A number that was given as a text may be written otherwise in the message.
            return quoted or (number is not None and _says_number(utterance, number))
        case [_, *_]:
            item = slot.of if slot else None
            return all(says(utterance, name, item, each) for each in value)
    return False


def _says_number(utterance: Utterance, number: Decimal) -> bool:
    return any(
        (-said if _MINUS.search(utterance.text[:start]) else said) == number
        for start, said in _numbers(utterance)
    )


def _numbers(utterance: Utterance) -> Iterator[tuple[int, Decimal]]:
    text, moments = utterance.text, []
    for thing in utterance.things:
        match thing.value:
            case Money(amount=number) | Duration(count=number) | (Decimal() as number):
                yield thing.start, number
            case Days() | time() | Ambiguous():
                moments.append(thing.span)
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        within = Found(start, end, "").touches(moments) or cuts_a_word(text, start)
        value = None if within or cuts_a_word(text, end) else parse_number(match.group())
        # The `one` of `this one` and the 一 of 改一下 count nothing.
        if value is not None and (match.group() not in {"one", "一"} or _SETS.search(text[:start])):
            yield start, value


def _says_whether(text: str, name: str, slot: Slot | None, value: bool) -> bool:
    """Yes or no of something named: `make it urgent`, `urgent = no`, `不加急`."""
    if not any(word in text for word in _names(name, slot)):
        return bool((_SETS_YES if value else _SETS_NO).search(text))
    denied = bool(_DENIES.search(text) or _SETS_NO.search(text))
    return denied != value


def _names(name: str, slot: Slot | None) -> Iterator[str]:
    label = slot.label if slot else None
    for words in (label.zh, label.en) if label else ():
        yield normalise(words).text
    for word in normalise(name).text.replace("_", " ").split():
        if len(word) >= _SHORTEST_NAME or not word.isascii():
            yield word


Slots = Mapping[str, Slot]
Values = Mapping[str, JsonValue]
Shaped = dict[str, JsonValue]


def stated(slots: Slots, given: Values, text: str, now: datetime) -> Shaped:
    """The model's values in the shapes of their slots, with what rules read in the message.

    Free text is the model's, and so is what it gave in the message's own words, and a choice
    that the message doesn't name. Where rules read one day, no other is guessed.
    """
    return _put(slots, given, prefill(slots, Utterance.of(text, now)), text, now)


def _put(slots: Slots, given: Values, read: Values, text: str, now: datetime) -> Shaped:
    shaped = form_values(slots, _without_guesses(slots, given, read, text), now)
    for name, value in read.items():
        if not _is_the_models(slots[name], given.get(name), value, text):
            shaped[name] = _merged(shaped.get(name), value)
    return shaped


def changed(view: FlowView, given: Values, text: str, now: datetime) -> Shaped:
    """What of a model's values for the flow that asks is new, and not made up.

    What isn't asked for changes where the message says so: rules read it there, or it was given
    in the message's own words. Where nothing of that is so the message is about something
    else: then choices and days are taken as the model understood them, and days also where
    the message names none that rules could read.
    """
    utterance = Utterance.of(text, now)
    entities = entities_of(utterance.normalised, utterance.things)
    named = any(entity.type in ("date", "date_range") for entity in entities)
    read = prefill(view.fillable, utterance)
    takes = {name: slot.kind.takes for name, slot in view.fillable.items()}
    if not named and any(takes.get(name) is Days for name in given):
        # "One day more" is a length too, and not that of the whole: the model's day stands.
        read = {n: value for n, value in read.items() if takes[n] not in (Days, Duration)}
    asked = {name.partition(".")[0] for name in view.awaiting}
    said = {name for name in read if not view.fillable[name].kind.is_text}
    values = {
        name: value
        for name, value in _put(view.fillable, given, read, text, now).items()
        if value != view.slots.get(name)
    }
    plain = {
        name
        for name in values
        if name.partition(".")[0] in asked
        or name in said
        or says(utterance, name, slot_at(view.fillable, name), given.get(name))
    }
    rest = {n: view.fillable[n].kind for n in values.keys() - plain if n in view.fillable}
    understood = _understood(text, rest, about_it=bool(plain), named=named)
    return {name: value for name, value in values.items() if name in plain | understood}


def _understood(
    text: str, rest: Mapping[str, SlotType], *, about_it: bool, named: bool
) -> set[str]:
    """Those to trust a model with; none where it made up a text: so it made up others."""
    if says_nothing(text) or any(kind.is_text for kind in rest.values()):
        return set()
    days = not (about_it and named)
    return {
        name
        for name, kind in rest.items()
        if (days if kind.takes is Days else kind.made_of == "choices" and not about_it)
    }


def _without_guesses(slots: Slots, given: Values, read: Values, text: str) -> Values:
    if not any(slots[name].kind.takes is Days for name in read):
        return given
    return {
        name: value
        for name, value in given.items()
        if name not in slots or slots[name].kind.takes is not Days or _is_quoted(value, text)
    }


def _is_the_models(slot: Slot, given: JsonValue, read: JsonValue, text: str) -> bool:
    if slot.kind.is_text:
        return True
    if not isinstance(given, str) or not given.strip():
        return False
    choice = slot.choices.get(str(read))
    if choice is not None and given in slot.choices:
        labels = (choice.label.zh, choice.label.en)
        return not any(label.casefold() in text.casefold() for label in labels)
    return _is_quoted(given, text)


def _is_quoted(given: JsonValue, text: str) -> bool:
    return isinstance(given, str) and bool(given.strip()) and given.strip() in text


def _merged(given: JsonValue, read: JsonValue) -> JsonValue:
    """What was read; of as many items on both sides, with what only the model has of each."""
    if not isinstance(given, list) or not isinstance(read, list):
        return read
    if len(given) != len(read):
        return given
    return [
        {**model, **rule} if isinstance(model, dict) and isinstance(rule, dict) else rule
        for model, rule in zip(given, read, strict=True)
    ]
