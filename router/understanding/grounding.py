"""What a message states of the slots that a model gave for it: checked, and read again by rules.

A model is good at which words answer which slot and bad at arithmetic: what it worked out by itself
gives way to what rules read. Texts count as they stand there, numbers however they are written, but
not the figures of a date; yes and no count of what is named.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
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
from router.flow.view import FormView
from router.understanding.dialogue_acts import says_nothing
from router.understanding.evidence import SpokenEvidence
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


def is_figure(slot: Slot | None) -> bool:
    """Whether it takes a number or an amount, or has fields that may: what is asked about first."""
    if slot is None or slot.of is not None or slot.fields:
        return slot is not None
    return slot.kind.takes in _NUMERIC


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


def stated(
    slots: Slots, given: Values, text: str, now: datetime, before: Sequence[str] | None = ()
) -> Shaped:
    """The model's values in the shapes of their slots, with what rules read in the message.

    What neither the message holds nor what was said `before` it is dropped, for the flow to ask;
    where that is None, nothing is. Where rules read one day, no other is guessed.
    """
    evidence = None if before is None else SpokenEvidence(text, before, now)
    return _put(slots, given, prefill(slots, Utterance.of(text, now)), text, now, evidence)


def _put(
    slots: Slots,
    given: Values,
    read: Values,
    text: str,
    now: datetime,
    evidence: SpokenEvidence | None = None,
) -> Shaped:
    read = _where_meant(slots, given, read, now)
    if evidence is not None:
        shaped = _held(slots, form_values(slots, given, now), evidence)
    else:
        shaped = form_values(slots, _without_guesses(slots, given, read, text), now)
    for name, value in read.items():
        if not _is_the_models(slots[name], given.get(name), value, text):
            shaped[name] = _merged(shaped.get(name), value)
    return shaped


def _where_meant(slots: Slots, given: Values, read: Values, now: datetime) -> Values:
    """What rules read, each day in the slot that the model gave it for: rules know days alone."""
    days = {n: v for n, v in form_values(slots, given, now).items() if n in slots}
    moved = dict(read)
    for name, value in days.items():
        if slots[name].kind.takes is not Days or name in moved:
            continue
        other = next((n for n, v in read.items() if v == value and n not in given), None)
        if other is not None and other in moved and slots[other].kind.takes is Days:
            moved[name] = moved.pop(other)
    return moved


def _held(slots: Slots, shaped: Values, evidence: SpokenEvidence) -> Shaped:
    held: Shaped = {}
    for name, value in shaped.items():
        slot = slot_at(slots, name)
        if isinstance(value, bool):
            said: JsonValue = value if says(evidence.message, name, slot, value) else None
        else:
            said = None if slot is None else evidence.part(slot, value)
        if said is not None:
            held[name] = said
    return held


def bare(text: str) -> str:
    """The text's letters and figures alone.

    >>> bare("Two words.")
    'twowords'
    """
    return "".join(character for character in text.casefold() if character.isalnum())


def without_whole(values: Mapping[str, JsonValue], text: str) -> dict[str, JsonValue]:
    """The values but such as repeat the whole message: that is no reason for what it asks for."""
    whole = bare(text)
    return {n: v for n, v in values.items() if not isinstance(v, str) or bare(v) != whole}


def grounded_call(
    slots: Slots,
    given: Values,
    text: str,
    now: datetime,
    before: Sequence[str],
    *,
    alone: bool = True,
) -> tuple[Shaped, list[str]]:
    """A tool's arguments, less the days, numbers and amounts that nobody said; and those names.

    A day that rules read for the argument takes the place of one that nobody said, where the
    message is for this call `alone`. What a tool that reads is asked in words is the model's to
    put, but for numbers, ids and brackets in it; so is a choice that the tool can't do without.
    """
    evidence, kept, dropped = SpokenEvidence(text, before, now), dict(given), []
    for name, value in given.items():
        slot = slots.get(name)
        if slot is None or isinstance(value, bool):
            continue
        if slot.kind.made_of == "choices" and slot.required:
            continue
        plain = slot.kind.is_text and isinstance(value, str)
        made_up = [*evidence.numbers(str(value)), *evidence.names(str(value))] if plain else []
        fine = not made_up if plain else evidence.part(slot, value) == value
        if not fine:
            dropped.append(name)
            del kept[name]
        elif plain:
            kept[name] = with_brackets(str(value), text)
    days = {name for name in dropped if slots[name].kind.takes is Days} if alone else set()
    read = prefill(slots, Utterance.of(text, now)) if days else {}
    kept |= {name: value for name, value in read.items() if name in days}
    return kept, [name for name in dropped if name not in kept]


_OPENING, _CLOSING = "([{（【", ")]}）】"


def with_brackets(given: str, text: str) -> str:
    """The words as they stand in the message, where they lost nothing but brackets on the way.

    A small model copies a sum without them, which is another sum.

    >>> with_brackets("2 + 3 * 4", "what is (2+3) * 4?")
    '(2+3) * 4'
    """
    places = [n for n, sign in enumerate(text) if not _is_between(sign)]
    lost = "".join(sign for sign in given if not _is_between(sign))
    at = "".join(text[n] for n in places).find(lost) if lost else -1
    if at < 0:
        return given
    start, end = places[at], places[at + len(lost) - 1] + 1
    while start and text[start - 1] in f"{_OPENING} ":
        start -= 1
    while end < len(text) and text[end] in f"{_CLOSING} ":
        end += 1
    said = text[start:end].strip()
    return said if _is_balanced(said) else given


def _is_between(sign: str) -> bool:
    return sign.isspace() or sign in _OPENING or sign in _CLOSING


def _is_balanced(text: str) -> bool:
    open_ones: list[str] = []
    for sign in text:
        if sign in _OPENING:
            open_ones.append(_CLOSING[_OPENING.index(sign)])
        elif sign in _CLOSING and (not open_ones or open_ones.pop() != sign):
            return False
    return not open_ones


def changed(
    view: FormView, given: Values, text: str, now: datetime, before: Sequence[str] = ()
) -> Shaped:
    """What of a model's values for the flow that asks is new, and not made up.

    What isn't asked for changes where the message says so: rules read it there, or it was given
    in the message's own words. Where nothing of that is so the message is about something
    else: then choices are taken as the model understood them, and days that were said, also
    `before`, or that are as much earlier or later as the message says.
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
    evidence = SpokenEvidence(text, before, now)
    for name in plain:
        slot, value = slot_at(view.fillable, name), values[name]
        made_up = name not in said and slot and not _may_be_meant(slot, value, evidence)
        values[name] = None if made_up else _parts_said(view, name, value, evidence)
    for name in [n for n in understood if rest[n].takes is Days]:
        known, value = view.slots.get(name), values[name]
        is_said = evidence.part(view.fillable[name], value) is not None
        if not is_said and not _is_moved(utterance, known, value):
            understood.discard(name)
    new = {n: v for n, v in values.items() if n in plain | understood and v is not None}
    return {name: value for name, value in new.items() if value != view.slots.get(name)}


