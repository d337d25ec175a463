"""What an argument is called in Chinese, beside the English description that models read.

The words travel in the argument's JSON Schema under `x-zh`, and those of the values to choose
from under `x-zh-enum`. A declared tool writes them there itself. Forms show them; schemas that
models are given leave them out, as they do every keyword of nobody's dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from pydantic import GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from router.domain.visible_text import one_line

LABEL = "x-zh"
CHOICES = "x-zh-enum"
LONGEST = 60
"""Characters of a label that a form shows: a schema may be a stranger's."""


@dataclass(frozen=True)
class ChineseLabel:
    """Marks a parameter with its Chinese label, after its `Field`.

    >>> from typing import Annotated
    >>> from pydantic import TypeAdapter
    >>> TypeAdapter(Annotated[int, ChineseLabel("人数")]).json_schema()["x-zh"]
    '人数'
    """

    zh: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of the type itself, with the label on it."""
        return {**handler(core), LABEL: self.zh}


def is_label(text: object) -> TypeGuard[str]:
    """True where it is a text that a form can show as it is."""
    return isinstance(text, str) and bool(text.strip()) and _words(text) == text.strip()


def labelled(schema: Mapping[str, JsonValue], labels: Mapping[str, str]) -> dict[str, JsonValue]:
    """The schema of an object with these labels on its properties, as far as it has those."""
    properties = schema.get("properties")
    if not labels or not isinstance(properties, Mapping):
        return dict(schema)
    found = {
        name: {**each, LABEL: labels[name]} if name in labels and isinstance(each, dict) else each
        for name, each in properties.items()
    }
    return {**schema, "properties": found}


def label_in(schema: Mapping[str, Any]) -> str | None:
    """The Chinese label in an argument's schema; None where it has none that can be shown."""
    return _words(schema.get(LABEL))


def choice_in(schema: Mapping[str, Any], value: str) -> str | None:
    """What one of an argument's values is called in Chinese, where its schema says so."""
    named = schema.get(CHOICES)
    return _words(named.get(value)) if isinstance(named, Mapping) else None


def _words(found: object) -> str | None:
    if not isinstance(found, str):
        return None
    seen = "".join(sign for sign in one_line(found, len(found)) if sign.isprintable())
    return seen[:LONGEST] or None
