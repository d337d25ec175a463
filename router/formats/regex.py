"""RE2 patterns: the product's own, and those that somebody else wrote.

RE2 never backtracks, but three things about it still grow with the pattern: the program that it
compiles, the memory that it caches states in, and the time of one search, which is the program
times the text, and times the groups where they are captured. `google-re2` asks for every group at
each search. So a pattern that somebody else wrote is compiled by `compile_foreign`, within bounds
and without captures unless its groups are needed; `refused` says in a sentence what exceeds them.
"""

import re
from dataclasses import dataclass
from typing import Any, Self

import re2

from router.domain.errors import Fault

KIBIBYTE = 1024
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
_TOO_LARGE = b"pattern too large"
_SMALLER = "repeat less, as in {1,20} instead of {1,500}, and leave lengths to maxLength"
_SHORTER = "write fewer repeats and fewer alternatives"


@dataclass(frozen=True)
class PatternBounds:
    """What a pattern that somebody else wrote may cost.

    Attributes:
        chars: Characters of the pattern, as its author wrote it.
        instructions: Of the program that RE2 compiles. One search takes at most 25 ns times this
            and the bytes of the text, and usually a thousandth of that.
        memory_bytes: For the program and for the states that RE2 caches while it searches.
        groups: Groups that are captured, at a cost for each. With 0, only (?P<…>…) captures.
        remedy: What an author does about a program that is too large.
    """

    chars: int
    instructions: int
    memory_bytes: int
    groups: int
    remedy: str

    def options(self, *, ignore_case: bool = False, dot_all: bool = False) -> Any:
        """RE2's options for patterns within these bounds."""
        options = _quiet_options()
        options.max_mem = self.memory_bytes
        options.never_capture = not self.groups
        options.case_sensitive = not ignore_case
        options.dot_nl = dot_all
        return options


FOREIGN = PatternBounds(500, 4_000, 256 * KIBIBYTE, 0, _SMALLER)
"""Patterns of callers, of servers and of documents, which only say whether a text matches."""
AUTHORED = PatternBounds(500, 10_000, 512 * KIBIBYTE, 20, _SHORTER)
r"""Patterns of flows, whose groups fill slots. The largest of the shipped flows, with its words
written out, has 6,000 instructions: `\p{Han}` alone has 80."""
CODED = PatternBounds(4_000, 10_000, 512 * KIBIBYTE, 20, _SHORTER)
"""Patterns of tools and hooks: those in Python are put together from parts, so they are longer."""


class PatternTooCostly(re2.error):  # type: ignore[misc]
    """A pattern that RE2 takes, but that exceeds its bounds. `fault` says which, for its author."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.fault = Fault(what, remedy)

    @classmethod
    def of_program(cls, bounds: PatternBounds) -> Self:
        """The error for a program that has too many instructions."""
        most = f"RE2's program for it may have {bounds.instructions}"
        return cls(f"is too large: {most} instructions", bounds.remedy)


def compiled(source: str) -> Any:
    """Compile a pattern of the product's own. Raises `re2.error` if RE2 doesn't take it."""
    return re2.compile(source, _quiet_options())


def compile_foreign(
    source: str,
    bounds: PatternBounds = FOREIGN,
    *,
    ignore_case: bool = False,
    dot_all: bool = False,
    as_written: str | None = None,
) -> Any:
    """Compile a pattern that somebody else wrote.

    Args:
        source: The pattern.
        bounds: What it may cost.
        ignore_case: Whether letters match in either case.
        dot_all: Whether `.` matches line breaks too.
        as_written: The pattern as its author sees it, if parts of it were put in afterwards. Its
            length is what `bounds.chars` is about.

    Raises:
        PatternTooCostly: It exceeds the bounds.
        re2.error: RE2 doesn't take it.
    """
    length = len(source if as_written is None else as_written)
    if length > bounds.chars:
        most = f"a pattern may have {bounds.chars}"
        raise PatternTooCostly(f"has {length} characters: {most}", "split it, or shorten it")
    try:
        options = bounds.options(ignore_case=ignore_case, dot_all=dot_all)
        pattern = re2.compile(source, options)
    except re2.error as error:
        if error.args and error.args[0] and _TOO_LARGE in error.args[0]:
            raise PatternTooCostly.of_program(bounds) from None
        raise
    # Beyond `max_mem` the program that searches backwards is missing, and reads as -1.
    if max(pattern.programsize, pattern.reverseprogramsize) > bounds.instructions:
        raise PatternTooCostly.of_program(bounds)
    # Groups with names are captured whatever `never_capture` says.
    if pattern.groups > bounds.groups:
        most = f"may capture {bounds.groups}" if bounds.groups else "captures nothing here"
        what = f"has {pattern.groups} groups: a pattern {most}"
        raise PatternTooCostly(what, "write (?:…) where nothing is captured")
    return pattern


def program_size(source: str, bounds: PatternBounds = FOREIGN) -> int:
    """Return the instructions of a pattern's program; all that there may be if it isn't taken."""
    try:
        size: int = compile_foreign(source, bounds, as_written="").programsize
    except re2.error:
        return bounds.instructions
    return size


def refused(
    source: str, as_written: str | None = None, bounds: PatternBounds | None = FOREIGN
) -> Fault | None:
    """Why a pattern isn't taken, with the place in it `as_written`; None if it is taken.

    A pattern that is taken here is within its bounds also where letters match in either case, which
    makes its program larger: slots and hooks read theirs so.

    Args:
        source: The pattern.
        as_written: The pattern as its author sees it, if parts of it were put in afterwards.
        bounds: What it may cost; None if it is the deployment's own.
    """
    try:
        if bounds is None:
            compiled(source)
        else:
            for ignore_case in (False, True):
                compile_foreign(source, bounds, ignore_case=ignore_case, as_written=as_written)
    except PatternTooCostly as error:
        return error.fault
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


def _quiet_options() -> Any:
    """RE2's defaults, but it doesn't write its complaints to stderr as well as raise them."""
    options = re2.Options()
    options.log_errors = False
    return options
