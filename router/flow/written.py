"""How a flow file writes what it is made of: the base of its models, durations, one or several."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

_SPAN = re.compile(r"[+-]?P")


def _as_iso(value: Any) -> Any:
    """Refuse what pydantic would take besides: `3 days`, a clock's time, a number of seconds."""
    if isinstance(value, timedelta) or (isinstance(value, str) and _SPAN.match(value)):
        return value
    raise PydanticCustomError("time_delta_parsing", "a duration is written as ISO 8601 has it")


Span = Annotated[timedelta, BeforeValidator(_as_iso)]
"""How long something takes, written `PT24H` or `P14D`."""


class Definition(BaseModel):
    """Base of everything in a flow file: frozen, closed, and written with the file's own keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True
    )


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Several = Annotated[
    tuple[str, ...], BeforeValidator(_several, json_schema_input_type=str | tuple[str, ...])
]
