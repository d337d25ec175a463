"""Words that somebody else's server chose, before anybody reads them.

They are shown to people and to models, so whatever can't be seen goes, what is long is cut, and
nothing in them is taken for a template. What is left is still only what a stranger says.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from router.documents.references import References
from router.documents.schema import SchemaReader
from router.tool.results import DEEPEST

LONGEST_DESCRIPTION = 1000
LONGEST_TITLE = 80
LONGEST_ERROR = 500
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and newline
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"  # zero width; other direction
    "\ud800-\udfff\U000e0000-\U000e007f]"  # halves of characters; tags, which nobody sees
)
_TEMPLATE = re.compile(r"\{(?=[{%#])")


def visible(text: str, longest: int) -> str:
    """The text without what can't be seen, cut to `longest` characters."""
    return _cut(_HIDDEN.sub("", text.replace("\r\n", "\n")), longest)


def wording(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Words to show, such as a description: visible, and no template to anybody who renders."""
    # In this order: what is hidden can part two braces, and what is put in takes room.
    return _cut(_TEMPLATE.sub("{ ", _HIDDEN.sub("", text)), longest).strip()


def visible_value(value: Any, deepest: int = DEEPEST) -> Any:
    """A value of JSON whose texts are visible; `…` stands for what lies too deep, files stay."""
    if isinstance(value, str):
        return _HIDDEN.sub("", value)
    if not isinstance(value, list | dict):
        return value
    if deepest == 0:
        return "…"
    if isinstance(value, list):
        return [visible_value(item, deepest - 1) for item in value]
    return {_HIDDEN.sub("", k): visible_value(v, deepest - 1) for k, v in value.items()}


def worded_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A JSON Schema written out, whose titles and descriptions are wording.

    Raises `ValueError` where it is none, or too large.
    """
    read = SchemaReader(References(schema)).read(dict(schema))
    return {key: _worded(key, value, DEEPEST) for key, value in read.items()}


def _worded(key: str, value: JsonValue, deepest: int) -> JsonValue:
    if isinstance(value, str):
        return wording(value) if key in ("description", "title") else value
    if deepest == 0:
        return value
    if isinstance(value, list):
        return [_worded("", item, deepest - 1) for item in value]
    if isinstance(value, dict):
        return {name: _worded(name, item, deepest - 1) for name, item in value.items()}
    return value


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
