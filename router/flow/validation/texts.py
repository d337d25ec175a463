"""The texts of a flow: sound templates, in both languages, over things that exist."""

from collections.abc import Iterator

from router.documents.yaml_document import Place
from router.domain.texts import LOCALES, Localised
from router.flow import texts
from router.flow.model import Choice, Slot, State
from router.flow.validation.draft import Complaint, Draft, complaint


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with every text of the flow."""
    for place, text in templates(draft):
        for locale in LOCALES:
            found = texts.problems_of(text.within(locale), draft.slots, draft.results)
            yield from (Complaint((*place, locale), fault) for fault in found)
    for place, text in [*templates(draft), *_labels(draft)]:
        for locale in LOCALES:
            if not text.within(locale).strip():
                yield complaint((*place, locale), "this text is empty", "say something")


def templates(draft: Draft) -> Iterator[tuple[Place, Localised]]:
    """Every text that values are filled into."""
    for place, slot in draft.each_slot():
        yield from _of_slot(place, slot)
    for place, state in draft.each_state():
        yield from _of_state(place, state)
    if draft.definition.withdrawal is not None:
        yield ("withdrawal", "approve", "title"), draft.definition.withdrawal.approve.title


def _of_slot(place: Place, slot: Slot) -> Iterator[tuple[Place, Localised]]:
    if slot.ask is not None:
        yield (*place, "ask"), slot.ask
    if slot.more is not None:
        yield (*place, "more"), slot.more
    for number, check in enumerate(slot.check):
        yield (*place, "check", number, "say"), check.say


def _of_state(place: Place, state: State) -> Iterator[tuple[Place, Localised]]:
    if state.say is not None:
        yield (*place, "say"), state.say
    if state.confirm is not None:
        yield (*place, "confirm"), state.confirm
    if state.approve is not None:
        yield (*place, "approve", "title"), state.approve.title


def _labels(draft: Draft) -> Iterator[tuple[Place, Localised]]:
    """Every text that is shown as it stands."""
    yield ("title",), draft.definition.title
    yield ("description",), draft.definition.description
    for place, slot in draft.each_slot():
        if slot.label is not None:
            yield (*place, "label"), slot.label
        choices: dict[str, Choice] = slot.choices
        for value, choice in choices.items():
            yield (*place, "choices", value, "label"), choice.label
