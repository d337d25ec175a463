"""A flow on its way to being accepted, and what may be said against it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Self

from router.domain.errors import Fault
from router.domain.principals import ALL_NAMES, NameSelection
from router.flow.definition import FlowDefinition, State
from router.flow.language.comparisons import MemberPath, path_of
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


NameSet = frozenset[str]


class Vocabulary(NamedTuple):
    """What flow files may name that stands elsewhere, each with the names that belong to it.

    `tools` have parameters, types of `documents` have fields; None where they aren't known.
    `approved` are the tools that need an approval, and `made_by` has, for each parameter that names
    an object of the run's own: the tool, the parameter, the tool that makes the object, and the
    field of that tool's result. `reads` are the tools that are known to change nothing,
    and `usable` are those that the author may use, whether or not they are there now.

    >>> Vocabulary.of(tools={"book_room": frozenset({"seats"})}).names("tools")
    {'book_room': frozenset({'seats'})}
    """

    tools: frozenset[tuple[str, NameSet]] | None = None
    documents: frozenset[tuple[str, NameSet]] | None = None
    approved: NameSet = frozenset()
    made_by: frozenset[tuple[str, str, str, str]] = frozenset()
    reads: NameSet = frozenset()
    usable: NameSelection = ALL_NAMES

    @classmethod
    def of(
        cls,
        tools: Mapping[str, NameSet] | None = None,
        documents: Mapping[str, NameSet] | None = None,
        approved: NameSet = frozenset(),
        made_by: frozenset[tuple[str, str, str, str]] = frozenset(),
        reads: NameSet = frozenset(),
    ) -> Self:
        """The same, of names by name."""
        return cls(
            None if tools is None else frozenset(tools.items()),
            None if documents is None else frozenset(documents.items()),
            approved,
            made_by,
            reads,
        )

    def names(self, of: Literal["tools", "documents"]) -> Mapping[str, NameSet] | None:
        """Their names, each with those that belong to it; None where they aren't known."""
        known = self.tools if of == "tools" else self.documents
        return None if known is None else dict(sorted(known))


@dataclass(frozen=True)
class UncheckedFlow:
    """A definition to be checked, with what the checks have to know about it.

    `name` is the file's, without `.yaml`. `known` is what it may name. `states` and `slots` are
    the names that stand in the file, some of which may be missing from a `definition` that was
    mended at the places `mended`.
    """

    definition: FlowDefinition
    name: str
    states: frozenset[str]
    slots: frozenset[str]
    mended: frozenset[Place] = frozenset()
    known: Vocabulary = field(default_factory=Vocabulary)

    @cached_property
    def tools(self) -> Mapping[str, NameSet] | None:
        """Every tool with its parameters; None where they aren't known."""
        return self.known.names("tools")

    @cached_property
    def documents(self) -> Mapping[str, NameSet] | None:
        """Every type of documents with its fields; None where they aren't known."""
        return self.known.names("documents")

    def each_state(self) -> Iterator[tuple[Place, State]]:
        """Every state with its place."""
        for name, state in self.definition.states.items():
            yield ("states", name), state

    def each_slot(self) -> Iterator[tuple[Place, Slot]]:
        """Every slot with its place, those within lists and objects too, outermost first."""
        for name, slot in self.definition.slots.items():
            yield from _with_inner(("slots", name), slot)

    @cached_property
    def choices(self) -> Mapping[MemberPath, NameSet]:
        """The choices of every slot that has any, by the path of its value."""
        return {
            path_of(place): frozenset(slot.choices)
            for place, slot in self.each_slot()
            if slot.choices
        }

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
    for name, inner in slot.fields.items():
        yield from _with_inner((*place, "fields", name), inner)
