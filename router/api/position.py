"""Where a reader of events stands, as the `id` of an event says it."""

from dataclasses import dataclass
from typing import Self

from router.domain.errors import FieldProblem, InvalidInput

MOST_DIGITS = 18
"""As many as any number has that fits into 64 bits with its sign."""
PATTERN = rf"^(?:[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,{MOST_DIGITS}}})?)?$"
"""How a position is written; nothing at all is none."""


@dataclass(frozen=True)
class Position:
    """At a row of the log, having seen so many of its events.

    >>> str(Position.of("42.3")), str(Position.of("42"))
    ('42.3', '42')
    """

    row: int
    seen: int | None = None
    """None: all of them."""

    @classmethod
    def of(cls, text: str) -> Self:
        """The position that an event's `id` names, or a transcript item's.

        Raises:
            InvalidInput: it is neither.
        """
        row, point, seen = text.partition(".")
        parts = (row, seen) if point else (row,)
        if all(p.isascii() and p.isdigit() and len(p) <= MOST_DIGITS for p in parts):
            return cls(*map(int, parts))
        raise InvalidInput(
            f"{text[:80]!r} is the id of no event; send one that came with an event, or none",
            [FieldProblem("Last-Event-ID", "isn't the id of an event")],
        )

    def __str__(self) -> str:
        return str(self.row) if self.seen is None else f"{self.row}.{self.seen}"

    @property
    def wholly_behind(self) -> int:
        """The last row of which everything was seen."""
        return self.row if self.seen is None else self.row - 1

    def seen_of(self, row: int) -> int | None:
        """How many events of this row were seen; None: all of them."""
        if row > self.row:
            return 0
        return self.seen if row == self.row else None
