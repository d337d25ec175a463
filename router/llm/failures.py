"""What a server's refusal means: the openai client's exceptions, as this project's errors.

Whoever catches one knows what to do without knowing the client: wait and try again, ask
another provider, shorten the request, leave out what was refused, or call the operator.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from router.llm.servers import Feature
from router.llm.types import AccessRefused, ContextTooLong, ModelRefused, ModelUnavailable

_UNKNOWN = r"(un(supported|known|recognized|expected)|\bnot )"

_NAMED: dict[Feature, str] = {
    "parallel_tool_calls": r"parallel",
    "stream_options": r"stream_options|include_usage",
    # Too large a value isn't a refusal of the name: the other name would only hide it.
    "max_tokens": rf"max_completion_tokens|max_tokens.*{_UNKNOWN}|{_UNKNOWN}.*max_tokens",
    "temperature": r"temperature",
    "strict": r"\bstrict\b|invalid schema for function|additionalProperties",
    "tool_choice": (
        r"(unsupported|unknown|unrecognized|unexpected|extra)"
        r" (parameter|argument|field|property|keyword)\w*\W{1,4}tool_choice\b(?!=)"
    ),
    "tool_choice=required": r"tool[_ -]choice|\brequired\b.*\btools?\b",
    "tool_choice=auto": r"tool[_ -]choice|\bauto\b.*\btools?\b",
    "limits": r"maxLength|maxItems|minItems",
    "json_schema": r"response_format|json_schema|schema|grammar",
    "json_object": r"response_format|json_object|json mode",
    "tools": r"\btools?\b|\bfunctions?\b",
}
"""Narrow before wide: most messages about a part of `tools` name `tools` as well."""

_LOOSELY = re.IGNORECASE | re.DOTALL

_OFF_FORMAT = re.compile(r"pars(e|ing)|grammar|template|\bformat", re.IGNORECASE)

_UNWILLING = re.compile(
    r"\brequires? --|\b(not|un)[ -]?(supported|implemented|available)\b", re.IGNORECASE
)

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _](length|size|window)|maximum context"
    r"|(prompt|input) is too long|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)

_READ = 4000
"""Characters of an error that are looked at; what it is about comes early."""

_REFUSING = {400, 404, 422, 501}
_BROKEN = 500


def refused_feature(status: int, body: str, sent: AbstractSet[Feature]) -> Feature | None:
    """The feature, of those that were sent, that the error refuses; None where it is none.

    A 500 counts only where the server says that it wasn't started for this, as llama.cpp does
    without `--jinja`, or that it couldn't make sense of its own output, as when a model left
    alone with `auto` strays from the format.

    >>> refused_feature(400, "Unknown parameter: 'parallel_tool_calls'", {"parallel_tool_calls"})
    'parallel_tool_calls'
    """
    said = body[:_READ]
    if status == _BROKEN and not _UNWILLING.search(said):
        return _strayed(said, sent)
    if status not in {*_REFUSING, _BROKEN}:
        return None
    named = (name for name in _NAMED if name in sent and re.search(_NAMED[name], said, _LOOSELY))
    return next(named, None)


def is_too_long(status: int, body: str) -> bool:
    """True where the error says that the request exceeds the model's context."""
    if status in {400, 422, 500}:
        return _TOO_LONG.search(body[:_READ]) is not None
    return status == 413  # noqa: PLR2004


def _strayed(body: str, sent: AbstractSet[Feature]) -> Feature | None:
    if not _OFF_FORMAT.search(body):
        return None
    steps: tuple[Feature, ...] = (
        "tool_choice=auto",
        "tool_choice=required",
        "limits",
        "json_schema",
        "json_object",
    )
    return next((step for step in steps if step in sent), None)


MAX_QUOTED = 300
"""Characters of a server's message that are repeated: it may echo what people wrote."""

LONGEST_WAIT = 86_400.0
"""Seconds: who says longer is not to be waited for but to be looked after."""

_PASSING = {408, 409, 425, 429}
_ACCESS = {401, 403}

DROPPED = (openai.APIConnectionError, httpx2.HTTPError)
"""What comes out of the client where the server can't be reached, or goes in mid-answer."""


def of_status(endpoint: str, error: openai.APIStatusError, secret: str) -> Exception:
    """The error for an answer with a status of 400 or above; `secret` is never quoted."""
    body = error.response.text
    quoted = f"{endpoint} answered {error.status_code}: {quote(body, secret)}"
    if is_too_long(error.status_code, body):
        return ContextTooLong(quoted)
    if error.status_code in _ACCESS:
        return AccessRefused(quoted)
    if error.status_code in _PASSING or error.status_code >= 500:  # noqa: PLR2004
        return ModelUnavailable(quoted, retry_after(error.response.headers, datetime.now(UTC)))
    return ModelRefused(quoted)


def of_connection(endpoint: str, error: Exception) -> ModelUnavailable:
    """The error for a server that can't be reached, or that went away in mid-answer."""
    cause = error.__cause__ or error
    return ModelUnavailable(
        f"{endpoint} can't be reached, or broke off: {type(cause).__name__}; is it running?"
    )


def of_body(endpoint: str, error: object, secret: str) -> Exception:
    """The error that came in the body of an answer with status 200, as gateways send it."""
    details = error if isinstance(error, dict) else {"message": error}
    quoted = f"{endpoint} answered with an error: {quote(str(details.get('message')), secret)}"
    code = details.get("code")
    if isinstance(code, int) and 400 <= code < 500 and code not in _PASSING:  # noqa: PLR2004
        return AccessRefused(quoted) if code in _ACCESS else ModelRefused(quoted)
    return ModelUnavailable(quoted)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds of a `Retry-After`, which may be a number or a date; None where it is neither.

    >>> retry_after({"retry-after": "Wed, 18 Nov 2026 10:00:30 GMT"},
    ...             datetime(2026, 11, 18, 10, 0, 0, tzinfo=UTC))
    30.0
    """
    value = headers.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdecimal() and value.isascii():
        return min(float(value), LONGEST_WAIT)
    try:
        then = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max(0.0, (then - now).total_seconds()), LONGEST_WAIT)


def quote(text: str, secret: str) -> str:
    """The beginning of what a server said, on one line and without the key."""
    said = " ".join((text.replace(secret, "…") if secret else text).split())
    return said[:MAX_QUOTED] + ("…" if len(said) > MAX_QUOTED else "")
