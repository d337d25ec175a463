"""Which part of a request a server's error is about."""

import re
from collections.abc import Set as AbstractSet

from router.llm.abilities import Feature

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
