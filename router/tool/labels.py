"""What an argument is called in Chinese, beside the English description that models read.

The words travel in the argument's JSON Schema under `x-zh`, and those of the values to choose
from under `x-zh-enum`. A declared tool writes them there itself. Forms show them; schemas that
models are given leave them out, as they do every keyword of nobody's dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

LABEL = "x-zh"
CHOICES = "x-zh-enum"
LONGEST = 60
"""Characters of a label that a form shows: a schema may be a stranger's."""


@dataclass(frozen=True)
class Labelled:
    """Marks a parameter with its Chinese label, after its `Field`.

    >>> from typing import Annotated
    >>> from pydantic import TypeAdapter
    >>> TypeAdapter(Annotated[int, Labelled("人数")]).json_schema()["x-zh"]
    '人数'
    """

    zh: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of the type itself, with the label on it."""
        return {**handler(core), LABEL: self.zh}


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
    # Not printable is also what turns a line around or hides within it.
    seen = "".join(sign for sign in " ".join(found.split()) if sign.isprintable())
    return seen[:LONGEST] or None
