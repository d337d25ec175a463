"""How requests of one's own stand, in a line each: for whoever asks, and for whoever chooses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from router.domain.messages import FlowStatus
from router.domain.offers import Offer
from router.domain.records import RunRecord
from router.domain.texts import Locale, Localised
from router.flow.field_words import VALUES
from router.flow.wording import MONTHS, day, moment, money, named

MOST_SAID = 5
_MOST_DAYS = 31
_LONGEST_WORD = 20
_AND: dict[Locale, str] = {"zh": "，", "en": ", "}
_TO: dict[Locale, str] = {"zh": " 至 ", "en": " to "}

Slots = Mapping[str, JsonValue]
Purses = dict[str, Decimal]


def standing(
    title: str,
    status: FlowStatus,
    slots: Slots,
    waits_for: Sequence[str],
    since: str,
    locale: Locale,
) -> str:
    """One request in one line, such as `请假申请（11月23日 至 11月25日）：审批中，在等 王芳`."""
    days = [day(slots[name], locale) for name in ("start", "end") if _is_day(slots.get(name))]
    about = [_TO[locale].join(dict.fromkeys(days)), sums(slots, locale)]
    what = _AND[locale].join(part for part in about if part)
    stands = named("status", status, locale)
    at = moment(since, locale)
    people = ("、" if locale == "zh" else ", ").join(waits_for)
    if locale == "zh":
        said = f"{title}（{what}）" if what else title
        return f"{said}：{stands}" + (f"，在等 {people} 审批" if people else f"（{at}）")
    said = f"{title} ({what})" if what else title
    return f"{said}: {stands}" + (f", with {people}" if people else f" ({at})")


def sums(slots: Slots, locale: Locale) -> str:
    """What the slots come to in money; where there is none, how many things they ask for.

    A slot that holds what the items come to adds nothing to them.

    >>> sums({"items": [{"amount": {"amount": "36", "currency": "CNY"}}] * 2}, "zh")
    '¥72.00'
    >>> rows = [{"amount": {"amount": "58", "currency": "CNY"}}]
    >>> sums({"items": rows, "total": {"amount": "58.00", "currency": "CNY"}}, "zh")
    '¥58.00'
    >>> sums({"items": [{"kind": "laptop", "quantity": 2}, {"quantity": 1}]}, "en")
    '3 items'
    """
    purses = _purses(slots)
    if purses:
        return " + ".join(
            money({"amount": str(amount), "currency": name}, locale)
            for name, amount in purses.items()
        )
    count = sum(_pieces(item) for item in _items(slots))
    if not count:
        return ""
    return f"{count} 件" if locale == "zh" else f"{count} item{'s' if count > 1 else ''}"


def days_of(slots: Slots) -> list[tuple[date, date]]:
    """The stretches of days that the slots are about, both ends included: of `items` too.

    >>> days_of({"start": "2026-12-07", "end": "2026-12-08"})
    [(datetime.date(2026, 12, 7), datetime.date(2026, 12, 8))]
    """
    start, end = slots.get("start"), slots.get("end")
    found = []
    if _is_day(start):
        first = _date(start)
        found.append((first, _date(end) if _is_day(end) else first))
    single = [value for name, value in slots.items() if name not in ("start", "end")]
    single += [value for item in _items(slots) for value in item.values()]
    return found + [(_date(value), _date(value)) for value in single if _is_day(value)]


def offer_of(run: RunRecord, zone: tzinfo | None) -> Offer:
    """The run as one to choose: by title, kind, days and amount, and status, on its button."""
    made = run.created_at.astimezone(zone).date()
    label = Localised(zh=_label(run, made, "zh"), en=_label(run, made, "en"))
    stretches = days_of(run.slots)[:1]
    days = [d.isoformat() for first, last in stretches for d in _each(first, last)]
    synonyms = (run.title.zh, run.title.en, *_words(run.slots), *days)
    return Offer(value=run.id, label=label, synonyms=tuple(dict.fromkeys(synonyms)))


def _label(run: RunRecord, made: date, locale: Locale) -> str:
    kinds = [named(n, v, locale) for n, v in _texts(run.slots) if n in VALUES]
    spans = [
        _TO[locale].join(dict.fromkeys(_short(d, made.year, locale) for d in span))
        for span in days_of({n: run.slots.get(n) for n in ("start", "end")})
    ]
    asked = f"{_short(made, made.year, locale)}提交" if locale == "zh" else ""
    asked = asked or f"asked on {_short(made, made.year, locale)}"
    about = [*kinds, *(spans or [asked]), sums(run.slots, locale)]
    what = _AND[locale].join(part for part in about if part)
    status = named("status", run.status, locale).replace("_", " ")
    title = run.title.within(locale)
    return f"{title}（{what}）：{status}" if locale == "zh" else f"{title} ({what}): {status}"


def _short(day_: date, year: int, locale: Locale) -> str:
    """The day, with its year where that is another."""
    if locale == "zh":
        return f"{day_.year}年" * (day_.year != year) + f"{day_.month}月{day_.day}日"
    return f"{day_.day} {MONTHS[day_.month - 1]}" + f" {day_.year}" * (day_.year != year)


def _each(first: date, last: date) -> Iterator[date]:
    for number in range(min((last - first).days + 1, _MOST_DAYS)):
        yield first + timedelta(days=number)


def _texts(slots: Slots) -> list[tuple[str, str]]:
    return [(name, value) for name, value in slots.items() if isinstance(value, str)]


def _words(slots: Slots) -> list[str]:
    """What was said in a word or two, as it is and as people read it: `上海`, `年假`."""
    short = [(n, v) for n, v in _texts(slots) if 1 < len(v) <= _LONGEST_WORD and not _is_day(v)]
    return [word for n, v in short for word in (v, named(n, v, "zh"))]


def _items(slots: Slots) -> list[dict[str, JsonValue]]:
    listed = (value for value in slots.values() if isinstance(value, list))
    return [item for value in listed for item in value if isinstance(item, dict)]


def _pieces(item: Slots) -> int:
    count = item.get("quantity")
    return int(count) if isinstance(count, int | float) else 0


def _purses(slots: Slots) -> Purses:
    """What everything comes to, by currency."""
    parts: Purses = {}
    _add_up([value for value in slots.values() if isinstance(value, list)], parts)
    purses = dict(parts)
    for value in slots.values():
        own: Purses = {}
        if not isinstance(value, list):
            _add_up(value, own)
        if not own.items() <= parts.items():
            for name, amount in own.items():
                purses[name] = purses.get(name, Decimal()) + amount
    return purses


def _add_up(value: JsonValue, purses: Purses) -> None:
    """Add every amount of money that is in the value to that of its currency."""
    if isinstance(value, list):
        for inner in value:
            _add_up(inner, purses)
    elif isinstance(value, dict) and isinstance(value.get("currency"), str):
        try:
            amount = Decimal(str(value.get("amount")))
        except InvalidOperation:
            return
        name = str(value["currency"])
        purses[name] = purses.get(name, Decimal()) + amount
    elif isinstance(value, dict):
        for inner in value.values():
            _add_up(inner, purses)


def _is_day(value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _date(value: JsonValue) -> date:
    return date.fromisoformat(str(value))


def in_short(lines: Iterable[str], locale: Locale) -> str:
    """The first few lines, and how many there are beside them."""
    every = list(lines)
    left = len(every) - MOST_SAID
    if not every:
        return "没有这样的申请。" if locale == "zh" else "There is no such request."
    more = f"还有 {left} 个更早的。" if locale == "zh" else f"and {left} older ones."
    return "\n".join([*every[:MOST_SAID], *([more] if left > 0 else [])])
