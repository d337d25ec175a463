"""What an answer comes to: a value for whoever called, or an error of the house. Pure.

Whatever a server says is untrusted: it is bounded, marked as its words where it is quoted, and
rid of the secrets that it may have been sent.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

from router.domain.errors import (
    ArgumentsToolError,
    PermanentToolError,
    ToolError,
    TransientToolError,
    UnusableResult,
)
from router.domain.texts import Localised
from router.tool.http.page_text import text_of_page
from router.tool.http.sending import Received
from router.tool.keepable import keepable

MOST_QUOTED = 300
MOST_TEXT = 16_000
"""Characters of a text or a page."""
LONGEST_WAIT = 86_400.0

_BAD_REQUEST = (400, 422)
_PASSING = (408, 425, 429)
_SHORTEST_SECRET = 4
_JSON_TYPE = re.compile(r"application/([a-z0-9.+-]+\+)?json|text/json")


class Redaction:
    """Takes values of the environment out of whatever is shown.

    >>> Redaction(["s3cret"]).text("the key s3cret is wrong")
    'the key [redacted] is wrong'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        written = {
            spelling
            for secret in secrets
            for spelling in (secret, secret.strip(), quote(secret, safe=""), quote_plus(secret))
            if len(spelling) >= _SHORTEST_SECRET
        }
        longest_first = sorted(written, key=len, reverse=True)
        self._found = re.compile("|".join(map(re.escape, longest_first))) if written else None

    def text(self, text: str) -> str:
        """The text without them."""
        return self._found.sub("[redacted]", text) if self._found else text

    def value(self, value: JsonValue) -> JsonValue:
        """The value, with none in any text or name within."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        return value


def value_of(received: Received) -> JsonValue:
    """The value of an answer that is fine; raises `UnusableResult` where it can't be used."""
    if received.broken:
        raise UnusableResult(
            Localised(
                zh=f"对方的回答用不了（{received.broken}），请少要一些",
                en=f"the answer can't be used: {received.broken}; ask for less",
            )
        )
    if not received.body.strip():
        return None
    kind, _, parameters = received.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if _JSON_TYPE.fullmatch(kind):
        return _json(received.body)
    text = received.body.decode(_charset(parameters), "replace")
    if kind in ("text/html", "application/xhtml+xml"):
        return _cut(text_of_page(text))
    if kind.startswith("text/"):
        return _cut(text)
    raise UnusableResult(
        Localised(
            zh=f"对方的回答是 {kind[:60] or '没有注明的类型'}，这里只读 JSON、文本和 HTML",
            en=f"the answer is {kind[:60] or 'of no type'}, which isn't read; "
            "JSON, text and HTML are",
        )
    )


def _json(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UnusableResult(
            Localised(
                zh=f"对方的回答说是 JSON，却不是（{error}）",
                en=f"the answer says that it is JSON, and isn't: {error}",
            )
        ) from None
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _charset(parameters: str) -> str:
    found = re.search(r"charset=\"?([\w.:-]+)", parameters, re.IGNORECASE)
    try:
        "".encode(found[1] if found else "utf-8")
    except (LookupError, UnicodeError):
        return "utf-8"
    return found[1] if found else "utf-8"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def failure_of(received: Received, where: str, redaction: Redaction) -> ToolError:
    """The error for an answer that isn't fine; `where` says who gave it."""
    words = _quoted(received, redaction)
    said = Localised(
        zh=f"{where} 的回答是 {received.status}" + (f"，原话：«{words}»" if words else ""),
        en=f"{where} answered {received.status}"
        + (f"; in its own words: «{words}»" if words else ""),
    )
    if received.status in _PASSING or received.status >= 500:  # noqa: PLR2004
        return TransientToolError(said, retry_after(received.headers, datetime.now(UTC)))
    kind = ArgumentsToolError if received.status in _BAD_REQUEST else PermanentToolError
    return kind(said)


def _quoted(received: Received, redaction: Redaction) -> str:
    """What the server says, on one line and without the marks that it is quoted in."""
    try:
        said = value_of(received)
        value = redaction.value(said if isinstance(said, str) else keepable(said))
    except UnusableResult:
        return ""
    words = value if isinstance(value, str) else _words(value)
    line = "".join(char if char.isprintable() else " " for char in words)
    line = " ".join(line.replace("«", '"').replace("»", '"').split())
    return line if len(line) <= MOST_QUOTED else f"{line[:MOST_QUOTED]}…"


def _words(value: JsonValue) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds of a `Retry-After`, which may be a number or a date; None where it is neither."""
    written = headers.get("retry-after", "").strip()
    if written.isascii() and written.isdecimal():
        return min(float(written), LONGEST_WAIT)
    try:
        then = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max(0.0, (then - now).total_seconds()), LONGEST_WAIT)
