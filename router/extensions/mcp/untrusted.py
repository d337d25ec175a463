"""Words that somebody else's server chose, before anybody reads them.

They are shown to people and to models, so whatever can't be seen goes, what is long is cut, and
nothing in them is taken for a template. What is left is still only what a stranger says.
"""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from router.domain.visible_text import legible, one_line
from router.formats.keepable import DEEPEST
from router.formats.references import References
from router.formats.schema import SchemaReader

LONGEST_DESCRIPTION = 1000
LONGEST_TITLE = 80
LONGEST_ERROR = 500
_TEMPLATE = re.compile(r"\{(?=[{%#])")


def visible(text: str, longest: int) -> str:
    """The text without what can't be seen, cut to `longest` characters."""
    return _cut(legible(text), longest)


def wording(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Words to show, such as a description: visible, and no template to anybody who renders."""
    # In this order: what is hidden can part two braces, and what is put in takes room.
    return _cut(_TEMPLATE.sub("{ ", legible(text)), longest).strip()


def title(text: str, longest: int = LONGEST_TITLE) -> str:
    """What something is called: wording on one line."""
    return one_line(wording(text, longest), longest)


def worded_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A JSON Schema written out, whose titles and descriptions are wording.

    Raises `ValueError` where it is none, or too large.
    """
    read = SchemaReader(References(schema)).read(dict(schema))
    return {key: _worded(key, value, DEEPEST) for key, value in read.items()}


_WORDED = {"description": wording, "title": title}


def _worded(key: str, value: JsonValue, deepest: int) -> JsonValue:
    if isinstance(value, str):
        return _WORDED[key](value) if key in _WORDED else value
    if deepest == 0:
        return value
    if isinstance(value, list):
        return [_worded("", item, deepest - 1) for item in value]
    if isinstance(value, dict):
        return {name: _worded(name, item, deepest - 1) for name, item in value.items()}
    return value


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
