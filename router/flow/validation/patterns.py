"""The patterns of a flow: RE2, so that no message can make them slow."""

import re
from collections.abc import Iterator

import re2

from router.flow.faults import Fault, nearest
from router.flow.validation.draft import Complaint, Draft, complaint

SYNTAX = "see https://github.com/google/re2/wiki/Syntax"
BEYOND_RE2 = {
    r"\(\?(=|!|<=|<!)": Fault(
        "it looks around ((?=, (?!, (?<=, (?<!), which RE2 can't",
        "match the whole phrase, and put what must not be there into unless",
    ),
    r"\\[1-9]|\(\?P=|\\k<": Fault(
        "it refers back to a group, which RE2 can't", "write the alternatives out"
    ),
    r"\(\?>|[*+?}]\+": Fault(
        "it is atomic or possessive, which RE2 can't", "leave it out: RE2 never backtracks"
    ),
}
"""What other engines know and RE2 doesn't, with what to do instead."""


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with the patterns that start the flow or keep it from starting."""
    triggers = draft.definition.triggers
    for key, sources in (("patterns", triggers.patterns), ("unless", triggers.unless)):
        for number, source in enumerate(sources):
            place = ("triggers", key, number)
            yield from (Complaint(place, fault) for fault in faults_of(source))
    for number, source in enumerate(triggers.patterns):
        for group in sorted(groups_of(source) - draft.slots):
            yield complaint(
                ("triggers", "patterns", number),
                f"the pattern {source!r} has a group {group}, and there is no such slot",
                nearest(group, draft.slots) or "name it after a slot, or make it (?:…)",
            )


def faults_of(source: str) -> Iterator[Fault]:
    """What is wrong with a pattern; nothing where RE2 takes it and it wants some text.

    >>> [fault.remedy for fault in faults_of("(?P<a>x)(?P=a)")]
    ['write the alternatives out']
    """
    try:
        pattern = re2.compile(source, _options())
    except re2.error as error:
        yield _explained(source, error)
        return
    if pattern.search("") is not None:
        yield Fault(f"the pattern {source!r} matches an empty message", "have it want some text")


def groups_of(source: str) -> frozenset[str]:
    """The named groups of a pattern; none where RE2 doesn't take it."""
    try:
        return frozenset(re2.compile(source, _options()).groupindex)
    except re2.error:
        return frozenset()


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # RE2 would write its complaint to stderr besides raising it
    return options


def _explained(source: str, error: Exception) -> Fault:
    for sign, fault in BEYOND_RE2.items():
        if found := re.search(sign, source):
            where = f"at character {found.start() + 1} {fault.what}"
            return Fault(f"the pattern {source!r} isn't RE2: {where}", fault.remedy)
    raw = error.args[0] if error.args else ""
    why = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    return Fault(f"the pattern {source!r} isn't RE2: {why}", SYNTAX)
