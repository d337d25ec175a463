"""The patterns of a flow: RE2, so that no message can make them slow."""

from collections.abc import Iterator

from router.documents.faults import nearest
from router.documents.re2_syntax import compiled, refused
from router.documents.yaml_document import Place
from router.flow.validation import words
from router.flow.validation.draft import Complaint, Draft, complaint

ESCAPED = {"\b": "a backspace", "\x1b": "an escape character", "\x00": "a null character"}
"""What YAML makes of `\\b`, `\\e`, `\\0` in double quotes, and no message has."""


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with the patterns that start the flow or keep it from starting.

    A pattern is named as it is written, and judged as it is with its words written out; one
    whose words are at fault themselves isn't judged.
    """
    triggers = draft.definition.triggers
    if words.too_long(triggers):
        yield words.TOO_LONG
        return
    yield from words.complaints(draft)
    sound = words.sound(triggers.words)
    for place, source in words.patterns_of(triggers):
        if sound.keys() >= set(words.references(source)):
            yield from _faults(draft, place, source, words.written_out(source, sound))


def _faults(draft: Draft, place: Place, written: str, source: str) -> Iterator[Complaint]:
    if fault := refused(source, words.blanked(written)):
        yield complaint(place, f"the pattern {written!r} {fault.what}", fault.remedy)
        return
    if made := next((char for char in written if char in ESCAPED), None):
        what = f"the pattern {written!r} has {ESCAPED[made]} in it: double quotes make one of it"
        yield complaint(place, what, "write patterns in single quotes: '\\b…'")
        return
    pattern = compiled(source)
    if pattern.search("") is not None:
        what = f"the pattern {written!r} matches an empty message"
        yield complaint(place, what, "have it want some text")
    groups = pattern.groupindex if "patterns" in place else ()
    for group in sorted(set(groups) - draft.slots):
        yield complaint(
            place,
            f"the pattern {written!r} has a group {group}, and there is no such slot",
            nearest(group, draft.slots) or "name it after a slot, or make it (?:…)",
        )
