"""Values written as YAML the way that the files here are: short ones in a line, others below.

Names stand bare, texts in double quotes, patterns in single ones, texts with line breaks as `|-`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from router.domain.locale import LOCALES

STEP = 2
"""Columns by which what is below something is indented."""
WIDEST = 100
"""Columns that a line may take before what it says is written below each other."""

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_MEANING = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some readers of YAML take for something else."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def scalar(value: Any, like: str | None = None) -> str:
    r"""A text, number or truth value in one line; `like` is the quote of what stood there before.

    >>> scalar("review"), scalar("Fine."), scalar(r"\bleave\b"), scalar(3), scalar(None)
    ('review', '"Fine."', "'\\bleave\\b'", '3', 'null')
    """
    if not isinstance(value, str):
        return json.dumps(value)
    plain = _BARE.match(value) and value.lower() not in _MEANING
    if plain and like not in {"'", '"'}:
        return value
    is_odd = "\n" in value or _CONTROL.search(value) is not None
    if not is_odd and like != '"' and ("\\" in value or like == "'"):
        return "'" + value.replace("'", "''") + "'"
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def inline(value: Any, like: str | None = None) -> str:
    """The value in one line; `like` is the quote of all its keys and texts.

    >>> inline({"if": "slots.days > 3", "to": "review"})
    '{if: "slots.days > 3", to: review}'
    """
    match value:
        case dict():
            entries = (f"{scalar(k, like)}: {_inline_at(k, v, like)}" for k, v in value.items())
            return f"{{{', '.join(entries)}}}"
        case list():
            return f"[{', '.join(inline(each, like) for each in value)}]"
    return scalar(value, like)


def json_block(value: Any, pad: str) -> str:
    r"""The value as JSON over several lines, all but the first behind `pad`.

    >>> json_block({"tools": {}}, "  ")
    '{
    "tools": {}
    }'
    """
    indent = "\t" if "\t" in pad else STEP
    return json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", f"\n{pad}")


LANGUAGES = frozenset(LOCALES)


def _inline_at(key: str, value: Any, like: str | None = None) -> str:
    """A value in one line; what people read is quoted, whatever it is."""
    is_text = key in LANGUAGES and isinstance(value, str)
    return scalar(value, '"') if is_text else inline(value, like)


def entry(key: str, value: Any, column: int) -> str:
    """A key with its value, whose further lines stand below the key, which stands in `column`."""
    head = f"{scalar(key)}:"
    if _short(value, column + len(head) + 1) is not None:
        return f"{head} {_inline_at(key, value)}"
    if isinstance(value, str):
        return f"{head} {_literal(value, column + STEP)}"
    below = column + STEP
    return f"{head}\n{' ' * below}{block(value, below)}"


def item(value: Any, column: int, like: str | None = None) -> str:
    """An item of a list, whose dash stands in `column`; a text is quoted as `like`."""
    below = column + STEP
    if (short := _short(value, below, like, in_list=True)) is not None:
        return f"- {short}"
    return f"- {_literal(value, below) if isinstance(value, str) else block(value, below)}"


def block(value: Mapping[str, Any] | Sequence[Any], column: int) -> str:
    """A mapping or list that isn't empty, one entry below the other; all but the first indented."""
    if isinstance(value, Mapping):
        entries = [entry(key, each, column) for key, each in value.items()]
    else:
        entries = [item(each, column) for each in value]
    return f"\n{' ' * column}".join(entries)


def is_short(value: Any, column: int, *, in_list: bool = False) -> bool:
    """Whether the value is written in one line where it begins in `column`."""
    return _short(value, column, in_list=in_list) is not None


def _short(
    value: Any, column: int, like: str | None = None, *, in_list: bool = False
) -> str | None:
    written = inline(value, like)
    if not value:
        return written
    if isinstance(value, str):
        return None if _is_literal(value) else written
    if not isinstance(value, dict | list):
        return written
    simple = all(
        _is_simple(each) for each in (value.values() if isinstance(value, dict) else value)
    )
    expected = isinstance(value, list) or in_list or set(value) <= LANGUAGES
    return written if simple and expected and column + len(written) <= WIDEST else None


def _is_simple(value: Any) -> bool:
    return not (isinstance(value, dict | list) and value) and not (
        isinstance(value, str) and "\n" in value
    )


def _is_literal(value: str) -> bool:
    """Whether the text has line breaks, and can stand as it is below each other."""
    body = value.removesuffix("\n")
    fits = body and not body.startswith((" ", "\n", "\t")) and not body.endswith("\n")
    return "\n" in value and bool(fits) and _CONTROL.search(value) is None


def _literal(value: str, column: int) -> str:
    head = "|" if value.endswith("\n") else "|-"
    lines = value.removesuffix("\n").split("\n")
    return "\n".join([head, *(f"{' ' * column}{line}" if line else "" for line in lines)])
