"""A process that is started again whenever it has ended, as any supervisor would."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.e2e.storm.people import until

ROOT = Path(__file__).parents[3]
REBORN_AFTER = 0.3
"""Seconds: a supervisor's pause."""


@dataclass
class Kept:
    """Runs `command` from when it is started until it is stopped, its words in `log`."""

    name: str
    command: list[str]
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
    _began_at: int = 0

    def start(self) -> None:
        """Run it, and again whenever it has ended."""
        self.log.touch()
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

    def freeze(self) -> None:
        """Have it stand still, its connections open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    async def serves(self) -> None:
        """Return once the process that there is now says that it serves."""

        async def ask() -> bool | None:
            return (not self._killed and self._has_served()) or None

        await until(f"{self.name} to serve, see {self.log}", ask)

    async def _keep(self) -> None:
        while True:
            self._began_at = self.log.stat().st_size
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

    def _note_end(self, status: int) -> None:
        if not self._killed and self._has_served():
            self.ends_of_its_own.append(
                f"{self.name} ended by itself with {status}, see {self.log}"
            )
        self.false_starts += not self._killed and not self._has_served()
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
