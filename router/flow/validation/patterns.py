"""The patterns of a flow, which are RE2, and the named words that stand in them as `{NAME}`."""

import re
from collections.abc import Iterable, Iterator, Mapping

from router.domain.errors import nearest
from router.flow.definition import FlowDefinition, Triggers
from router.flow.validation.unchecked import UncheckedFlow, complaint
from router.formats.regex import AUTHORED, compile_foreign, program_size, refused
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")
REFERENCE = re.compile(r"\\(?:[pPx]\{[^}]*\}|.)|\{(?P<word>[A-Z][A-Z0-9_]*)\}", re.DOTALL)
r"""A word's name in braces. RE2's escapes are passed over, which have braces too: `\p{L}`, `\{`."""

LONGEST = 64 * 1024
"""Bytes. What is written out travels with every run, and words within words could double each
other any number of times."""
MAX_PATTERNS = 100
MAX_INSTRUCTIONS = 100_000
"""Of the programs that RE2 compiles of a flow's patterns: each message is searched with all."""
WORDS = ("triggers", "words")
TOO_LONG = complaint(
    WORDS,
    f"the words come to over {LONGEST // 1024} KiB where they are written out",
    "put fewer words within words",
)


def references(source: str) -> list[str]:
    r"""The words that a pattern refers to, in its order.

    >>> references(r"{BEGIN}.{0,8}\p{L}{KIND}")
    ['BEGIN', 'KIND']
    """
    return [found["word"] for found in REFERENCE.finditer(source) if found["word"]]


def written_out(source: str, words: Mapping[str, str]) -> str:
    """A pattern with the words put in; a name that isn't among them stays.

    >>> written_out("^{KIND}假", {"KIND": "(?:年|病)"})
    '^(?:年|病)假'
    """
    return REFERENCE.sub(lambda found: words.get(found["word"] or "", found[0]), source)


def blanked(source: str) -> str:
    """A pattern with a blank for every character of a reference, so that positions stay."""
    return REFERENCE.sub(lambda found: " " * len(found[0]) if found["word"] else found[0], source)


