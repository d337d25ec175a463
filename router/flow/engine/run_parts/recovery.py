"""What went wrong in a run, what it did, and how that is taken back."""

from itertools import takewhile
from typing import Annotated, ClassVar, Literal

from pydantic import JsonValue

from router.domain.run_history import Incident
from router.domain.value import Value
from router.flow.engine.run_parts.draftable import Bound, Draftable, OnePer

MAX_DONE = 1_000
"""Calls with an `undo` that a run makes: it keeps each until it ends, to take it back."""
MAX_LASTING = 100

FailureKind = Literal["arguments", "permanent", "unavailable", "unknown", "missing"]
"""Other values might do; nothing can be done; its system is out of reach; nobody knows whether
it was done; the tool, lookup or hook isn't deployed."""
HeldKind = FailureKind | Literal["data"]
"""`data`: the run can't move on with the values that it has, for a reason that nobody foresaw."""


class Visit(Value):
    """A state that was entered, and for which time."""

    state: str
    visit: int


class Done(Value):
    """A call that succeeded and has an `undo`, made by this run or by one that it started."""

    visit: int
    state: str
    tool: str
    arguments: Annotated[dict[str, JsonValue], OnePer("argument")]
    key: str
    part: int | None = None
    undo: str
    """The tool that takes it back."""
    task: str | None = None
    """The task that tried to: whatever is gone by the next try, it keeps its id."""
    failed: FailureKind | None = None
    """Why it couldn't be taken back, until that is tried again."""
    tries: int = 0
    """How often that came to nothing."""
    again: int = 0
    """How often an operator had it taken back under a key of its own."""


class Withdraws(Value):
    """The completed run that this one takes back, once that is agreed to."""

    run: str
    done: Annotated[list[Done], Bound(MAX_DONE, "hold")]


class Recovery(Draftable):
    """Calls that fail, and calls that are to be taken back."""

    max_bytes: ClassVar[int] = 512 * 1024

    trail: Annotated[list[Visit], OnePer("state")] = []
    """The states on the way to the present one, each at its last visit: one can go back to them."""
    held: HeldKind | None = None
    """Why the call failed, or an approval's lookup, that an operator has to see to."""
    incident: Incident | None = None
    """The last incident, seen to or not: see `open_incident`."""
    tries: int = 0
    """Calls of this visit that came back without an answer."""
    missing_tries: int = 0
    """How often this visit looks again by itself for code that isn't deployed."""
    again: int = 0
    """How often an operator had the call of this visit made under a key of its own."""
    done: Annotated[list[Done], Bound(MAX_DONE, "hold")] = []
    """Calls that can be taken back, oldest first."""
    lasting: Annotated[list[Visit], Bound(MAX_LASTING, "drop_oldest")] = []
    """Where something was done that can't be taken back."""
    owes: Literal["later", "operator"] | None = None
    """Who is to take back what couldn't be, as the requester was told: a later try, or somebody."""
    withdraws: Withdraws | None = None
    """The completed run that this one is to take back."""
    says_cancelled: bool = False
    """True if the requester heard that it is being taken back, and waits to hear that it was."""
    told_elsewhere: bool = False
    """True if a run that this one is a part of, or a part of it, says that it is cancelled."""

    @property
    def open_incident(self) -> Incident | None:
        """Why the run waits for an operator; `None` if it doesn't."""
        return self.incident if self.held is not None or self.owes == "operator" else None

    def begin_visit(self, visit: Visit) -> None:
        """Put the visit on the trail, and forget the tries of the state that was left."""
        before = takewhile(lambda earlier: earlier.state != visit.state, self.trail)
        self.trail = [*before, visit]
        self.held, self.tries, self.missing_tries, self.again = None, 0, 0, 0
