"""What the parts of a house run on: processes that somebody keeps, and disks that fill up."""

import asyncio
import os
import resource
import signal
import subprocess
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

import psutil

from tests.e2e.storm.requests import until

ROOT = Path(__file__).parents[3]
REBORN_AFTER = 0.3
"""Seconds: a supervisor's pause."""


@dataclass
class Kept:
    """Runs `command` from when it is started until it is stopped, its words in `log`."""

    name: str
    command: Sequence[str]
    log: Path
    sign: str = ""
    """What it writes there once it serves; "" for those who are asked by other means."""
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    ends_of_its_own: list[str] = field(default_factory=list)
    """How it ended by itself after it had served: what nothing that happens to others may do."""
    false_starts: int = 0
    """How often it ended before it served, as where what it needs isn't there yet."""
    _process: Process | None = None
    _keeping: "asyncio.Task[None] | None" = None
    _killed: bool = False
    _excused: bool = False
    _began_at: int = 0
    _may_start: asyncio.Event = field(default_factory=asyncio.Event)

    def start(self) -> None:
        """Run it, and again whenever it has ended."""
        self.log.touch()
        self._may_start.set()
        self._keeping = asyncio.create_task(self._keep(), name=f"keeping {self.name}")

    async def stop(self) -> None:
        """End it for good."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._process is not None:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def kill(self) -> None:
        """`kill -9` of the process and of those it has begun."""
        self._killed = True
        self._signal(signal.SIGKILL)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Kill it, and don't start it again before the block ends."""
        self._may_start.clear()
        self.kill()
        try:
            yield
        finally:
            self._may_start.set()

    def freeze(self) -> None:
        """Have it stand still, its connections open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    @contextmanager
    def excused(self) -> Iterator[None]:
        """It may end by itself while the block lasts: it is what happens to it."""
        self._excused = True
        try:
            yield
        finally:
            self._excused = False

    @contextmanager
    def short_of_descriptors(self, spare: int) -> Iterator[None]:
        """It can open that many files and connections more than it has, while the block lasts."""
        process = self._process
        assert process is not None
        limit, pid = resource.RLIMIT_NOFILE, process.pid
        soft, hard = resource.prlimit(pid, limit)
        taken = {int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir()}
        free = (number for number in count() if number not in taken)
        few = next(islice(free, spare, None))
        resource.prlimit(pid, limit, (min(few, hard), hard))
        try:
            yield
        finally:
            if process.returncode is None:
                resource.prlimit(pid, limit, (soft, hard))

    async def changes(
        self, command: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Kill it, and have it serve with this command, or these variables besides."""
        self.command = self.command if command is None else command
        self.environment = {**self.environment, **(environment or {})}
        self.kill()
        await self.serves()

    async def serves(self) -> None:
        """Return once the process that there is now says that it serves."""

        async def ask() -> bool | None:
            return (not self._killed and self._has_served()) or None

        await until(f"{self.name} to serve, see {self.log}", ask)

    async def _keep(self) -> None:
        while True:
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *self.command,
                    stdin=DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **self.environment},
                    cwd="/" if self.user else ROOT,
                    user=self.user,
                    start_new_session=True,  # a Ctrl-C is for whoever keeps it
                )
            self._note_end(await self._process.wait())
            await asyncio.sleep(REBORN_AFTER)
            await self._may_start.wait()

    def _note_end(self, status: int) -> None:
        expected = self._killed or self._excused
        if not expected and self._has_served():
            self.ends_of_its_own.append(
                f"{self.name} ended by itself with {status}, see {self.log}"
            )
        self.false_starts += not expected and not self._has_served()
        self._began_at = self.log.stat().st_size  # what the next one has said: nothing yet
        self._killed = False

    def _has_served(self) -> bool:
        with self.log.open("rb") as log:
            log.seek(self._began_at)
            return self.sign.encode() in log.read()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if self._process is not None and self._process.returncode is None:
                process = psutil.Process(self._process.pid)
                for one in [process, *process.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        one.send_signal(number)


DISK_BYTES = 2**30
"""Of memory, where it is used at all."""


MAX_FILLS = 100


@dataclass(frozen=True)
class Disk:
    """A file system of its own in memory, for as long as the block lasts: `mount` needs root.

    >>> with Disk(Path("/tmp/small")).mounted() as disk:  # doctest: +SKIP
    ...     disk.fill()
    """

    folder: Path

    @staticmethod
    def can_be() -> bool:
        """True where we may mount one."""
        return os.geteuid() == 0

    @contextmanager
    def mounted(self) -> Iterator["Disk"]:
        """It, empty at first; what is on it in the end stands in the folder afterwards."""
        self.folder.mkdir(parents=True, exist_ok=True)
        size = f"size={DISK_BYTES},mode=755"
        _run("mount", "-t", "tmpfs", "-o", size, "chaos", str(self.folder))
        try:
            yield self
        finally:
            kept = self.folder.with_suffix(".kept")
            _run("cp", "--archive", str(self.folder), str(kept))
            _run("umount", "--lazy", str(self.folder))
            self.folder.rmdir()
            kept.rename(self.folder)

    def fill(self) -> None:
        """No byte more can be written than is there, or goes over what is."""
        for _ in range(MAX_FILLS):
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize
            try:
                return self._has(max(used, found.f_frsize))
            except subprocess.CalledProcessError:
                continue  # more was written since: the system refuses what is less than that
        raise TimeoutError(f"{self.folder} grows too fast to be filled")

    def clear(self) -> None:
        """There is room again."""
        self._has(DISK_BYTES)

    def _has(self, size: int) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self.folder))


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
