"""Workers in processes of their own, which die and are born again.

They are forks of one server, which has imported what they run: a worker takes seconds to import,
and a fork of a process that has takes none. There is one such server for a whole test process, so
that what it imports is said in one place.
"""

import asyncio
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Generic, TypeVar

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "tests.e2e.attending_worker",
        "tests.e2e.mortal_worker",
        "tests.e2e.planning_worker",
        "tests.e2e.storm.house",
    ]
)
KILLED = 9
"""The exit status of a worker that died as it was told."""

Plan = TypeVar("Plan")


class Mortal(Generic[Plan]):
    """A worker in a process of its own, which is started again whenever it has died."""

    def __init__(self, live: Callable[[Plan, Connection], None], plan: Plan) -> None:
        self.plan = plan
        self._live = live

    async def start(self) -> None:
        ours, its = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=self._live, args=(self.plan, its), daemon=True)
        self.process.start()
        its.close()
        with ours:
            await asyncio.to_thread(ours.recv)

    async def lives(self) -> None:
        """Have it alive, whatever a test before this one has left behind."""
        if not self.process.is_alive():
            await self.start()

    async def reborn(self, status: int = KILLED) -> None:
        """Wait until it has died as it was to, and start another."""
        await self._over()
        assert self.process.exitcode == status, f"it ended with {self.process.exitcode} instead"
        await self.start()

    async def kill(self) -> None:
        """Kill it wherever it is."""
        self.process.kill()
        await self._over()

    async def _over(self) -> None:
        """Wait for its end in a thread, and ask how it ended in this one.

        `start` asks every process whether it has ended. Of two threads that ask the same one at
        the same time, one is told and the other finds nothing, which is kept as status 255.
        """
        await asyncio.to_thread(wait, [self.process.sentinel])
        self.process.join()


def spare(deaths: Path) -> None:
    """Have no death ahead, whatever a test before this one has left in the folder."""
    for death in deaths.iterdir():
        death.unlink(missing_ok=True)
