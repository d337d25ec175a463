"""What happened in a run, line by line: for people, and only ever added to."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Self, overload

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Happening(BaseModel, frozen=True):
    """A line of the run's history, for people."""

    at: datetime
    state: str
    event: str
    by: str | None = None
    comment: str | None = None


class History(Sequence[Happening]):
    """The lines so far, as a value that never changes. In JSON it is a list.

    A longer history shares its lines with the one it was made from, so that adding a line costs
    the same however many there are, and whoever holds the shorter one sees no more than before:

        shared   [began, c1, c2, c3]
        shorter   ───────────▶            3 of them
        longer    ───────────────▶        4 of them

    Only where two histories go on from the same one does the second have to copy it.
    """

    __slots__ = ("_length", "_shared")

    def __init__(
        self, lines: Iterable[Happening] = (), *, shared: list[Happening] | None = None
    ) -> None:
        self._shared = list(lines) if shared is None else shared
        self._length = len(self._shared)

    def followed_by(self, line: Happening) -> Self:
        """The history with one more line at its end."""
        if len(self._shared) > self._length:  # another one went on from here already
            return type(self)(self).followed_by(line)
        self._shared.append(line)
        return type(self)(shared=self._shared)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Happening]:
        return islice(self._shared, self._length)

    @overload
    def __getitem__(self, place: int) -> Happening: ...
    @overload
    def __getitem__(self, place: slice) -> list[Happening]: ...
    def __getitem__(self, place: int | slice) -> Happening | list[Happening]:
        if isinstance(place, slice):
            return [self._shared[number] for number in range(self._length)[place]]
        return self._shared[range(self._length)[place]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return f"History({list(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        lines = handler.generate_schema(list[Happening])
        read = core_schema.no_info_after_validator_function(cls, lines)
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=lines
            ),
        )
