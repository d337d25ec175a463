"""Paths of item numbers and field names, such as `items.0.amount`: what is there, and put there."""

from pydantic import JsonValue

from router.flow.model import SlotValues


def root(path: str) -> str:
    """The slot that the path is in.

    >>> root("items.0.amount"), root("reason")
    ('items', 'reason')
    """
    return path.split(".", maxsplit=1)[0]


def at(slots: SlotValues, path: str) -> JsonValue:
    """The value of `items.0.amount` or `reason`; None where there is none.

    >>> at({"items": [{"amount": 1}]}, "items.0.amount"), at({}, "items.0.amount")
    (1, None)
    """
    value: JsonValue = slots
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def placed(whole: JsonValue, path: list[str], value: JsonValue) -> JsonValue:
    """`whole` with `value` put at a path of item numbers and field names.

    >>> placed([{"amount": 1}], ["0", "date"], "2026-11-19")
    [{'amount': 1, 'date': '2026-11-19'}]
    """
    if not path:
        return value
    head, *rest = path
    if head.isdigit():
        items = list(whole) if isinstance(whole, list) else []
        place = min(int(head), len(items))
        items[place : place + 1] = [placed(items[place] if place < len(items) else {}, rest, value)]
        return items
    fields = dict(whole) if isinstance(whole, dict) else {}
    fields[head] = placed(fields.get(head), rest, value)
    return fields


def emptied(value: JsonValue, path: list[str]) -> JsonValue:
    """The value without what is at a path of item numbers and field names.

    >>> emptied([{"amount": 1, "date": "2026-11-19"}], ["0", "date"])
    [{'amount': 1}]
    """
    if not path:
        return None
    head, *rest = path
    if isinstance(value, list):
        return [emptied(v, rest) if str(n) == head else v for n, v in enumerate(value)]
    if isinstance(value, dict):
        inner = {**value, head: emptied(value.get(head), rest)}
        return {name: field for name, field in inner.items() if field is not None}
    return value
