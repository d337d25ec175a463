"""Files that people hand in, read in a process that may die of them.

    async with DocumentReader(format_packages(settings)) as reader:
        material = await reader.read(content, on_progress=tell)

One process is kept warm, since loading the models of character recognition takes longer than most
files; it ends after a while without a file, with its owner, and with anything that went wrong. One
file is read at a time, since recognition takes a whole core; tenants take turns, and so do the
people of each.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import Any, NamedTuple, Self

from router.documents.file_format import Limits, UnreadableFile, format_of, load_formats
from router.documents.page import Material
from router.domain.errors import Unavailable
from router.domain.locale import Localised
from router.isolation.fair_queue import FairQueue, QueueLimits
from router.isolation.limits import child_environment

PROGRAM = (sys.executable, "-m", "router.documents.program")
LOADING = 60.0
"""Seconds that the program may take until it is ready."""
IDLE = 300.0
"""Seconds without a file after which it is ended: it holds 200 MB."""
PROCESS_TRIES = 3
"""Processes that may be killed while they read a file, until the file is taken for the cause."""
QUEUE_LIMITS = QueueLimits(waiting_per_person=4, waiting_per_tenant=40, wait_seconds=60.0)
"""Files that wait here; the others wait in their workflows, which ask again."""
MESSAGES = 1_000
"""Of one file: more than there are pages."""

OnProgress = Callable[[int, int], Awaitable[None] | None]
"""Called with the pages that are done, and of how many."""

_log = logging.getLogger(__name__)


class ReadingCost(NamedTuple):
    """What the reading of a file took."""

    cpu_seconds: float
    memory: int
    """Bytes, at most, of which 200 million are there before there is a file."""


class DocumentReader:
    """Reads files, one after the other, each in a process of its own.

    Args:
        formats: The import names of packages with the formats that it reads.
        limits: What binds each reading, unless `read` says otherwise.
        idle: Seconds without a file until the process is ended.
        command: What is run.
    """

    def __init__(
        self,
        formats: Sequence[str],
        *,
        limits: Limits | None = None,
        idle: float = IDLE,
        command: Sequence[str] = PROGRAM,
    ) -> None:
        load_formats(formats)
        self._limits = limits or Limits()
        self._idle = idle
        self._command = (*command, *formats)
        self._queue = FairQueue(QUEUE_LIMITS, _QUEUE_IS_FULL)
        self._is_reading = False
        self._process: Process | None = None
        self._closed = False
        self.spent: ReadingCost | None = None
        """What the last file took that was read, or refused, without a fault."""
        self._end_of_idleness: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Nothing is started before there is a file."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the process."""
        await self.close()

    @property
    def pid(self) -> int | None:
        """Of the process that waits for files, or reads one; None where there is none."""
        return self._process.pid if self._process is not None else None

    async def read(
        self,
        content: bytes,
        tenant: str = "",
        person: str = "",
        *,
        limits: Limits | None = None,
        on_progress: OnProgress | None = None,
    ) -> Material:
        """What stands in the file, which this person of the tenant has handed in.

        Cancelling it ends the process that reads the file.

        Raises:
            QueueFull: too many files of theirs wait already, or this one has waited too long.
            UnreadableFile: nothing can be read of it; it says why, for programs and for people.
            Unavailable: the process can't be started.
        """
        bounds = limits or self._limits
        if len(content) > bounds.bytes:
            raise UnreadableFile("too_large")
        format_of(content)
        async with self._queue.turn(tenant, person):
            self._is_reading = True
            self._stay()
            try:
                return await self._read_by_the_living(content, bounds, on_progress)
            except (UnreadableFile, Unavailable):
                raise
            except BaseException as error:
                await self._end()
                if isinstance(error, TimeoutError | _Gone):
                    code = "time" if isinstance(error, TimeoutError) else "damaged"
                    raise UnreadableFile(code) from None
                raise
            finally:
                self._is_reading = False
                if not self._closed:
                    self._may_go()

    async def close(self) -> None:
        """End the process, whatever it is doing; no other is started."""
        self._closed = True
        self._stay()
        await self._end()

    async def _ready(self) -> Process:
        """The process, started where it isn't there, or isn't there any more."""
        if self._closed:
            raise Unavailable("the reader of files is closed")
        if self._process is not None and self._process.returncode is None:
            return self._process
        self._process = await _started(self._command)
        try:
            async with asyncio.timeout(LOADING):
                said = await _heard(self._process)
        except TimeoutError:
            said = {}
        if said.get("ready") is not True:
            status = self._process.returncode
            await self._end()
            raise Unavailable(f"the program that reads files doesn't start (status {status})")
        return self._process

    async def _read_by_the_living(
        self, content: bytes, limits: Limits, on_progress: OnProgress | None
    ) -> Material:
        """Read it, again where the process was killed meanwhile; raises `_Gone` if it always is.

        Somebody else may have killed it, or restarted the machine's services: no file is to blame
        for that. A file that does it is found out by the last try.
        """
        for _ in range(PROCESS_TRIES - 1):
            with suppress(_Gone):
                return await self._read(content, limits, on_progress)
        return await self._read(content, limits, on_progress)

    async def _read(
        self, content: bytes, limits: Limits, on_progress: OnProgress | None
    ) -> Material:
        process = await self._ready()
        async with asyncio.timeout(limits.seconds):
            return await self._asked(process, content, limits, on_progress)

    async def _asked(
        self, process: Process, content: bytes, limits: Limits, on_progress: OnProgress | None
    ) -> Material:
        assert process.stdin is not None  # noqa: S101 - a pipe
        asked = {"size": len(content), "limits": limits.model_dump()}
        process.stdin.write(json.dumps(asked).encode() + b"\n" + content)
        with suppress(ConnectionError):
            await process.stdin.drain()
        answer: dict[str, Any] | None = None
        for _ in range(MESSAGES):
            said = await _heard(process)
            if not said and answer is None and process.stdout and process.stdout.at_eof():
                await self._end()
                raise _Gone
            if "page" in said:
                await _told(on_progress, said)
            elif "ended" in said:
                return await self._result(answer, said)
            elif said and answer is None:
                answer = said
            else:
                break
        # It said nothing, or too much, or nonsense.
        await self._end()
        raise UnreadableFile("damaged")

    async def _result(self, answer: dict[str, Any] | None, ended: dict[str, Any]) -> Material:
        status = ended["ended"]
        with suppress(KeyError, TypeError, ValueError):
            self.spent = ReadingCost(float(ended["cpu"]), int(ended["memory"]))
        if status == -signal.SIGKILL:
            await self._end()
            raise _Gone
        if status != 0:
            await self._end()
            raise UnreadableFile(_why(status))
        if answer is not None and "material" in answer:
            with suppress(ValueError):
                return Material.of_json(json.dumps(answer["material"]).encode())
        raise UnreadableFile(str((answer or {}).get("unreadable")))

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())

    def _stay(self) -> None:
        if self._end_of_idleness is not None:
            self._end_of_idleness.cancel()
            self._end_of_idleness = None

    def _may_go(self) -> None:
        self._end_of_idleness = asyncio.get_running_loop().call_later(self._idle, self._leave)

    def _leave(self) -> None:
        # It ends with its input, and is waited for where it is next looked at.
        if self._process is not None and not self._is_reading:
            assert self._process.stdin is not None  # noqa: S101 - a pipe
            self._process.stdin.close()
            self._process = None


