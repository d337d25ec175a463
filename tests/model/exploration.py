"""Every state that a world can get into, nearest first, and the shortest way to a broken promise.

A world is a value. It names its moves, each of which gives another world; states that have the
same `key` are one. What breaks is told as the trace that leads there, which is as short as can be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, Self, TypeVar


class BrokenPromise(AssertionError):
    """A promise doesn't hold: `promise` is which, and the message what is the matter."""

    def __init__(self, promise: str, what: str) -> None:
        self.promise = promise
        super().__init__(f"{promise}: {what}")


class World(Protocol):
    """One state of everything: what is kept, what is under way, what may go wrong yet."""

    @property
    def key(self) -> bytes:
        """Equal for states from which the same can come."""

    def moves(self) -> Iterator[tuple[str, Callable[[], Self]]]:
        """What can happen, in words, and the world after it; may raise `BrokenPromise`."""


W = TypeVar("W", bound=World)


@dataclass(frozen=True)
class Counterexample:
    """The shortest way to a broken promise."""

    promise: str
    what: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  {number:2}. {step}" for number, step in enumerate(self.trace, 1))
        return f"{self.promise} is broken: {self.what}\n{steps}"


@dataclass(frozen=True)
class Exploration:
    """What was seen of a world: `whole` where nothing was left to see."""

    states: int
    moves: int
    depth: int
    seconds: float
    whole: bool
    found: Counterexample | None


class _Seen:
    """The states so far, and by which move each was first reached."""

    def __init__(self) -> None:
        self._came_by: dict[bytes, tuple[bytes, str]] = {}

    def __len__(self) -> int:
        return len(self._came_by)

    def adds(self, key: bytes, before: bytes, move: str) -> bool:
        """True where the state is new."""
        new = key not in self._came_by
        if new:
            self._came_by[key] = before, move
        return new

    def trace(self, key: bytes, *last: str) -> tuple[str, ...]:
        """The moves that lead to a state, and those after it."""
        steps = list(reversed(last))
        while key:
            key, move = self._came_by[key]
            steps.append(move)
        return tuple(reversed([step for step in steps if step]))


def explore(first: W, check: Callable[[W], None], deepest: int | None = None) -> Exploration:
    """See every state that is at most `deepest` moves away; all of them without.

    `check` raises `BrokenPromise` of a state; the first ends it.
    """
    began, seen, made, depth = perf_counter(), _Seen(), 0, 0
    seen.adds(first.key, b"", "")
    frontier = [(first.key, first)]

    def told(found: Counterexample | None, *, whole: bool) -> Exploration:
        return Exploration(len(seen), made, depth, perf_counter() - began, whole, found)

    while frontier and depth != deepest:
        further = []
        for key, world in frontier:
            try:
                move = ""
                check(world)
                for move, make in world.moves():
                    made += 1
                    after = make()
                    if seen.adds(after.key, key, move):
                        further.append((after.key, after))
            except BrokenPromise as broken:
                trace = seen.trace(key, move)
                return told(Counterexample(broken.promise, str(broken), trace), whole=False)
        depth += bool(further)
        frontier = further
    return told(None, whole=not frontier)
