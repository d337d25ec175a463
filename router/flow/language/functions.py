"""What expressions may call: pure functions, and lookups that the world answers.

A function depends on its arguments alone, since runs are replayed, and raises `ValueError` or
`TypeError` with a sentence; list a new one in `FUNCTIONS`. A lookup depends on the world: an
activity (`activities.look_up`) answers it, and the answer is recorded with the run.
"""

import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from pydantic import JsonValue

from router.domain.errors import FaultyValue
from router.domain.value import Value


class PureFunction(NamedTuple):
    """A function's signature and itself. `answers` is for whoever writes a flow."""

    takes: tuple[str, ...]
    answers: str
    call: Callable[..., JsonValue]


WITHOUT_CENTS = frozenset({"JPY", "KRW", "VND"})
MOST_DIGITS = 14


def units_of(currency: JsonValue) -> int:
    """How many minor units one of a currency has, for flows: 100 also where there are more."""
    return 1 if currency in WITHOUT_CENTS else 100


def amount(value: JsonValue) -> int:
    """The integer minor units of a money value: 5800 of ¥58.00."""
    if not isinstance(value, dict) or "amount" not in value:
        raise TypeError(f"amount() takes money such as {{amount, currency}}, not {value!r}")
    try:
        written = Decimal(str(value["amount"]))
    except InvalidOperation:
        raise ValueError(f"{value['amount']!r} isn't an amount of money") from None
    if not written.is_finite() or written.adjusted() > MOST_DIGITS:
        raise ValueError(f"{value['amount']!r} is no amount that anybody pays")
    return int((written * units_of(value.get("currency"))).to_integral_value())


def money(minor: JsonValue, currency: JsonValue) -> dict[str, JsonValue]:
    """The money value of integer minor units."""
    if isinstance(minor, bool) or not isinstance(minor, int) or not isinstance(currency, str):
        raise TypeError(f"money() takes minor units and a currency, not {minor!r}, {currency!r}")
    return {"amount": f"{Decimal(minor) / units_of(currency):.2f}", "currency": currency}


def total(items: JsonValue) -> int:
    """The sum, in minor units, of a list of money or of items that each have an `amount`."""
    if not isinstance(items, list):
        raise TypeError(f"total() takes a list, not {items!r}")
    purses = [_purse(item) for item in items]
    currencies = {purse.get("currency") for purse in purses}
    if len(currencies) > 1:
        raise ValueError(f"amounts in {' and '.join(sorted(map(str, currencies)))} don't add up")
    return sum(amount(purse) for purse in purses)


def _purse(item: JsonValue) -> dict[str, JsonValue]:
    """The money in an item: its `amount`, or the item where it is money itself."""
    inner = item.get("amount") if isinstance(item, dict) else None
    found = inner if isinstance(inner, dict) else item
    if not isinstance(found, dict):
        raise TypeError(f"total() adds money, and {item!r} has none")
    return found


def unique(values: JsonValue) -> bool:
    """True where no value of the list comes twice."""
    if not isinstance(values, list):
        raise TypeError(f"unique() takes a list, not {values!r}")
    return len({_written(value) for value in values}) == len(values)


def _written(value: JsonValue) -> str:
    """The one way to write a value, 1 and 1.0 alike."""
    if isinstance(value, dict):
        inner = ",".join(f"{json.dumps(key)}:{_written(value[key])}" for key in sorted(value))
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def day(moment: JsonValue) -> str:
    """The day of a moment, in the moment's own zone: `day(now)` is the requester's today."""
    return _day(moment).isoformat()


def plus_days(start: JsonValue, days: JsonValue) -> str:
    """The day that comes a number of calendar days after another, or before it."""
    if isinstance(days, bool) or not isinstance(days, int | float):
        raise TypeError(f"plus_days() takes a number of days, not {days!r}")
    try:
        return (_day(start) + timedelta(days=int(days))).isoformat()
    except OverflowError:
        raise ValueError(f"there is no day {days} days from {start}") from None


def _day(moment: JsonValue) -> date:
    try:
        return date.fromisoformat(str(moment)[:10])
    except ValueError:
        raise ValueError(f"{moment!r} isn't a day or a moment such as 2026-11-18") from None


FUNCTIONS: dict[str, PureFunction] = {
    "amount": PureFunction(("money",), "integer minor units: 5800 for ¥58.00", amount),
    "money": PureFunction(("minor", "currency"), "the money value of minor units", money),
    "total": PureFunction(("items",), "integer minor units of all items together", total),
    "unique": PureFunction(("values",), "true where no value comes twice", unique),
    "day": PureFunction(("moment",), "the day of a moment, as 2026-11-18", day),
    "plus_days": PureFunction(("day", "days"), "the day so many days later", plus_days),
}


class Lookup(Value):
    """A lookup's signature, and the JSON it gives; the last parameters may have `defaults`."""

    name: str
    takes: tuple[str, ...]
    answers: str
    defaults: tuple[JsonValue, ...] = ()

    @property
    def least(self) -> int:
        """How many arguments an expression has to give."""
        return len(self.takes) - len(self.defaults)

    def filled_up(self, arguments: list[JsonValue]) -> list[JsonValue]:
        """The arguments with the defaults of those that were left out."""
        given = len(arguments)
        return arguments + list(self.defaults[max(0, given - self.least) :])


_OWN: dict[str, tuple[tuple[str, ...], str]] = {
    "manager": (("person",), "the user id of the person's manager, or null; of null, null"),
    "names": (("people",), "what the people with these user ids are called, in their order"),
    "role": (("role",), "the user ids of everyone who holds the role, ordered"),
    "stand_ins": (
        ("people", "requester", "at"),
        (
            "who is asked in place of each of these people at that moment, in their order: the "
            "person, or whoever stands in for one who is away, and never the requester; null of "
            "whoever is gone"
        ),
    ),
    "working_time": (
        ("person", "start", "duration"),
        (
            "the moment at which so much of the person's working time has passed since start; "
            "duration as {'days': 1, 'hours': 4}"
        ),
    ),
    "document_of": (
        ("person", "file"),
        "what was read of the person's file; null where they have none such, or it isn't read",
    ),
    "used_before": (
        ("file",),
        (
            "'same' where the paper was put before an approver already, in a request that came "
            "to something, 'alike' where one that looks the same was, else ''"
        ),
    ),
    "file_name": (
        ("person", "file"),
        "what the person's file with this id is called; null where they have none such",
    ),
}
LOOKUPS = {n: Lookup(name=n, takes=takes, answers=says) for n, (takes, says) in _OWN.items()}
"""The engine's own, and those that somebody has declared besides."""


def declare(lookup: Lookup) -> None:
    """Let flow files use a lookup; `ValueError` where its name means something else already."""
    known = LOOKUPS.get(lookup.name, lookup)
    if lookup.name in FUNCTIONS or (known.takes, known.defaults) != (lookup.takes, lookup.defaults):
        raise FaultyValue(f"{lookup.name}() is something else in flow files", "rename the lookup")
    LOOKUPS[lookup.name] = known
