"""Where a tool, hook, lookup or dependency is declared, for messages about it."""

import inspect
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parents[1]
"""The folder of the package `router`."""


UNREADABLE = (NameError, AttributeError, SyntaxError)
"""What `get_type_hints` raises for annotations that name what isn't there."""


class SourceLine(NamedTuple):
    """A line of a source file. `line` counts from 1."""

    file: str
    line: int


def source_of(declared: Any) -> SourceLine:
    """Return the line on which a function or class begins.

    Of anything else it is the line of the first caller that is no module of the package `router`:
    that is where a decorator was called.
    """
    inner = inspect.unwrap(declared.func if isinstance(declared, partial) else declared)
    if (code := getattr(inner, "__code__", None)) is not None:
        return SourceLine(code.co_filename, code.co_firstlineno)
    if inspect.isclass(inner):
        try:
            return SourceLine(inspect.getfile(inner), inspect.getsourcelines(inner)[1])
        except (OSError, TypeError):  # built in, or made without a file
            return calling_line()
    return calling_line()


def calling_line() -> SourceLine:
    """Return the line of the first caller that is no module of the package `router`."""
    frame = sys._getframe(1)  # noqa: SLF001 - `inspect.stack` reads the source of every frame
    while frame.f_back is not None and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
        frame = frame.f_back
    return SourceLine(frame.f_code.co_filename, frame.f_lineno)


def name_of(declared: Any) -> str:
    """Return what a function, class or other object is called in messages."""
    inner = declared.func if isinstance(declared, partial) else declared
    return str(getattr(inner, "__name__", None) or repr(declared)[:80])
