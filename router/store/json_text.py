"""JSON as it stands in the database: compact, readable, with dates as ISO strings."""

from typing import Any

from pydantic_core import from_json, to_json


def write_json(value: Any) -> str:
    """The text of a JSON value; dates and models within it become what JSON has for them.

    NaN and infinity, for which it has nothing, become null.

    >>> write_json({"类型": "年假"})
    '{"类型":"年假"}'
    """
    return to_json(value, inf_nan_mode="null").decode()


def read_json(text: str) -> Any:
    """The value that `write_json` wrote."""
    return from_json(text)
