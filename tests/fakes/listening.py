"""What servers on loopback have in common: how they end, with every connection let go."""

import asyncio
from types import TracebackType


class Listening:
    """A server that listens while it is entered; whoever extends it starts `_server`."""

    _server: asyncio.Server

    def __init__(self) -> None:
        self._closing = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        self._closing.set()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
