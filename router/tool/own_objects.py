"""Marks a parameter that names an object which the calling run has made itself.

The mark travels in the parameter's JSON Schema under `x-made-by`. A flow file has to take such an
argument from the result of the call that made the object: an id from anywhere else is refused when
the file is loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

MADE_BY = "x-made-by"


@dataclass(frozen=True)
class MadeBy:
    """Marks a parameter as `field` of the result of this run's own call of `tool`.

    >>> from typing import Annotated
    >>> from pydantic import TypeAdapter
    >>> TypeAdapter(Annotated[str, MadeBy("submit_claim", "claim")]).json_schema()["x-made-by"]
    'submit_claim.claim'
    """

    tool: str
    field: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the type itself, with the mark on it."""
        return {**handler(core), MADE_BY: f"{self.tool}.{self.field}"}


def made_by_in(schema: Mapping[str, Any]) -> MadeBy | None:
    """Return the mark in a parameter's schema; None if it has none."""
    marked = schema.get(MADE_BY)
    tool, dot, field = marked.partition(".") if isinstance(marked, str) else ("", "", "")
    return MadeBy(tool, field) if dot else None
