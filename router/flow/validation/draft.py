"""A flow on its way to being accepted, and what may be said against it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from router.domain.errors import Fault
from router.flow.definition import FlowDefinition, State
from router.flow.slot_types.slot import Slot
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

UNSAID = "…"
"""Stands for a text or name that is missing, while the rest is checked; nothing is said of it."""

DECISION = "decision"
"""The result under which the machine keeps the last verdict of an approval."""

ERROR = "error"
"""The result under which it keeps why the last call or check came to nothing."""


def complaint(place: Place, what: str, remedy: str) -> Complaint:
    """A complaint, written in one go."""
    return Complaint(place, Fault(what, remedy))


@dataclass(frozen=True)
class Draft:
    """A definition to be checked, with what the checks have to know about it.

    `name` is the file's, without `.yaml`. `tools` maps every tool to its parameters, and is
    None where the tools aren't known. `states` and `slots` are the names that stand in the
    file, some of which may be missing from a `definition` that was mended at the places `mended`.
    """

    definition: FlowDefinition
    name: str
    states: frozenset[str]
    slots: frozenset[str]
    mended: frozenset[Place] = frozenset()
    tools: Mapping[str, frozenset[str]] | None = None

    def each_state(self) -> Iterator[tuple[Place, State]]:
        """Every state with its place."""
        for name, state in self.definition.states.items():
            yield ("states", name), state

    def each_slot(self) -> Iterator[tuple[Place, Slot]]:
        """Every slot with its place, those within lists and objects too, outermost first."""
        for name, slot in self.definition.slots.items():
            yield from _with_inner(("slots", name), slot)

    @cached_property
    def collected(self) -> frozenset[str]:
        """The slots that some state asks for."""
        states = self.definition.states.values()
        return frozenset(name for state in states for name in state.collects)

    @cached_property
    def filled(self) -> frozenset[str]:
        """The slots that count as filled: looked up, or required and asked for in any case."""
        return frozenset(
            name
            for name, slot in self.definition.slots.items()
            if slot.lookup is not None
            or (slot.required and slot.when is None and name in self.collected)
        )

    @cached_property
    def results(self) -> frozenset[str]:
        """The results that some state saves."""
        states = self.definition.states.values()
        saved = {state.saves for state in states if state.saves}
        decided = {DECISION} if any(state.asks for state in states) else set()
        failed = {ERROR} if any(state.fails for state in states) else set()
        told = {state.awaits.event for state in states if state.awaits and state.awaits.event}
        return frozenset(saved | decided | failed | told)


def _with_inner(place: Place, slot: Slot) -> Iterator[tuple[Place, Slot]]:
    yield place, slot
    if slot.of is not None:
        yield from _with_inner((*place, "of"), slot.of)
    for name, field in slot.fields.items():
        yield from _with_inner((*place, "fields", name), field)
