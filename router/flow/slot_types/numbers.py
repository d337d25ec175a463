"""What is counted: numbers, whole ones, and money."""

import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.entities.ambiguity import is_of_something
from router.entities.grammar import Found, compiled, only
from router.entities.money import DEFAULT_CURRENCY, Money, is_exact
from router.entities.numbers import ZH_COUNT, parse_number
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import (
    Example,
    FileNames,
    Slot,
    SlotType,
    Unfit,
    plain,
    register_slot_type,
)

LARGEST_AMOUNT = Decimal(10) ** 12
"""Beyond this a double no longer counts minor units exactly, with room to add up a list."""
MAX_WRITTEN_DIGITS = 30
"""Of an amount that is written out: `1E+999999999` would take a gigabyte."""
_TOO_LARGE = Localised(
    zh="这个金额太大了：最多一万亿。请核对一下，比如 58 元。",
    en=f"That amount is too large: {LARGEST_AMOUNT:,} at most. Please check it, such as 58 CNY.",
)
_NEGATIVE = compiled("^(?:[-−]|(?:负|minus ) ?)(?P<n>[^-−].*)$")
_COUNTED = compiled(
    f"^(?:是|有|要|共|一共|大概|改成|就"
    f"|只要?)*(?P<n>{ZH_COUNT}) ?[个位名人只台份间次][^0-9零一二三四五六七八九十]{{0,3}}$"
)


def only_number(utterance: Utterance) -> Decimal | None:
    """The one number that is named, or that the whole text is."""
    numbers = only(Decimal, utterance.things)
    if len(numbers) == 1:
        return numbers[0].value
    return None if numbers else parse_number(utterance.text)


def only_amount(utterance: Utterance) -> Decimal | None:
    """The one number that is named, unless it counts something else: `5 BTC`, `3 months`."""
    counted = (is_of_something(utterance.text, f) for f in only(Decimal, utterance.things))
    return None if any(counted) else only_number(utterance)


def _below_zero(text: str) -> Decimal | None:
    found = _NEGATIVE.search(text)
    size = found and parse_number(found.group("n"))
    return None if size is None else -size


@register_slot_type
class NumberType(SlotType):
    """A JSON number."""

    name = "number"
    label = Localised(zh="数字", en="a number")
    about = Localised(zh="一个数，可以有小数。", en="A number, which may have a fraction.")
    takes = Decimal
    fits = Localised(zh="请给一个数字。", en="Please give a number.")
    stored = said = {"type": "number"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The one number that is named; below zero where it is all that is said: `-3`, `负三`."""
        number = only_number(utterance)
        if number is None:
            # `五个人`, `八位`: how many of what was asked about.
            counted = _COUNTED.search(utterance.text)
            number = _below_zero(utterance.text)
            number = number or (counted and parse_number(counted.group("n")))
        if number is None:
            return None
        return int(number) if number == number.to_integral_value() else float(number)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """A finite number."""
        return _finite(value)

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """In figures."""
        return plain(value)


LARGEST = sys.float_info.max
"""Beyond it other programs know no number."""


def _finite(value: JsonValue) -> int | float:
    # Of a whole number of hundreds of digits `math.isfinite` can't say it.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise Unfit(NumberType.fits)
    return value


@register_slot_type
class IntegerType(NumberType):
    """A whole number."""

    name = "integer"
    label = Localised(zh="整数", en="a whole number")
    about = Localised(
        zh="一个没有小数的数，比如人数。", en="A number without a fraction, such as how many."
    )
    stored = said = {"type": "integer"}

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """A number without a fraction."""
        number = _finite(value)
        if isinstance(number, float) and not number.is_integer():
            raise Unfit(Localised(zh="请给一个整数。", en="Please give a whole number."))
        return int(number)


@register_slot_type
class MoneyType(SlotType):
    """An amount with its currency: `{"amount": "58.00", "currency": "CNY"}`."""

    name = "money"
    label = Localised(zh="金额", en="an amount")
    about = Localised(
        zh="一笔钱，带币种，比如 58 元。", en="An amount with its currency, such as 58 CNY."
    )
    takes = Money
    leads = True
    fits = Localised(zh="请给一个金额，比如 58 元。", en="Please give an amount, such as 58 CNY.")
    stored = {
        "type": "object",
        "properties": {
            "amount": {"type": "string"},
            "currency": {"type": "string", "default": DEFAULT_CURRENCY},
        },
        "required": ["amount"],
    }
    said = {"type": "string", "description": "the amount as it was said, with its currency"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The one amount that is named; a bare number is in the house's currency."""
        amounts = self.mentions(utterance)
        if len(amounts) == 1:
            return amounts[0].value
        number = only_amount(utterance)
        if number is None:
            number = _below_zero(utterance.text)
        return None if number is None or amounts else _exactly(number, DEFAULT_CURRENCY)

    def mentions(self, utterance: Utterance) -> list[Found[JsonValue]]:
        """Every amount with its currency."""
        amounts = only(Money, utterance.things)
        return [Found(f.start, f.end, dict(f.value.value())) for f in amounts]

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """Also of a bare number, and of an amount that is written as a form has it."""
        if isinstance(value, dict):
            amount = parse_number(str(value.get("amount", "")))
            currency = value.get("currency") or DEFAULT_CURRENCY
            more = value.keys() - {"amount", "currency"}
            if amount is None or not isinstance(currency, str) or more:
                return value
            return _exactly(amount, currency.upper()) or str(value["amount"])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _exactly(Decimal(str(value)), DEFAULT_CURRENCY) or str(value)
        return super().coerce(slot, value, now)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """To the cent, and of a currency's code."""
        unfit = Unfit(self.fits)
        if not isinstance(value, dict) or not isinstance(value.get("amount"), str | int | float):
            raise unfit
        try:
            written = Decimal(str(value["amount"]))
            amount = written.quantize(Decimal("0.01"))
        except InvalidOperation:
            raise unfit from None
        currency = value.get("currency", DEFAULT_CURRENCY)
        if not isinstance(currency, str) or len(currency) != len("CNY") or not currency.isalpha():
            raise unfit
        if not amount.is_finite() or amount != written:
            raise unfit
        if abs(amount) > LARGEST_AMOUNT:
            raise Unfit(_TOO_LARGE)
        return {"amount": str(amount), "currency": currency.upper()}

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """¥58.00, CNY 58.00."""
        return money(value, locale)

    def examples(self, known: list[date], today: date) -> Iterator[Example]:
        """Two amounts."""
        yield {"amount": "58.00", "currency": "CNY"}, Localised(zh="58 元", en="58 CNY")
        yield {"amount": "120.50", "currency": "CNY"}, Localised(zh="120.5 元", en="120.50 CNY")


def _exactly(amount: Decimal, currency: str) -> dict[str, JsonValue] | None:
    """An amount in its shape; None where it has more decimals than money has."""
    return dict(Money(amount, currency).value()) if is_exact(amount) else None


def money(value: JsonValue, locale: Locale) -> str:
    """Money such as `{"amount": "58.00", "currency": "CNY"}`, as people read it."""
    if not isinstance(value, dict):
        return plain(value)
    try:
        amount = Decimal(str(value.get("amount")))
    except InvalidOperation:
        return plain(value.get("amount"))
    if not amount.is_finite() or amount.adjusted() > MAX_WRITTEN_DIGITS:
        return plain(value.get("amount"))
    written = f"{amount:,.2f}"
    currency = plain(value.get("currency", "CNY"))
    return f"¥{written}" if (currency, locale) == ("CNY", "zh") else f"{currency} {written}"
