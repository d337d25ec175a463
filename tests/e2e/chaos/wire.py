"""A TCP connection's way on loopback that can be cut: what networks do that nobody killed."""

import asyncio
from contextlib import suppress
from typing import Self

PIECE = 65_536


class Wire:
    """Carries connections to a port of this machine while it is entered.

    >>> async with Wire(5432) as wire:  # doctest: +SKIP
    ...     wire.stall()
    """

    def __init__(self, to: int) -> None:
        self.to = to
        self.port = 0
        self._whole = True
        self._passing = asyncio.Event()
        self._passing.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()

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
        for end in self._ends:
            end.transport.abort()

    def stall(self) -> None:
        """Let nothing through in either direction, and say so to nobody, until it is mended."""
        self._passing.clear()

    def mend(self) -> None:
        """Carry again; what was stalled arrives."""
        self._whole = True
        self._passing.set()

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
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        self._ends.add(far_writer)
        try:
            ways = [
                asyncio.ensure_future(self._pass_on(reader, far_writer)),
                asyncio.ensure_future(self._pass_on(far_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            await _flushed(writer)
        finally:
            self._ends.discard(far_writer)
            far_writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(PIECE):
            await self._passing.wait()
            writer.write(some)
            await writer.drain()


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """What the far side said last still arrives, where the near one is there to take it."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            writer.close()
            await writer.wait_closed()
