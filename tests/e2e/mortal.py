"""A worker in a process of its own, which dies and is born again."""

import asyncio
from multiprocessing.connection import wait

from tests.e2e.forks import FORKS
from tests.e2e.mortal_worker import KILLED, Plan, live


class Mortal:
    """A worker in a process of its own, which is started again whenever it has died."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    async def start(self) -> None:
        ours, its = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=live, args=(self.plan, its), daemon=True)
        self.process.start()
        its.close()
        with ours:
            await asyncio.to_thread(ours.recv)

    async def lives(self) -> None:
        """Have it alive, with no death ahead: whatever a test before this one has left behind."""
        for death in self.plan.deaths.iterdir():
            death.unlink(missing_ok=True)
        if not self.process.is_alive():
            await self.start()

    async def reborn(self) -> None:
        """Wait until it has died as it was to, and start another."""
        await self._over()
        assert self.process.exitcode == KILLED, f"it ended with {self.process.exitcode} instead"
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
