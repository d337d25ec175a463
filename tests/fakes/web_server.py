"""Somebody's web server, over real HTTP or TLS on loopback, which says what it is told to say.

Its faults are scripted byte by byte; names and their addresses are beside it.

    async with WebServer(lambda got: json_reply({"path": got.target})) as server:
        ...  # server.origin, and server.requests afterwards
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from tests.waiting import HANGS_AFTER_S


@dataclass(frozen=True)
class Received:
    """A request, as the server got it: the `body` is its JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))


@dataclass(frozen=True)
class Pause:
    """So many seconds in which nothing is sent; it ends early where the server closes."""

    seconds: float


class Drop:
    """The connection is reset here, in the middle of the answer."""


Piece = bytes | Pause | Drop | asyncio.Event
"""An event is waited for: set it and the answer goes on; never set it and the server hangs."""


@dataclass(frozen=True)
class Reply:
    """What a request is answered with, piece by piece."""

    pieces: Sequence[Piece]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON document at once; underscores in the names of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Reply([content], status, {"content-type": "application/json", **named})


@dataclass(frozen=True)
class Got:
    """A request, as it came over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


async def got_from(reader: asyncio.StreamReader) -> Got | None:
    """The next request of a connection; None where the client has closed it."""
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


async def send(writer: asyncio.StreamWriter, reply: Reply, closing: asyncio.Event) -> bool:
    """Send a reply, chunked; False where it ended with the connection reset."""
    head = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    start = f"HTTP/1.1 {reply.status} X\r\ntransfer-encoding: chunked\r\n{head}\r\n"
    writer.write(start.encode("latin-1"))
    for piece in reply.pieces:
        if isinstance(piece, bytes):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
            await writer.drain()
        elif isinstance(piece, Drop) or not await _waited(piece, closing):
            writer.transport.abort()
            return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _waited(piece: Pause | asyncio.Event, closing: asyncio.Event) -> bool:
    ends = [asyncio.ensure_future(closing.wait())]
    if isinstance(piece, asyncio.Event):
        ends.append(asyncio.ensure_future(piece.wait()))
    seconds = piece.seconds if isinstance(piece, Pause) else None
    try:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
    return not closing.is_set()


class Listening:
    """A server that listens while it is entered; whoever extends it says how one is served."""

    def __init__(self, port: int = 0, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._context = context
        self._closing = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        accept, at = self._connected, "127.0.0.1"
        self._server = await asyncio.start_server(accept, at, self.port, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._closing.set()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def origin(self) -> str:
        """The address of it."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.ensure_future(self._served(reader, writer))
        self._connections.add(serving)
        serving.add_done_callback(self._connections.discard)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Where the client hangs up, which some of the answers make it do.
            with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError


Answer = Callable[[Got], Reply]


class WebServer(Listening):
    """Listens while it is entered. `requests` has everything that was asked of it."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        super().__init__(context=context)
        self.answer = answer
        self.requests: list[Got] = []
        self._changed = asyncio.Event()

    @property
    def targets(self) -> list[str]:
        """Paths and queries that were asked for."""
        return [got.target for got in self.requests]

    async def first(self, posts: Sequence[dict[str, Any]], text: str) -> dict[str, Any]:
        """The first of what was posted with this in it, as soon as it is there."""
        try:
            async with asyncio.timeout(HANGS_AFTER_S):
                while True:
                    for post in posts:
                        if text in json.dumps(post, ensure_ascii=False):
                            return post
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never posted {text!r}, but {posts}") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while got := await got_from(reader):
            self.requests.append(got)
            self._changed.set()
            if not await send(writer, self.answer(got), self._closing):
                return


@contextmanager
def threaded(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The origin of a server in a thread of its own, for tests without an event loop."""
    quiet = type("Quiet", (handler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), quiet)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class NameServer:
    """Answers for names; `asked` has every question. Used as a `Resolver`.

    Each name has the answers to one question after another; the last one stays.
    """

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self._names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if answers is None:
            raise OSError(f"no such name: {host}")
        return list(answers.pop(0) if len(answers) > 1 else answers[0])