def without_words(definition: FlowDefinition) -> FlowDefinition:
    """A sound definition with its words written out, as everything but its file knows it."""
    triggers = definition.triggers
    words = words_sound(triggers.words)

    def plain(patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(written_out(pattern, words) for pattern in patterns)

    changed = triggers.replace(
        patterns=plain(triggers.patterns),
        topics=plain(triggers.topics),
        unless=plain(triggers.unless),
        words={},
    )
    return definition.replace(triggers=changed)


def words_sound(words: Mapping[str, str]) -> dict[str, str]:
    """The words that nothing is wrong with, each with the earlier ones put in.

    Words after those that are too large together, or faulty together, aren't looked at.
    """
    found: dict[str, str] = {}
    instructions = 0
    for name, source in words.items():
        plain = written_out(source, found)
        known = NAME.match(name) and found.keys() >= set(references(source))
        if known and not refused(plain, source, AUTHORED):
            found[name] = plain
        instructions += program_size(plain, AUTHORED) if name in found else AUTHORED.instructions
        if instructions > MAX_INSTRUCTIONS:
            break
    return found


def too_long(triggers: Triggers) -> bool:
    """Whether words and patterns come to too much; found out without writing them out."""
    sizes: dict[str, int] = {}
    for name, source in triggers.words.items():
        sizes[name] = _size(source, sizes)
    patterns = sum(_size(source, sizes) for _, source in patterns_of(triggers))
    return bool(sizes) and sum(sizes.values()) + patterns > LONGEST


def _size(source: str, sizes: Mapping[str, int]) -> int:
    return len(source.encode()) + sum(sizes.get(name, 0) for name in references(source))


def patterns_of(triggers: Triggers) -> Iterator[tuple[Place, str]]:
    """Every pattern as it is written, with its place."""
    written = {"patterns": triggers.patterns, "topics": triggers.topics, "unless": triggers.unless}
    for key, sources in written.items():
        for number, source in enumerate(sources):
            yield ("triggers", key, number), source


def word_complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Words that can't work, and names in braces that are no word."""
    triggers = draft.definition.triggers
    good = words_sound(triggers.words)
    for name, source in triggers.words.items():
        place = (*WORDS, name)
        if not NAME.match(name):
            remedy = "use capitals, digits and _, and a capital first"
            yield complaint(place, f"{name!r} can't be a word's name", remedy)
        if good.keys() >= set(references(source)) and (
            fault := refused(written_out(source, good), blanked(source), AUTHORED)
        ):
            yield complaint(place, f"the word {name:.80} {fault.what}", fault.remedy)
    # Where none that stands in the file may be missing from the definition.
    parts = {("triggers", part) for part in ("words", "patterns", "unless")}
    if parts.isdisjoint(place[:2] for place in draft.mended):
        yield from [*_too_early(triggers), *_unknown(triggers)]


def _too_early(triggers: Triggers) -> Iterator[Complaint]:
    later = list(triggers.words)
    for name, source in triggers.words.items():
        place = (*WORDS, later.pop(0))
        for other in dict.fromkeys(references(source)):
            if other == name:
                remedy = "write out what it means"
                yield complaint(place, f"the word {name} refers to itself", remedy)
            elif other in later:
                what = f"the word {name} refers to {other}, which comes later"
                yield complaint(place, what, f"move {other} before {name}")


def _unknown(triggers: Triggers) -> Iterator[Complaint]:
    words: list[tuple[Place, str]] = [((*WORDS, n), word) for n, word in triggers.words.items()]
    for place, source in [*words, *patterns_of(triggers)]:
        for name in dict.fromkeys(references(source)):
            if name not in triggers.words:
                remedy = nearest(name, triggers.words) or f"add {name} to words"
                yield complaint(place, f"there is no word {name} for {source!r}", remedy)


ESCAPED = {"\b": "a backspace", "\x1b": "an escape character", "\x00": "a null character"}
"""What YAML makes of `\\b`, `\\e`, `\\0` in double quotes, and no message has."""


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with the patterns that start the flow or keep it from starting.

    A pattern is named as it is written, and judged as it is with its words written out; one
    whose words are at fault themselves isn't judged.
    """
    triggers = draft.definition.triggers
    if too_long(triggers):
        yield TOO_LONG
        return
    number = len(triggers.words) + sum(1 for _ in patterns_of(triggers))
    if number > MAX_PATTERNS:
        what = f"there are {number} patterns and words: a flow may have {MAX_PATTERNS}"
        yield complaint(("triggers",), what, "put alternatives into one pattern, as in (?:a|b)")
        return
    yield from word_complaints(draft)
    sound = words_sound(triggers.words)
    instructions = 0
    for place, source in patterns_of(triggers):
        if instructions <= MAX_INSTRUCTIONS and sound.keys() >= set(references(source)):
            plain = written_out(source, sound)
            yield from _faults(draft, place, source, plain)
            instructions += program_size(plain, AUTHORED)
    if instructions > MAX_INSTRUCTIONS:
        what = (
            f"the patterns are too large together: {MAX_INSTRUCTIONS} instructions of RE2 at most"
        )
        yield complaint(("triggers",), what, "write fewer repeats and fewer alternatives")


def _faults(draft: UncheckedFlow, place: Place, written: str, source: str) -> Iterator[Complaint]:
    if fault := refused(source, blanked(written), AUTHORED):
        named = written if len(written) <= AUTHORED.chars else f"{written[:80]}…"
        yield complaint(place, f"the pattern {named!r} {fault.what}", fault.remedy)
        return
    if made := next((char for char in written if char in ESCAPED), None):
        what = f"the pattern {written!r} has {ESCAPED[made]} in it: double quotes make one of it"
        yield complaint(place, what, "write patterns in single quotes: '\\b…'")
        return
    pattern = compile_foreign(source, AUTHORED, as_written=written)
    if pattern.search("") is not None:
        what = f"the pattern {written!r} matches an empty message"
        yield complaint(place, what, "have it want some text")
    groups = pattern.groupindex if "patterns" in place else ()
    for group in sorted(set(groups) - draft.slots):
        what = f"the pattern {written!r} has a group {group}, and there is no such slot"
        remedy = nearest(group, draft.slots) or "name it after a slot, or make it (?:…)"
        yield complaint(place, what, remedy)