_QUEUE_IS_FULL = Localised(
    zh="还有好几个文件排在前面，请过几秒再试。",
    en="Several files are read before this one: try again in a few seconds.",
)


class _Gone(Exception):
    """The process was killed, or ended without a word about the file."""


async def _started(command: Sequence[str]) -> Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=2 * Limits().output,
        env=child_environment(),
        start_new_session=True,  # a Ctrl-C isn't for it, and it is killed with its children
    )


async def _heard(process: Process) -> dict[str, Any]:
    """The next message; an empty one where there is none, or it is nonsense."""
    assert process.stdout is not None  # noqa: S101 - a pipe
    try:
        said = json.loads(await process.stdout.readline() or b"{}")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


async def _told(on_progress: OnProgress | None, said: dict[str, Any]) -> None:
    done, of = said.get("page"), said.get("of")
    if on_progress is not None and isinstance(done, int) and isinstance(of, int):
        waiting = on_progress(done, of)
        if isawaitable(waiting):
            await waiting


def _why(status: object) -> str:
    """The code of what ended a child: a signal's number, negative, or a status."""
    if status == -signal.SIGXCPU:
        return "time"
    # Allocators and PDFium stop by a trap or an abort where there is no more memory.
    if status in {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL}:
        return "memory"
    _log.warning("a file ended what read it, with status %s", status)
    return "damaged"
