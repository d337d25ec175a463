"""The expressions of a flow: sound CEL, over things that exist and are filled by then."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from router.documents.faults import nearest
from router.documents.yaml_document import Place
from router.domain.principals import Principal
from router.flow import expressions
from router.flow.expression_names import members_read
from router.flow.model import Approve, Slot, State
from router.flow.validation.draft import Complaint, Draft, complaint

EVERYWHERE = frozenset({"slots", "results", "requester", "now"})


class Written(NamedTuple):
    """An expression in the file.

    `more` are the variables it may read besides those that are there everywhere; `fields` the
    members of `item`. A `certain` one is evaluated whatever is empty.
    """

    place: Place
    source: str
    certain: bool = False
    more: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with every expression of the flow."""
    for written in written_in(draft):
        faults = expressions.problems_of(written.source, EVERYWHERE | written.more)
        yield from (Complaint(written.place, fault) for fault in faults)
        if not expressions.compiles(written.source):
            continue
        yield from _unknown_members(draft, written)
        if written.certain:
            yield from _perhaps_empty(draft, written)


def written_in(draft: Draft) -> Iterator[Written]:
    """Every expression, in the order of the file."""
    for name, slot in draft.definition.slots.items():
        if slot.lookup is not None:
            yield Written(("slots", name, "lookup"), slot.lookup)
        if slot.when is not None:
            yield Written(("slots", name, "when"), slot.when)
        yield from _checks(("slots", name), slot, None)
    for place, state in draft.each_state():
        yield from _of_state(place, state)
    if draft.definition.withdrawal is not None:
        yield from _of_approval(("withdrawal", "approve"), draft.definition.withdrawal.approve)


def _checks(place: Place, slot: Slot, item: Slot | None) -> Iterator[Written]:
    more = frozenset({"item"}) if item else frozenset[str]()
    fields = frozenset(item.fields) if item else frozenset[str]()
    for number, check in enumerate(slot.check):
        yield Written((*place, "check", number, "that"), check.that, more=more, fields=fields)
    if slot.of is not None:
        yield from _checks((*place, "of"), slot.of, None)
    for name, field in slot.fields.items():
        yield from _checks((*place, "fields", name), field, slot)


def _of_state(place: Place, state: State) -> Iterator[Written]:
    more = frozenset({"item"}) if state.each is not None else frozenset[str]()
    for name, source in state.arguments.items():
        yield Written((*place, "with", name), source, certain=True, more=more)
    if state.each is not None:
        yield Written((*place, "each"), state.each, certain=True)
    if state.wait is not None and state.wait.until is not None:
        yield Written((*place, "wait", "until"), state.wait.until, certain=True)
    if state.approve is not None:
        yield from _of_approval((*place, "approve"), state.approve)
    for exit_, branches in state.exits().items():
        for number, branch in enumerate(branches):
            if branch.condition is not None:
                yield Written((*place, exit_, number, "if"), branch.condition, certain=True)


def _of_approval(place: Place, ask: Approve) -> Iterator[Written]:
    for number, source in enumerate(ask.by):
        yield Written((*place, "by", number), source, certain=True)
    if ask.otherwise is not None:
        yield Written((*place, "otherwise"), ask.otherwise, certain=True)
    for number, source in enumerate(ask.cc):
        yield Written((*place, "cc", number), source, True, frozenset({"approver"}))
    if ask.escalate_to is not None:
        yield Written((*place, "escalate_to"), ask.escalate_to, True, frozenset({"approver"}))


def _unknown_members(draft: Draft, written: Written) -> Iterator[Complaint]:
    known: dict[str, Collection[str]] = {
        "slots": draft.slots,
        "results": draft.results,
        "requester": Principal.model_fields.keys() - expressions.PRIVATE,
        "item": written.fields or members_read(written.source, "item"),
    }
    for variable, members in known.items():
        for name in sorted(members_read(written.source, variable) - set(members)):
            remedy = nearest(name, members) or f"there are {', '.join(sorted(members)) or 'none'}"
            what = f"the expression {written.source!r} reads {variable}.{name}"
            yield complaint(written.place, f"{what}, which isn't there", remedy)


def _perhaps_empty(draft: Draft, written: Written) -> Iterator[Complaint]:
    read = expressions.slots_read(written.source) & draft.slots
    for name in sorted(read - expressions.slots_guarded(written.source) - draft.filled):
        yield complaint(
            written.place,
            f"the expression {written.source!r} reads slots.{name}, which may be empty",
            f"write has(slots.{name}) && …, or has(slots.{name}) ? slots.{name} : null",
        )
