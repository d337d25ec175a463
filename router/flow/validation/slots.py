"""Slots that can't work: parts that don't fit their type, and gaps nobody would ever fill."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from router.flow.language import expressions
from router.flow.slot_types.slot import SLOT_TYPES, Slot
from router.flow.validation.graph import cycle_through
from router.flow.validation.unchecked import UNSAID, UncheckedFlow, complaint
from router.formats.regex import AUTHORED, compile_foreign, refused
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

MAX_FIND_PATTERNS = 20
_SOURCE = re.compile(r"document(?:\.[a-z][a-z0-9_]*)?")
PLACE = ("slots", "name")
"""Where a slot of the flow's own stands."""


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with slots in themselves, and with how they come to be filled."""
    for place, slot in draft.each_slot():
        yield from _parts(place, slot)
        yield from _limits(place, slot)
        yield from _synonyms(place, slot)
        yield from _finds(place, slot)
        yield from _reference(place, slot)
        yield from _when(draft, place, slot)
        yield from _read(place, slot)
    yield from _sources(("slots",), draft.definition.slots)
    for name, slot in draft.definition.slots.items():
        yield from _never_filled(draft, name, slot)
    yield from _lookup_cycle(draft)


def _parts(place: Place, slot: Slot) -> Iterator[Complaint]:
    for kind in SLOT_TYPES.values():
        part = kind.made_of
        if part is None or (kind is slot.kind) == bool(getattr(slot, part)):
            continue
        if kind is slot.kind:
            yield complaint(place, f"a slot of type {kind.name} needs {part}", f"add {part}: …")
        else:
            what = f"a slot of type {slot.type} has no {part}"
            yield complaint((*place, part), what, f"make it type: {kind.name}, or leave {part} out")
    fitting = (kind.name for kind in SLOT_TYPES.values() if slot.part_of_range in kind.range_parts)
    wanted = next(fitting, slot.type)
    if wanted != slot.type:
        what = f"the {slot.part_of_range} of a range is a {wanted}, and this slot a {slot.type}"
        yield complaint((*place, "range"), what, f"make it type: {wanted}, or leave range out")
    if slot.of is not None and slot.of.kind.made_of == "of":
        yield complaint((*place, "of"), "a list of lists can't be asked for", "use an object")
    if slot.of is not None and slot.of.check:
        what = "an item as a whole isn't checked"
        yield complaint((*place, "of", "check"), what, "check a field of it")


def _limits(place: Place, slot: Slot) -> Iterator[Complaint]:
    if not 0 <= slot.min <= slot.max or slot.max < 1:
        what = f"from {slot.min} to {slot.max} items is no number of items"
        yield complaint((*place, "min"), what, "min must not be more than max, and max at least 1")
    if slot.max_length < 1:
        yield complaint((*place, "max_length"), "no text is that short", "at least 1")
    if len(place) > len(PLACE) and slot.lookup is not None:
        what = "a part of a slot isn't looked up"
        yield complaint((*place, "lookup"), what, "look up a slot of its own")


def _finds(place: Place, slot: Slot) -> Iterator[Complaint]:
    name = str(place[-1])
    if slot.find and (not slot.kind.is_text or place[:1] != ("slots",) or len(place) > len(PLACE)):
        what = "only a text of the flow's own is found by patterns"
        yield complaint((*place, "find"), what, "leave find out: other types are read as they are")
        return
    if len(slot.find) > MAX_FIND_PATTERNS:
        what = f"there are {len(slot.find)} patterns: a slot may have {MAX_FIND_PATTERNS}"
        remedy = "put alternatives into one pattern, as in (?:a|b)"
        yield complaint((*place, "find"), what, remedy)
        return
    for number, source in enumerate(slot.find):
        where = (*place, "find", number)
        if fault := refused(source, bounds=AUTHORED):
            named = source if len(source) <= AUTHORED.chars else f"{source[:80]}…"
            yield complaint(where, f"the pattern {named!r} {fault.what}", fault.remedy)
        elif set(compile_foreign(source, AUTHORED).groupindex) != {name}:
            what = f"the pattern {source!r} has no group {name}, or others too"
            yield complaint(where, what, f"put what is the {name} into (?P<{name}>…)")


def _reference(place: Place, slot: Slot) -> Iterator[Complaint]:
    pattern = slot.reference.pattern if slot.reference is not None else None
    if pattern is None:
        return
    where = (*place, "reference", "pattern")
    named = pattern if len(pattern) <= AUTHORED.chars else f"{pattern[:80]}…"
    if fault := refused(pattern, bounds=AUTHORED):
        yield complaint(where, f"the pattern {named!r} {fault.what}", fault.remedy)
    elif compile_foreign(pattern, AUTHORED).groups:
        what = f"the pattern {named!r} has groups that nothing asks for"
        yield complaint(where, what, "write (?:…) where nothing is captured")


def _read(place: Place, slot: Slot) -> Iterator[Complaint]:
    """What is wrong with a slot that is read as a document."""
    if slot.documents and not slot.kind.is_file:
        what = "only a file is read"
        yield complaint((*place, "documents"), what, "make it type: file, or leave documents out")
    if slot.warn and not slot.documents:
        what = "only what is read of a file is warned about"
        yield complaint((*place, "warn"), what, "name the documents it takes, or write a check")
    if slot.sources and slot.kind.is_file:
        yield complaint((*place, "from"), "a file is the document itself", "leave from out")
    for number, source in enumerate(slot.sources):
        if not _SOURCE.fullmatch(source):
            what = f"{source!r} is no field of a document"
            yield complaint((*place, "from", number), what, "write document, or document.number")
    named = any(choice.documents for choice in slot.choices.values())
    if named and "document.type" not in slot.sources:
        what = "its choices name documents, and it isn't filled by their type"
        yield complaint((*place, "from"), what, "add document.type")


def _sources(place: Place, slots: Mapping[str, Slot]) -> Iterator[Complaint]:
    """Slots that are to be filled from a file, and have none beside them, or more than one."""
    read = [name for name, slot in slots.items() if slot.documents]
    for name, slot in slots.items():
        if slot.sources and len(read) != 1:
            what = f"{len(read) or 'no'} files beside it are read, so it isn't known from which"
            yield complaint((*place, name, "from"), what, "have one file with documents beside it")
        inner = slot.of if slot.of is not None else slot
        within = (name, "of", "fields") if slot.of is not None else (name, "fields")
        yield from _sources((*place, *within), inner.fields)


def _when(draft: UncheckedFlow, place: Place, slot: Slot) -> Iterator[Complaint]:
    if slot.when is None:
        return
    own = len(place) == len(PLACE) and place[:1] == ("slots",)
    if not own or slot.ask is None or place[-1] not in draft.collected:
        what = "nothing asks for it, so there is no `when`"
        yield complaint((*place, "when"), what, "give it an ask and name it in a collect")


def _synonyms(place: Place, slot: Slot) -> Iterator[Complaint]:
    words: Counter[str] = Counter()
    for choice in slot.choices.values():
        own = {choice.label.zh, choice.label.en, *choice.synonyms} - {UNSAID}
        words.update({word.casefold() for word in own})
    for value, choice in slot.choices.items():
        for word in choice.synonyms:
            if words[word.casefold()] > 1:
                here, what = (
                    (*place, "choices", value),
                    f"{word!r} means more than one of the choices",
                )
                remedy = "keep it where it certainly belongs, or nowhere"
                yield complaint((*here, "synonyms"), what, remedy)


def _never_filled(draft: UncheckedFlow, name: str, slot: Slot) -> Iterator[Complaint]:
    place = ("slots", name)
    if slot.required and slot.lookup is None and name not in draft.collected:
        what = f"{name} is required, and nothing ever asks for it"
        remedy = "add it to a collect, give it a lookup, or say required: false"
        yield complaint(place, what, remedy)
    if slot.lookup is None or (slot.ask is not None and name in draft.collected):
        return
    sources = expressions.slots_needed(slot.lookup)
    for source in sorted((sources & draft.slots) - draft.filled):
        what = f"{name} can't be looked up while {source} is empty, and nothing certainly fills it"
        remedy = f"write has(slots.{source}) ? slots.{source} : …, or have {source} collected"
        yield complaint((*place, "lookup"), what, remedy)


def _lookup_cycle(draft: UncheckedFlow) -> Iterator[Complaint]:
    lookups = {n: s.lookup for n, s in draft.definition.slots.items() if s.lookup is not None}
    steps = {n: expressions.slots_needed(source) & set(lookups) for n, source in lookups.items()}
    reported: set[frozenset[str]] = set()
    for name in lookups:
        cycle = cycle_through(name, steps)
        if cycle and frozenset(cycle) not in reported:
            reported.add(frozenset(cycle))
            what = f"lookups wait for each other: {' ▸ '.join([*cycle, name])}"
            remedy = "look one of them up from something that is asked for"
            yield complaint(("slots", name, "lookup"), what, remedy)
