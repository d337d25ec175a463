"""A network between two parts that can be cut, silenced, slowed down and made to lose."""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

PIECE = 65_536
RETRANSMITTED_AFTER = 0.2
"""Seconds, as Linux does at first; each time after that takes twice as long."""
MOST_RETRANSMITTED = 4


@dataclass(frozen=True)
class Weather:
    """What happens to each piece of what is sent, and to its connection."""

    delay: float = 0.0
    """Seconds for which each is on its way."""
    lost: float = 0.0
    """The share that has to be sent once more, which takes its time; what follows waits for it."""
    resets: float = 0.0
    """The share at which the connection ends."""
    draws: random.Random = field(default_factory=lambda: random.Random(0))

    @property
    def seconds(self) -> float:
        """How long the next piece takes."""
        late, wait = 0.0, RETRANSMITTED_AFTER
        for _ in range(MOST_RETRANSMITTED):
            if self.draws.random() >= self.lost:
                break
            late, wait = late + wait, wait * 2
        return self.delay + late

    @property
    def breaks(self) -> bool:
        """Whether the connection of the next piece ends with it."""
        return self.draws.random() < self.resets


FAIR = Weather()


class Wire:
    """Carries connections to a port of this machine while it is entered.

    >>> async with Wire(5432) as wire:  # doctest: +SKIP
    ...     wire.stall()
    """

    def __init__(self, to: int) -> None:
        self.to = to
        self.port = 0
        self._whole = True
        self._weather = FAIR
        self._passing = (asyncio.Event(), asyncio.Event())
        """There, and back."""
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self.mend()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """Reset every connection, and every new one, until it is mended."""
        self._whole = False
        self.reset()

    def reset(self) -> None:
        """Reset every connection that there is."""
        for end in self._ends:
            end.transport.abort()

    def stall(self, *, there: bool = True, back: bool = True) -> None:
        """Let nothing through in these directions, and say so to nobody, until it is mended."""
        for way, silent in zip(self._passing, (there, back), strict=True):
            if silent:
                way.clear()

    def worsen(self, weather: Weather) -> None:
        """Have everything go through in this weather, until it is mended."""
        self._weather = weather

    def mend(self) -> None:
        """Carry again; what was stalled arrives."""
        self._whole = True
        self._weather = FAIR
        for way in self._passing:
            way.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        self._ends.add(writer)
        try:
            # Either side going away, or we, is how every connection ends.
            with suppress(OSError, asyncio.CancelledError):
                await self._carry(reader, writer)
        finally:
            self._ends.discard(writer)
            self._carrying.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            return
        there, back = self._passing
        await there.wait()  # the far side hears of nobody whose first word doesn't reach it
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        self._ends.add(far_writer)
        try:
            ways = [
                asyncio.ensure_future(self._pass_on(there, reader, far_writer)),
                asyncio.ensure_future(self._pass_on(back, far_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            # What the far side said last still arrives, where the near one is there to take it.
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._ends.discard(far_writer)
            far_writer.transport.abort()

    async def _pass_on(
        self, way: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while some := await reader.read(PIECE):
            await way.wait()
            if seconds := self._weather.seconds:
                await asyncio.sleep(seconds)
            if self._weather.breaks:
                return
            writer.write(some)
            await writer.drain()
