"""Somebody's web server, over real HTTP or TLS on loopback, which says what it is told to say.

async with WebServer(lambda got: json_reply({"path": got.target})) as server:
    ...  # server.origin, and server.requests afterwards
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from tests.fakes.http_exchange import Reply, send
from tests.fakes.listening import Listening


@dataclass(frozen=True)
class Got:
    """A request, as it came over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[[Got], Reply]


class WebServer(Listening):
    """Listens while it is entered. `requests` has everything that was asked of it."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.answer = answer
        self.requests: list[Got] = []
        self._context = context

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def origin(self) -> str:
        """The address of it."""
        scheme = "https" if self._context else "http"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[str]:
        """Paths and queries that were asked for."""
        return [got.target for got in self.requests]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, ssl=self._context
        )
        return self

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(serving)
        serving.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while got := await _received(reader):
                self.requests.append(got)
                if not await send(writer, self.answer(got), self._closing):
                    return
        except (ConnectionError, ssl.SSLError):
            return  # the client hung up, which some of the answers make it do
        finally:
            writer.close()


async def _received(reader: asyncio.StreamReader) -> Got | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Got(method, target, headers, body)
