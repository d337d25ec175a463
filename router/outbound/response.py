"""What an answer comes to: a value for whoever called, or an error of the house. Pure.

Whatever a server says is untrusted: it is bounded, marked as its words where it is quoted, and rid
of the secrets that it may have been sent.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import NoReturn
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

from router.domain.errors import (
    ArgumentsToolError,
    PermanentToolError,
    ToolError,
    TransientToolError,
    UnusableResult,
)
from router.domain.locale import Localised
from router.formats.keepable import keepable
from router.outbound.client import Received

_SILENT = frozenset(("script", "style", "noscript", "template", "svg", "head"))
_BREAKING = frozenset(
    {"p", "br", "div", "li", "ul", "ol", "tr", "table", "section", "article", "header", "footer"}
    | {f"h{level}" for level in range(1, 7)}
)
_TAG = re.compile(r"<(!--|[!?]|/?[A-Za-z][^\s/>]*|/)")
_IN_TAG = re.compile("[>\"']")


class _Page:
    """Goes through a page once from its beginning to its end, whatever is left open in it."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._at = 0
        self._never_ended: set[str] = set()

    def words(self) -> Iterator[str]:
        """Its texts, and a line feed where one ends."""
        while found := _TAG.search(self._page, self._at):
            yield self._page[self._at : found.start()]
            self._at = found.end()
            name = found[1].lower()
            if name == "!--":
                self._skip_to("-->")
                continue
            self._skip_tag()
            if name in _SILENT:
                self._skip_silent(name)
            elif name.removeprefix("/") in _BREAKING:
                yield "\n"
        yield self._page[self._at :]

    def _skip_to(self, end: str) -> None:
        found = self._page.find(end, self._at)
        self._at = len(self._page) if found < 0 else found + len(end)

    def _skip_tag(self) -> None:
        """To the end of a tag, which isn't one that stands in quotes."""
        while found := _IN_TAG.search(self._page, self._at):
            self._at = found.end()
            if found[0] == ">":
                return
            self._skip_to(found[0])
        self._at = len(self._page)

    def _skip_silent(self, name: str) -> None:
        """To where nobody's reading ends; an element that is never closed is as good as empty."""
        if name in self._never_ended or self._page.endswith("/>", 0, self._at):
            return
        if ended := re.compile(rf"</{name}[\s/>]", re.IGNORECASE).search(self._page, self._at):
            self._at = ended.start()
        else:
            self._never_ended.add(name)


def text_of_page(page: str) -> str:
    """What a reader sees of it, a paragraph a line."""
    text = "".join(_Page(page).words())
    with suppress(ValueError):  # a number of more digits than Python reads
        text = unescape(text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


MOST_QUOTED = 300
MOST_TEXT = 16_000
LONGEST_WAIT = 86_400.0

_CHARSETS = frozenset(
    (
        *("us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "utf-16"),
        *("gb2312", "gbk", "gb18030", "big5", "shift-jis", "euc-jp", "euc-kr"),
    )
)
"""Python knows others that take hours for a megabyte, or raise at any text."""
_BAD_REQUEST = (400, 422)
_PASSING = (408, 425, 429)
_SHORTEST_SECRET = 4
_JSON_TYPE = re.compile(r"application/([a-z0-9.+-]+\+)?json|text/json")


class Redaction:
    """Takes values of the environment out of whatever is shown."""

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
        zh = f"对方的回答用不了（{received.broken}），请少要一些"
        en = f"the answer can't be used: {received.broken}; ask for less"
        raise UnusableResult(Localised(zh=zh, en=en))
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
    zh = f"对方的回答是 {kind[:60] or '没有注明的类型'}，这里只读 JSON、文本和 HTML"
    en = f"the answer is {kind[:60] or 'of no type'}, which isn't read; JSON, text and HTML are"
    raise UnusableResult(Localised(zh=zh, en=en))


def _json(body: bytes) -> JsonValue:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    # Not strictly: what can't be kept of it `keepable` mends or names, as for every tool.
    try:
        value: JsonValue = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        zh = f"对方的回答说是 JSON，却不是（{error}）"
        en = f"the answer says that it is JSON, and isn't: {error}"
        raise UnusableResult(Localised(zh=zh, en=en)) from None
    return value


def _charset(parameters: str) -> str:
    """The character set that it names, of those that read any text at once; else UTF-8."""
    found = re.search(r"charset=\"?([\w.:-]+)", parameters, re.IGNORECASE)
    named = found[1].lower().replace("_", "-") if found else ""
    return named if named in _CHARSETS else "utf-8"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def failure_of(received: Received, where: str, redaction: Redaction) -> ToolError:
    """The error for an answer that isn't fine; `where` says who gave it."""
    words, status = _quoted(received, redaction), received.status
    zh = f"{where} 的回答是 {status}" + (f"，原话：«{words}»" if words else "")
    en = f"{where} answered {status}" + (f"; in its own words: «{words}»" if words else "")
    said = Localised(zh=zh, en=en)
    if status in _PASSING or status >= 500:  # noqa: PLR2004
        return TransientToolError(said, retry_after(received.headers, datetime.now(UTC)))
    return ArgumentsToolError(said) if status in _BAD_REQUEST else PermanentToolError(said)


def _quoted(received: Received, redaction: Redaction) -> str:
    """What the server says, on one line and without the marks that it is quoted in."""
    try:
        said = value_of(received)
        value = redaction.value(said if isinstance(said, str) else keepable(said))
    except UnusableResult:
        return ""
    if value is None:
        return ""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = "".join(char if char.isprintable() else " " for char in words)
    line = " ".join(line.replace("«", '"').replace("»", '"').split())
    return line if len(line) <= MOST_QUOTED else f"{line[:MOST_QUOTED]}…"


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