# What says when, though rules may read no day in it: the day after Christmas, 年会前两天.
_SAYS_WHEN = compiled(
    r"[天日周月号年节前后晚早]|\b(?:days?|weeks?|weekend|months?|years?|before|after|next|last|eve"
    r"|morning|afternoon|evening|noon|night|tomorrow|christmas|easter)\b"
)


def _may_be_meant(slot: Slot, value: JsonValue, evidence: SpokenEvidence) -> bool:
    """Whether a model may have understood this from the message, for what was asked.

    A choice it may, and a day out of words that say when; a number or words it can only repeat.
    """
    if says_nothing(evidence.message.text):
        return False
    if slot.kind.takes is Days:
        is_said = evidence.part(slot, value) is not None
        return is_said or _SAYS_WHEN.search(evidence.message.text) is not None
    if slot.kind.takes in _NUMERIC or slot.kind.is_text:
        return evidence.part(slot, value) is not None
    return True


def _parts_said(view: FormView, name: str, value: JsonValue, evidence: SpokenEvidence) -> JsonValue:
    """Of a list or its items what was said, asked for or known already; of all else the value."""
    slot = slot_at(view.fillable, name)
    if slot is None or not isinstance(value, list | dict) or not (slot.of or slot.fields):
        return value
    return _part_said(slot, value, name, view, evidence)


def _part_said(
    slot: Slot, value: JsonValue, path: str, view: FormView, evidence: SpokenEvidence
) -> JsonValue:
    if isinstance(value, list) and slot.of is not None:
        own = slot.of
        parts = [
            _part_said(own, item, f"{path}.{n}", view, evidence) for n, item in enumerate(value)
        ]
        return [part for part in parts if part is not None] or None
    if isinstance(value, dict) and slot.fields:
        fields = {
            name: _part_said(slot.fields[name], each, f"{path}.{name}", view, evidence)
            for name, each in value.items()
            if name in slot.fields
        }
        return {name: part for name, part in fields.items() if part is not None} or None
    known = value_at(view.slots, path)
    said = path in view.awaiting or evidence.part(slot, value) is not None
    return value if said else known


def value_at(values: JsonValue, path: str) -> JsonValue:
    """What stands at a path such as `items.0.amount`; None where nothing does."""
    for key in path.split("."):
        if isinstance(values, list):
            values = values[int(key)] if key.isdigit() and int(key) < len(values) else None
        else:
            values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _is_moved(utterance: Utterance, known: JsonValue, value: JsonValue) -> bool:
    """Whether the day is as far from the one that is known as the message says: `多加一天`."""
    lengths = {t.value.count for t in utterance.things if isinstance(t.value, Duration)}
    try:
        moved = date.fromisoformat(str(value)[:10]) - date.fromisoformat(str(known)[:10])
    except ValueError:
        return False
    return abs(moved.days) in lengths or (abs(moved.days) / 7) in lengths


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
