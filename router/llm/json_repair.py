"""JSON from someone who may not keep to it: read where its meaning is certain, else refused.

Mended are trailing commas, Python's quotes and words, line breaks within strings, surplus
brackets at the end, and missing ones where everything before them is whole. A cut string or
number is not: nobody knows how it would have gone on.
"""

import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

MAX_DEPTH = 40
MAX_LENGTH = 200_000

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<double>"(?:[^"\\]|\\.)*")
      | (?P<single>'(?:[^'"\\]|\\[^'"])*')
      | (?P<sign>[{}\[\],:])
      | (?P<word>[^\s{}\[\],:"']+)
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
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
    except NotJson as error:
        value = _mended(text, error, cut)
        return Read(_clean(value), repaired=True)
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
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"the number {text[:20]} is too large")
    return number


def _without_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise NotJson(f"{key[:60]!r} is given twice, with different values")
        found[key] = value
    return found


def _check_depth(value: Any) -> None:
    """Without recursion: this is what keeps everything after it from recursing too far."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise NotJson("it is nested too deeply")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _mended(text: str, error: NotJson, cut: bool) -> Any:
    tokens = _tokens(text)
    if not tokens:
        raise error
    # Two values side by side: a quote within quotes, so that where a string ends is a guess.
    for left, right in pairwise(tokens):
        if left not in "{}[],:" and right not in "{}[],:":
            raise error
    balanced = _balanced(tokens, cut)
    if balanced is None:
        raise error
    return _strictly("".join(_without_trailing_commas(balanced)), strict=False)


def _tokens(text: str) -> list[str]:
    """The text's tokens as JSON writes them; none where it holds anything that is no token."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return []
        tokens.append(_as_json(match))
        position = match.end()
    return tokens


def _as_json(match: re.Match[str]) -> str:
    if single := match["single"]:
        return f'"{single[1:-1]}"'
    if word := match["word"]:
        return _WORDS.get(word, word)
    return match["double"] or match["sign"]


def _balanced(tokens: list[str], cut: bool) -> list[str] | None:
    """The tokens with brackets added or removed at the end; None where they don't match."""
    expected: list[str] = []
    for position, token in enumerate(tokens):
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif token in {"}", "]"} and (not expected or expected.pop() != token):
            return None
        if not expected:
            return _without_surplus(tokens, position + 1)
    if cut or not _is_whole(tokens[-1]):
        return None
    return tokens + expected[::-1]


def _without_surplus(tokens: list[str], end: int) -> list[str] | None:
    return tokens[:end] if set(tokens[end:]) <= {"}", "]"} else None


def _is_whole(token: str) -> bool:
    """True for what can't have been cut in its middle, as a number may have been."""
    return token in {"true", "false", "null", "}", "]", ","} or token.endswith('"')


def _without_trailing_commas(tokens: list[str]) -> list[str]:
    return [
        left
        for left, right in zip(tokens, [*tokens[1:], ""], strict=True)
        if left != "," or right not in {"}", "]"}
    ]


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
