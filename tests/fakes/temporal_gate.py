"""What stands before Temporal Cloud: TLS, a certificate or an API key, then a real server.

Bytes pass as they are. Of a connection's requests the first is read, for the key that it brings.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hpack import Decoder, Encoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS = 1, 4
END_STREAM_AND_HEADERS = 0x5
PADDED, PRIORITY = 0x8, 0x20
UNAUTHENTICATED = "16"


@asynccontextmanager
async def gate(to: str, context: ssl.SSLContext, key: str | None = None) -> AsyncIterator[str]:
    """Its address, before the Temporal server at `to`; with `key` nobody passes without it."""
    context.set_alpn_protocols(["h2"])

    async def joined(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            first = await _with_first_request(near) if key else (b"", "")
            if key and first[1] != f"Bearer {key}":
                back.write(_refusal())
                await near.read()
                return
            host, _, port = to.rpartition(":")
            far, forth = await asyncio.open_connection(host, int(port))
            forth.write(first[0])
            await asyncio.gather(_pass(near, forth), _pass(far, back), return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            return  # whoever called has hung up
        finally:
            back.close()

    async with await asyncio.start_server(joined, "127.0.0.1", 0, ssl=context) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.close()


async def _with_first_request(near: asyncio.StreamReader) -> tuple[bytes, str]:
    """What was read up to the first request, that included, and what it has as authorization."""
    read = await near.readexactly(len(PREFACE))
    while True:
        head = await near.readexactly(9)
        payload = await near.readexactly(int.from_bytes(head[:3], "big"))
        read += head + payload
        kind, flags = head[3], head[4]
        if kind == HEADERS:
            skipped = (1 if flags & PADDED else 0) + (5 if flags & PRIORITY else 0)
            padding = payload[0] if flags & PADDED else 0
            fields = Decoder().decode(payload[skipped : len(payload) - padding])
            found = (str(value) for name, value in fields if str(name) == "authorization")
            return read, next(found, "")


def _refusal() -> bytes:
    """A server's settings, and an answer to the first request: it proves nobody."""
    answer = Encoder().encode(
        [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", UNAUTHENTICATED),
            ("grpc-message", "Request unauthorized."),
        ]
    )
    return _frame(SETTINGS, 0, 0, b"") + _frame(HEADERS, END_STREAM_AND_HEADERS, 1, answer)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )
