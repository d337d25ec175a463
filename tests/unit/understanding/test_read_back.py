"""What is shown to people, typed back, is the same value."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.locale import Locale
from router.entities.dates import Days, find_dates
from router.entities.days import Calendar, Half
from router.entities.money import currency_of
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot, shown
from router.flow.view import FormView
from tests.table import each_row
from tests.unit.understanding.dialogue import NOW, answered, asking
from tests.unit.understanding.flows import LEAVE

HERE = timezone(timedelta(hours=8))
CURRENCIES = ("CNY", "USD", "EUR", "GBP", "HKD", "JPY", "TWD", "SGD", "KRW", "AUD", "CAD")
HALVES: dict[Half, dict[Locale, str]] = {
    "am": {"zh": "上午", "en": "morning"},
    "pm": {"zh": "下午", "en": "afternoon"},
}

locales = st.sampled_from(("zh", "en"))
days = st.dates(date(2001, 1, 1), date(2098, 12, 31))
halves = st.sampled_from((None, "am", "pm"))
counts = st.integers(1, 999) | st.integers(1, 399).map(lambda n: n / 4).filter(lambda n: n % 1)
cents = st.integers(1, 10**14)


def asked(kind: str) -> FormView:
    words = {"zh": "问", "en": "asked"}
    flow = FlowDefinition.model_validate(
        {
            "flow": "asked",
            "title": words,
            "description": words,
            "slots": {kind: {"type": kind, "ask": words}},
            "start": "ask",
            "states": {"ask": {"collect": [kind], "next": "done"}, "done": {"end": "completed"}},
        }
    )
    return asking(flow, kind)


ASKED = {
    kind: asked(kind)
    for kind in ("date", "datetime", "money", "duration", "number", "integer", "boolean")
}


def read_back(kind: Any, value: Any, locale: Locale) -> Any:
    """The value of a slot as it is shown, answered to the question for that slot."""
    written = shown(Slot(type=kind), value, locale)
    return answered(ASKED[kind], written)


@given(days, locales)
def test_a_day(day: date, locale: Locale) -> None:
    assert read_back("date", day.isoformat(), locale) == {"date": day.isoformat()}


@pytest.mark.slow
@given(days, st.times(), locales)
def test_a_moment(day: date, clock: Any, locale: Locale) -> None:
    moment = datetime.combine(day, clock.replace(second=0, microsecond=0), HERE).isoformat()
    assert read_back("datetime", moment, locale) == {"datetime": moment}


@given(cents, st.sampled_from(CURRENCIES), locales)
def test_an_amount(hundredths: int, currency: str, locale: Locale) -> None:
    value = {"amount": str(Decimal(hundredths).scaleb(-2)), "currency": currency}
    assert read_back("money", value, locale) == {"money": value}


def test_every_currency_that_is_read_is_written_back() -> None:
    assert {currency_of(code.lower()) for code in CURRENCIES} == set(CURRENCIES)


@given(counts, st.sampled_from(("days", "weeks", "hours")), locales)
def test_a_length_of_time(count: float, unit: str, locale: Locale) -> None:
    assert read_back("duration", {unit: count}, locale) == {"duration": {unit: count}}


@pytest.mark.slow
@given(st.integers(-(10**6), 10**9) | st.integers(1, 10**6).map(lambda n: n / 100), locales)
def test_a_number(number: float, locale: Locale) -> None:
    assert read_back("number", number, locale) == {"number": number}


@given(st.integers(0, 10**9), locales)
def test_a_whole_number(number: int, locale: Locale) -> None:
    assert read_back("integer", number, locale) == {"integer": number}


@given(st.booleans(), locales)
def test_yes_and_no(value: bool, locale: Locale) -> None:
    assert read_back("boolean", value, locale) == {"boolean": value}


@given(days, st.integers(1, 60), halves, halves, locales)
def test_a_range_of_days_and_halves(
    first: date, length: int, first_half: Half | None, last_half: Half | None, locale: Locale
) -> None:
    last = first + timedelta(days=length)
    ends = [_with_half(first, first_half, locale), _with_half(last, last_half, locale)]
    written = (" 到 " if locale == "zh" else " to ").join(ends)
    (found,) = find_dates(normalise(written).text, Calendar(NOW.date()))
    assert found.value == Days(first, last, first_half, last_half)


@given(days, st.sampled_from(("am", "pm")), locales)
def test_half_a_day(day: date, half: Half, locale: Locale) -> None:
    (found,) = find_dates(normalise(_with_half(day, half, locale)).text, Calendar(NOW.date()))
    assert found.value == Days(day, day, half, half)


@each_row("slot", ["leave_type", "start_half", "end_half"])
@each_row("locale", ["zh", "en"])
def test_every_choice_of_leave(slot: str, locale: Locale) -> None:
    for value in LEAVE.slots[slot].choices:
        written = shown(LEAVE.slots[slot], value, locale)
        got = answered(asking(LEAVE, slot, {"start": "2026-11-23"}), written)
        assert got is not None, written
        assert got[slot] == value


def _with_half(day: date, half: Half | None, locale: Locale) -> str:
    written = shown(Slot(type="date"), day.isoformat(), locale)
    return f"{written} {HALVES[half][locale]}" if half else written
