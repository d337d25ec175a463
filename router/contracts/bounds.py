"""Bounds of the lists and dicts in a value, declared at its fields.

A conversation lives for years, so that each container in its state has a bound, and what happens
beyond it is part of the field: either the newest items are kept, or a named function makes room.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class KeepNewest:
    """Keep the last `limit` items of a list, tuple or dict; older ones are forgotten.

    Example:
        >>> class Lines(Value):
        ...     said: Annotated[list[str], KeepNewest(2)] = []
        >>> Lines(said=["a", "b", "c"]).said
        ['b', 'c']
    """

    limit: int

    def keep(self, items: Any) -> Any:
        """Return the items within the limit."""
        if len(items) <= self.limit:
            return items
        if isinstance(items, dict):
            return dict(islice(items.items(), len(items) - self.limit, None))
        return items[-self.limit :]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.keep, handler(source))


@dataclass(frozen=True)
class MadeRoomBy:
    """Note that the function `by` keeps the container within `limit` items.

    What is beyond can't just be forgotten: a person is told, or something else is to be closed.
    For a moment, within a turn, there may be more.
    """

    limit: int
    by: str
