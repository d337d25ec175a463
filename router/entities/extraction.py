"""Everything recognisable in a sentence, by its place in the text and with its value."""

from collections.abc import Iterable
from datetime import time
from decimal import Decimal
from itertools import chain
from typing import Literal, NamedTuple

from pydantic import JsonValue

from router.domain.value import Value
from router.entities.ambiguity import Ambiguous, ambiguities
from router.entities.booleans import yes_or_no
from router.entities.dates import Days, find_dates
from router.entities.days import Calendar
from router.entities.durations import Duration, find_durations, find_times
from router.entities.grammar import MOST_FOUND, Found, longest, noting_stops
from router.entities.money import Money, find_money
from router.entities.normalisation import Normalised
from router.entities.numbers import find_numbers

EntityType = Literal[
    "date", "date_range", "duration", "money", "number", "time", "boolean", "choice"
]


class Entity(Value):
    """One thing recognised. `span` is half-open and counts characters of the text as typed.

    date        "2026-11-19"
    date_range  {"start", "end"[, "start_half"][, "end_half"]}, both ends included; halves am, pm
    duration    {"days": 3.5}, or hours, or weeks
    money       {"amount": "58.00", "currency": "CNY"}
    number      "3.5"
    time        "14:30"
    boolean     true, false
    choice      the value chosen
    """

    type: EntityType
    text: str
    span: tuple[int, int]
    value: JsonValue


EntityValue = Days | Money | Duration | time | Decimal | bool
Thing = EntityValue | Ambiguous
"""What is found in a text: a value, or that there is one which nobody can be sure of."""


def entities_of(text: Normalised, things: Iterable[Found[Thing]]) -> list[Entity]:
    """Things found in the normalised text as entities of the text as typed."""
    entities = []
    for found in things:
        if isinstance(found.value, Ambiguous):
            continue
        kind, value = described(found.value)
        typed, span = text.as_typed(*found.span), text.span(*found.span)
        entities.append(Entity(type=kind, text=typed, span=span, value=value))
    return entities


class ReadThings(NamedTuple):
    """What was read of a text, and where reading stopped; `None` if it was read to its end."""

    things: list[Found[Thing]]
    stopped_at: int | None = None


def find_things(text: str, calendar: Calendar) -> ReadThings:
    """What a normalised text names, in order, none overlapping; answers, days, money, numbers.

    What is part of an amount or a length that isn't known is `Ambiguous`. Nothing is read behind
    the place at which the text has named `MOST_FOUND` things.
    """
    answer = yes_or_no(text)
    if answer is not None:
        return ReadThings([Found(0, len(text), answer)])
    with noting_stops() as stops:
        things = _found(text, calendar)
    stops += [thing.start for thing in things[MOST_FOUND : MOST_FOUND + 1]]
    if not stops:
        return ReadThings(things)
    return ReadThings([thing for thing in things if thing.start < min(stops)], min(stops))


def _found(text: str, calendar: Calendar) -> list[Found[Thing]]:
    found = (find_dates(text, calendar), find_money(text), find_durations(text), find_times(text))
    certain: list[Found[Thing]] = longest(chain[Found[Thing]](*found))
    spans = [thing.span for thing in certain]
    bare = [number for number in find_numbers(text) if not number.touches(spans)]
    things = sorted([*certain, *bare], key=lambda f: f.start)
    unsure = ambiguities(text, things)
    known = [thing for thing in things if not thing.touches(f.span for f in unsure)]
    return sorted([*known, *unsure], key=lambda f: f.start)


def described(thing: EntityValue) -> tuple[EntityType, JsonValue]:
    """The type of a thing, and its value in that type's shape."""
    match thing:
        case bool():
            return "boolean", thing
        case Decimal():
            return "number", f"{thing.normalize():f}"
        case Money():
            return "money", dict(thing.value())
        case Duration():
            return "duration", dict(thing.value())
        case time():
            return "time", thing.strftime("%H:%M")
        case Days():
            return (
                ("date", thing.first.isoformat()) if thing.single else ("date_range", ends(thing))
            )


def ends(days: Days) -> dict[str, JsonValue]:
    """The shape of a date range; the halves only where they were named."""
    halves = {"start_half": days.first_half, "end_half": days.last_half}
    named = {name: half for name, half in halves.items() if half}
    return {"start": days.first.isoformat(), "end": days.last.isoformat(), **named}
