"""Ways to a server: a program started here, or streamable HTTP.

The package `mcp` starts programs; it would hand them more of the environment, hold a line of any
length in memory, and leave one that ignores the end of its input behind when this process is
killed. So a keeper stands in between.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from router.domain.errors import Unavailable
from router.domain.loopback import may_be_proxied
from router.tool.mcp import keeper
from router.tool.mcp.file import ServerEntry
from router.tool.mcp.untrusted import visible

INHERITED = ("PATH", "HOME", "LANG")

TransportStreams = tuple[Any, Any]
"""What a `mcp.client.Transport` gives: a stream of incoming messages, and one of outgoing."""


@asynccontextmanager
async def child_process(
    entry: ServerEntry, inherited: Mapping[str, str], said: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """The streams of a server's program; it and all that it started are gone on leaving.

    `said` gets every line of its complaints. Raises `Unavailable` where it can't be started.
    """
    environment = {name: inherited[name] for name in INHERITED if name in inherited}
    environment |= entry.env
    command = str(entry.command)
    if shutil.which(command, path=environment.get("PATH")) is None:
        raise Unavailable(f"there is no program {command!r} that could be started")
    kept = ["-I", "-S", str(Path(keeper.__file__)), str(os.getpid()), ",".join(environment)]
    server = StdioServerParameters(
        command=sys.executable, args=[*kept, command, *entry.args], env=environment, cwd=entry.cwd
    )
    async with AsyncExitStack() as stack:
        complaints = await stack.enter_async_context(_heard(said))
        try:
            streams = await stack.enter_async_context(stdio_client(server, complaints))
        except (OSError, ValueError) as error:
            raise Unavailable(f"{command!r} can't be started: {error}") from None
        yield streams


@asynccontextmanager
async def _heard(said: Callable[[str], None]) -> AsyncIterator[TextIO]:
    """A file whose every line `said` is called with."""
    reading, writing = os.pipe()
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(reading, "rb")
    )
    listening = asyncio.create_task(_listen(lines, said))
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        listening.cancel()
        transport.close()


async def _listen(lines: asyncio.StreamReader, said: Callable[[str], None]) -> None:
    async for line in lines:
        said(visible(line.decode(errors="replace").rstrip(), keeper.LONGEST_SAID))


LONGEST_ANSWER = 4 * 1024 * 1024
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
    """The streams of a server at an address, which may be silent for as long as it likes."""
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
