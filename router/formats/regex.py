"""What RE2 takes, and why it doesn't take the rest, said to whoever wrote it."""

import re
from typing import Any

import re2

from router.domain.errors import Fault

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


def compiled(source: str) -> Any:
    """The pattern, ready to search; raises `re2.error` where RE2 doesn't take it."""
    options = re2.Options()
    options.log_errors = False  # RE2 would write its complaint to stderr besides raising it
    return re2.compile(source, options)


def refused(source: str, as_written: str | None = None) -> Fault | None:
    """Why RE2 doesn't take a pattern, with the place in it `as_written`; None where it does."""
    try:
        compiled(source)
    except re2.error as error:
        written = source if as_written is None else as_written
        for sign, fault in BEYOND_RE2.items():
            if found := re.search(sign, written):
                where = f"at character {found.start() + 1} {fault.what}"
                return Fault(f"isn't RE2: {where}", fault.remedy)
        raw = error.args[0] if error.args else ""
        why = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
        return Fault(f"isn't RE2: {why}", SYNTAX)
    return None
