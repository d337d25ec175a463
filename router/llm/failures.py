"""The openai client's exceptions, as this project's errors.

Whoever catches one knows what to do without knowing the client: wait and try again, ask
another provider, shorten the request, or call the operator.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from router.llm.errors import AccessRefused, ContextTooLong, ModelRefused, ModelUnavailable
from router.llm.refusals import is_too_long

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
