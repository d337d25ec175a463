"""The expressions and texts of a flow: sound, over things that exist and are filled by then."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from router.domain.errors import nearest
from router.domain.locale import LOCALES, Localised
from router.domain.principals import Principal
from router.flow.definition import Approve, State
from router.flow.language import comparisons, expressions, templates
from router.flow.language.budgets import turn_budget
from router.flow.language.comparisons import ComparedText
from router.flow.language.expressions import members_read
from router.flow.slot_types.slot import Slot
from router.flow.validation.unchecked import UncheckedFlow, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

EVERYWHERE = frozenset({"slots", "results", "requester", "now"})


class WrittenExpression(NamedTuple):
    """An expression in the file; a `certain` one is evaluated whatever is empty.

    `more` it may read besides what is there everywhere; `fields` are the members of `item`, `each`
    the list that it is one of.
    """

    place: Place
    source: str
    certain: bool = False
    more: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    each: str | None = None


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with every expression of the flow."""
    examination = turn_budget()
    for written in written_in(draft):
        readable = EVERYWHERE | written.more
        faults = expressions.problems_of(written.source, readable, examination)
        yield from (Complaint(written.place, fault) for fault in faults)
        if not expressions.compiles(written.source):
            continue
        yield from _unknown_members(draft, written)
        known = comparisons.item_path(written.place, written.each)
        compared = comparisons.in_expression(written.source, known)
        yield from _unknown_choices(draft, written.place, "expression", written.source, compared)
        if written.certain:
            read = expressions.slots_read(written.source) & draft.slots
            for name in sorted(read - expressions.slots_guarded(written.source) - draft.filled):
                what = f"the expression {written.source!r} reads slots.{name}, which may be empty"
                remedy = f"write has(slots.{name}) && …, or has(slots.{name}) ? slots.{name} : null"
                yield complaint(written.place, what, remedy)


def written_in(draft: UncheckedFlow) -> Iterator[WrittenExpression]:
    """Every expression, in the order of the file."""
    for name, slot in draft.definition.slots.items():
        if slot.lookup is not None:
            yield WrittenExpression(("slots", name, "lookup"), slot.lookup)
        if slot.when is not None:
            yield WrittenExpression(("slots", name, "when"), slot.when)
        yield from _checks(("slots", name), slot, None)
    for place, state in draft.each_state():
        yield from _of_state(place, state)
    if draft.definition.withdrawal is not None:
        yield from _of_approval(("withdrawal", "approve"), draft.definition.withdrawal.approve)


def _checks(place: Place, slot: Slot, item: Slot | None) -> Iterator[WrittenExpression]:
    more = frozenset({"item"}) if item else frozenset[str]()
    more |= {"document"} if slot.documents else set()
    fields = frozenset(item.fields) if item else frozenset[str]()
    for key, checks in (("check", slot.check), ("warn", slot.warn)):
        for number, check in enumerate(checks):
            here = (*place, key, number, "that")
            yield WrittenExpression(here, check.that, more=more, fields=fields)
    if slot.of is not None:
        yield from _checks((*place, "of"), slot.of, None)
    for name, field in slot.fields.items():
        yield from _checks((*place, "fields", name), field, slot)


def _of_state(place: Place, state: State) -> Iterator[WrittenExpression]:
    each = state.batch.each if state.batch else None
    more = frozenset({"item"}) if each is not None else frozenset[str]()
    for name, source in state.gives.items():
        here = (*place, "with", name)
        yield WrittenExpression(here, source, certain=True, more=more, each=each)
    if each is not None:
        yield WrittenExpression((*place, "each"), each, certain=True)
    if state.awaits is not None and state.awaits.until is not None:
        yield WrittenExpression((*place, "wait", "until"), state.awaits.until, certain=True)
    if state.asks is not None:
        yield from _of_approval((*place, "approve"), state.asks)
    for exit_, branches in state.exits().items():
        for number, branch in enumerate(branches):
            if branch.condition is not None:
                yield WrittenExpression((*place, exit_, number, "if"), branch.condition, True)


def _of_approval(place: Place, ask: Approve) -> Iterator[WrittenExpression]:
    approver = frozenset({"approver"})
    for number, source in enumerate(ask.by):
        yield WrittenExpression((*place, "by", number), source, certain=True)
    if ask.otherwise is not None:
        yield WrittenExpression((*place, "otherwise"), ask.otherwise, certain=True)
    for number, source in enumerate(ask.cc):
        yield WrittenExpression((*place, "cc", number), source, True, approver)
    if ask.escalate_to is not None:
        yield WrittenExpression((*place, "escalate_to"), ask.escalate_to, True, approver)


def _unknown_members(draft: UncheckedFlow, written: WrittenExpression) -> Iterator[Complaint]:
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


def _unknown_choices(
    draft: UncheckedFlow, place: Place, sort: str, source: str, compared: Iterable[ComparedText]
) -> Iterator[Complaint]:
    """What is compared with a choice that isn't there: it never holds, and nobody sees that."""
    for each in dict.fromkeys((one.path, one.text) for one in compared):
        path, text = each
        choices = draft.choices.get(path, ())
        if choices and text not in choices:
            what = f"the {sort} {source!r} compares {'.'.join(path)} with {text!r}"
            remedy = nearest(text, choices) or f"there are {', '.join(sorted(choices))}"
            yield complaint(place, f"{what}, which is none of its choices", remedy)


def text_complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with every text of the flow."""
    for place, text in templates_in(draft):
        more = ("document",) if place[-1] == "say" else ()
        for locale in LOCALES:
            found = templates.problems_of(text.within(locale), draft.slots, draft.results, more)
            yield from (Complaint((*place, locale), fault) for fault in found)
            source = text.within(locale)
            compared = comparisons.in_template(source)
            yield from _unknown_choices(draft, (*place, locale), "text", source, compared)
    for place, text in [*templates_in(draft), *labels_in(draft)]:
        for locale in LOCALES:
            if not text.within(locale).strip():
                yield complaint((*place, locale), "this text is empty", "say something")


def templates_in(draft: UncheckedFlow) -> Iterator[tuple[Place, Localised]]:
    """Every text that values are filled into."""
    for place, slot in draft.each_slot():
        if slot.ask is not None:
            yield (*place, "ask"), slot.ask
        if slot.more is not None:
            yield (*place, "more"), slot.more
        for key, checks in (("check", slot.check), ("warn", slot.warn)):
            for number, check in enumerate(checks):
                yield (*place, key, number, "say"), check.say
    for place, state in draft.each_state():
        yield from (((*place, *within), text) for within, text in state.texts.items())
    if draft.definition.withdrawal is not None:
        yield ("withdrawal", "approve", "title"), draft.definition.withdrawal.approve.title


def labels_in(draft: UncheckedFlow) -> Iterator[tuple[Place, Localised]]:
    """Every text that is shown as it stands."""
    yield ("title",), draft.definition.title
    yield ("description",), draft.definition.description
    for place, slot in draft.each_slot():
        if slot.label is not None:
            yield (*place, "label"), slot.label
        for value, choice in slot.choices.items():
            yield (*place, "choices", value, "label"), choice.label
