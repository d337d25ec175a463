"""Form fields and other raw values, brought into the shapes that slots have.

Several plain values in one answer: `a, b and c`, `甲、乙和丙`, or one a line.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal

from pydantic import JsonValue

from router.domain.file_types import is_file_id
from router.entities.booleans import leaning, numbered, yes_or_no
from router.entities.choices import answered_choice
from router.entities.dates import Days
from router.entities.days import Calendar, FixedDay, YearDay
from router.entities.durations import Duration
from router.entities.grammar import compiled, only
from router.entities.money import DEFAULT_CURRENCY, Money, is_exact
from router.entities.numbers import ZH_COUNT, parse_number
from router.entities.utterance import Utterance
from router.flow.definition import Slot

_SEPARATOR = re.compile(r"[、，;；\n]|(?<!\d),|,(?!\d{3}(?!\d))")
"""A comma between thousands, `1,200`, separates nothing."""
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_LAST = re.compile(r"(?<=\S)\s*(?:以及|和|及)\s*(?=\S)")
"""Between the last two of a row only: by itself it is part of many a word, `和平`, `以及格`."""
_LEADING = re.compile(r"^(?:and|&)\s+|^(?:以及|和)\s*", re.IGNORECASE)


def is_listed(slot: Slot | None) -> bool:
    """True for a list of plain values, which one answer may name together."""
    of = slot.of if slot is not None and slot.type == "list" else None
    return of is not None and of.type not in ("object", "list")


def pieces(typed: str) -> list[str]:
    """The things that are named in a row; one alone where nothing separates any.

    >>> pieces("milk, 1,200 eggs and bread"), pieces("张三、李四和王五")
    (['milk', '1,200 eggs', 'bread'], ['张三', '李四', '王五'])
    """
    row = [part.strip() for part in _SEPARATOR.split(typed)]
    row = [part for part in row if part]
    if not row:
        return []
    *before, last = row
    if before:
        last = _LEADING.sub("", last)
        ends = _AND.split(last) if _AND.search(last) else _LAST.split(last, maxsplit=1)
    else:
        ends = _AND.split(last)
    return [*before, *(end.strip() for end in ends if end.strip())]


_FIGURES = compiled(
    r"^(?P<year>20\d\d)[-./]?(?P<month>0[1-9]|1[0-2])[-./]?(?P<day>0[1-9]|[12]\d|3[01])$"
    r"|^(?P<m>0?[1-9]|1[0-2])[-. ](?P<d>0?[1-9]|[12]\d|3[01])[日号]?$"
)
_NEGATIVE = compiled("^(?:[-−]|(?:负|minus ) ?)(?P<n>[^-−].*)$")

_COUNTED = compiled(
    f"^(?:是|有|要|共|一共|大概|改成|就"
    f"|只要?)*(?P<n>{ZH_COUNT}) ?[个位名人只台份间次][^0-9零一二三四五六七八九十]{{0,3}}$"
)

Values = Mapping[str, JsonValue]


def form_values(slots: Mapping[str, Slot], values: Values, now: datetime) -> dict[str, JsonValue]:
    """The fields of a form as slot values, under the names they came with.

    A name may be a path, `items.0.amount`. What can't be read as its slot wants it stays as
    it was given, and so do fields that nobody knows: the flow refuses them with a message.
    """
    shaped: dict[str, JsonValue] = {}
    for name, value in values.items():
        slot = slot_at(slots, name)
        shaped[name] = value if slot is None else coerced(slot, value, now)
    return shaped


def slot_at(slots: Mapping[str, Slot], path: str) -> Slot | None:
    """The slot of `items.0.amount` or `reason` among these; None where there is none such."""
    name, *rest = path.split(".")
    slot = slots.get(name)
    for part in rest:
        if slot is None:
            return None
        slot = slot.of if slot.type == "list" and part.isdigit() else slot.fields.get(part)
    return slot


def coerced(slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
    """The value in the slot's shape, or as it was given where that can't be made of it."""
    if isinstance(value, str) and slot.of is not None and is_listed(slot):
        return [coerced(slot.of, piece, now) for piece in pieces(value)]
    if isinstance(value, str):
        read = _READERS.get(slot.type)
        shaped = read(slot, Utterance.of(value, now)) if read else None
        return value if shaped is None else shaped
    if isinstance(value, list) and slot.type == "list" and slot.of is not None:
        return [coerced(slot.of, item, now) for item in value]
    if isinstance(value, dict) and slot.type == "object":
        return form_values(slot.fields, value, now)
    return _from_number(slot, value)


def _from_number(slot: Slot, value: JsonValue) -> JsonValue:
    if isinstance(value, dict) and slot.type == "money":
        return _shaped_money(value)
    if isinstance(value, dict) and slot.type == "file":
        return value.get("id", value)  # what the upload was answered, whole
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if slot.type == "money":
        return _money(Decimal(str(value)), DEFAULT_CURRENCY) or str(value)
    return {"days": value} if slot.type == "duration" else value


def _shaped_money(value: dict[str, JsonValue]) -> JsonValue:
    amount = parse_number(str(value.get("amount", "")))
    currency = value.get("currency") or DEFAULT_CURRENCY
    if amount is None or not isinstance(currency, str) or not set(value) <= {"amount", "currency"}:
        return value
    return _money(amount, currency.upper()) or str(value["amount"])


def _money(amount: Decimal, currency: str) -> dict[str, JsonValue] | None:
    """An amount in its shape; None where it has more decimals than money has."""
    return dict(Money(amount, currency).value()) if is_exact(amount) else None


def read_choice(slot: Slot, utterance: Utterance) -> JsonValue:
    """The choice that is named, numbered or begun."""
    return answered_choice(slot.choices, utterance.text)


def read_date(_: Slot, utterance: Utterance) -> JsonValue:
    """The one day that is named."""
    days = [f.value for f in utterance.meant if isinstance(f.value, Days)]
    if not days:
        return _written_day(utterance)
    return days[0].first.isoformat() if len(days) == 1 and days[0].first == days[0].last else None


def _written_day(utterance: Utterance) -> JsonValue:
    """Figures that are a day only since one was asked for: `12-24`, `12.24`, `20261224`."""
    match = _FIGURES.search(utterance.text)
    if match is None:
        return None
    if match.group("year"):
        year, month, day = (int(match.group(n)) for n in ("year", "month", "day"))
        term: FixedDay | YearDay = FixedDay(year, month, day)
    else:
        term = YearDay(int(match.group("m")), int(match.group("d")))
    found = term.on(Calendar(utterance.now.date()))
    return found.isoformat() if found else None


def read_money(_: Slot, utterance: Utterance) -> JsonValue:
    """The one amount that is named; a bare number is in the house's currency."""
    amounts = [f.value for f in utterance.things if isinstance(f.value, Money)]
    if len(amounts) == 1:
        return dict(amounts[0].value())
    number = _only_number(utterance)
    if number is None:
        number = _below_zero(utterance.text)
    return None if number is None or amounts else _money(number, DEFAULT_CURRENCY)


