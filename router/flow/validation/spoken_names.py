"""What people call a flow, its slots and its documents: words, since patterns are made of them.

The reader of messages puts these names into RE2 patterns as they are, so a bracket among them would
be a pattern that fails, or one that costs a lot, wherever the flow is read.
"""

from collections.abc import Iterator, Sequence

from router.flow.validation.unchecked import UncheckedFlow, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

MAX_NAMES = 50
MAX_NAME_CHARS = 60
SIGNS = frozenset("\\()[]{}*+?|^$")
"""What means something in RE2 and nothing in a name."""


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Names that can't be put into a pattern."""
    definition = draft.definition
    yield from _faults(("names",), definition.names)
    yield from _faults(("verbs",), definition.verbs)
    for place, slot in draft.each_slot():
        yield from _faults((*place, "names"), slot.names)
        if slot.reference is not None:
            yield from _faults((*place, "reference", "of"), slot.reference.of)


def _faults(place: Place, names: Sequence[str]) -> Iterator[Complaint]:
    if len(names) > MAX_NAMES:
        what = f"there are {len(names)} names: there may be {MAX_NAMES}"
        yield complaint(place, what, "keep those that people say")
        return
    for number, name in enumerate(names):
        if len(name) > MAX_NAME_CHARS:
            what = f"the name {name[:MAX_NAME_CHARS]!r} has {len(name)} characters"
            yield complaint((*place, number), what, f"keep it to {MAX_NAME_CHARS}")
        elif sign := next((each for each in name if each in SIGNS), None):
            what = f"the name {name!r} has {sign} in it: a name is words, and no pattern"
            yield complaint((*place, number), what, "write it as people say it")
