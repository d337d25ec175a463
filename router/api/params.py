"""What may stand in a request: JSON within bounds, text, ids, and what a client prefers."""

import asyncio
import base64
import hashlib
import json
import re
import secrets
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from datetime import date
from email.message import Message as MailHeaders
from typing import Annotated, Any, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    WithJsonSchema,
)
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from router.domain.configuration_documents import LONGEST_NOTE
from router.domain.errors import FaultyValue, InvalidInput
from router.domain.visible_text import legible, visible
from router.formats.strict_json import strict_json

_BYTES = 15


def fresh_id() -> str:
    """A new id that nobody can guess: 24 lower-case letters and digits."""
    return _spelt(secrets.token_bytes(_BYTES))


def derived_id(*parts: str) -> str:
    """The id that these parts always lead to, and that leads to none of them."""
    return _spelt(hashlib.sha256(json.dumps(parts).encode()).digest()[:_BYTES])


def digest_of(value: Any) -> str:
    """Sixteen hex digits that differ where the JSON value does."""
    body = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _spelt(raw: bytes) -> str:
    return base64.b32encode(raw).decode().lower()


EVENTS = "text/event-stream"
JSON = "application/json"

_QUOTED = re.compile(r'"[^"]*"')
_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def events(description: str) -> dict[str, Any]:
    """What OpenAPI says of an answer of events: the schema is each one's, as its lines are read."""
    properties = {name: {"type": "string"} for name in ("event", "data", "id")}
    item = {"type": "object", "properties": properties, "required": ["data"]}
    return {EVENTS: {"itemSchema": {"description": description, **item}}}


def prefers_events(accept: str) -> bool:
    """True where `Accept` names events, and wants nothing of ours more; a wildcard is no name."""
    weights: dict[str, float] = defaultdict(float)
    for wish in _QUOTED.sub("", accept).lower().split(","):
        kind, *parameters = (part.strip() for part in wish.split(";"))
        given = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        # A type whose weight can't be read isn't wanted.
        weights[kind] = max(weights[kind], float(given) if _WEIGHT.fullmatch(given) else 0.0)
    return weights[EVENTS] > 0 and weights[EVENTS] >= weights[JSON]


MAX_TEXT = 8000
MAX_COMMENT = 2000
MAX_KEY = 64

_ALLOWED = frozenset("\t\n")
INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of what nobody sees."""

CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
"""What people may not send, as the inside of a regex's `[…]`."""
_CONTROL = re.compile(f"[{CONTROLS}]")
PLAIN = f"^[^{CONTROLS}]*$"
DATED = r"^(19[7-9][0-9]|2[0-9]{3})-[0-9]{2}-[0-9]{2}[Tt]"
"""A moment of a year that every database knows, and not a number of seconds."""
CALENDAR_DAY = r"^(19[7-9][0-9]|2[0-9]{3})-[0-9]{2}-[0-9]{2}$"

IS_SCHEMA = "x-is-schema"
"""Stands where `openapi` puts a reference: pydantic takes none to what isn't its own."""
SAID_TEXT, PLAIN_JSON, PLAIN_OBJECT = "SaidText", "PlainJson", "PlainObject"
"""Schemas of the OpenAPI document: `openapi` adds them."""


def is_invisible(character: str) -> bool:
    """True of what nobody sees by itself: white space too."""
    return unicodedata.category(character) in INVISIBLE or not visible(character)


def _plain(text: str) -> str:
    """Refuse control characters: terminals, logs and databases act on them."""
    if found := _CONTROL.search(text):
        raise FaultyValue(
            f"it has the control character U+{ord(found[0]):04X} at position {found.start()}",
            "only tab and newline are allowed",
        )
    return text


def _said(text: str) -> str:
    """What is kept of it; refuse what nobody could answer: nothing visible, or a book."""
    if len(text) > MAX_TEXT:
        raise FaultyValue(f"it has {len(text)} characters", f"at most {MAX_TEXT} are allowed")
    said = legible(_plain(text))
    if all(is_invisible(character) for character in said):
        raise ValueError("it is empty or only white space")
    return said


def _dated(written: str) -> str:
    """Refuse what is no date: pydantic takes any number for seconds since 1970."""
    if not re.match(DATED, written):
        raise ValueError("write a moment from 1970 to 2999 like 2026-11-23T09:00:00+08:00")
    return written


