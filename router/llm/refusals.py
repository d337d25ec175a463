"""What servers answer instead of an answer: which feature they refuse, and what to do about it.

What they raise comes out as this project's errors, so that whoever catches one knows what to do:
wait and try again, ask another provider, shorten the request, leave out what was refused, or call
the operator.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from router.formats.http_body import Unread
from router.llm.servers import Feature
from router.llm.types import AccessRefused, ContextTooLong, ModelRefused, ModelUnavailable


class StatusAnswer(Exception):
    """An answer with a status that isn't fine, before any provider's library has looked at it.

    They raise errors of their own, each for what it expects, and fail on what it doesn't.
    """

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.status = response.status_code
        self.said = response.text
        """The beginning of its body."""
        self.headers: Mapping[str, str] = response.headers
        self.leads_elsewhere = response.is_redirect


async def refusing(response: httpx2.Response) -> None:
    """A hook for a client's answers: raises `StatusAnswer` for one that isn't fine."""
    if not response.is_success:
        await response.aread()
        raise StatusAnswer(response)


class BrokenOff(Exception):
    """No answer came; says what kind of trouble there was."""


@contextmanager
def unwrapping(*wrappers: type[Exception]) -> Iterator[None]:
    """Raise what a library has wrapped up in one of its errors, as it came from below."""
    try:
        yield
    except wrappers as error:
        cause = error.__cause__
        if isinstance(cause, (StatusAnswer, Unread)):
            raise cause from None
        raise BrokenOff(type(cause or error).__name__) from None


_UNKNOWN = r"(un(supported|known|recognized|expected)|\bnot )"

_NAMED: dict[Feature, str] = {
    "prompt_cache_key": r"prompt_cache_key",
    "cache_control": r"cache_control",
    "given_signatures": r"thought.?signature",
    "reasoning_kept": r"encrypted|\binclude\b|reasoning_content",
    "parallel_tool_calls": r"parallel",
    "stream_options": r"stream_options|include_usage",
    # Too large a value isn't a refusal of the name: the other name would only hide it.
    "max_tokens": rf"max_completion_tokens|max_tokens.*{_UNKNOWN}|{_UNKNOWN}.*max_tokens",
    "temperature": r"temperature",
    "strict": r"\bstrict\b|invalid schema for function|additionalProperties"
    r"|schema.{0,40}too complex|compiled grammar|union types?\b",
    "tool_choice": (
        r"(unsupported|unknown|unrecognized|unexpected|extra)"
        r" (parameter|argument|field|property|keyword)\w*\W{1,4}tool_choice\b(?!=)"
    ),
    "tool_choice=required": r"tool[_ -]choice|\brequired\b.*\btools?\b",
    "tool_choice=auto": r"tool[_ -]choice|\bauto\b.*\btools?\b",
    "effort": r"effort|\breasoning\b|thinking",
    "pictures": r"\bimages?\b|image_url|pictures?\b|mmproj|multi-?modal|\bvision\b"
    rf"|content.{{0,40}}(valid string|must be.{{0,20}}string|parts?\b.{{0,20}}{_UNKNOWN})"
    rf"|{_UNKNOWN}.{{0,20}}\bcontent\b",
    "limits": r"maxLength|maxItems|minItems",
    "json_schema": r"response_format|json_schema|schema|grammar",
    "json_object": r"response_format|json_object|json mode",
    "tools": r"\btools?\b|\bfunctions?\b",
}
"""Narrow before wide: most messages about a part of `tools` name `tools` as well."""

_LOOSELY = re.IGNORECASE | re.DOTALL

_STEPS: list[Feature] = ["tool_choice=auto", "tool_choice=required"]
_STEPS += ["limits", "json_schema", "json_object"]
"""What a model that strays from the format is asked without, one after the other."""

_OFF_FORMAT = re.compile(r"pars(e|ing)|grammar|template|\bformat", re.IGNORECASE)

_UNWILLING = re.compile(
    r"\brequires? --|\b(not|un)[ -]?(supported|implemented|available)\b", re.IGNORECASE
)

_UNSEEING = re.compile(
    r"support|mmproj|multi-?modal|at most 0\b"
    r"|(un(known|expected|recognized)|invalid) (variant|type)"
    r"|valid string|must be.{0,20}string|\bonly\b.{0,20}\btext\b|expected.{0,20}\btext\b"
    r"|\bnot (allowed|permitted|accepted|enabled|available)\b|does(n't| not) (accept|have|take)",
    _LOOSELY,
)
"""It takes no pictures at all; else something is wrong with these, and others may do."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _](length|size|window)|maximum context"
    r"|(prompt|input) is too long|too many (input )?tokens|reduce the length"
    r"|exceeds? (the )?(context (limit|window)|maximum number of tokens)",
    re.IGNORECASE,
)

_READ = 4000
"""Characters of an error that are looked at; what it is about comes early."""
_REFUSING = {400, 404, 422, 501}
_BAD_REQUEST, _BROKEN = 400, 500


