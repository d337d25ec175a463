"""What a run asks its requester, and how often it was asked."""

from typing import Annotated, ClassVar

from router.flow.engine.run_parts.draftable import Bound, Draftable
from router.flow.engine.run_parts.form import MAX_PATHS

HANDED_OFF = 4
"""Misses of a question after which a person is named; with the next it begins again."""


class Question(Draftable):
    """The question that waits for an answer, if there is one."""

    max_bytes: ClassVar[int] = 64 * 1024

    path: str | None = None
    """The slot path being asked for."""
    no_matches: int = 0
    """Answers in a row that didn't answer it."""
    times_asked: Annotated[dict[str, int], Bound(MAX_PATHS, "drop_oldest")] = {}
    """How often each path was asked for."""
    quiet: bool = False
    """True if the last event left the question to be asked another time."""
    asks_what_to_change: bool = False
    """True if the requester declined, and is asked what to change."""
    change_path: str = ""
    """What holds what is to be changed, if that is asked step by step: `items`, `items.0`."""
    lapsed: bool = False
    """True if the run ends since its requester said nothing more."""

    def ask(self, path: str) -> None:
        """Ask for this path, unless it is asked for already."""
        if path != self.path:
            self.path, self.no_matches = path, 0
            self._count()

    def count_no_match(self) -> None:
        """Count one more answer that didn't answer what is asked."""
        self.no_matches = self.no_matches % HANDED_OFF + 1
        self._count()

    def _count(self) -> None:
        if self.path is not None:
            self.times_asked[self.path] = self.times_asked.get(self.path, 0) + 1

    def clear(self) -> None:
        """Ask nothing any longer, as the state is left."""
        self.path, self.no_matches = None, 0
