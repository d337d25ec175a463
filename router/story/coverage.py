"""Which states and transitions of a flow were taken, read from the histories of its runs.

A history says into which state an event led; where it came from is the line before. So
nothing has to be recorded for it, and runs of any version of the machine can be counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from router.domain.run_history import HistoryEntry
from router.flow.definition import FlowDefinition


class Transition(NamedTuple):
    """One way on: through which exit of a state, to which other."""

    state: str
    exit: str
    to: str

    def __str__(self) -> str:
        return f"{self.state}.{self.exit} ▸ {self.to}"


@dataclass(frozen=True)
class TakenTransitions:
    """What runs of one flow came through."""

    states: frozenset[str] = frozenset()
    transitions: frozenset[Transition] = frozenset()

    def __or__(self, other: "TakenTransitions") -> "TakenTransitions":
        return TakenTransitions(self.states | other.states, self.transitions | other.transitions)


def transitions_of(definition: FlowDefinition) -> list[Transition]:
    """Every transition that the flow has, in the order of its file."""
    found = [
        Transition(name, exit_, branch.to)
        for name, state in definition.states.items()
        for exit_, branches in state.exits().items()
        for branch in branches
    ]
    return list(dict.fromkeys(found))


def taken_in(definition: FlowDefinition, history: Iterable[HistoryEntry]) -> TakenTransitions:
    """What one run came through. Moves that no exit stands for (a correction) are none."""
    known = frozenset(transitions_of(definition))
    states: list[str] = []
    taken: set[Transition] = set()
    for line in history:
        move = Transition(states[-1] if states else "", line.event, line.state)
        if move in known:
            taken.add(move)
        states.append(line.state)
    return TakenTransitions(frozenset(states) & definition.states.keys(), frozenset(taken))


@dataclass(frozen=True)
class Coverage:
    """How much of a flow was taken."""

    definition: FlowDefinition
    taken: TakenTransitions

    @property
    def states(self) -> list[str]:
        """Those that nothing came to."""
        return [name for name in self.definition.states if name not in self.taken.states]

    @property
    def transitions(self) -> list[Transition]:
        """Those that nothing took."""
        return [t for t in transitions_of(self.definition) if t not in self.taken.transitions]

    @property
    def parts(self) -> int:
        """How many states and transitions there are."""
        return len(self.definition.states) + len(transitions_of(self.definition))

    @property
    def share(self) -> float:
        """Of states and transitions together, in percent."""
        missing = len(self.states) + len(self.transitions)
        return 100.0 * (self.parts - missing) / self.parts


def coverages(
    flows: Iterable[FlowDefinition], taken: Mapping[str, TakenTransitions]
) -> list[Coverage]:
    """One for each flow, those that nothing took included."""
    return [Coverage(flow, taken.get(flow.flow, TakenTransitions())) for flow in flows]


def told(found: Iterable[Coverage]) -> Iterator[str]:
    """A line for each flow, and one for each state and transition that no story took."""
    for each in found:
        # Rounded down: 100 % is all of it.
        yield f"{int(each.share):>3} %  {each.definition.flow}"
        yield from (f"       no story comes to {state}" for state in each.states)
        yield from (f"       no story takes {transition}" for transition in each.transitions)
