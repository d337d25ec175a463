"""What a message states, of the slots that a model gave for it.

A model is good at which words answer which slot and bad at arithmetic: it is asked for the
words, and what it worked out by itself gives way to what rules read in the same message.
"""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from router.flow.model import Choice, Slot
from router.flow.view import FlowView
from router.understanding.entities import entities_of
from router.understanding.forms import form_values, slot_at
from router.understanding.pleasantries import says_nothing
from router.understanding.prefill import prefill
from router.understanding.quoting import says
from router.understanding.utterance import Utterance

Slots = Mapping[str, Slot]
Values = Mapping[str, JsonValue]


def stated(slots: Slots, given: Values, text: str, now: datetime) -> dict[str, JsonValue]:
    """The model's values in the shapes of their slots, with what rules read in the message.

    Free text is the model's, and so is what it gave in the message's own words, and a choice
    that the message doesn't name. Where rules read one day, no other is guessed.
    """
    return _put(slots, given, prefill(slots, Utterance.of(text, now)), text, now)


def _put(
    slots: Slots, given: Values, read: Values, text: str, now: datetime
) -> dict[str, JsonValue]:
    shaped = form_values(slots, _without_guesses(slots, given, read, text), now)
    for name, value in read.items():
        if not _is_the_models(slots[name], given.get(name), value, text):
            shaped[name] = _merged(shaped.get(name), value)
    return shaped


def changed(view: FlowView, given: Values, text: str, now: datetime) -> dict[str, JsonValue]:
    """What of a model's values for the flow that asks is new, and not made up.

    What isn't asked for changes where the message says so: rules read it there, or it was given
    in the message's own words. Where nothing of that is so the message is about something
    else: then choices and days are taken as the model understood them, and days also where
    the message names none that rules could read.
    """
    utterance = Utterance.of(text, now)
    named = _names_days(utterance)
    read = _less_reckoned(prefill(view.fillable, utterance), given, view, named=named)
    asked = {_head(name) for name in view.awaiting}
    said = {name for name in read if view.fillable[name].type != "text"}
    values = {
        name: value
        for name, value in _put(view.fillable, given, read, text, now).items()
        if value != view.slots.get(name)
    }
    plain = {
        name
        for name in values
        if _head(name) in asked
        or name in said
        or says(utterance, name, slot_at(view.fillable, name), given.get(name))
    }
    rest = {name: _kind(view.fillable, name) for name in values.keys() - plain}
    understood = _understood(text, rest, about_it=bool(plain), named=named)
    return {name: value for name, value in values.items() if name in plain | understood}


def _understood(text: str, rest: Mapping[str, str], *, about_it: bool, named: bool) -> set[str]:
    """Of values that nothing in the message states, by their kind: those to trust a model with.

    None where one of them is a text that nobody wrote: whoever makes up one makes up others.
    """
    if says_nothing(text) or "text" in rest.values():
        return set()
    kinds = set() if about_it else {"choice", "date"}
    if not named:
        kinds.add("date")
    return {name for name, kind in rest.items() if kind in kinds}


def _names_days(utterance: Utterance) -> bool:
    entities = entities_of(utterance.normalised, utterance.things)
    return any(entity.type in ("date", "date_range") for entity in entities)


def _less_reckoned(
    read: Values, given: Values, view: FlowView, *, named: bool
) -> dict[str, JsonValue]:
    """What rules read, less a length and the days reckoned from it, where the model names a day.

    "One day more" is a length too, and not that of the whole.
    """
    if named or not any(_kind(view.fillable, name) == "date" for name in given):
        return dict(read)
    reckoned = {name for name in read if _kind(view.fillable, name) in ("date", "duration")}
    return {name: value for name, value in read.items() if name not in reckoned}


def _kind(slots: Slots, name: str) -> str:
    return slots[name].type if name in slots else ""


def _head(path: str) -> str:
    """The slot that `items.0.amount` is a part of."""
    return path.split(".", maxsplit=1)[0]


def _without_guesses(slots: Slots, given: Values, read: Values, text: str) -> Values:
    if not any(slots[name].type == "date" for name in read):
        return given
    return {
        name: value
        for name, value in given.items()
        if name not in slots or slots[name].type != "date" or _is_quoted(value, text)
    }


def _is_the_models(slot: Slot, given: JsonValue, read: JsonValue, text: str) -> bool:
    """Whether the slot is for the model to fill, whatever rules read."""
    if slot.type == "text":
        return True
    if not isinstance(given, str) or not given.strip():
        return False
    choice = slot.choices.get(str(read))
    if choice is not None and given in slot.choices:
        return not _is_named(choice, text)
    return _is_quoted(given, text)


def _is_quoted(given: JsonValue, text: str) -> bool:
    return isinstance(given, str) and bool(given.strip()) and given.strip() in text


def _is_named(choice: Choice, text: str) -> bool:
    return any(label.casefold() in text.casefold() for label in (choice.label.zh, choice.label.en))


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
