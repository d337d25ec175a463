"""What stands before Temporal Cloud: TLS, a certificate or an API key, then a real server.

Bytes pass as they are. Of a connection's requests the first is read, for the key that it brings.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hpack import Decoder, Encoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS = 1
END_STREAM_AND_HEADERS = 0x5
PADDED, PRIORITY = 0x8, 0x20
UNAUTHENTICATED = "16"


@asynccontextmanager
async def gate(to: str, context: ssl.SSLContext, key: str | None = None) -> AsyncIterator[str]:
    """Its address, before the Temporal server at `to`; with `key` nobody passes without it."""
    context.set_alpn_protocols(["h2"])

    async def joined(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        host, _, port = to.rpartition(":")
        try:
            far, forth = await asyncio.open_connection(host, int(port))
            answering = asyncio.create_task(_pass(far, back))
            if key and not await _proved(near, forth, f"Bearer {key}"):
                back.write(_refusal())
                await near.read()
                forth.close()
            await asyncio.gather(_pass(near, forth), answering, return_exceptions=True)
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


async def _proved(near: asyncio.StreamReader, forth: asyncio.StreamWriter, wanted: str) -> bool:
    """Pass on what comes up to the first request, and that too where it has what is wanted."""
    forth.write(await near.readexactly(len(PREFACE)))
    while True:
        head = await near.readexactly(9)
        payload = await near.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == HEADERS and _authorization(head[4], payload) != wanted:
            return False
        forth.write(head + payload)
        if head[3] == HEADERS:
            return True


def _authorization(flags: int, payload: bytes) -> str:
    skipped = (1 if flags & PADDED else 0) + (5 if flags & PRIORITY else 0)
    padding = payload[0] if flags & PADDED else 0
    fields = Decoder().decode(payload[skipped : len(payload) - padding])
    return next((str(value) for name, value in fields if str(name) == "authorization"), "")


def _refusal() -> bytes:
    """The answer to the first request: it proves nobody."""
    answer = Encoder().encode(
        [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", UNAUTHENTICATED),
            ("grpc-message", "Request unauthorized."),
        ]
    )
    head = bytes([HEADERS, END_STREAM_AND_HEADERS]) + (1).to_bytes(4, "big")
    return len(answer).to_bytes(3, "big") + head + answer
