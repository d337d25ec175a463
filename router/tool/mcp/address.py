"""A server that is called over streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from router.domain.loopback import may_be_proxied
from router.tool.mcp.file import ServerEntry

LONGEST_ANSWER = 4 * 1024 * 1024
"""Bytes of one message."""
SECONDS = 30.0


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error once it is longer than any message may be."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._stream:
            taken += len(chunk)
            if taken > LONGEST_ANSWER:
                size = LONGEST_ANSWER // (1024 * 1024)
                raise httpx2.StreamError(f"the answer was longer than {size} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Bound what is read whole; a stream of events is bounded event by event."""
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    if not is_events and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


@asynccontextmanager
async def called(entry: ServerEntry) -> AsyncIterator[TransportStreams]:
    """The streams of a server at an address.

    A stream of events may be silent for as long as it likes: calls have timeouts of their own.
    """
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.headers),
            timeout=httpx2.Timeout(SECONDS, read=None),
            event_hooks={"response": [_bound]},
            trust_env=may_be_proxied(str(entry.url)),
        ) as http,
        streamable_http_client(
            str(entry.url), http_client=http, max_sse_event_size=LONGEST_ANSWER
        ) as streams,
    ):
        yield streams
