"""What is wrong with an expression, said to whoever wrote it."""

import re
from collections.abc import Collection, Iterator

from router.documents.faults import Fault, nearest
from router.flow.expression_names import MACROS, Called, binders, calls, member_reads
from router.flow.functions import FUNCTIONS
from router.flow.lookups import LOOKUPS

POSITION = re.compile(r"<input>:(\d+):(\d+): (.*?)(?: expecting .*)?$", re.MULTILINE)
Arity = tuple[int, int]
"""The least and the most arguments."""

BUILT_IN: dict[str, Arity] = dict.fromkeys(
    [
        "has",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "type",
        "dyn",
        "size",
        "timestamp",
        "duration",
    ],
    (1, 1),
)
"""CEL's own functions."""
METHODS: dict[str, Arity] = {
    **dict.fromkeys(["contains", "startsWith", "endsWith", "matches"], (1, 1)),
    **dict.fromkeys(
        ["size", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek"], (0, 0)
    ),
    **dict.fromkeys(["getDayOfYear", "getHours", "getMinutes", "getSeconds"], (0, 0)),
    **dict.fromkeys(MACROS, (2, 2)),
}
"""CEL's own methods and macros; what they are called on doesn't count."""
OURS: dict[str, Arity] = {
    **{name: (len(function.takes),) * 2 for name, function in FUNCTIONS.items()},
    **{name: (lookup.least, len(lookup.takes)) for name, lookup in LOOKUPS.items()},
}


def syntax(message: str) -> str:
    """The first complaint of CEL's parser, without the list of all it would have liked."""
    found = POSITION.search(message)
    if not found:
        return "can't be read as CEL"
    _, column, what = found.groups()
    return f"can't be read as CEL: column {column}: {what.removeprefix('Syntax error: ')}"


def faults(source: str, variables: Collection[str], known: Collection[str]) -> list[Fault]:
    """What is wrong with an expression that compiles and reads `variables`."""
    return [
        *_unknown_variables(source, set(variables), known),
        *_slots_as_a_whole(source),
        *(fault for call in calls(source) for fault in _wrong_call(source, call)),
    ]


def _unknown_variables(source: str, read: set[str], known: Collection[str]) -> Iterator[Fault]:
    bound = binders(source)
    for name in sorted(bound & set(known)):
        yield Fault(
            f"the expression {source!r} uses {name} for an item, which means something else",
            "choose another name for the item",
        )
    for name in sorted(read - bound - set(known)):
        yield Fault(
            f"the expression {source!r} reads {name}, which isn't there",
            nearest(name, known) or f"it may read {', '.join(sorted(known))}",
        )


def _slots_as_a_whole(source: str) -> Iterator[Fault]:
    if any(read.member is None for read in member_reads(source, "slots")):
        yield Fault(
            f"the expression {source!r} reads slots without saying which",
            'read each by its name: slots.start or slots["start"]',
        )


def _wrong_call(source: str, call: Called) -> Iterator[Fault]:
    known = METHODS if call.method else BUILT_IN | OURS
    if call.name not in known:
        kind = "method" if call.method else "function"
        yield Fault(
            f"the expression {source!r} calls {call.name}(), and there is no such {kind}",
            nearest(call.name, known) or f"there are {', '.join(sorted(known))}",
        )
        return
    least, most = known[call.name]
    if not least <= call.arguments <= most:
        given = "1 argument" if call.arguments == 1 else f"{call.arguments} arguments"
        yield Fault(
            f"the expression {source!r} calls {call.name}() with {given}",
            f"it takes {_parameters(call.name, least, most)}",
        )


def _parameters(name: str, least: int, most: int) -> str:
    """How many the function takes, and their names where it is one of ours."""
    count = str(most) if least == most else f"{least} to {most}"
    ours = FUNCTIONS | LOOKUPS
    return f"{count}: {', '.join(ours[name].takes)}" if name in ours else count
