"""How many questions one model server is asked at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from router.llm.errors import Crowded


class Slots:
    """Places at one server; whoever finds none waits for one, within their own time.

    Shared by all models at the server. Waiting is no fault of the server's: what comes of it
    is `Crowded`, which no circuit breaker counts.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def taken(self, seconds: float) -> AsyncIterator[float]:
        """A place while within; gives what is left of the seconds.

        Raises:
            Crowded: none became free in that time.
        """
        began = monotonic()
        try:
            await asyncio.wait_for(self._free.acquire(), seconds)
        except TimeoutError:
            raise Crowded(
                f"{self._at_once} questions are under way there, and none ended in {seconds:.3g} s"
            ) from None
        try:
            yield max(0.0, seconds - (monotonic() - began))
        finally:
            self._free.release()