def _day(written: str) -> str:
    """Refuse what is no day: pydantic takes any number for one, and moments too."""
    if not re.fullmatch(CALENDAR_DAY, written):
        raise ValueError("write a day from 1970 to 2999 like 2026-11-23")
    return written


def check_plain(value: JsonValue) -> JsonValue:
    """The value; `ValueError` where there is a control character anywhere in it."""
    if isinstance(value, str):
        _plain(value)
    elif isinstance(value, list):
        for item in value:
            check_plain(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _plain(key)
            check_plain(item)
    return value


SaidText = Annotated[str, AfterValidator(_said), WithJsonSchema({IS_SCHEMA: SAID_TEXT})]
"""What a person says: something visible, at most 8,000 characters."""

PlainText = Annotated[
    str, AfterValidator(_plain), WithJsonSchema({"type": "string", "pattern": PLAIN})
]
"""Text without control characters, such as the name of a field."""


def _remark(most: int) -> Iterable[object]:
    """What holds for a remark of at most so many characters, also in the document."""
    schema = WithJsonSchema({"type": "string", "maxLength": most, "pattern": PLAIN})
    return (Field(max_length=most), AfterValidator(_plain), AfterValidator(visible), schema)


Comment = Annotated[str, *_remark(MAX_COMMENT)]

Note = Annotated[str, *_remark(LONGEST_NOTE)]
"""Why a version was written."""
"""A remark that may be empty, as far as it can be seen."""

PlainJson = Annotated[
    JsonValue, AfterValidator(check_plain), WithJsonSchema({IS_SCHEMA: PLAIN_JSON})
]
"""Any JSON whose strings have no control characters."""

PlainObject = Annotated[dict[PlainText, PlainJson], WithJsonSchema({IS_SCHEMA: PLAIN_OBJECT})]
"""The same with named fields. As `dict` alone pydantic describes it wrongly: there a name that
breaks the pattern would only have a value of any kind."""

KeyParameter = Annotated[str, Field(pattern=rf"^[!-~]{{1,{MAX_KEY}}}$")]
"""A message id or idempotency key: 1 to 64 visible ASCII characters."""

NameParameter = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
"""An id that a list is narrowed by: visible ASCII."""

PersonId = Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]
"""Somebody's id, whether or not anybody has it: visible ASCII, for it is noted and compared."""

DayParameter = Annotated[
    date,
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "format": "date", "pattern": CALENDAR_DAY}),
]
"""A day (`2026-11-23`) of a year that databases know."""

SinceParameter = Annotated[
    AwareDatetime,
    BeforeValidator(_dated),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": DATED}),
]
"""A moment with its time zone (`2026-11-23T09:00:00+08:00`), of a year that databases know."""


def said_text(text: str, field: str) -> str:
    """The text, where a person may say it; else `InvalidInput`, of the `field` it was sent in."""
    try:
        return _said(text)
    except ValueError as error:
        raise InvalidInput.at(field, str(error)) from None


LARGE = 256 * 1024
"""Bytes: what is longer is read beside the loop, not on it."""


Parsed = TypeVar("Parsed")


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body as JSON; 400 where it isn't."""
        try:
            return await parsed(await self.body(), strict_json)
        except ValueError as error:
            raise HTTPException(400, f"The body isn't JSON: {error}.") from error


async def parsed(body: bytes, parse: Callable[[bytes], Parsed]) -> Parsed:
    """What `parse` makes of the body, with everybody else served meanwhile where it is large."""
    return parse(body) if len(body) < LARGE else await asyncio.to_thread(parse, body)


class StrictRoute(APIRoute):
    """A route whose body is JSON in the strict sense, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with the strict reading of the body."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            if takes_body and await strict.body():
                check_media_type(strict)
            return await handle(strict)

        return strictly


def check_media_type(request: Request) -> None:
    """Return where the body says that it is JSON, or nothing; else raise 415."""
    declared = request.headers.get("content-type")
    if declared is not None and media_type(declared) != JSON:
        why = f"The body is {declared[:80]!r}; send the header Content-Type: application/json."
        raise HTTPException(415, why)


def media_type(declared: str) -> str:
    """The media type of a `Content-Type`, without its parameters."""
    header = MailHeaders()
    header["content-type"] = declared
    return header.get_content_type()


def declared_size(scope: Scope) -> int:
    """The bytes that the body is said to have; 0 where that isn't said."""
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0
