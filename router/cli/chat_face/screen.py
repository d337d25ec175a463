"""Where a chat is shown: a terminal that somebody sits at, or a pipe that wants plain text."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from router.cli.chat_face.rendering import printable

BETWEEN_WRITES = 0.02
"""Seconds: often enough that text which is being written seems to flow."""
OWN = 0o600

_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Writes to stdout. `interactive`: progress is shown too; `coloured`: and set apart."""

    interactive: bool
    coloured: bool

    def line(self, text: str = "") -> None:
        """A line, or several, that came from the desk."""
        print(printable(text), flush=True)

    def aside(self, text: str) -> None:
        """A line about what goes on, for whoever sits there."""
        if self.interactive:
            shown = printable(text)
            print(f"{_DIM}{shown}{_NORMAL}" if self.coloured else shown, flush=True)

    def flow(self, text: str) -> None:
        """A piece of a line that is still being written."""
        print(printable(text), end="", flush=True)


class Discarded(KeyboardInterrupt):
    """Ctrl-C on a line that had something in it: it is gone, and nothing else was meant."""


class Prompt(Protocol):
    """What asks whoever sits there for a line."""

    async def line(self, label: str = "> ") -> str:
        """The line. Raises EOFError at Ctrl-D, KeyboardInterrupt at Ctrl-C."""


class TerminalPrompt:
    """Line editing, with a history that is kept from one chat to the next."""

    def __init__(self, history: Path) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        self._session: PromptSession[str] = PromptSession(history=FileHistory(str(own(history))))
        self._fields: PromptSession[str] = PromptSession(history=InMemoryHistory())

    async def line(self, label: str = "> ") -> str:
        """The line; what is typed into a form's field isn't kept."""
        session = self._session if label == "> " else self._fields
        try:
            return await session.prompt_async(label)
        except KeyboardInterrupt:
            if session.default_buffer.text:
                raise Discarded from None
            raise


@contextmanager
def above_the_prompt() -> Iterator[None]:
    """What is written meanwhile goes above the line that is being typed."""
    from prompt_toolkit.patch_stdout import StdoutProxy

    proxy = StdoutProxy(sleep_between_writes=BETWEEN_WRITES, raw=True)
    with proxy, redirect_stdout(proxy):
        yield


def own(file: Path) -> Path:
    """The file, which is there and is nobody else's to read: people type confidential things.

    Raises OSError where it can't be.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, OWN)
    try:
        os.fchmod(handle, OWN)
    finally:
        os.close(handle)
    return file


def screen_of(*, plain: bool) -> Screen:
    """The screen of this process; a person sits there where both ends are terminals."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    return Screen(interactive=interactive, coloured=interactive and not plain)
