"""Just enough HTTP/1.1 for a server whose faults are scripted byte by byte."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Received:
    """A request, as the server got it."""

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


async def receive(reader: asyncio.StreamReader) -> Received | None:
    """The next request of a connection; None where the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, json.loads(body) if body else {})


async def hung_up(reader: asyncio.StreamReader) -> None:
    """Return when the client has gone away; only for one that waits for an answer."""
    await reader.read(1)


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
    """Wait as the piece says; False where the server closes meanwhile."""
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
