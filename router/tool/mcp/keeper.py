"""Stands between a worker and the program of an MCP server, so that neither outlives the other.

Run as a script, as the first of a process group: `keeper.py PARENT COMMAND [ARGUMENT…]`. It
starts the command with its own input and output, and kills the whole group once the command
ends, or once PARENT is no longer its parent: a worker that was killed can't clean up itself.
"""

import os
import signal
import sys
import threading
import time

EVERY = 0.5
"""Seconds between two looks."""


def _kill_the_group() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    _kill_the_group()


def main(parent: int, command: list[str]) -> None:
    """Keep the command company until it ends."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # A gentle end is for the command alone: who keeps it has to see it through.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        child = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGTERM])
    except OSError as error:
        sys.exit(f"{command[0]} can't be started: {error.strerror}")
    os.waitpid(child, 0)
    _kill_the_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
