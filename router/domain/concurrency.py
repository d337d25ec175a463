"""Limits on how many calls run at the same time, of a model server's or of a tool's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic


class ConcurrencyLimiter:
    """Slots that calls share. A call that finds none waits for one.

    Background work borrows a slot that is free, and loses it as soon as a call needs it.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = asyncio.Semaphore(limit)
        self._borrowed: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def slot(self, seconds: float, refusal: Callable[[], Exception]) -> AsyncIterator[float]:
        """Hold a slot within the block, and yield what is left of the seconds.

        Raises the refusal if no slot becomes free within `seconds`.
        """
        began = monotonic()
        if self._free.locked() and self._borrowed:
            self._borrowed.pop().reschedule(asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise refusal() from None
        try:
            yield max(0.0, seconds - (monotonic() - began))
        finally:
            self._free.release()

    @asynccontextmanager
    async def borrowed_slot(self, refusal: Callable[[], Exception]) -> AsyncIterator[None]:
        """Hold a slot within the block until a call needs it.

        Raises the refusal if no slot is free, and from within the block once a call needs it.
        """
        if self._free.locked():
            raise refusal()
        until = asyncio.timeout(None)
        await self._free.acquire()
        try:
            async with until:
                self._borrowed.add(until)
                yield
        except TimeoutError:
            if not until.expired():
                raise
            raise refusal() from None
        finally:
            self._borrowed.discard(until)
            self._free.release()
