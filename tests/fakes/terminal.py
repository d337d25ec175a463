"""Somebody at a terminal: a program on a pseudo-terminal, what it shows, and what is typed."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Self

from tests.waiting import HANGS_AFTER_S

ROWS, COLUMNS = 40, 200
CURSOR_ASKED, CURSOR_AT = "\x1b[6n", b"\x1b[1;1R"
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_AT_ITS_TERMINAL = [sys.executable, "-c", _TAKE_TERMINAL]
"""Makes the terminal that of the program, so that Ctrl-C reaches it."""
_STEERING = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


class Terminal:
    """A program at a terminal of its own while it is entered."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._words = words
        self._environment = {**environment, "TERM": "xterm"}
        self._raw = ""
        self._read_up_to = 0

    def __enter__(self) -> Self:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [*_AT_ITS_TERMINAL, *self._words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=self._environment,
            start_new_session=True,
        )
        os.close(slave)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    @property
    def shown(self) -> str:
        """All that was shown so far, as letters alone."""
        return _STEERING.sub("", self._raw)

    def types(self, line: str) -> None:
        """Type a line and press Enter."""
        os.write(self._master, f"{line}\r".encode())

    def presses(self, key: bytes) -> None:
        """Press a key: `b"\\x03"` is Ctrl-C."""
        os.write(self._master, key)

    def sees(self, text: str, within: float = HANGS_AFTER_S) -> None:
        """Wait until the text is shown, after what was last waited for."""
        deadline = time.monotonic() + within
        while (at := self.shown.find(text, self._read_up_to)) < 0:
            assert time.monotonic() < deadline, f"never showed {text!r}:\n{self.shown[-3000:]}"
            self._read(0.2)
        self._read_up_to = at + len(text)

    def ends(self, within: float = HANGS_AFTER_S) -> int:
        """Wait until the program ends; its exit status."""
        deadline = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it never ended:\n{self.shown[-3000:]}"
            self._read(0.2)
        return self.process.returncode

    def _read(self, seconds: float) -> None:
        if not select.select([self._master], [], [], seconds)[0]:
            return
        try:
            read = os.read(self._master, 65536).decode(errors="replace")
        except OSError:  # the program has let go of its terminal, which is how it ends
            return
        self._raw += read
        if CURSOR_ASKED in read:
            os.write(self._master, CURSOR_AT)
