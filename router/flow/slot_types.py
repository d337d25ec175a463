"""What may stand in a slot: each type's shape, and the value as it is kept.

Understanding already gives values in these shapes; forms and models may not, so everything
that wants into a slot passes here. Shapes are those of `entities.extraction`, and:
`number` a JSON number, `integer` a whole one, `datetime` ISO with an offset, `file` a file's
id, `list` a list, `object` a mapping.
"""

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from router.domain.errors import RouterError
from router.domain.file_types import is_file_id
from router.domain.locale import Localised
from router.flow.definition import Slot

LARGEST_AMOUNT = Decimal(10) ** 12
"""Beyond this a double no longer counts minor units exactly, with room to add up a list."""


class Unfit(RouterError):
    """A value that a slot can't hold; `say` tells the person what would fit."""

    def __init__(self, say: Localised) -> None:
        super().__init__(say.en)
        self.say = say


def fitted(slot: Slot, value: JsonValue) -> JsonValue:
    """The value as it is kept in this slot; raises `Unfit` where it can't be.

    >>> fitted(Slot(type="money"), {"amount": "58", "currency": "CNY"})
    {'amount': '58.00', 'currency': 'CNY'}
    """
    return _FITTERS[slot.type](slot, value)


def _text(slot: Slot, value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or not value.strip():
        raise Unfit(Localised(zh="这里需要一段文字。", en="This needs some text."))
    text = value.strip()
    if len(text) > slot.max_length:
        limit = slot.max_length
        raise Unfit(
            Localised(
                zh=f"太长了：最多 {limit} 个字。", en=f"Too long: {limit} characters at most."
            )
        )
    return text


def _choice(slot: Slot, value: JsonValue) -> JsonValue:
    if isinstance(value, str) and value in slot.choices:
        return value
    raise Unfit(
        Localised(
            zh="请从这些里选：" + "、".join(c.label.zh for c in slot.choices.values()) + "。",
            en=f"Please choose one of: {', '.join(c.label.en for c in slot.choices.values())}.",
        )
    )


def _number(_: Slot, value: JsonValue) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unfit(Localised(zh="请给一个数字。", en="Please give a number."))
    return value


def _integer(slot: Slot, value: JsonValue) -> JsonValue:
    number = _number(slot, value)
    if isinstance(number, float) and not number.is_integer():
        raise Unfit(Localised(zh="请给一个整数。", en="Please give a whole number."))
    return int(number)  # type: ignore[arg-type]


def _money(_: Slot, value: JsonValue) -> JsonValue:
    unfit = Unfit(
        Localised(zh="请给一个金额，比如 58 元。", en="Please give an amount, such as 58 CNY.")
    )
    if not isinstance(value, dict) or not isinstance(value.get("amount"), str | int | float):
        raise unfit
    try:
        amount = Decimal(str(value["amount"])).quantize(Decimal("0.01"))
    except InvalidOperation:
        raise unfit from None
    currency = value.get("currency", "CNY")
    if not isinstance(currency, str) or len(currency) != len("CNY") or not currency.isalpha():
        raise unfit
    if not amount.is_finite() or abs(amount) > LARGEST_AMOUNT:
        raise unfit
    return {"amount": str(amount), "currency": currency.upper()}


def _date(_: Slot, value: JsonValue) -> JsonValue:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise Unfit(
            Localised(
                zh="请给一个日期，比如 12月1日、下周一。",
                en="Please give a date, such as 1 December or next Monday.",
            )
        ) from None


def _datetime(_: Slot, value: JsonValue) -> JsonValue:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Unfit(
            Localised(
                zh="请给一个日期和时间，比如 12月1日 14:30。",
                en="Please give a date and time, such as 1 December 14:30.",
            )
        )
    return moment.isoformat()


def _duration(_: Slot, value: JsonValue) -> JsonValue:
    if isinstance(value, dict) and len(value) == 1 and set(value) <= {"days", "weeks", "hours"}:
        (length,) = value.values()
        countable = isinstance(length, int | float) and not isinstance(length, bool)
        if countable and math.isfinite(length) and length > 0:  # type: ignore[arg-type,operator]
            return value
    raise Unfit(
        Localised(
            zh="请说多久，比如两天、半天。",
            en="Please say how long, such as two days or half a day.",
        )
    )


def _boolean(_: Slot, value: JsonValue) -> JsonValue:
    if isinstance(value, bool):
        return value
    raise Unfit(Localised(zh="请回答“是”或“否”。", en="Please answer yes or no."))


def _file(_: Slot, value: JsonValue) -> JsonValue:
    """A file's id by its looks; whether it is the requester's is looked up by who fills slots."""
    if isinstance(value, str) and is_file_id(value):
        return value
    raise Unfit(
        Localised(
            zh="请上传一个文件（PDF 或图片）。", en="Please attach a file: a PDF or a picture."
        )
    )


def _object(slot: Slot, value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        raise Unfit(Localised(zh="这一项没看明白。", en="That couldn't be read."))
    unknown = sorted(set(value) - set(slot.fields))
    if unknown:
        raise Unfit(
            Localised(zh=f"没有“{unknown[0]}”这一项。", en=f"There is no field “{unknown[0]}”.")
        )
    return {name: fitted(slot.fields[name], v) for name, v in value.items() if v is not None}


def _list(slot: Slot, value: JsonValue) -> JsonValue:
    of = slot.of
    if not isinstance(value, list) or of is None:
        raise Unfit(Localised(zh="这里需要一项或几项。", en="This needs one or several items."))
    if len(value) > slot.max:
        raise Unfit(
            Localised(zh=f"最多 {slot.max} 项。", en=f"That is too many: {slot.max} at most.")
        )
    return [fitted(of, item) for item in value]


_FITTERS: dict[str, Callable[[Slot, JsonValue], JsonValue]] = {
    "text": _text,
    "choice": _choice,
    "number": _number,
    "integer": _integer,
    "money": _money,
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
    "boolean": _boolean,
    "file": _file,
    "list": _list,
    "object": _object,
}


def files_in(slot: Slot, value: JsonValue) -> Iterator[str]:
    """The ids of all files within a value that fits its slot, however deep.

    >>> list(files_in(Slot(type="list", of=Slot(type="file")), ["a", "b"]))
    ['a', 'b']
    """
    if slot.type == "file" and isinstance(value, str):
        yield value
    elif slot.type == "list" and slot.of is not None and isinstance(value, list):
        for item in value:
            yield from files_in(slot.of, item)
    elif slot.type == "object" and isinstance(value, dict):
        for name, field in slot.fields.items():
            yield from files_in(field, value.get(name))


def missing(slot: Slot, value: JsonValue, path: str) -> str | None:
    """The path of the first thing still to be asked within a slot's value; None where whole.

    >>> missing(Slot(type="text"), None, "reason")
    'reason'
    """
    if value is None:
        if slot.type == "object":
            return missing(slot, {}, path)
        if slot.type == "list" and slot.of is not None:
            return missing(slot, [], path)
        return path
    if slot.type == "object" and isinstance(value, dict):
        gaps = (
            missing(field, value.get(name), f"{path}.{name}")
            for name, field in slot.fields.items()
            if field.required
        )
        return next((gap for gap in gaps if gap), None)
    if slot.type == "list" and isinstance(value, list) and slot.of is not None:
        items = [*value, *([None] * (slot.min - len(value)))]
        gaps = (missing(slot.of, item, f"{path}.{n}") for n, item in enumerate(items))
        return next((gap for gap in gaps if gap), None)
    return None