def read_number(_: Slot, utterance: Utterance) -> JsonValue:
    """The one number that is named; below zero where it is all that is said: `-3`, `负三`."""
    number = _only_number(utterance)
    if number is None:
        number = _below_zero(utterance.text) or _counted(utterance.text)
    if number is None:
        return None
    return int(number) if number == number.to_integral_value() else float(number)


def read_duration(_: Slot, utterance: Utterance) -> JsonValue:
    """How long; a bare number counts days."""
    lengths = [f.value for f in utterance.things if isinstance(f.value, Duration)]
    if len(lengths) == 1:
        return dict(lengths[0].value())
    number = _only_number(utterance)
    return None if number is None or lengths else dict(Duration(number, "days").value())


def read_boolean(_: Slot, utterance: Utterance) -> JsonValue:
    """Yes or no, also with what it is said of, and nothing that names something else.

    Where the two are listed one is picked by its number.
    """
    picked = numbered(utterance.text)
    if picked is not None:
        return picked
    named = any(not isinstance(thing.value, bool) for thing in utterance.things)
    return yes_or_no(utterance.text) if named else leaning(utterance.text)


def read_datetime(slot: Slot, utterance: Utterance) -> JsonValue:
    """A day and a time of day, in the speaker's time zone; or ISO as it is."""
    day = read_date(slot, utterance)
    clocks = [f.value for f in utterance.things if isinstance(f.value, time)]
    if isinstance(day, str) and len(clocks) == 1:
        moment = datetime.combine(date.fromisoformat(day), clocks[0], utterance.now.tzinfo)
        return moment.isoformat()
    return _written_moment(utterance)


def _written_moment(utterance: Utterance) -> str | None:
    try:
        moment = datetime.fromisoformat(utterance.normalised.typed.strip())
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=utterance.now.tzinfo)
    return aware.isoformat()


def _below_zero(text: str) -> Decimal | None:
    found = _NEGATIVE.search(text)
    size = found and parse_number(found.group("n"))
    return None if size is None else -size


def _counted(text: str) -> Decimal | None:
    """`五个人`, `八位`: how many of what was asked about."""
    found = _COUNTED.search(text)
    return found and parse_number(found.group("n"))


def _only_number(utterance: Utterance) -> Decimal | None:
    numbers = [f.value for f in utterance.things if isinstance(f.value, Decimal)]
    if len(numbers) == 1:
        return numbers[0]
    return None if numbers else parse_number(utterance.text)


def _read_text(slot: Slot, utterance: Utterance) -> JsonValue:
    """What was typed; where there is something to choose from and it means one of that, this."""
    return _chosen(slot, utterance) or utterance.normalised.typed.strip() or None


def _chosen(slot: Slot, utterance: Utterance) -> str | None:
    """The one that is named, numbered, or of a day that is named."""
    if not slot.choices:
        return None
    return answered_choice(slot.choices, utterance.text) or _of_its_day(slot, utterance)


def _of_its_day(slot: Slot, utterance: Utterance) -> str | None:
    named = [f.value for f in only(Days, [*utterance.things, *utterance.spent])]
    days = [(one.first.isoformat(), one.last.isoformat()) for one in named]
    fits = [
        value
        for value, choice in slot.choices.items()
        if any(first <= word <= last for word in choice.synonyms for first, last in days)
    ]
    return fits[0] if len(fits) == 1 else None


def read_file(_: Slot, utterance: Utterance) -> JsonValue:
    """The id of a file, and nothing besides: whose it is, the flow finds out."""
    typed = utterance.normalised.typed.strip()
    return typed if is_file_id(typed) else None


Reader = Callable[[Slot, Utterance], JsonValue]

_READERS: dict[str, Reader] = {
    "choice": read_choice,
    "date": read_date,
    "money": read_money,
    "number": read_number,
    "integer": read_number,
    "duration": read_duration,
    "boolean": read_boolean,
    "datetime": read_datetime,
    "text": _read_text,
    "file": read_file,
}


def read_as(slot: Slot, utterance: Utterance) -> JsonValue:
    """What the utterance says as the answer to a question for this very slot; None if nothing."""
    read = _READERS.get(slot.type)
    return read(slot, utterance) if read else None
