"""JSON from someone who may not keep to it: read where its meaning is certain, else refused.

Mended are trailing commas, Python's quotes and words, line breaks within strings, surplus
brackets at the end, and missing ones where everything before them is whole. A cut string or
number is not: nobody knows how it would have gone on.
"""

import json
import math
import re
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NoReturn

MAX_DEPTH = 40
MAX_LENGTH = 200_000
MAX_MENDED = 20_000
"""Characters of a text that is mended: it is gone through sign by sign."""

_TOKEN = re.compile(
    r"""\s*(
        "(?:[^"\\]|\\.)*"
      | '(?:[^'"\\]|\\[^'"])*'
      | [{}\[\],:]
      | [^\s{}\[\],:"']+
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_SIGNS = frozenset("{}[],:")
_CLOSING = {"{": "}", "[": "]"}


class NotJson(ValueError):
    """The text isn't JSON and can't be mended for certain; says why."""


@dataclass(frozen=True)
class Read:
    """A value, and whether its text had to be mended."""

    value: Any
    repaired: bool = False


def read_json(text: str, cut: bool = False) -> Read:
    """The value of a JSON text, mended where that is certain.

    Brackets missing at the end are added unless the text is known to be `cut`: then more may
    have followed than the bracket.

    >>> read_json("{'days': 3, 'paid': True,")
    Read(value={'days': 3, 'paid': True}, repaired=True)

    Raises:
        NotJson: the text isn't JSON, or its meaning isn't certain.
    """
    if len(text) > MAX_LENGTH:
        raise NotJson(f"it has {len(text)} characters, more than {MAX_LENGTH}")
    try:
        value = _strictly(text)
    except NotJson:
        if len(text) > MAX_MENDED:
            raise
        tokens = _balanced(_tokens(text), cut)
        if tokens is None:
            raise
        pairs = pairwise([*tokens, ""])
        mended = [left for left, right in pairs if left != "," or right not in {"}", "]"}]
        return Read(_clean(_strictly("".join(mended), strict=False)), repaired=True)
    cleaned = _clean(value)
    return Read(cleaned, repaired=cleaned != value)


def _strictly(text: str, strict: bool = True) -> Any:
    try:
        value = json.loads(
            text,
            strict=strict,
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_without_contradiction,
        )
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(str(error)) from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    _check_depth(value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON value")


def _finite(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise NotJson(f"the number {text[:20]} is too large")


def _without_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise NotJson(f"{key[:60]!r} is given twice, with different values")
    return found


def _check_depth(value: Any) -> None:
    """Without recursion: this is what keeps everything after it from recursing too far."""
    level = [value]
    for _ in range(MAX_DEPTH):
        containers = (one for one in level if isinstance(one, dict | list))
        entries = (one.values() if isinstance(one, dict) else one for one in containers)
        level = list(chain.from_iterable(entries))
        if not level:
            return
    raise NotJson("it is nested too deeply")


def _tokens(text: str) -> list[str]:
    """The text's tokens as JSON writes them; none where it holds anything that is no token."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        if (match := _TOKEN.match(text, position)) is None:
            return []
        token, position = match[1], match.end()
        tokens.append(f'"{token[1:-1]}"' if token[0] == "'" else _WORDS.get(token, token))
    return tokens


def _balanced(tokens: list[str], cut: bool) -> list[str] | None:
    """The tokens with brackets added or removed at the end; None where that would be a guess."""
    # Two values side by side: a quote within quotes, so that where a string ends is a guess.
    if any(left not in _SIGNS and right not in _SIGNS for left, right in pairwise(tokens)):
        return None
    expected: list[str] = []
    for end, token in enumerate(tokens, start=1):
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif token in {"}", "]"} and (not expected or expected.pop() != token):
            return None
        if not expected:
            return tokens[:end] if set(tokens[end:]) <= {"}", "]"} else None
    # A number at the end may have been cut in its middle.
    last = tokens[-1] if tokens else ""
    is_whole = last in {"true", "false", "null", "}", "]", ","} or last.endswith('"')
    return tokens + expected[::-1] if is_whole and not cut else None


def _clean(value: Any) -> Any:
    """The value without what no database or UTF-8 text can hold: NUL and half surrogates."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _clean(entry) for key, entry in value.items()}
    return [_clean(entry) for entry in value] if isinstance(value, list) else value


def clean_text(text: str) -> str:
    """The text without NUL, and with half surrogates replaced."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
