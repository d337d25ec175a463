r"""Stands between a worker and the program of an MCP server, so that neither harms the other.

Run as a script, as the first of a process group: `keeper.py PARENT NAMES COMMAND [ARGUMENT…]`. It
starts the command with its own input and with the NAMES of its environment alone, passes on what it
writes, line by line and within bounds, and kills the whole group once the command ends, or once
PARENT is no longer its parent: a worker that was killed can't clean up itself.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

EVERY = 0.5
LONGEST_LINE = 4 * 1024 * 1024
LONGEST_SAID = 500
TOO_LONG = -32099
"""The code, of those that are left to us, under which a call learns that its answer was dropped."""
IGNORED = b"(it wrote something that is no message where messages go; ignored)\n"

_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')


def _kill_the_group() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    _kill_the_group()


def _lines(written: BinaryIO, longest: int) -> Iterator[tuple[bytes, bool]]:
    """Each line without its end, and whether it was longer: then it is the beginning."""
    while line := written.readline(longest + 1):
        rest = line
        while not rest.endswith(b"\n") and (rest := written.readline(longest)):
            pass
        yield line.rstrip(b"\r\n"), len(line.rstrip(b"\n")) > longest


def _say(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


def _pass_complaints(written: BinaryIO) -> None:
    for line, _ in _lines(written, LONGEST_SAID):
        _say(line[:LONGEST_SAID] + b"\n")


def _pass_messages(written: BinaryIO) -> None:
    for line, is_longer in _lines(written, LONGEST_LINE):
        message = _refusal(line) if is_longer else line
        if message.lstrip().startswith(b"{"):
            sys.stdout.buffer.write(message + b"\n")
            sys.stdout.buffer.flush()
        elif line:
            _say(IGNORED)
    os.close(sys.stdout.fileno())


def _refusal(head: bytes) -> bytes:
    """What the call gets whose answer was too long; empty where that can't be told."""
    found = _ID.search(head[:256])
    said = b"the answer was longer than %d MiB" % (LONGEST_LINE // (1024 * 1024))
    error = b'{"code":%d,"message":"%s"}' % (TOO_LONG, said)
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (found[1], error) if found else b""


def main(parent: int, names: list[str], command: list[str]) -> None:
    """Keep the command company until it ends."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    environment = {name: os.environ[name] for name in names if name in os.environ}
    try:
        child = subprocess.Popen(  # noqa: S603 - it is the operator's
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        sys.exit(f"{command[0]} can't be started: {error.strerror}")
    # A gentle end is for the command alone: who keeps it has to see it through.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert child.stdout is not None  # noqa: S101 - it was started with a pipe
    assert child.stderr is not None  # noqa: S101 - it was started with a pipe
    passing = [
        threading.Thread(target=_pass_messages, args=(child.stdout,), daemon=True),
        threading.Thread(target=_pass_complaints, args=(child.stderr,), daemon=True),
    ]
    for each in passing:
        each.start()
    child.wait()
    for each in passing:
        each.join(EVERY)
    _kill_the_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
