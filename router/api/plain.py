"""Text as people may send it, as types for request models."""

import re
import unicodedata
from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    WithJsonSchema,
)

from router.domain.errors import FieldProblem, InvalidInput

MAX_TEXT = 8000
MAX_COMMENT = 2000
MAX_KEY = 64

_ALLOWED = frozenset("\t\n")
INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of what nobody sees."""

CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
"""What people may not send, as the inside of a regex's `[…]`."""
PLAIN = f"^[^{CONTROLS}]*$"
DATED = r"^(19[7-9][0-9]|2[0-9]{3})-[0-9]{2}-[0-9]{2}[Tt]"
"""A moment of a year that every database knows, and not a number of seconds."""

IS_SCHEMA = "x-is-schema"
"""Stands where `openapi` puts a reference: pydantic takes none to what isn't its own."""
SAID_TEXT, PLAIN_JSON, PLAIN_OBJECT = "SaidText", "PlainJson", "PlainObject"
"""Schemas of the OpenAPI document: `openapi` adds them."""


def _plain(text: str) -> str:
    """Refuse control characters: terminals, logs and databases act on them."""
    for position, character in enumerate(text):
        if unicodedata.category(character) == "Cc" and character not in _ALLOWED:
            raise ValueError(
                f"it has the control character U+{ord(character):04X} at position {position}; "
                "only tab and newline are allowed"
            )
    return text


def _said(text: str) -> str:
    """Refuse what nobody could answer: nothing visible, or a book."""
    _plain(text)
    if all(unicodedata.category(character) in INVISIBLE for character in text):
        raise ValueError("it is empty or only white space")
    if len(text) > MAX_TEXT:
        raise ValueError(f"it has {len(text)} characters; at most {MAX_TEXT} are allowed")
    return text


def _dated(written: str) -> str:
    """Refuse what is no date: pydantic takes any number for seconds since 1970."""
    if not re.match(DATED, written):
        raise ValueError("write a moment from 1970 to 2999 like 2026-11-23T09:00:00+08:00")
    return written


def _plain_throughout(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        _plain(value)
    elif isinstance(value, list):
        for item in value:
            _plain_throughout(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _plain(key)
            _plain_throughout(item)
    return value


def _schema(name: str) -> WithJsonSchema:
    return WithJsonSchema({IS_SCHEMA: name})


SaidText = Annotated[str, AfterValidator(_said), _schema(SAID_TEXT)]
"""What a person says: something visible, at most 8,000 characters."""

PlainText = Annotated[
    str, AfterValidator(_plain), WithJsonSchema({"type": "string", "pattern": PLAIN})
]
"""Text without control characters, such as the name of a field."""

Comment = Annotated[
    str,
    Field(max_length=MAX_COMMENT),
    AfterValidator(_plain),
    WithJsonSchema({"type": "string", "maxLength": MAX_COMMENT, "pattern": PLAIN}),
]
"""A remark that may be empty."""

PlainJson = Annotated[JsonValue, AfterValidator(_plain_throughout), _schema(PLAIN_JSON)]
"""Any JSON whose strings have no control characters."""

PlainObject = Annotated[dict[PlainText, PlainJson], _schema(PLAIN_OBJECT)]
"""The same with named fields. As `dict` alone pydantic describes it wrongly: there a name that
breaks the pattern would only have a value of any kind."""

Key = Annotated[str, Field(pattern=rf"^[!-~]{{1,{MAX_KEY}}}$")]
"""A message id or idempotency key: 1 to 64 visible ASCII characters."""


Name = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
"""An id that a list is narrowed by: visible ASCII."""

Since = Annotated[
    AwareDatetime,
    BeforeValidator(_dated),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": DATED}),
]
"""A moment with its time zone (`2026-11-23T09:00:00+08:00`), of a year that databases know."""


def check_plain(value: JsonValue) -> None:
    """Refuse control characters anywhere in the value.

    Raises:
        ValueError: there is one, and this is where.
    """
    _plain_throughout(value)


def said_text(text: str, field: str) -> str:
    """The text, where a person may say it.

    Raises:
        InvalidInput: they may not, and this is why; `field` is where it was sent.
    """
    try:
        return _said(text)
    except ValueError as error:
        raise InvalidInput(f"{field}: {error}.", [FieldProblem(field, str(error))]) from None