def refused_feature(status: int, body: str, sent: AbstractSet[Feature]) -> Feature | None:
    """The feature, of those that were sent, that the error refuses; None where it is none.

    A 500 counts only where the server says that it wasn't started for this, as llama.cpp does
    without `--jinja`, or that it couldn't make sense of its own output, as when a model left
    alone with `auto` strays from the format; or of pictures, which most servers that can't see
    fail on.
    """
    said = body[:_READ]
    if is_too_long(status, said):
        # In words the files may be short enough.
        return "pictures" if "pictures" in sent else None
    if status == _BROKEN and not _UNWILLING.search(said):
        if "pictures" in sent and re.search(_NAMED["pictures"], said, _LOOSELY):
            return "pictures"
        steps = _STEPS if is_off_format(status, body) else []
        return next((step for step in steps if step in sent), None)
    if status not in {*_REFUSING, _BROKEN}:
        return None
    named = (name for name in _NAMED if name in sent and re.search(_NAMED[name], said, _LOOSELY))
    return next(named, None)


def is_off_format(status: int, body: str) -> bool:
    """True where the error says that the server couldn't make sense of what its model wrote."""
    said = body[:_READ]
    is_broken = status == _BROKEN and not _UNWILLING.search(said)
    return is_broken and _OFF_FORMAT.search(said) is not None


def is_of_these(status: int, body: str) -> bool:
    """True where an error that refuses pictures may be about these alone: they are too large."""
    return is_too_long(status, body) or _UNSEEING.search(body[:_READ]) is None


_UNTHOUGHT = re.compile(r"expected .?(redacted_)?thinking", re.IGNORECASE)


def is_of_this_request(feature: Feature, status: int, body: str) -> bool:
    """True where it is refused for what is in this request: the next one may have it again.

    Pictures that are too large are an instance, and a history that another model began.
    """
    if feature == "pictures":
        return is_of_these(status, body)
    return feature == "effort" and _UNTHOUGHT.search(body[:_READ]) is not None


def is_too_long(status: int, body: str) -> bool:
    """True where the error says that the request exceeds the model's context."""
    if status in {400, 422, 500}:
        return _TOO_LONG.search(body[:_READ]) is not None
    return status == 413  # noqa: PLR2004


LEADS_ELSEWHERE = "it leads elsewhere, where no prompt goes; name the address that it leads to"
MAX_QUOTED = 300
"""Characters of a server's message that are repeated: it may echo what people wrote."""
LONGEST_WAIT = 86_400.0
"""Seconds: who says longer is not to be waited for but to be looked after."""
_PASSING = {408, 409, 425, 429}
_ACCESS = {401, 402, 403}
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|invalid[ _]api[ _]key", re.IGNORECASE)
"""Not every provider has the status for it."""
_WANTED = re.compile(r'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
"""How Gemini says when to come again, which has no header for it."""


def status_error(endpoint: str, answer: StatusAnswer, secret: str) -> Exception:
    """The error for an answer with a status that isn't fine; `secret` is never quoted."""
    status, body = answer.status, answer.said
    quoted = f"{endpoint} answered {status}: {quote(body, secret)}"
    if answer.leads_elsewhere:
        return ModelRefused(f"{endpoint} answered {status}: {LEADS_ELSEWHERE}")
    if is_too_long(status, body):
        return ContextTooLong(quoted)
    if status in _ACCESS or (status == _BAD_REQUEST and _BAD_KEY.search(body[:_READ])):
        return AccessRefused(quoted)
    if status in _PASSING or status >= _BROKEN:
        wait = retry_after(answer.headers, datetime.now(UTC))
        return ModelUnavailable(quoted, _wanted(body) if wait is None else wait)
    return ModelRefused(quoted)


_CODES = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "not_found_error": 404,
}
"""What errors within an answer are called, by the status that they would have had."""


def body_error(endpoint: str, error: object, secret: str) -> Exception:
    """The error that came in the body of an answer with status 200, as gateways send it."""
    details = error if isinstance(error, dict) else {"message": error}
    said = str(details.get("message"))
    quoted = f"{endpoint} answered with an error: {quote(said, secret)}"
    code = next((c for key in ("code", "type") if (c := _code(details.get(key)))), 0)
    if _TOO_LONG.search(f"{details.get('code')} {said[:_READ]}") and code in {0, _BAD_REQUEST}:
        return ContextTooLong(quoted)
    if 400 <= code < 500 and code not in _PASSING:  # noqa: PLR2004
        return AccessRefused(quoted) if code in _ACCESS else ModelRefused(quoted)
    return ModelUnavailable(quoted, _wanted(str(details)[:_READ].replace("'", '"')))


def _code(given: object) -> int:
    return given if isinstance(given, int) else _CODES.get(str(given), 0)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds of a `Retry-After`, which may be a number or a date; None where it is neither."""
    value = headers.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdecimal() and value.isascii():
        return min(float(value), LONGEST_WAIT)
    try:
        then = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max(0.0, (then - now).total_seconds()), LONGEST_WAIT)


def _wanted(body: str) -> float | None:
    found = _WANTED.search(body[:_READ])
    return min(float(found[1]), LONGEST_WAIT) if found else None


def quote(text: str, secret: str) -> str:
    """The beginning of what a server said, on one line and without the key."""
    said = " ".join((text.replace(secret, "…") if secret else text).split())
    return said[:MAX_QUOTED] + ("…" if len(said) > MAX_QUOTED else "")
