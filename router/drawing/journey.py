"""The way that a run took through its flow: a function of the definition and the history."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Protocol

from router.drawing.graph import Exit
from router.flow.model import FlowDefinition

MOVES = frozenset({"began", "changed", "asked_back"})
"""What enters a state without being an exit: the beginning, a correction, a tool's question."""


class Line(Protocol):
    """A line of a run's history."""

    @property
    def at(self) -> datetime:
        """When it happened."""

    @property
    def state(self) -> str:
        """Where the run stood from then on."""

    @property
    def event(self) -> str:
        """What happened: an exit's name where that led to another state."""


@dataclass(frozen=True)
class Journey:
    """States with the moments at which they were entered, exits with how often they were taken."""

    visits: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    taken: Mapping[Exit, int] = field(default_factory=dict)
    here: str | None = None
    """Where the run stands, or ended."""


def journey_of(definition: FlowDefinition, history: Iterable[Line], zone: tzinfo = UTC) -> Journey:
    """The path of a run with this history, its moments as a clock in `zone` shows them.

    Lines that only tell of something (a reminder, a verdict) move nothing. A correction moves
    to a state by no exit of the file: the visit counts, and no edge is marked.
    """
    visits: dict[str, list[datetime]] = {}
    taken: Counter[Exit] = Counter()
    here: str | None = None
    for line in history:
        is_exit = _leads(definition, here, line)
        if line.state != here or line.event in MOVES or is_exit:
            visits.setdefault(line.state, []).append(line.at.astimezone(zone))
        if is_exit:
            taken[(str(here), line.event, line.state)] += 1
        here = line.state
    return Journey(visits, dict(taken), here)


def _leads(definition: FlowDefinition, here: str | None, line: Line) -> bool:
    state = definition.states.get(here or "")
    branches = state.exits().get(line.event, ()) if state is not None else ()
    return any(branch.to == line.state for branch in branches)
