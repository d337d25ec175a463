"""Several processes of one command, which one process starts, restarts and stops.

One core of Python bounds what a process does, so that a machine with more of them takes more
processes. They share a socket that the parent has opened and never reads: whoever is idle takes
the next connection, and while one of them is away the others do. Each holds a line to its parent,
by which it says that it is at work, and by whose end it learns that the parent is gone.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from router.domain.errors import Unavailable

PROGRAM = (sys.executable, "-P", "-m", "router")
"""This program, which finds its modules where the parent has them, not in the working directory."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before one that ended as it started is started again, doubled each time."""

_log = logging.getLogger(__name__)


class Parent:
    """The line to the process that started this one, by the number of its file."""

    def __init__(self, fileno: int) -> None:
        self._line = socket.socket(fileno=fileno)
        self._line.set_inheritable(False)
        self._line.setblocking(False)

    def tell_ready(self) -> None:
        """Say that this process is at work; from now on it stops, as told to, without a parent."""
        asyncio.get_running_loop().add_reader(self._line, self._heard)
        self._line.send(b"!")

    def _heard(self) -> None:
        try:
            gone = not self._line.recv(1)
        except BlockingIOError:
            return
        except ConnectionError:
            gone = True
        if gone:
            asyncio.get_running_loop().remove_reader(self._line)
            _log.error("the process that started this one is gone, so this one stops")
            signal.raise_signal(signal.SIGTERM)


@dataclass(frozen=True)
class ProcessCommand:
    """What each process of a group is.

    Attributes:
        name: what the log calls it.
        words: the program and its arguments; `--parent N` is added, N being its line's file.
        environment: variables that the process of this number has besides, counted from 0.
        shared: a socket that they all have under the number that it has here.
    """

    name: str
    words: Sequence[str]
    environment: Callable[[int], Mapping[str, str]] = lambda _: {}
    shared: socket.socket | None = None

    async def started(self, number: int) -> tuple[Process, socket.socket]:
        """The process, and the parent's end of its line."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        files = [each.fileno() for each in (theirs, self.shared) if each is not None]
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                "--parent",
                str(theirs.fileno()),
                pass_fds=files,
                env={**os.environ, **self.environment(number)},
                start_new_session=True,  # a terminal's Ctrl-C is for the parent, which tells them
            )
        return process, ours


class ProcessGroup:
    """So many processes of a command, for as long as `run` runs.

    Args:
        grace: seconds that they have to end by themselves when told to stop.
    """

    def __init__(self, command: ProcessCommand, number: int, grace: float) -> None:
        self._command = command
        self._number = number
        self._grace = grace
        self._running: dict[int, tuple[Process, socket.socket]] = {}

    async def run(self) -> None:
        """Keep them running; cancelled, end once all have ended.

        Raises:
            Unavailable: one ended before it had ever been at work, which another would do too.
        """
        keeping = [asyncio.create_task(self._keep(number)) for number in range(self._number)]
        try:
            done, _ = await asyncio.wait(keeping, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            await self._stop()

    async def _keep(self, number: int) -> None:
        name, ever, pause = f"{self._command.name} {number + 1}", False, FIRST_PAUSE
        while True:
            process, line = await self._command.started(number)
            self._running[number] = process, line
            worked = await self._at_work(process, line)
            ever = ever or worked
            if worked:
                _log.info("%s (pid %d) is at work", name, process.pid)
            status = await process.wait()
            line.close()
            if not ever:
                raise Unavailable(f"{name} ended with {_worded(status)} as it started")
            wait, pause = (0.0, FIRST_PAUSE) if worked else (pause, min(2 * pause, LONGEST_PAUSE))
            told = (name, process.pid, _worded(status), wait)
            _log.error("%s (pid %d) ended with %s: another starts in %.0f s", *told)
            await asyncio.sleep(wait)

    async def _at_work(self, process: Process, line: socket.socket) -> bool:
        """Whether it says so, once it has said so or ended."""
        ended = asyncio.create_task(process.wait())
        said = asyncio.create_task(asyncio.get_running_loop().sock_recv(line, 1))
        try:
            await asyncio.wait({ended, said}, return_when=asyncio.FIRST_COMPLETED)
            return said.done() and not said.exception() and bool(said.result())
        finally:
            ended.cancel()
            said.cancel()

    async def _stop(self) -> None:
        running = [each for each, _ in self._running.values() if each.returncode is None]
        for process in running:
            with suppress(ProcessLookupError):
                process.terminate()
        ends = [asyncio.create_task(process.wait()) for process in running]
        if ends:
            await asyncio.wait(ends, timeout=self._grace)
        for process in running:
            if process.returncode is None:
                _log.error("pid %d didn't end in %.0f s and is killed", process.pid, self._grace)
                process.kill()
                await process.wait()
        # Not before: whose line ends would take that for another signal, and not finish.
        for _, line in self._running.values():
            line.close()


def _worded(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
